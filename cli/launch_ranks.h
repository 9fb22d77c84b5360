/* Starting a job of several processes without MPI: `--backend cuda --world 4` runs this program again, four times, each
 * with torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR ...), on this machine. */
#pragma once

#include "cli/ended.h"

#include <stdbool.h>

/* Has somebody started this process as one rank: torchrun or sl_launch_ranks, or a launcher that sl_launch_inside
 * knows? */
bool sl_launch_ranks_inside(void);

/* The ranks of a job that this process starts. */
struct sl_ranks {
  char **argv;             /* of this program, NULL behind */
  int world;               /* of the job */
  int first, here;         /* the first of those that are started here, and how many */
  const char *devices;     /* "0,2": what CUDA shows them; NULL: as the environment says */
  const char *master_addr; /* where rank 0 is; NULL: here */
  int master_port;         /* 0: one that is free */
};

/* Start the ranks and wait for their end; *ended says how. A rank that a signal killed is named on stderr, unless
 * the job is watched; when one fails, the others have 5 s to end by themselves. SIGINT and SIGTERM go to all of them, and they end when the
 * leash (leash.h) is let go. Errors: SL_ERR_IO. */
enum sl_status sl_launch_ranks(const struct sl_ranks *ranks, struct sl_ended *ended);
