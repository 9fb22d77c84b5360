/* Poison, for debugging: bytes that will not be read again are filled with NaN as soon as the last op that uses them is
 * complete, so that a use after free shows in the results.
 *
 * When bytes are dead follows from the program alone. A walk from its end finds, for each op, which of the bytes it
 * touches are not read again before they are overwritten (or at all; persistent state is read by the next program). A
 * walk from its start finds which ops must be complete before such bytes may be filled: those that have touched them
 * since they were last written, on each lane. */
#include "backend/host/host.h"
#include "core/base/runs.h"
#include "core/op/operands.h"
#include "core/op/wire.h"

#include <stdlib.h>
#include <string.h>

/* A run of arena bytes. While walking backward, `live`: the next access reads it. While walking forward, `need`: the
 * number of ops of each lane that must be complete, namely those that have touched it since its last write. */
struct run {
  int64_t lo, hi;
  bool live;
  uint32_t need[SL_LANE_COUNT];
};

struct runs { /* sorted, disjoint, covering the arena */
  struct run *items;
  size_t count, capacity;
};

/* Bytes to fill once the lanes have got that far; `issue` is the op after which they are dead. */
struct death {
  uint32_t issue;
  int64_t lo, hi;
  uint32_t need[SL_LANE_COUNT];
};

struct sl_host_poison {
  struct death *deaths[SL_PROGRAM_COUNT]; /* by issue */
  size_t counts[SL_PROGRAM_COUNT], capacities[SL_PROGRAM_COUNT];
  bool built[SL_PROGRAM_COUNT];
  size_t first;  /* in the running program, all deaths before it are filled */
  bool *filled;  /* in the running program, from `first` on */
  uint32_t last; /* the largest completed issue plus one */
};

/* ---- runs ---- */

static size_t find(const struct runs *r, int64_t at) {
  return sl_runs_find(r->items, r->count, sizeof *r->items, at);
}

static enum sl_status cut(struct runs *r, int64_t at) {
  const size_t i = find(r, at);
  if (i == r->count || r->items[i].lo == at) return SL_OK;
  SL_TRY(sl_grow(&r->items, &r->capacity, r->count + 1, sizeof *r->items));
  memmove(&r->items[i + 1], &r->items[i], (r->count - i) * sizeof *r->items);
  r->count++;
  r->items[i].hi = r->items[i + 1].lo = at;
  return SL_OK;
}

/* The runs that make up [lo, hi): indices [*first, *end). */
static enum sl_status isolate(struct runs *r, int64_t lo, int64_t hi, size_t *first, size_t *end) {
  SL_TRY(cut(r, lo));
  SL_TRY(cut(r, hi));
  *first = find(r, lo);
  *end = find(r, hi);
  return SL_OK;
}

static enum sl_status open_runs(struct runs *r, int64_t bytes) {
  SL_TRY(sl_grow(&r->items, &r->capacity, 1, sizeof *r->items));
  r->items[0] = (struct run){.hi = bytes};
  r->count = bytes > 0;
  return SL_OK;
}

/* ---- accesses ---- */

/* The bytes of operand `i` that this rank touches, and how it accesses them: empty outside the device's arena. */
static unsigned touched(const struct sl_host *host, const struct sl_program *p, uint32_t issue, int i, int64_t *lo,
                        int64_t *hi) {
  const struct sl_issue *e = &p->issues[issue];
  const struct sl_op *op = &p->ops[e->op];
  const struct sl_slice *s = &p->slices[op->slice + i];
  const int place = host->members[op->place_group].index;
  *lo = sl_operand_offset(host->rank_class, p, &p->instances[e->instance], op, i, place);
  *hi = *lo + s->bytes;
  if (host->rank_class->buffers[s->buffer].space != SL_SPACE_DEVICE) *hi = *lo;
  const int part = i / 2; /* in an op with two operands per part */
  const enum sl_group sharers = sl_share_group(op, i);
  if (sharers != SL_GROUP_NONE) {
    const struct sl_share share = sl_share_piece(op, sl_op_slices(p, op), part, host->members[sharers].index);
    *lo += share.shard_first * sl_dtype_bytes(op->dtype);
    *hi = *lo + share.count * sl_dtype_bytes(op->dtype);
  }
  /* one chunk of every member's part is written, and the rest remains */
  if (op->flags & SL_OP_SHARE_CHUNK && i == sl_op_part_at(op, SL_AT_WHOLE, part)) return SL_READ_WRITE;
  return s->access;
}

/* ---- the walk from the end ---- */

static enum sl_status add_death(struct sl_host_poison *x, int kind, struct death d) {
  SL_TRY(sl_grow(&x->deaths[kind], &x->capacities[kind], x->counts[kind] + 1, sizeof d));
  x->deaths[kind][x->counts[kind]++] = d;
  return SL_OK;
}

static enum sl_status mark(struct runs *r, int64_t lo, int64_t hi, bool live) {
  size_t first, end;
  SL_TRY(isolate(r, lo, hi, &first, &end));
  for (size_t i = first; i < end; i++) r->items[i].live = live;
  return SL_OK;
}

