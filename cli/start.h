/* The start of a job's ranks where its flags say (nodes.h), by the launcher that reaches them. */
#pragma once

#include "cli/nodes.h"

/* Start the ranks and wait for them, or with --dry-run print the commands to standard output, one a line. *exit_code is what the
 * caller should exit with. Errors: of the launchers. */
enum sl_status sl_start(const struct sl_nodes *nodes, const struct sl_options *options, int *exit_code);
