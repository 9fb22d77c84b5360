/* The event queue: at most one event per source, earliest first.
 *
 * A source is a lane or a group, so the queue's size is fixed at open, no event is ever stale, and re-timing an event
 * moves it. Events at equal times leave in the order in which they were set, so the same input gives the same trace.
 * Sources stand in rows of neighbours, which are those of one rank or two; a row knows its earliest event, and a
 * knock-out tournament of the rows knows the earliest of all. */
#pragma once

#include "core/base/status.h"

#include <stdint.h>

enum { SL_QUEUE_ROW = 16 }; /* sources of a row */

struct sl_event {
  double time;  /* seconds */
  uint64_t seq; /* order of setting, breaks ties */
  uint32_t source;
};

struct sl_queue_row {
  struct sl_event first; /* at an infinite time: none */
  uint32_t set;          /* bit i: source i of the row has an event */
};

struct sl_queue {
  double *times;             /* of each source's event */
  uint64_t *seqs;            /* of each source's event */
  struct sl_queue_row *rows; /* (leaves) */
  uint32_t *winners; /* of the tournament: that of games 2 i and 2 i + 1 is game i; a row is game leaves + row */
  uint32_t leaves;   /* a power of two */
  uint32_t late;     /* the row whose first event has left, and whose games are not played anew; leaves: none */
  uint32_t count;
  uint64_t next_seq;
};

enum sl_status sl_queue_alloc(struct sl_queue *queue, uint32_t sources);
void sl_queue_free(struct sl_queue *queue);
/* Set the event of `source` to `time`, or move it there. */
void sl_queue_set(struct sl_queue *queue, uint32_t source, double time);
/* Take back the event of `source`, which must have one. */
void sl_queue_clear(struct sl_queue *queue, uint32_t source);
/* Take the earliest event. The queue must hold one. */
struct sl_event sl_queue_pop(struct sl_queue *queue);
