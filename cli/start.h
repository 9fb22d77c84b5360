/* The start of a job's ranks where its flags say (nodes.h), by the launcher that reaches them. */
#pragma once

#include "cli/ended.h"
#include "cli/nodes.h"

/* Start the ranks and wait for them, or with --dry-run print the commands to standard output, one a line. *ended says how
 * they ended. Errors: of the launchers. */
enum sl_status sl_start(const struct sl_nodes *nodes, const struct sl_options *options, struct sl_ended *ended);
