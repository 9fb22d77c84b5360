/* The shadow of an arena: a sorted sequence of disjoint ranges of bytes, each with what the checker knows of it. Internal to
 * core/check. Finding, inserting and removing a cell take time that grows with the logarithm of their number: the cells are
 * listed in blocks of a bounded length, so a change shifts the cells of one block and never all of them. */
#pragma once

#include "core/base/status.h"
#include "core/op/op.h"

struct sl_cell {
  int64_t lo, hi; /* bytes lo..hi - 1; hi is changed by sl_cells_end_at alone */
  int64_t slot;   /* the buffer slot that wrote it */
  int lane;
  uint32_t written; /* the write is complete once this many ops of `lane` are */
  uint32_t readers; /* bit l: lane l has read since */
  uint32_t read[SL_LANE_COUNT];
};

/* A place in the sequence: `at` of block `block`. Insertions and removals make all others invalid. */
struct sl_cells_place {
  size_t block;
  uint32_t at;
};

struct sl_cells {
  struct sl_cell *pool; /* a cell stays where it is until an insertion enlarges the pool */
  size_t made, pool_capacity;
  uint32_t *unused; /* numbers of removed cells */
  size_t unused_count, unused_capacity;
  struct sl_cells_block *blocks;
  size_t block_count, block_capacity;
};

/* The cell at a place; NULL behind the last. Borrowed until the next insertion. */
struct sl_cell *sl_cells_at(const struct sl_cells *s, struct sl_cells_place p);
/* The first cell that ends above `byte`, or the place behind the last. */
struct sl_cells_place sl_cells_find(const struct sl_cells *s, int64_t byte);
struct sl_cells_place sl_cells_next(const struct sl_cells *s, struct sl_cells_place p);
/* Inserts a copy of x before the cell at p, or at the end. Errors: SL_ERR_MEMORY. */
enum sl_status sl_cells_insert(struct sl_cells *s, struct sl_cells_place p, struct sl_cell x);
/* Removes the cell at p and returns the place of the one behind it. Errors: none; its number is kept for reuse. */
struct sl_cells_place sl_cells_remove(struct sl_cells *s, struct sl_cells_place p);
/* The cell at p now ends at `hi`, not above the start of the one behind it. */
void sl_cells_end_at(struct sl_cells *s, struct sl_cells_place p, int64_t hi);
/* Frees all. NULL-safe for a zeroed struct. */
void sl_cells_free(struct sl_cells *s);
