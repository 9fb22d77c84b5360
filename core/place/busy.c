/* Occupied bytes by moments; see busy.h. */
#include "core/place/busy.h"

#include "core/base/runs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum sl_status sl_busy_runs_add(struct sl_busy_runs *r, int64_t lo, int64_t hi) {
  const size_t at = sl_runs_find(r->at, r->count, sizeof *r->at, lo - 1); /* the first that ends at `lo` or above */
  size_t end = at;                                                        /* of those that become one with it */
  for (; end < r->count && r->at[end].lo <= hi; end++) {
    if (r->at[end].lo < lo) lo = r->at[end].lo;
    if (r->at[end].hi > hi) hi = r->at[end].hi;
  }
  SL_TRY(sl_grow(&r->at, &r->capacity, r->count + 1, sizeof *r->at));
  if (end != at + 1) memmove(&r->at[at + 1], &r->at[end], (r->count - end) * sizeof *r->at);
  r->at[at] = (struct sl_busy_run){lo, hi};
  r->count = r->count + 1 - (end - at);
  return SL_OK;
}

int64_t sl_busy_runs_pass(const struct sl_busy_runs *r, int64_t offset, int64_t bytes) {
  if (r->count == 0 || r->at[r->count - 1].hi <= offset) return offset;
  for (size_t i = sl_runs_find(r->at, r->count, sizeof *r->at, offset); i < r->count && r->at[i].lo < offset + bytes;
       i++)
    offset = r->at[i].hi;
  return offset;
}

enum sl_status sl_busy_open(struct sl_busy *b, const uint32_t *starts, size_t count) {
  for (b->moments = 1; b->moments < count + 1; b->moments *= 2) {
  }
  SL_TRY(sl_malloc(&b->starts, b->moments + 1, sizeof *b->starts));
  SL_TRY(sl_calloc(&b->nodes, 2 * b->moments, sizeof *b->nodes));
  memset(b->starts, 0xff, (b->moments + 1) * sizeof *b->starts);
  b->starts[0] = 0;
  memcpy(&b->starts[1], starts, count * sizeof *starts);
  return SL_OK;
}

/* Moments [first, end). */
struct part {
  size_t first, end;
};

/* The first moment that starts at `issue` or later. */
static size_t moment_from(const struct sl_busy *b, uint32_t issue) {
  size_t low = 0, high = b->moments;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (b->starts[middle] < issue) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool within(struct part a, struct part b) {
  return b.first <= a.first && a.end <= b.end;
}

static bool overlaps(struct part a, struct part b) {
  return a.first < b.end && b.first < a.end;
}

static struct part half(struct part of, int which) {
  const size_t middle = (of.first + of.end) / 2;
  return which == 0 ? (struct part){of.first, middle} : (struct part){middle, of.end};
}

/* Notes a run that is occupied throughout `moments`, some of them those of `node`, which are `own`. */
static enum sl_status note(struct sl_busy *b, size_t node, struct part own, struct part moments,
                           struct sl_busy_run run) {
  if (within(own, moments)) return sl_busy_runs_add(&b->nodes[node].throughout, run.lo, run.hi);
  SL_TRY(sl_busy_runs_add(&b->nodes[node].somewhere, run.lo, run.hi));
  for (int i = 0; i < 2; i++)
    if (overlaps(half(own, i), moments)) SL_TRY(note(b, 2 * node + (size_t)i, half(own, i), moments, run));
  return SL_OK;
}

enum sl_status sl_busy_add(struct sl_busy *b, int64_t lo, int64_t hi, struct sl_busy_life life) {
  if (life.first > life.last) return SL_OK;
  const size_t first = moment_from(b, life.first),
               behind = moment_from(b, life.last + 2); /* starts after it, or there */
  const struct part whole = {first, behind > 0 ? behind - 1 : 0};
  return whole.first < whole.end ? note(b, 1, (struct part){0, b->moments}, whole, (struct sl_busy_run){lo, hi})
                                 : SL_OK;
}

/* The lowest offset for `bytes` beside what is noted of `moments` at `node` and below, list after list. */
static int64_t beside(const struct sl_busy *b, size_t node, struct part own, struct part moments, int64_t offset,
                      int64_t bytes) {
  offset = sl_busy_runs_pass(&b->nodes[node].throughout, offset, bytes);
  if (within(own, moments)) return sl_busy_runs_pass(&b->nodes[node].somewhere, offset, bytes);
  for (int i = 0; i < 2; i++)
    if (overlaps(half(own, i), moments)) offset = beside(b, 2 * node + (size_t)i, half(own, i), moments, offset, bytes);
  return offset;
}

int64_t sl_busy_pass(const struct sl_busy *b, int64_t offset, int64_t bytes, struct sl_busy_life life) {
  if (life.first > life.last) return offset;
  const struct part moments = {moment_from(b, life.first + 1) - 1, moment_from(b, life.last + 1)};
  for (int64_t before = -1; before < offset;) { /* what one list moves may be in the way in another */
    before = offset;
    offset = beside(b, 1, (struct part){0, b->moments}, moments, offset, bytes);
  }
  return offset;
}

void sl_busy_clear(struct sl_busy *b) {
  for (size_t i = 0; i < 2 * b->moments; i++) b->nodes[i].throughout.count = b->nodes[i].somewhere.count = 0;
}

void sl_busy_close(struct sl_busy *b) {
  for (size_t i = 0; b->nodes != NULL && i < 2 * b->moments; i++) {
    free(b->nodes[i].throughout.at);
    free(b->nodes[i].somewhere.at);
  }
  free(b->starts);
  free(b->nodes);
  *b = (struct sl_busy){0};
}
