/* Starts a job's ranks where its flags say (nodes.h), by the launcher that reaches these hosts. */
#pragma once

#include "cli/ended.h"
#include "cli/nodes.h"

/* Starts the ranks and waits for them; with --dry-run, prints the commands to standard output instead, one per line.
 * *ended says how they ended. Errors: those of the launchers. */
enum sl_status sl_start(const struct sl_nodes *nodes, const struct sl_options *options, struct sl_ended *ended);
