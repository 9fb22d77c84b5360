/* How the ranks of a job agree that all have succeeded, and how the job ends when one has failed. */
#include "backend/host/host.h"

#include "backend/host/watch.h"
#include "core/base/new_file.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum sl_status sl_host_die(const struct sl_host *host, enum sl_status status) {
  if (host->world <= 1) return status;
  fprintf(stderr, "shardlab: rank %d: %s\n", host->rank, sl_error_message());
  fflush(stderr);
  sl_new_file_drop_all(); /* MPI_Abort does not return */
  MPI_Abort(MPI_COMM_WORLD, sl_exit_code(status));
  return status;
}

enum sl_status sl_host_agree(struct sl_host *host, enum sl_status mine) {
  if (host->world <= 1) return mine;
  int failed = mine == SL_OK ? INT_MAX : host->rank, lowest = INT_MAX;
  MPI_Request request;
  MPI_Iallreduce(&failed, &lowest, 1, MPI_INT, MPI_MIN, host->everyone, &request);
  const enum sl_status met = sl_host_meet(host, &request, "the agreement of all ranks");
  if (met != SL_OK) return sl_host_die(host, met);
  if (lowest == INT_MAX) return SL_OK;
  sl_tensors_save_abort(&host->tensors);
  sl_host_watch_begin(host->timeout_s, host->rank, "the end of a job that failed"); /* also limits the wait below */
  MPI_Barrier(host->everyone); /* no rank is killed before its incomplete files are removed */
  if (lowest == host->rank) return sl_host_die(host, mine);
  for (;;) pause();
}
