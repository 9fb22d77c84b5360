/* Shell completion scripts, generated from the table of options. */
#pragma once

#include "cli/options.h"

/* Prints the script of `shell`, "bash" or "zsh", for the `count` commands. Errors: SL_ERR_INPUT for NULL and for other
 * shells. */
enum sl_status sl_completion_print(const struct sl_command *const *commands, int count, const char *shell, FILE *out);
