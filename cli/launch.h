/* Starting a job of several processes: `--world 4` runs this program again, four times, under mpirun on this machine.
 */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>

/* Has somebody started this process as one of a job (mpirun, srun, or sl_launch_mpi)? */
bool sl_launch_inside(void);
/* Whether that launcher is our own: its parent has looked at the inputs and said what is to be said of them. */
bool sl_launch_ours(void);
/* Leave that mark in the environment, for processes that are started from here. */
void sl_launch_mark(void);

/* Run this program with the same arguments as `world` processes and wait for their end.
 *   SL_DONE        nothing was launched: this process is one of a job already, or world is 1; go on and run
 *   SL_OK          the job ran; *exit_code is what the caller should exit with. When a rank died of a signal that has
 * been said in one line on stderr SL_ERR_ABSENT  there is no mpirun on PATH SL_ERR_IO      the system refused to start
 * it SIGINT and SIGTERM that arrive meanwhile go to the job, which ends with the launcher whatever happens to it. */
enum sl_status sl_launch_mpi(int argc, char **argv, int world, int *exit_code);
