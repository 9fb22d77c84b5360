/* Starts a job of several processes by mpirun: `--world 4` runs this program again, four times, on this machine. */
#pragma once

#include "cli/ended.h"
#include "cli/mpirun.h"

#include <stdbool.h>

/* Set in the environment of ranks that our own launcher started. */
#define SL_LAUNCH_MARK "SHARDLAB_LAUNCHED"

/* Whether this process was started as one of a job (by mpirun, srun, or sl_launch_mpi). */
bool sl_launch_inside(void);
/* Whether our own launcher started it: the parent has then checked the inputs and printed all warnings about them. */
bool sl_launch_ours(void);
/* Sets that mark in the environment, for processes that this one starts. */
void sl_launch_mark(void);

/* Runs this program as the ranks of `job` under mpirun and waits for their end.
 *   SL_DONE        nothing was launched, because this process is one of a job already, or because world is 1 on this
 *                  machine and the job is not watched; the caller runs the job itself
 *   SL_OK          the job ran; *ended says how it ended. If the job is not watched, a rank that a signal killed and a
 *                  host that was lost have been named in one line on stderr
 *   SL_ERR_ABSENT  there is no mpirun on PATH
 *   SL_ERR_IO      the system could not start it
 * SIGINT and SIGTERM that arrive meanwhile are forwarded to the job, which ends with the launcher, however that
 * ends. */
enum sl_status sl_launch_mpi(const struct sl_mpi_job *job, struct sl_ended *ended);

/* The command that would start it, with the variables that sl_launch_mpi sets for it. Sets them here, too. */
enum sl_status sl_launch_mpi_words(const struct sl_mpi_job *job, struct sl_words *words);
