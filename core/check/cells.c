/* Sorted ranges of bytes in blocks; see cells.h. */
#include "core/check/cells.h"

#include <stdlib.h>
#include <string.h>


enum { BLOCK = 128 };

/* A search looks at ends alone, so they stand together, apart from the cells. */
struct list {
  int64_t hi[BLOCK];
  uint32_t cell[BLOCK];
};

struct sl_cells_block {
  int64_t hi; /* of its last cell */
  uint32_t count;
  struct list *list;
};

struct sl_cell *sl_cells_at(const struct sl_cells *s, struct sl_cells_place p) {
  return p.block < s->block_count ? &s->pool[s->blocks[p.block].list->cell[p.at]] : NULL;
}

struct sl_cells_place sl_cells_find(const struct sl_cells *s, int64_t byte) {
  size_t low = 0, high = s->block_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (s->blocks[middle].hi <= byte) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == s->block_count) return (struct sl_cells_place){low, 0};
  const int64_t *hi = s->blocks[low].list->hi;
  uint32_t first = 0, end = s->blocks[low].count;
  while (first < end) {
    const uint32_t middle = (first + end) / 2;
    if (hi[middle] <= byte) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return (struct sl_cells_place){low, first};
}

struct sl_cells_place sl_cells_next(const struct sl_cells *s, struct sl_cells_place p) {
  if (p.at + 1 < s->blocks[p.block].count) return (struct sl_cells_place){p.block, p.at + 1};
  return (struct sl_cells_place){p.block + 1, 0};
}

/* An empty block at `at`. */
static enum sl_status add_block(struct sl_cells *s, size_t at) {
  struct list *list;
  SL_TRY(sl_grow(&s->blocks, &s->block_capacity, s->block_count + 1, sizeof *s->blocks));
  SL_TRY(sl_calloc(&list, 1, sizeof *list));
  memmove(&s->blocks[at + 1], &s->blocks[at], (s->block_count - at) * sizeof *s->blocks);
  s->blocks[at] = (struct sl_cells_block){.list = list};
  s->block_count++;
  return SL_OK;
}

/* Moves the second half of a full block to a new one behind it. */
static enum sl_status halve(struct sl_cells *s, size_t block) {
  SL_TRY(add_block(s, block + 1));
  struct sl_cells_block *from = &s->blocks[block], *to = &s->blocks[block + 1];
  to->count = from->count / 2;
  from->count -= to->count;
  memcpy(to->list->hi, &from->list->hi[from->count], to->count * sizeof *to->list->hi);
  memcpy(to->list->cell, &from->list->cell[from->count], to->count * sizeof *to->list->cell);
  to->hi = from->hi;
  from->hi = from->list->hi[from->count - 1];
  return SL_OK;
}

static enum sl_status new_cell(struct sl_cells *s, struct sl_cell x, uint32_t *number) {
  if (s->unused_count > 0) {
    *number = s->unused[--s->unused_count];
  } else {
    /* room for every number, so that a removal cannot fail */
    SL_TRY(sl_grow(&s->pool, &s->pool_capacity, s->made + 1, sizeof *s->pool));
    SL_TRY(sl_grow(&s->unused, &s->unused_capacity, s->made + 1, sizeof *s->unused));
    *number = (uint32_t)s->made++;
  }
  s->pool[*number] = x;
  return SL_OK;
}

enum sl_status sl_cells_insert(struct sl_cells *s, struct sl_cells_place p, struct sl_cell x) {
  uint32_t number;
  if (p.block == s->block_count && s->block_count > 0) { /* behind the last: at the end of the last block */
    p.block--;
    p.at = s->blocks[p.block].count;
  }
  if (s->block_count == 0) SL_TRY(add_block(s, 0));
  if (s->blocks[p.block].count == BLOCK) {
    SL_TRY(halve(s, p.block));
    const uint32_t kept = s->blocks[p.block].count;
    if (p.at > kept) p = (struct sl_cells_place){p.block + 1, p.at - kept};
  }
  SL_TRY(new_cell(s, x, &number));
  struct sl_cells_block *b = &s->blocks[p.block];
  memmove(&b->list->hi[p.at + 1], &b->list->hi[p.at], (b->count - p.at) * sizeof *b->list->hi);
  memmove(&b->list->cell[p.at + 1], &b->list->cell[p.at], (b->count - p.at) * sizeof *b->list->cell);
  b->list->cell[p.at] = number;
  b->count++;
  sl_cells_end_at(s, p, x.hi);
  return SL_OK;
}

struct sl_cells_place sl_cells_remove(struct sl_cells *s, struct sl_cells_place p) {
  struct sl_cells_block *b = &s->blocks[p.block];
  s->unused[s->unused_count++] = b->list->cell[p.at];
  b->count--;
  memmove(&b->list->hi[p.at], &b->list->hi[p.at + 1], (b->count - p.at) * sizeof *b->list->hi);
  memmove(&b->list->cell[p.at], &b->list->cell[p.at + 1], (b->count - p.at) * sizeof *b->list->cell);
  if (b->count == 0) {
    free(b->list);
    s->block_count--;
    memmove(b, b + 1, (s->block_count - p.block) * sizeof *b);
    return p;
  }
  b->hi = b->list->hi[b->count - 1];
  return p.at < b->count ? p : (struct sl_cells_place){p.block + 1, 0};
}

void sl_cells_end_at(struct sl_cells *s, struct sl_cells_place p, int64_t hi) {
  struct sl_cells_block *b = &s->blocks[p.block];
  b->list->hi[p.at] = s->pool[b->list->cell[p.at]].hi = hi;
  b->hi = b->list->hi[b->count - 1];
}

void sl_cells_free(struct sl_cells *s) {
  for (size_t i = 0; i < s->block_count; i++) free(s->blocks[i].list);
  free(s->blocks);
  free(s->unused);
  free(s->pool);
  *s = (struct sl_cells){0};
}
