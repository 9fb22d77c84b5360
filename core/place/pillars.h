/* Items that occupy an arena throughout its fullest moment, and a way to skip many of them at once. Internal to
 * core/place. */
#pragma once

#include "core/base/status.h"

#include <stdint.h>

enum { SL_PILLAR_LEVELS = 3, SL_PILLAR_FAN = 32, SL_PILLAR_LIVES = 4 };

/* Issues first..last; first > last: none. */
struct sl_pillar_life {
  uint32_t first, last;
};

/* Bytes [lo, hi) that are occupied during these lifetimes, and possibly others of the same item. */
struct sl_pillar {
  int64_t lo, hi;
  struct sl_pillar_life lives[SL_PILLAR_LIVES];
};

/* A summary of all pillars of a block: during which issues all of them are in the first of these lifetimes, in the
 * second and so on, and the widest gap between two neighbours. */
struct sl_pillar_block {
  struct sl_pillar_life lives[SL_PILLAR_LIVES];
  int64_t gap;
};

/* Pillars in order of their bytes, without overlap; a block of level l is FAN^(l + 1) of them. Zero it to start. */
struct sl_pillars {
  struct sl_pillar *at;
  size_t count, capacity;
  struct sl_pillar_block *blocks[SL_PILLAR_LEVELS];
  size_t block_capacity[SL_PILLAR_LEVELS];
  size_t known[SL_PILLAR_LEVELS]; /* number of blocks that are up to date, from the first on */
};

/* Errors: SL_ERR_MEMORY. */
enum sl_status sl_pillars_add(struct sl_pillars *pillars, struct sl_pillar pillar);
/* An offset, from `offset` on, below which `bytes` with these lifetimes do not fit, because pillars are there during
 * one of them. Such pillars are skipped block by block; some are left for the caller to find. */
int64_t sl_pillars_pass(struct sl_pillars *pillars, int64_t offset, int64_t bytes,
                        const struct sl_pillar_life lives[SL_PILLAR_LIVES]);
void sl_pillars_clear(struct sl_pillars *pillars);
void sl_pillars_free(struct sl_pillars *pillars);
