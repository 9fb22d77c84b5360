/* Pillars and their blocks; see pillars.h. Most are added at the end, so that few blocks have to be recomputed. */
#include "core/place/pillars.h"

#include "core/base/runs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t block_size(int level) {
  size_t size = SL_PILLAR_FAN;
  for (; level > 0; level--) size *= SL_PILLAR_FAN;
  return size;
}

enum sl_status sl_pillars_add(struct sl_pillars *p, struct sl_pillar pillar) {
  const size_t at = sl_runs_find(p->at, p->count, sizeof *p->at, pillar.lo);
  SL_TRY(sl_grow(&p->at, &p->capacity, p->count + 1, sizeof *p->at));
  memmove(&p->at[at + 1], &p->at[at], (p->count - at) * sizeof *p->at);
  p->at[at] = pillar;
  p->count++;
  for (int level = 0; level < SL_PILLAR_LEVELS; level++) {
    const size_t size = block_size(level), changed = (at > 0 ? at - 1 : 0) / size; /* the gap before it changes too */
    SL_TRY(sl_grow(&p->blocks[level], &p->block_capacity[level], p->count / size + 1, sizeof **p->blocks));
    if (changed < p->known[level]) p->known[level] = changed;
  }
  return SL_OK;
}

/* The gap after the last pillar of a block belongs to the block. */
static struct sl_pillar_block of_one(const struct sl_pillars *p, size_t at) {
  const struct sl_pillar *x = &p->at[at];
  struct sl_pillar_block one = {.gap = at + 1 < p->count ? x[1].lo - x->hi : 0};
  memcpy(one.lives, x->lives, sizeof one.lives);
  return one;
}

static void join(struct sl_pillar_block *a, const struct sl_pillar_block *b) {
  for (int i = 0; i < SL_PILLAR_LIVES; i++) {
    if (b->lives[i].first > a->lives[i].first) a->lives[i].first = b->lives[i].first;
    if (b->lives[i].last < a->lives[i].last) a->lives[i].last = b->lives[i].last;
  }
  if (b->gap > a->gap) a->gap = b->gap;
}

/* Block `b` of a level, which is full. */
static const struct sl_pillar_block *block_at(struct sl_pillars *p, int level, size_t b) {
  for (; p->known[level] <= b; p->known[level]++) {
    struct sl_pillar_block all = {.gap = 0};
    for (int i = 0; i < SL_PILLAR_LIVES; i++) all.lives[i].last = UINT32_MAX;
    for (size_t i = p->known[level] * SL_PILLAR_FAN; i < (p->known[level] + 1) * SL_PILLAR_FAN; i++) {
      const struct sl_pillar_block one = level == 0 ? of_one(p, i) : *block_at(p, level - 1, i);
      join(&all, &one);
    }
    p->blocks[level][p->known[level]] = all;
  }
  return &p->blocks[level][b];
}

/* Are all pillars of a block there during one of these lifetimes? */
static bool all_stand(const struct sl_pillar_block *all, const struct sl_pillar_life lives[SL_PILLAR_LIVES]) {
  for (int i = 0; i < SL_PILLAR_LIVES; i++)
    for (int k = 0; k < SL_PILLAR_LIVES && lives[i].first <= lives[i].last; k++) {
      const struct sl_pillar_life *x = &all->lives[k];
      if (x->first <= x->last && x->first <= lives[i].last && lives[i].first <= x->last) return true;
    }
  return false;
}

int64_t sl_pillars_pass(struct sl_pillars *p, int64_t offset, int64_t bytes,
                        const struct sl_pillar_life lives[SL_PILLAR_LIVES]) {
  size_t i = sl_runs_find(p->at, p->count, sizeof *p->at, offset);
  int level = SL_PILLAR_LEVELS - 1;
  while (level >= 0 && i < p->count && p->at[i].lo < offset + bytes) {
    const size_t size = block_size(level), b = i / size, end = (b + 1) * size;
    const struct sl_pillar_block *all = end <= p->count ? block_at(p, level, b) : NULL;
    if (all == NULL || all->gap >= bytes || !all_stand(all, lives)) {
      level--; /* try a smaller block */
      continue;
    }
    offset = p->at[end - 1].hi;
    i = end;
    level = SL_PILLAR_LEVELS - 1;
  }
  return offset;
}

void sl_pillars_clear(struct sl_pillars *p) {
  p->count = 0;
  memset(p->known, 0, sizeof p->known);
}

void sl_pillars_free(struct sl_pillars *p) {
  free(p->at);
  for (int level = 0; level < SL_PILLAR_LEVELS; level++) free(p->blocks[level]);
  *p = (struct sl_pillars){0};
}
