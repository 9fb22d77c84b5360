/* `shardlab COMMAND --help`. */
#pragma once

#include "cli/options.h"

/* Prints usage, flags under their headings (groups.h), and an example of `command`. */
void sl_help_command(const struct sl_command *command, FILE *out);
