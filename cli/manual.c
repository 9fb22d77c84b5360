/* Manual pages; see manual.h. */
#include "cli/manual.h"

#include "cli/groups.h"
#include "core/record/environment.h"

#include <ctype.h>

/* Text for roff: escapes backslashes and hyphens, and control characters at the beginning of a line. */
static void put(const char *text, FILE *out) {
  bool begins = true;
  for (; *text != '\0'; text++) {
    if (begins && (*text == '.' || *text == '\'')) fputs("\\&", out);
    if (*text == '\\')
      fputs("\\e", out);
    else if (*text == '-')
      fputs("\\-", out);
    else
      fputc(*text, out);
    begins = *text == '\n';
  }
}

static void put_upper(const char *text, FILE *out) {
  for (; *text != '\0'; text++) fputc(toupper((unsigned char)*text), out);
}

static void head(const char *name, const char *more, const char *summary, FILE *out) {
  fputs(".TH SHARDLAB", out);
  if (more[0] != '\0') fputc('-', out), put_upper(more, out);
  fprintf(out, " 1 \"\" \"shardlab %s\" \"User Commands\"\n.SH NAME\n", SL_VERSION);
  put(name, out);
  if (more[0] != '\0') fputs("\\-", out), put(more, out);
  fputs(" \\- ", out);
  put(summary, out);
  fputc('\n', out);
}

static void print_group(const struct sl_command *command, int group, FILE *out) {
  struct sl_option_text o;
  bool begun = false;
  for (int i = 0; sl_options_text(i, command->bit, &o); i++) {
    if (o.name == NULL || sl_groups_of(o.name) != group) continue;
    if (!begun) fprintf(out, ".SS %s\n", sl_groups_title(group));
    begun = true;
    fputs(".TP\n\\fB\\-\\-", out);
    put(o.name, out);
    fputs("\\fR", out);
    if (!o.flag) fputs(" \\fI", out), put(o.value, out), fputs("\\fR", out);
    fputc('\n', out);
    put(o.help, out);
    if (o.initial != NULL) fputs(" [", out), put(o.initial, out), fputc(']', out);
    fputc('\n', out);
  }
}

static void print_command(const struct sl_command *c, FILE *out) {
  head("shardlab", c->name, c->summary, out);
  fputs(".SH SYNOPSIS\n\\fBshardlab ", out);
  put(c->name, out);
  fputs("\\fR ", out);
  if (c->operands[0] != '\0') put(c->operands, out), fputc(' ', out);
  fputs("[\\fIflags\\fR]\n.SH DESCRIPTION\n.nf\n", out);
  put(c->help, out);
  fputs(".fi\n.SH OPTIONS\n", out);
  for (int i = 0; i < SL_OPTION_GROUPS; i++) print_group(c, i, out);
  fputs(".SH EXAMPLES\n.nf\n", out);
  put(c->example, out);
  fputs("\n.fi\n", out);
}

static void print_all(const struct sl_command *const *commands, int count, FILE *out) {
  head("shardlab", "", "predict LLM training, then measure it", out);
  fputs(".SH SYNOPSIS\n\\fBshardlab\\fR \\fIcommand\\fR [\\fIflags\\fR]\n.SH COMMANDS\n", out);
  for (int i = 0; i < count; i++) {
    fputs(".TP\n\\fBshardlab\\-", out);
    put(commands[i]->name, out);
    fputs("\\fR(1)\n", out);
    put(commands[i]->summary, out);
    fputc('\n', out);
  }
}

void sl_manual_print(const struct sl_command *const *commands, int count, const struct sl_command *command, FILE *out) {
  if (command != NULL)
    print_command(command, out);
  else
    print_all(commands, count, out);
  fputs(".SH EXIT STATUS\n0: done; 1: failed, or out of tolerance; 2: bad input, of which one line says what was "
        "expected.\n",
        out);
}
