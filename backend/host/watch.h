/* A time limit on MPI calls that would otherwise wait forever for a rank that has stopped. */
#pragma once

/* Starts the time limit, which sl_host_watch_end ends. After `seconds`, this rank reports that `what` did not end, and
 * its process exits with status 1, upon which mpirun ends the job. `rank` is its number, or negative while it is
 * unknown; the launcher's environment is then read. Ranks that time out together report one after the other, so that
 * one message gets through. Calls do not nest. */
void sl_host_watch_begin(double seconds, int rank, const char *what);
void sl_host_watch_end(void);
