/* Traces for ui.perfetto.dev and chrome://tracing: one process per rank, one thread per lane, one slice per op; counters of live
 * memory and of what was sent over each kind of link; an arrow for each message between pipeline ranks. A predicted and a measured
 * trace open side by side: their process ids and names differ, and nothing else but the times. Written as a stream, and there when it
 * is complete (core/base/new_file.h); the same completions give the same bytes.
 *
 * Times are whole microseconds, beginnings and ends rounded down alike, so that slices of a lane follow each other without
 * overlap whatever a reader makes of fractions; the exact time of an op is its argument duration_ns. Sends and receives last one
 * microsecond at least, and a receive is rounded up: an arrow needs a slice to begin in, and one to end in that is not over
 * before. */
#pragma once

#include "core/base/new_file.h"
#include "core/run/executor.h"

#include <stdio.h>

struct sl_trace_rank; /* what is kept of a rank while its events are written: trace_rank.h */

struct sl_trace {
  const struct sl_job *job;
  bool measured;
  int process, processes;       /* this process among those of a measured run; 0 writes the file */
  FILE *file;                   /* that events go to: one of the two below */
  struct sl_new_file whole;     /* of process 0 */
  FILE *part;                   /* of the others; owned */
  char *part_name;              /* owned */
  struct sl_trace_rank **ranks; /* per rank of the world; NULL before its first op. Owned */
  enum sl_status status;        /* SL_ERR_MEMORY once an event was lost */
};

/* Start writing `path`. Every process of a run opens the same path; all but process 0 write a part beside it.
 * Errors: SL_ERR_IO. */
enum sl_status sl_trace_open(struct sl_trace *trace, const char *path, const struct sl_job *job, bool measured,
                             int process, int processes);
/* Add one completion of the local rank `local` of `run`. Errors are reported by sl_trace_close. */
void sl_trace_add(struct sl_trace *trace, const struct sl_run *run, int local, int64_t step,
                  const struct sl_program *program, const struct sl_completion *done);
/* Complete the file. With several processes all call it; process 0 appends the parts of the others after `run`'s
 * exchange has told that they are complete (it needs a file system that all share). */
enum sl_status sl_trace_close(struct sl_trace *trace, const struct sl_run *run);
/* Drop what was written. Fine on a closed or zeroed trace. */
void sl_trace_discard(struct sl_trace *trace);
/* Write to `path` the events of both traces, moved in time so that the last step of each begins at the same instant.
 * Errors: SL_ERR_INPUT where one is no trace, SL_ERR_IO. */
enum sl_status sl_trace_join(const char *path, const char *predicted, const char *measured);
