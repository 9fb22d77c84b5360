/* The shadow of an arena: a sorted sequence of disjoint ranges of bytes, each with what the checker knows of it.
 * Internal to core/check. The cells are listed in blocks of a bounded length, so an insertion or a removal shifts the
 * cells of one block and never all of them; a search looks for the block first. */
#pragma once

#include "core/base/status.h"
#include "core/op/op.h"

struct sl_cell {
  int64_t lo, hi; /* bytes lo..hi - 1; callers do not change them */
  int64_t slot;   /* the buffer slot that wrote it */
  int lane;
  uint32_t written; /* the write is complete once this many ops of `lane` are */
  uint32_t readers; /* bit l: lane l has read since */
  uint32_t read[SL_LANE_COUNT];
};

/* Zero it to start. */
struct sl_cells {
  struct sl_cells_block *blocks;
  size_t block_count, block_capacity;
};

/* Cell `at` of block `block`, or the place behind the last cell. Insertions and removals make other places invalid. */
struct sl_cells_place {
  size_t block, at;
};

/* The cell at a place; NULL behind the last. Borrowed until the next insertion or removal. */
struct sl_cell *sl_cells_at(const struct sl_cells *s, struct sl_cells_place p);
/* The first cell that ends above `byte`, or the place behind the last. */
struct sl_cells_place sl_cells_find(const struct sl_cells *s, int64_t byte);
struct sl_cells_place sl_cells_next(const struct sl_cells *s, struct sl_cells_place p);
/* Inserts a copy of x before the cell at p, or at the end. Errors: SL_ERR_MEMORY. */
enum sl_status sl_cells_insert(struct sl_cells *s, struct sl_cells_place p, struct sl_cell x);
/* Removes the cell at p and returns the place of the one behind it. */
struct sl_cells_place sl_cells_remove(struct sl_cells *s, struct sl_cells_place p);
/* Makes `byte` a boundary: a cell that contains it and starts below becomes two that know the same. Errors:
 * SL_ERR_MEMORY. */
enum sl_status sl_cells_split(struct sl_cells *s, int64_t byte);
void sl_cells_free(struct sl_cells *s);
