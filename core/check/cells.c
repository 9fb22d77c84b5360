/* Sorted ranges of bytes in blocks; see cells.h. */
#include "core/check/cells.h"

#include "core/base/runs.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };

/* From the start of the first cell to the end of the last; never without cells but while one is inserted. */
struct sl_cells_block {
  int64_t lo, hi;
  size_t count;
  struct sl_cell *cells; /* (BLOCK) */
};

static void set_range(struct sl_cells_block *b) {
  b->lo = b->cells[0].lo, b->hi = b->cells[b->count - 1].hi;
}

struct sl_cell *sl_cells_at(const struct sl_cells *s, struct sl_cells_place p) {
  return p.block < s->block_count ? &s->blocks[p.block].cells[p.at] : NULL;
}

struct sl_cells_place sl_cells_find(const struct sl_cells *s, int64_t byte) {
  const size_t block = sl_runs_find(s->blocks, s->block_count, sizeof *s->blocks, byte);
  if (block == s->block_count) return (struct sl_cells_place){block, 0};
  const struct sl_cells_block *b = &s->blocks[block];
  return (struct sl_cells_place){block, sl_runs_find(b->cells, b->count, sizeof *b->cells, byte)};
}

struct sl_cells_place sl_cells_next(const struct sl_cells *s, struct sl_cells_place p) {
  if (p.at + 1 < s->blocks[p.block].count) return (struct sl_cells_place){p.block, p.at + 1};
  return (struct sl_cells_place){p.block + 1, 0};
}

/* Adds an empty block before block `at`. */
static enum sl_status add_block(struct sl_cells *s, size_t at) {
  struct sl_cell *cells;
  SL_TRY(sl_grow(&s->blocks, &s->block_capacity, s->block_count + 1, sizeof *s->blocks));
  SL_TRY(sl_calloc(&cells, BLOCK, sizeof *cells));
  memmove(&s->blocks[at + 1], &s->blocks[at], (s->block_count++ - at) * sizeof *s->blocks);
  s->blocks[at] = (struct sl_cells_block){.cells = cells};
  return SL_OK;
}

/* Moves the second half of a full block to a new one behind it. */
static enum sl_status halve(struct sl_cells *s, size_t block) {
  SL_TRY(add_block(s, block + 1));
  struct sl_cells_block *from = &s->blocks[block], *to = &s->blocks[block + 1];
  from->count = to->count = BLOCK / 2;
  memcpy(to->cells, &from->cells[from->count], to->count * sizeof *to->cells);
  set_range(from);
  set_range(to);
  return SL_OK;
}

enum sl_status sl_cells_insert(struct sl_cells *s, struct sl_cells_place p, struct sl_cell x) {
  if (s->block_count == 0) SL_TRY(add_block(s, 0));
  if (p.block == s->block_count) p = (struct sl_cells_place){p.block - 1, s->blocks[p.block - 1].count};
  if (s->blocks[p.block].count == BLOCK) {
    SL_TRY(halve(s, p.block));
    if (p.at > BLOCK / 2) p = (struct sl_cells_place){p.block + 1, p.at - BLOCK / 2};
  }
  struct sl_cells_block *b = &s->blocks[p.block];
  memmove(&b->cells[p.at + 1], &b->cells[p.at], (b->count++ - p.at) * sizeof *b->cells);
  b->cells[p.at] = x;
  set_range(b);
  return SL_OK;
}

struct sl_cells_place sl_cells_remove(struct sl_cells *s, struct sl_cells_place p) {
  struct sl_cells_block *b = &s->blocks[p.block];
  memmove(&b->cells[p.at], &b->cells[p.at + 1], (--b->count - p.at) * sizeof *b->cells);
  if (b->count == 0) {
    free(b->cells);
    memmove(b, b + 1, (--s->block_count - p.block) * sizeof *b);
    return p;
  }
  set_range(b);
  return p.at < b->count ? p : (struct sl_cells_place){p.block + 1, 0};
}

enum sl_status sl_cells_split(struct sl_cells *s, int64_t byte) {
  const struct sl_cells_place p = sl_cells_find(s, byte);
  struct sl_cell *x = sl_cells_at(s, p);
  if (x == NULL || x->lo >= byte) return SL_OK;
  struct sl_cell left = *x;
  left.hi = x->lo = byte;
  return sl_cells_insert(s, p, left);
}

void sl_cells_free(struct sl_cells *s) {
  for (size_t i = 0; i < s->block_count; i++) free(s->blocks[i].cells);
  free(s->blocks);
  *s = (struct sl_cells){0};
}
