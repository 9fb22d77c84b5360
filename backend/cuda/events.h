/* Plans the streams and events of a program: after which ops an event is recorded, and for which events a stream waits
 * before each op. The plan is a pure function of the issue list. A lane is a stream, so ordering within a lane needs no
 * event.
 *
 * An event belongs to one op of a pass and never means "the latest op of its lane": a stream that waited for more than
 * the program says would order communication in ways that core/check has not proved free of deadlock. Every
 * communication op has an event even if no op waits for it, so that the watch thread can tell what a stuck job waits
 * for. */
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
