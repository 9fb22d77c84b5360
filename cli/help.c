/* The help of a command, from the table of options; see help.h. */
#include "cli/help.h"

#include "cli/groups.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { HEAD = 27, USUAL_WIDTH = 100 };

/* The columns of a terminal; a file has the usual ones. */
static int width_of(FILE *out) {
  struct winsize size;
  if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0) return USUAL_WIDTH;
  return size.ws_col >= 60 ? size.ws_col : 60;
}

/* Prints `text`, which begins in column `indent`, in lines that end before column `width`. */
static void print_wrapped(const char *text, int indent, int width, FILE *out) {
  int column = indent;
  while (*text != '\0') {
    const int word = (int)strcspn(text, " ");
    if (column > indent && column + 1 + word > width) {
      fprintf(out, "\n%*s", indent, "");
      column = indent;
    }
    fprintf(out, "%s%.*s", column > indent ? " " : "", word, text);
    column += (column > indent) + word;
    text += word + (text[word] == ' ');
  }
  fputc('\n', out);
}

static void print_group(const struct sl_command *command, int group, FILE *out) {
  struct sl_option_text o;
  bool begun = false;
  for (int i = 0; sl_options_text(i, command->bit, &o); i++) {
    if (o.name == NULL || sl_groups_of(o.name) != group) continue;
    if (!begun) fprintf(out, "\n%s:\n", sl_groups_title(group));
    begun = true;
    char head[256], text[1024];
    snprintf(head, sizeof head, "--%s %s", o.name, o.value);
    snprintf(text, sizeof text, "%s%s%s%s", o.help, o.initial != NULL ? " [" : "", o.initial != NULL ? o.initial : "",
             o.initial != NULL ? "]" : "");
    fprintf(out, "  %-*s", HEAD, head);
    if (strlen(head) >= HEAD) fprintf(out, "\n  %*s", HEAD, "");
    print_wrapped(text, 2 + HEAD, width_of(out), out);
  }
}

void sl_help_command(const struct sl_command *command, FILE *out) {
  fprintf(out, "usage: shardlab %s%s%s [flags]\n\n%s.\n%s", command->name, command->operands[0] != '\0' ? " " : "",
          command->operands, command->summary, command->help);
  for (int i = 0; i < SL_OPTION_GROUPS; i++) print_group(command, i, out);
  fprintf(out, "\nexample:\n  %s\n", command->example);
}
