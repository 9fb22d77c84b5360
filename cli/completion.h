/* Completion scripts of shells, from the table of options. */
#pragma once

#include "cli/options.h"

/* The script of `shell`, "bash" or "zsh", for the `count` commands. Errors: SL_ERR_INPUT for another shell or none. */
enum sl_status sl_completion_print(const struct sl_command *const *commands, int count, const char *shell, FILE *out);
