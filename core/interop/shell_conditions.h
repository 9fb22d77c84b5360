/* Which commands of a shell script run only under a condition: those behind && and ||, between if and fi, and between
 * case and esac. Internal to core/interop. */
#pragma once

#include <stdbool.h>

struct sl_shell_conditions {
  bool begins;         /* the next word begins a command */
  bool behind;         /* && or || stands before this command */
  int open;            /* if and case that are not closed */
  unsigned long group; /* of the open { }, the innermost last: a bit each, 1 if the group is behind an operator */
};

/* A word outside of quotation marks. */
void sl_shell_conditions_word(struct sl_shell_conditions *c, const char *word);
/* What separates words at `at`, outside of quotation marks: how many bytes of it belong together. */
int sl_shell_conditions_pass(struct sl_shell_conditions *c, const char *at);
bool sl_shell_conditions_hold(const struct sl_shell_conditions *c);
