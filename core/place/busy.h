/* Which bytes of an arena are occupied when, kept so that what is certain to be in the way is passed over at once.
 * Internal to core/place.
 *
 * The issues of a class are cut into moments, over which a binary tree stands. A lifetime that covers whole moments is
 * noted at the few nodes that make them up, and at those above: every node has the bytes that something occupies
 * throughout its moments, and those that something occupies throughout some of them. Ranges that touch are one, so that
 * buffers beside each other, however many, are passed over in one step. */
#pragma once

#include "core/base/status.h"

#include <stdint.h>

/* Bytes [lo, hi). */
struct sl_busy_run {
  int64_t lo, hi;
};

/* Sorted; two of them neither overlap nor touch. Zero it to start. */
struct sl_busy_runs {
  struct sl_busy_run *at; /* owned */
  size_t count, capacity;
};

/* Adds bytes [lo, hi), lo < hi. Errors: SL_ERR_MEMORY. */
enum sl_status sl_busy_runs_add(struct sl_busy_runs *runs, int64_t lo, int64_t hi);
/* The lowest offset, from `offset` on, at which `bytes` overlap no run. */
int64_t sl_busy_runs_pass(const struct sl_busy_runs *runs, int64_t offset, int64_t bytes);

/* Issues first..last; first > last: none. */
struct sl_busy_life {
  uint32_t first, last;
};

struct sl_busy_node {
  struct sl_busy_runs throughout, somewhere; /* its moments, and some of them */
};

struct sl_busy {
  uint32_t *starts;           /* the first issue of every moment, then UINT32_MAX; owned */
  size_t moments;             /* a power of two */
  struct sl_busy_node *nodes; /* node 1 is over all moments, nodes 2n and 2n + 1 are over the halves of node n; owned */
};

/* A moment begins at issue 0 and at each of `starts`, which ascend. Close it after an error, too. Errors:
 * SL_ERR_MEMORY. */
enum sl_status sl_busy_open(struct sl_busy *busy, const uint32_t *starts, size_t count);
/* Bytes [lo, hi), lo < hi, are occupied during `life`. What covers no whole moment is not noted. Errors:
 * SL_ERR_MEMORY. */
enum sl_status sl_busy_add(struct sl_busy *busy, int64_t lo, int64_t hi, struct sl_busy_life life);
/* The lowest offset, from `offset` on, at which `bytes` overlap nothing that was noted and lives at an issue of
 * `life`. */
int64_t sl_busy_pass(const struct sl_busy *busy, int64_t offset, int64_t bytes, struct sl_busy_life life);
void sl_busy_clear(struct sl_busy *busy);
void sl_busy_close(struct sl_busy *busy);
