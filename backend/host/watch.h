/* Calls of MPI that may wait for ever for a rank that has stopped: a time limit on each. */
#pragma once

/* From here to sl_host_watch_end: after `seconds` rank `rank` (below 0: not known yet, its launcher is asked) says that `what` did
 * not end, and its process exits with status 1, upon which mpirun ends the job. Ranks that wait together speak one after the
 * other, so that one is heard. Not nested. */
void sl_host_watch_begin(double seconds, int rank, const char *what);
void sl_host_watch_end(void);
