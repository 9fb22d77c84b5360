/* The event queue: rows of sources, and a tournament of the rows; see queue.h. */
#include "sim/queue.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const struct sl_event none = {.time = INFINITY, .seq = UINT64_MAX};

enum sl_status sl_queue_alloc(struct sl_queue *queue, uint32_t sources) {
  const uint32_t rows = (sources + SL_QUEUE_ROW - 1) / SL_QUEUE_ROW;
  *queue = (struct sl_queue){.leaves = 2};
  while (queue->leaves < rows) queue->leaves *= 2;
  queue->late = queue->leaves;
  SL_TRY(sl_calloc(&queue->times, (size_t)rows * SL_QUEUE_ROW, sizeof *queue->times));
  SL_TRY(sl_calloc(&queue->seqs, (size_t)rows * SL_QUEUE_ROW, sizeof *queue->seqs));
  SL_TRY(sl_calloc(&queue->rows, queue->leaves, sizeof *queue->rows));
  SL_TRY(sl_calloc(&queue->winners, 2 * (size_t)queue->leaves, sizeof *queue->winners));
  for (uint32_t row = 0; row < queue->leaves; row++) queue->rows[row].first = none;
  for (uint32_t row = 0; row < queue->leaves; row++) queue->winners[queue->leaves + row] = row;
  for (uint32_t game = queue->leaves; game-- > 1;) queue->winners[game] = queue->winners[2 * game];
  return SL_OK;
}

void sl_queue_free(struct sl_queue *queue) {
  free(queue->times);
  free(queue->seqs);
  free(queue->rows);
  free(queue->winners);
  *queue = (struct sl_queue){0};
}

static inline bool before(const struct sl_event *a, const struct sl_event *b) {
  if (a->time != b->time) return a->time < b->time;
  return a->seq < b->seq;
}

/* Plays the games of a row anew, whose first event is another one. */
static void play(struct sl_queue *queue, uint32_t row) {
  for (uint32_t game = (queue->leaves + row) / 2; game > 0; game /= 2) {
    const uint32_t a = queue->winners[2 * game], b = queue->winners[2 * game + 1];
    queue->winners[game] = before(&queue->rows[b].first, &queue->rows[a].first) ? b : a;
  }
}

/* Looks for the first event of a row. */
static void find_first(struct sl_queue *queue, uint32_t row) {
  struct sl_event first = none;
  for (uint32_t set = queue->rows[row].set; set != 0; set &= set - 1) {
    const uint32_t source = row * SL_QUEUE_ROW + (uint32_t)__builtin_ctz(set);
    const struct sl_event event = {queue->times[source], queue->seqs[source], source};
    if (before(&event, &first)) first = event;
  }
  queue->rows[row].first = first;
}

/* The games of a late row are played when another is to be late, or when the winner of all is asked for: the row has
 * often been given its next event by then. */
static void catch_up(struct sl_queue *queue) {
  if (queue->late == queue->leaves) return;
  play(queue, queue->late);
  queue->late = queue->leaves;
}

void sl_queue_set(struct sl_queue *queue, uint32_t source, double time) {
  const uint32_t row = source / SL_QUEUE_ROW, bit = UINT32_C(1) << source % SL_QUEUE_ROW;
  struct sl_queue_row *r = &queue->rows[row];
  const struct sl_event event = {.time = time, .seq = queue->next_seq++, .source = source};
  queue->times[source] = time;
  queue->seqs[source] = event.seq;
  queue->count += (r->set & bit) == 0;
  const bool was_first = r->first.source == source && (r->set & bit) != 0;
  r->set |= bit;
  if (before(&event, &r->first)) {
    r->first = event;
  } else if (was_first) {
    find_first(queue, row);
  } else {
    return;
  }
  if (row != queue->late) play(queue, row);
}

void sl_queue_clear(struct sl_queue *queue, uint32_t source) {
  const uint32_t row = source / SL_QUEUE_ROW;
  queue->rows[row].set &= ~(UINT32_C(1) << source % SL_QUEUE_ROW);
  queue->count--;
  if (queue->rows[row].first.source != source) return;
  find_first(queue, row);
  if (row != queue->late) play(queue, row);
}

struct sl_event sl_queue_pop(struct sl_queue *queue) {
  catch_up(queue);
  const uint32_t row = queue->winners[1];
  const struct sl_event first = queue->rows[row].first;
  queue->rows[row].set &= ~(UINT32_C(1) << first.source % SL_QUEUE_ROW);
  queue->count--;
  find_first(queue, row);
  queue->late = row;
  return first;
}
