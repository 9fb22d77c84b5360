/* Manual pages in roff for man(1), generated from the table of options. */
#pragma once

#include "cli/options.h"

/* Prints shardlab-COMMAND(1), or, if `command` is NULL, shardlab(1), which lists the `count` commands. */
void sl_manual_print(const struct sl_command *const *commands, int count, const struct sl_command *command, FILE *out);
