/* Starting a job of several processes without MPI: `--backend cuda --world 4` runs this program again, four times, each
 * with torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR ...), on this machine. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>

/* Has somebody started this process as one rank: torchrun or sl_launch_ranks, or a launcher that sl_launch_inside
 * knows? */
bool sl_launch_ranks_inside(void);

/* Run `world` copies and wait for their end; *exit_code is what the caller should exit with. A rank that a signal killed
 * is named on stderr; when one fails, the others have 5 s to end by themselves. SIGINT and SIGTERM go to all of them.
 * Errors: SL_ERR_IO. */
enum sl_status sl_launch_ranks(int argc, char **argv, int world, int *exit_code);
