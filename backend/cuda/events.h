/* Streams and events of a program: which ops an event is recorded behind, and which events each op's stream waits for
 * before it. A pure function of the issue list; a lane is a stream, so FIFO within a lane needs no event.
 *
 * An event stands for one op of a pass, never for "the newest of its lane": a stream that waited for more than the
 * program says would order communication in ways that `check` has not proved free of cycles. Every communication op
 * has an event even where nobody waits for it: by those the watch thread sees what a stuck job waits for. */
#pragma once

#include "core/program/program.h"

enum { SL_CUDA_NO_EVENT = -1 };

struct sl_cuda_events {
  int32_t *event_of;    /* per issue: the event recorded behind it, or SL_CUDA_NO_EVENT; owned */
  uint32_t *wait_first; /* per issue, and one more: its waits are waits[wait_first[i] .. wait_first[i + 1]); owned */
  int32_t *waits;       /* events; owned */
  size_t wait_count;
  int event_count;
  bool uses[SL_LANE_COUNT]; /* lanes that have ops: they get a stream */
};

/* Errors: SL_ERR_MEMORY; SL_ERR_INTERNAL for a wait on an op that comes later in program order. */
enum sl_status sl_cuda_events_plan(struct sl_cuda_events *out, const struct sl_program *program);
void sl_cuda_events_free(struct sl_cuda_events *events); /* accepts a zeroed one */
