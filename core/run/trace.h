/* Traces for ui.perfetto.dev and chrome://tracing: one process per rank, one thread per lane, one slice per op. A
 * predicted and a measured trace open side by side: their process ids and names differ. Written as a stream, and
 * there when it is complete (core/base/new_file.h); the same completions give the same bytes. */
#pragma once

#include "core/base/new_file.h"
#include "core/run/executor.h"

#include <stdio.h>

struct sl_trace {
  const struct sl_job *job;
  bool measured;
  int process, processes;   /* this process among those of a measured run; 0 writes the file */
  FILE *file;               /* that events go to: one of the two below */
  struct sl_new_file whole; /* of process 0 */
  FILE *part;               /* of the others; owned */
  char *part_name;          /* owned */
  uint32_t *seen;           /* per rank: lanes that have a name already */
};

/* Start writing `path`. Every process of a run opens the same path; all but process 0 write a part beside it.
 * Errors: SL_ERR_IO. */
enum sl_status sl_trace_open(struct sl_trace *trace, const char *path, const struct sl_job *job, bool measured,
                             int process, int processes);
/* Add one completion of `rank`. Write errors are reported by sl_trace_close. */
void sl_trace_add(struct sl_trace *trace, int rank, int64_t step, const struct sl_program *program,
                  const struct sl_completion *done);
/* Complete the file. With several processes all call it; process 0 appends the parts of the others after `run`'s
 * exchange has told that they are complete (it needs a file system that all share). */
enum sl_status sl_trace_close(struct sl_trace *trace, const struct sl_run *run);
/* Drop what was written. Fine on a closed or zeroed trace. */
void sl_trace_discard(struct sl_trace *trace);
/* Write to `path` the events of both traces, moved in time so that the last step of each begins at the same instant.
 * Errors: SL_ERR_INPUT where one is no trace, SL_ERR_IO. */
enum sl_status sl_trace_join(const char *path, const char *predicted, const char *measured);
