/* The help of a command, from the table of options; see help.h. */
#include "cli/help.h"

#include "cli/groups.h"

static void print_group(const struct sl_command *command, int group, FILE *out) {
  struct sl_option_text o;
  bool begun = false;
  for (int i = 0; sl_options_text(i, command->bit, &o); i++) {
    if (o.name == NULL || sl_groups_of(o.name) != group) continue;
    if (!begun) fprintf(out, "\n%s:\n", sl_groups_title(group));
    begun = true;
    char head[256];
    snprintf(head, sizeof head, "--%s %s", o.name, o.value);
    fprintf(out, "  %-26s %s", head, o.help);
    if (o.initial != NULL) fprintf(out, " [%s]", o.initial);
    fputc('\n', out);
  }
}

void sl_help_command(const struct sl_command *command, FILE *out) {
  fprintf(out, "usage: shardlab %s%s%s [flags]\n\n%s.\n%s", command->name, command->operands[0] != '\0' ? " " : "",
          command->operands, command->summary, command->help);
  for (int i = 0; i < SL_OPTION_GROUPS; i++) print_group(command, i, out);
  fprintf(out, "\nexample:\n  %s\n", command->example);
}