static enum sl_status walk_op_back(struct sl_host *host, const struct sl_program *p, uint32_t issue, struct runs *r) {
  const struct sl_op *op = &p->ops[p->issues[issue].op];
  int64_t lo, hi;
  for (int i = 0; i < op->slice_count; i++) { /* what is dead after this op */
    size_t first, end;
    touched(host, p, issue, i, &lo, &hi);
    if (hi <= lo) continue;
    SL_TRY(isolate(r, lo, hi, &first, &end));
    for (size_t k = first; k < end; k++)
      if (!r->items[k].live)
        SL_TRY(add_death(host->poison, p->kind, (struct death){issue, r->items[k].lo, r->items[k].hi, {0}}));
  }
  for (int pass = 0; pass < 2; pass++) { /* and before it: an op reads before it writes */
    for (int i = 0; i < op->slice_count; i++) {
      const bool reads = touched(host, p, issue, i, &lo, &hi) & SL_READ;
      if (hi > lo && reads == (pass == 1)) SL_TRY(mark(r, lo, hi, reads));
    }
  }
  return SL_OK;
}

static enum sl_status mark_persistent(const struct sl_host *host, struct runs *r) {
  const struct sl_class *c = host->rank_class;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    for (int slot = 0; b->persistent && b->space == SL_SPACE_DEVICE && slot < b->slots; slot++) {
      const int64_t at = c->slot_offsets[b->first_slot + slot];
      if (b->bytes > 0) SL_TRY(mark(r, at, at + b->bytes, true));
    }
  }
  return SL_OK;
}

/* ---- the walk from the start ---- */

static enum sl_status walk_op_on(const struct sl_host *host, const struct sl_program *p, uint32_t issue,
                                 struct runs *r) {
  const struct sl_issue *e = &p->issues[issue];
  const struct sl_op *op = &p->ops[e->op];
  for (int i = 0; i < op->slice_count; i++) {
    int64_t lo, hi;
    size_t first, end;
    const unsigned access = touched(host, p, issue, i, &lo, &hi);
    if (hi <= lo) continue;
    SL_TRY(isolate(r, lo, hi, &first, &end));
    for (size_t k = first; k < end; k++) {
      if (!(access & SL_READ)) memset(r->items[k].need, 0, sizeof r->items[k].need); /* the op has waited for those */
      r->items[k].need[op->lane] = e->lane_index + 1;
    }
  }
  return SL_OK;
}

/* The runs of a death may have different needs: splits it into one death per run. */
static enum sl_status split_death(struct sl_host_poison *x, int kind, const struct death *d, struct runs *r) {
  size_t first, end;
  SL_TRY(isolate(r, d->lo, d->hi, &first, &end));
  for (size_t k = first; k < end; k++) {
    struct death part = {d->issue, r->items[k].lo, r->items[k].hi, {0}};
    memcpy(part.need, r->items[k].need, sizeof part.need);
    SL_TRY(add_death(x, kind, part));
  }
  return SL_OK;
}

static enum sl_status build(struct sl_host *host, const struct sl_program *p) {
  enum sl_status status;
  struct sl_host_poison *x = host->poison;
  struct runs back = {0}, on = {0};
  struct death *found = NULL;
  size_t count = 0;
  SL_GO(open_runs(&back, host->arena_bytes[SL_SPACE_DEVICE]));
  SL_GO(open_runs(&on, host->arena_bytes[SL_SPACE_DEVICE]));
  SL_GO(mark_persistent(host, &back));
  for (uint32_t issue = (uint32_t)p->issue_count; issue-- > 0;) SL_GO(walk_op_back(host, p, issue, &back));
  found = x->deaths[p->kind];
  count = x->counts[p->kind];
  x->deaths[p->kind] = NULL;
  x->counts[p->kind] = x->capacities[p->kind] = 0;
  for (uint32_t issue = 0; issue < p->issue_count; issue++) {
    SL_GO(walk_op_on(host, p, issue, &on));
    for (; count > 0 && found[count - 1].issue == issue; count--)
      SL_GO(split_death(x, p->kind, &found[count - 1], &on));
  }
  x->built[p->kind] = true;
done:
  free(back.items);
  free(on.items);
  free(found);
  return status;
}

/* ---- at run time ---- */

enum sl_status sl_host_poison_begin(struct sl_host *host) {
  if (!host->options.poison) return SL_OK;
  const struct sl_program *p = &host->rank_class->programs[host->kind];
  if (!host->poison) SL_TRY(sl_calloc(&host->poison, 1, sizeof *host->poison));
  struct sl_host_poison *x = host->poison;
  if (!x->built[p->kind]) SL_TRY(build(host, p));
  free(x->filled);
  x->filled = NULL;
  SL_TRY(sl_calloc(&x->filled, x->counts[p->kind], sizeof *x->filled));
  x->first = 0;
  x->last = 0;
  return SL_OK;
}

static bool over(const struct sl_host *host, const struct death *d) {
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    if (host->lanes[lane].complete < d->need[lane]) return false;
  return true;
}

void sl_host_poison_complete(struct sl_host *host, uint32_t issue) {
  struct sl_host_poison *x = host->poison;
  if (!x) return;
  const struct death *deaths = x->deaths[host->kind];
  const size_t count = x->counts[host->kind];
  if (issue + 1 > x->last) x->last = issue + 1;
  for (size_t i = x->first; i < count && deaths[i].issue < x->last; i++) {
    if (!x->filled[i] && over(host, &deaths[i])) {
      memset(host->arena[SL_SPACE_DEVICE] + deaths[i].lo, 0xff, (size_t)(deaths[i].hi - deaths[i].lo));
      x->filled[i] = true;
    }
    if (x->filled[i] && i == x->first) x->first++;
  }
}

void sl_host_poison_close(struct sl_host *host) {
  if (!host->poison) return;
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) free(host->poison->deaths[kind]);
  free(host->poison->filled);
  free(host->poison);
}
