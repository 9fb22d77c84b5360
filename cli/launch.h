/* Starting a job of several processes: `--world 4` runs this program again, four times, under mpirun on this machine.
 */
#pragma once

#include "cli/ended.h"
#include "cli/mpirun.h"

#include <stdbool.h>

/* In the environment of ranks: their launcher is our own. */
#define SL_LAUNCH_MARK "SHARDLAB_LAUNCHED"

/* Has somebody started this process as one of a job (mpirun, srun, or sl_launch_mpi)? */
bool sl_launch_inside(void);
/* Whether that launcher is our own: its parent has looked at the inputs and said what is to be said of them. */
bool sl_launch_ours(void);
/* Leave that mark in the environment, for processes that are started from here. */
void sl_launch_mark(void);

/* Run this program as the ranks of `job` under mpirun and wait for their end.
 *   SL_DONE        nothing was launched: this process is one of a job already, or world is 1 on this machine and nobody watches
 *                  the job; go on and run
 *   SL_OK          the job ran; *ended says how. Of a job that is not watched, a rank that died of a signal and a host that vanished
 *                  have been named in one line on stderr
 *   SL_ERR_ABSENT  there is no mpirun on PATH
 *   SL_ERR_IO      the system refused to start it
 * SIGINT and SIGTERM that arrive meanwhile go to the job, which ends with the launcher whatever happens to it. */
enum sl_status sl_launch_mpi(const struct sl_mpi_job *job, struct sl_ended *ended);
