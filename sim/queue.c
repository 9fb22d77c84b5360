/* The event queue: an indexed 4-ary heap; see queue.h. */
#include "sim/queue.h"

#include <stdbool.h>
#include <stdlib.h>

enum sl_status sl_queue_alloc(struct sl_queue *queue, uint32_t sources) {
  *queue = (struct sl_queue){0};
  SL_TRY(sl_calloc(&queue->heap, sources, sizeof *queue->heap));
  return sl_calloc(&queue->place, sources, sizeof *queue->place);
}

void sl_queue_free(struct sl_queue *queue) {
  free(queue->heap);
  free(queue->place);
  *queue = (struct sl_queue){0};
}

static inline bool before(const struct sl_event *a, const struct sl_event *b) {
  if (a->time != b->time) return a->time < b->time;
  return a->seq < b->seq;
}

static inline void put(struct sl_queue *queue, uint32_t i, struct sl_event event) {
  queue->heap[i] = event;
  queue->place[event.source] = i + 1;
}

static void sift_up(struct sl_queue *queue, uint32_t i, struct sl_event event) {
  while (i > 0) {
    uint32_t parent = (i - 1) / 4;
    if (!before(&event, &queue->heap[parent])) break;
    put(queue, i, queue->heap[parent]);
    i = parent;
  }
  put(queue, i, event);
}

static void sift_down(struct sl_queue *queue, uint32_t i, struct sl_event event) {
  for (;;) {
    uint32_t first = 4 * i + 1, best = first;
    if (first >= queue->count) break;
    uint32_t end = first + 4 < queue->count ? first + 4 : queue->count;
    for (uint32_t k = first + 1; k < end; k++) {
      if (before(&queue->heap[k], &queue->heap[best])) best = k;
    }
    if (!before(&queue->heap[best], &event)) break;
    put(queue, i, queue->heap[best]);
    i = best;
  }
  put(queue, i, event);
}

void sl_queue_set(struct sl_queue *queue, uint32_t source, double time) {
  struct sl_event event = {.time = time, .seq = queue->next_seq++, .source = source};
  uint32_t place = queue->place[source];
  if (place == 0) {
    sift_up(queue, queue->count++, event);
  } else if (before(&event, &queue->heap[place - 1])) {
    sift_up(queue, place - 1, event);
  } else {
    sift_down(queue, place - 1, event);
  }
}

struct sl_event sl_queue_pop(struct sl_queue *queue) {
  struct sl_event first = queue->heap[0];
  queue->place[first.source] = 0;
  struct sl_event last = queue->heap[--queue->count];
  if (queue->count > 0) sift_down(queue, 0, last);
  return first;
}
