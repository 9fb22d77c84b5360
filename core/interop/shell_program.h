/* Which command of a script runs the training. Internal to core/interop. */
#pragma once

#include "core/interop/shell_values.h"

/* The best command so far, and all words for a script that has none. */
struct sl_shell_program {
  struct sl_shell_list best;  /* from its .py file on */
  int rank;                   /* how sure it is that it is the training; 0: there is none */
  struct sl_shell_word other; /* of an earlier one, as sure, whose arguments differ; its text is NULL: there is none */
  struct sl_shell_list all;
  bool has_arguments; /* the script is started with words of its own; without, its "$@" is empty */
};

/* Takes a command's words. Errors: SL_ERR_MEMORY. */
enum sl_status sl_shell_program_command(struct sl_shell_program *p, const struct sl_shell_list *command);
/* Takes a variable's words. Errors: SL_ERR_MEMORY. */
enum sl_status sl_shell_program_variable(struct sl_shell_program *p, const struct sl_shell_list *value);
void sl_shell_program_free(struct sl_shell_program *p);
