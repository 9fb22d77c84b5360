/* Holds back what Open MPI prints while it starts in a process that its own mpirun did not start. If that fails, Open
 * MPI prints some 26 lines and ends the process itself, without a handler that could be set before. Ranks of an mpirun
 * need none of this: cli/launch.c reads what they print. */
#pragma once

/* From here to the end of the hold, standard error is a pipe to a child process. If this process ends in between, the
 * child prints what Open MPI complains about in one line of error. Holds nothing back if the system refuses a pipe or a
 * process. */
void sl_host_hold_begin(void);
/* Standard error is what it was before, and what was held back is dropped. */
void sl_host_hold_end(void);
