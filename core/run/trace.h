/* Traces for ui.perfetto.dev and chrome://tracing: one process per rank, one thread per lane, one slice per op;
 * counters of live memory and of bytes sent over each kind of link; an arrow for each message between pipeline ranks. A
 * predicted and a measured trace can be opened side by side: besides the times only their process ids and names differ.
 * The file is written as a stream and appears under its name when it is complete (core/base/new_file.h); the same
 * completions give the same bytes.
 *
 * Times are whole microseconds, begin and end both rounded down, so that slices of a lane never overlap, whatever a
 * viewer makes of fractions; the exact duration of an op is its argument duration_ns. Sends and receives last at least
 * one microsecond, and the end of a receive is rounded up: an arrow must begin within a slice, and end in one that is
 * not over before. */
#pragma once

#include "core/base/new_file.h"
#include "core/run/executor.h"

#include <stdio.h>

struct sl_trace_rank; /* what is kept of a rank while its events are written: trace_rank.h */

struct sl_trace {
  const struct sl_job *job;
  bool measured;
  /* this process, and the number of processes of a measured run; process 0 writes the file */
  int process, processes;
  FILE *file;                   /* that events are written to: one of the two below */
  struct sl_new_file whole;     /* of process 0 */
  FILE *part;                   /* of the others; owned */
  char *part_name;              /* owned */
  struct sl_trace_rank **ranks; /* per rank of the world; NULL before its first op. Owned */
  enum sl_status status;        /* SL_ERR_MEMORY if an event could not be written */
};

/* Starts writing `path`. Every process of a run opens the same path; all but process 0 write a part next to it. Errors:
 * SL_ERR_IO. */
enum sl_status sl_trace_open(struct sl_trace *trace, const char *path, const struct sl_job *job, bool measured,
                             int process, int processes);
/* Adds one completion of local rank `local` of `run`. Errors are reported by sl_trace_close. */
void sl_trace_add(struct sl_trace *trace, const struct sl_run *run, int local, int64_t step,
                  const struct sl_program *program, const struct sl_completion *done);
/* Completes the file. With several processes all of them call it; process 0 appends the parts of the others after
 * `run`'s exchange has confirmed that they are complete (this needs a shared file system). */
enum sl_status sl_trace_close(struct sl_trace *trace, const struct sl_run *run);
/* Discards what was written. A closed or zeroed trace is accepted. */
void sl_trace_discard(struct sl_trace *trace);
/* Writes the events of both traces to `path`, shifted in time so that the last step of each begins at the same instant.
 * Errors: SL_ERR_INPUT if one is no trace, SL_ERR_IO. */
enum sl_status sl_trace_join(const char *path, const char *predicted, const char *measured);
