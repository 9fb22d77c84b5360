/* The event queue: at most one event per source, earliest first.
 *
 * A source is a lane or a group, so the queue's size is fixed at open, no event is ever stale, and re-timing an event
 * moves it. Events at equal times leave in the order in which they were set, so the same input gives the same trace. A
 * 4-ary heap. */
#pragma once

#include "core/base/status.h"

#include <stdint.h>

struct sl_event {
  double time;  /* seconds */
  uint64_t seq; /* order of setting, breaks ties */
  uint32_t source;
};

struct sl_queue {
  struct sl_event *heap;
  uint32_t *place; /* of each source in the heap, plus 1; 0: none */
  uint32_t count;
  uint64_t next_seq;
};

enum sl_status sl_queue_alloc(struct sl_queue *queue, uint32_t sources);
void sl_queue_free(struct sl_queue *queue);
/* Set the event of `source` to `time`, or move it there. */
void sl_queue_set(struct sl_queue *queue, uint32_t source, double time);
/* Take the earliest event. The queue must hold one. */
struct sl_event sl_queue_pop(struct sl_queue *queue);
