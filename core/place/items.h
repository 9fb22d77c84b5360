/* What arena.c has placed, by size and offset. Internal to core/place. */
#pragma once

#include "core/place/busy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_NOTED_LIVES = 3 }; /* of an item: the first two and the last */

/* A buffer slot to be placed. */
struct sl_item {
  uint32_t slot;
  int64_t bytes;            /* aligned */
  size_t first_life, lives; /* in planner.order, by program and first use */
  uint32_t over;            /* the issue of its last use in a step, counted over all programs */
  int64_t offset;
  bool fixed; /* the offset is given */
  /* live at the peak; live near it, though not there; live all the time around it (arena.c) */
  bool at_peak, near_peak, stays;
  struct sl_busy_life noted[SL_NOTED_LIVES];
  /* for the first item placed at its offset among those of its size, if it is not the only one: all their spans in
   * order of time, which never overlap */
  uint32_t *shared;
  size_t shared_count, shared_capacity;
};

/* Placed items of [2^n, 2^(n + 1)) bytes, in order of offset: `count` of them, the first `low` before a gap and the
 * others at the end of the array. An item is often placed near the previous one, so the gap seldom moves far. */
struct sl_items {
  struct sl_item **all;
  size_t count, low, capacity;
  int64_t top; /* none reaches above it */
};

/* All that are placed, by n. Of items of one size class those that reach above an offset are found by their own
 * offsets, however large others are. */
enum { SL_SIZE_CLASSES = 64 };

static inline int sl_size_class(int64_t bytes) {
  return bytes > 0 ? 63 - __builtin_clzll((unsigned long long)bytes) : 0;
}

static inline struct sl_item *sl_items_at(const struct sl_items *placed, size_t i) {
  return placed->all[i < placed->low ? i : i + placed->capacity - placed->count];
}

/* The first behind the low-th, which is below `offset`, that is there or above: seldom far from there. */
size_t sl_items_behind(const struct sl_items *placed, size_t low, int64_t offset);
/* The first from the low-th on that is at `offset` or above. */
static inline size_t sl_items_from(const struct sl_items *placed, size_t low, int64_t offset) {
  return low < placed->count && sl_items_at(placed, low)->offset < offset ? sl_items_behind(placed, low, offset) : low;
}
/* Inserts `item` before the at-th; there is room for all. */
void sl_items_insert(struct sl_items *placed, size_t at, struct sl_item *item);

/* Gives every size class, which is zeroed, as much of `room` as it has of `items`. */
void sl_items_deal(struct sl_items placed[SL_SIZE_CLASSES], const struct sl_item *items, size_t count,
                   struct sl_item **room);

/* Orders of placement, for qsort() of pointers to items: what is fixed comes first. Largest first; by number of the
 * slot; those that are over last first: what consists of pieces has room for those that are over before its pieces
 * begin, most at its end, and least for the ones that last. */
int sl_items_by_size(const void *a, const void *b);
int sl_items_by_slot(const void *a, const void *b);
int sl_items_by_end(const void *a, const void *b);
