/* Starts a job of several processes without MPI: `--backend cuda --world 4` runs this program again, four times, on
 * this machine, with torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR ...). */
#pragma once

#include "cli/ended.h"

#include <stdbool.h>

/* Whether this process was started as a rank, by torchrun, sl_launch_ranks, or a launcher that sl_launch_inside
 * knows. */
bool sl_launch_ranks_inside(void);

/* The ranks of a job that this process starts. */
struct sl_ranks {
  char **argv;             /* arguments of this program, ended by NULL */
  int world;               /* of the job */
  int first, here;         /* the first rank started here, and how many */
  const char *devices;     /* "0,2": the devices visible to CUDA; NULL: as in the environment */
  const char *master_addr; /* the host of rank 0; NULL: this one */
  int master_port;         /* 0: any free port */
};

/* Starts the ranks and waits for their end; *ended says how they ended. Unless the job is watched, a rank that a signal
 * killed is named on stderr. When one fails, the others have 5 s to end by themselves. SIGINT and SIGTERM are forwarded
 * to all of them, and they end when the leash (leash.h) is released. Errors: SL_ERR_IO. */
enum sl_status sl_launch_ranks(const struct sl_ranks *ranks, struct sl_ended *ended);
