/* Expand the schedule's instances into the issue list and derive what each op waits for.
 *
 * Program order is the meaning: an op must see what the ops before it in program order wrote. On one lane FIFO gives
 * that; across lanes an op waits for the last writer of what it reads, and for the readers and the writer of what it
 * overwrites. A vector clock per op (how many ops of each lane are complete for certain when it starts) leaves out
 * every wait that others imply, and gives arena.c the order by which buffers may share memory.
 *
 * Most of a step repeats (place/repeat.h). Once periods come out alike, the issues of those that follow are copied, and no lives
 * are noted in them: what lives in one of them lies to its neighbours as in the periods before. */
#include "core/place/waits.h"
#include "core/base/runs.h"

#include "core/place/repeat.h"

#include <stdlib.h>
#include <string.h>

/* A run of bytes of one slot with the same history. */
struct span {
  int64_t lo, hi;
  int writer_lane;              /* -1: never written in this program */
  uint32_t written;             /* ops of that lane that must be complete to see the write */
  uint32_t readers;             /* bit l: lane l has read it since */
  uint32_t read[SL_LANE_COUNT]; /* the same for those readers; of other lanes without meaning */
};

struct history {
  struct span *spans; /* sorted, disjoint */
  size_t count, capacity;
};

struct linker {
  const struct sl_plan *plan;
  struct sl_class *rank_class;
  const enum sl_scope *scopes;
  struct sl_program *p;
  struct sl_lives *lives;
  struct history *histories;           /* one per slot of the class */
  int32_t *last_life;                  /* newest life of each slot in this program, -1 none */
  uint32_t *clocks;                    /* SL_LANE_COUNT per issue: complete for certain at its start */
  uint32_t *lane_issue[SL_LANE_COUNT]; /* issue index of each op of a lane */
  size_t lane_capacity[SL_LANE_COUNT];
  uint32_t blocking[SL_LANE_COUNT]; /* what the next compute op must wait for */
};

/* Where a period of the steady part begins. */
struct mark {
  uint32_t issue, lane_ops[SL_LANE_COUNT];
};

/* ---- what an access needs ---- */

static enum sl_status insert_span(struct history *h, size_t at, struct span s) {
  SL_TRY(sl_grow(&h->spans, &h->capacity, h->count + 1, sizeof *h->spans));
  memmove(&h->spans[at + 1], &h->spans[at], (h->count - at) * sizeof *h->spans);
  h->spans[at] = s;
  h->count++;
  return SL_OK;
}

/* Cut spans at lo and hi and fill gaps, so that [lo, hi) is exactly spans [*first, *end). */
static enum sl_status isolate(struct history *h, int64_t lo, int64_t hi, size_t *first, size_t *end) {
  size_t i = *first = sl_runs_find(h->spans, h->count, sizeof *h->spans, lo);
  int64_t at = lo;
  while (at < hi) {
    struct span *s = i < h->count ? &h->spans[i] : NULL;
    if (s == NULL || s->lo >= hi || s->lo > at) {
      const int64_t gap_end = s == NULL || s->lo > hi ? hi : s->lo;
      SL_TRY(insert_span(h, i, (struct span){.lo = at, .hi = gap_end, .writer_lane = -1}));
    } else if (s->lo < at) {
      struct span left = *s;
      left.hi = s->lo = at;
      SL_TRY(insert_span(h, i, left));
      *first = ++i;
      continue;
    } else if (s->hi > hi) {
      struct span left = *s;
      left.hi = s->lo = hi;
      SL_TRY(insert_span(h, i, left));
    }
    at = h->spans[i++].hi;
  }
  *end = i;
  return SL_OK;
}

static void raise(uint32_t *value, uint32_t to) {
  if (to > *value) *value = to;
}

/* Bytes that a slice may touch on any rank of the class. */
static void slice_range(const struct linker *k, const struct sl_op *op, const struct sl_slice *s, int64_t *lo,
                        int64_t *hi) {
  const int places = sl_plan_group(k->plan, op->place_group, k->rank_class->first_rank).size;
  *lo = s->offset;
  *hi = s->offset + s->bytes + (places - 1) * s->shard_stride;
}

static enum sl_status access_slice(struct linker *k, const struct sl_op *op, const struct sl_slice *s, uint32_t slot,
                                   uint32_t own, uint32_t need[SL_LANE_COUNT]) {
  struct history *h = &k->histories[slot];
  int64_t lo, hi;
  size_t first, end;
  slice_range(k, op, s, &lo, &hi);
  if (hi <= lo) return SL_OK;
  SL_TRY(isolate(h, lo, hi, &first, &end));
  for (size_t i = first; i < end; i++) {
    struct span *x = &h->spans[i];
    if (x->writer_lane >= 0) raise(&need[x->writer_lane], x->written);
    if (s->access & SL_WRITE) {
      for (uint32_t lanes = x->readers; lanes != 0; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes);
        raise(&need[lane], x->read[lane]);
      }
    } else {
      x->readers |= UINT32_C(1) << op->lane;
      x->read[op->lane] = own + 1; /* ops of a lane come in order */
    }
  }
  if (s->access & SL_WRITE) {
    h->spans[first] = (struct span){.lo = lo, .hi = hi, .writer_lane = (int)op->lane, .written = own + 1};
    memmove(&h->spans[first + 1], &h->spans[end], (h->count - end) * sizeof *h->spans);
    h->count -= end - first - 1;
  }
  return SL_OK;
}

/* ---- waits ---- */

/* What is known when op `count - 1` of `lane` starts. */
static const uint32_t *clock_behind(const struct linker *k, int lane, uint32_t count) {
  return &k->clocks[(size_t)k->lane_issue[lane][count - 1] * SL_LANE_COUNT];
}

/* Take over what is known once op `count - 1` of `lane` is complete. */
static void learn(const struct linker *k, uint32_t clock[SL_LANE_COUNT], int lane, uint32_t count) {
  const uint32_t *other = clock_behind(k, lane, count);
  for (int i = 0; i < SL_LANE_COUNT; i++) raise(&clock[i], other[i]);
  raise(&clock[lane], count);
}

/* Turn needs into the fewest waits: the op issued last is learned first, for it is likely to imply the others. */
static enum sl_status add_waits(struct linker *k, struct sl_issue *e, uint32_t need[SL_LANE_COUNT],
                                uint32_t clock[SL_LANE_COUNT]) {
  struct sl_program *p = k->p;
  e->wait = (uint32_t)p->wait_count;
  for (;;) {
    int best = -1;
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
      if (need[lane] <= clock[lane]) continue;
      if (best < 0 || k->lane_issue[lane][need[lane] - 1] > k->lane_issue[best][need[best] - 1]) best = lane;
    }
    if (best < 0) break;
    SL_TRY(sl_grow(&p->waits, &p->wait_capacity, p->wait_count + 1, sizeof *p->waits));
    p->waits[p->wait_count++] = (struct sl_wait){(uint32_t)best, need[best]};
    learn(k, clock, best, need[best]);
  }
  e->wait_count = (unsigned)(p->wait_count - e->wait) & 0xff;
  return SL_OK;
}

/* What program order asks for beyond data: the end of a program, and how communication is tied to compute. */
static void need_control(struct linker *k, const struct sl_op *op, uint32_t need[SL_LANE_COUNT]) {
  const struct sl_program *p = k->p;
  if (op->kind == SL_OP_JOIN) {
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) raise(&need[lane], p->lane_ops[lane]);
  }
  if (op->flags & SL_OP_AFTER_COMPUTE) raise(&need[SL_LANE_COMPUTE], p->lane_ops[SL_LANE_COMPUTE]);
  if (op->lane != SL_LANE_COMPUTE) return;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) raise(&need[lane], k->blocking[lane]);
  memset(k->blocking, 0, sizeof k->blocking);
}

/* ---- lives ---- */

/* What stood there before is gone: the slot begins a new life. */
static bool overwrites(const struct sl_op *op, const struct sl_buffer *b, const struct sl_slice *s) {
  const bool piece = op->flags & (SL_OP_SHARE_CHUNK | SL_OP_SHARE_RANGE); /* writes less than its slice */
  return s->access == SL_WRITE && !piece && s->shard_stride == 0 && s->offset == 0 && s->bytes == b->bytes;
}

static enum sl_status record_life(struct linker *k, uint32_t slot, int32_t buffer, int32_t micro_batch, uint32_t issue,
                                  const struct sl_op *op, uint32_t own, bool overwritten) {
  const enum sl_scope scope = k->scopes[buffer];
  const uint32_t *clock = &k->clocks[(size_t)issue * SL_LANE_COUNT];
  struct sl_life *life = k->last_life[slot] >= 0 ? &k->lives->items[k->last_life[slot]] : NULL;
  const int32_t key = scope == SL_SCOPE_MICRO ? micro_batch : -1;
  const bool same_op = life != NULL && life->last == issue;      /* read and overwritten by one op */
  const bool passed_on = life != NULL && life->buffer != buffer; /* to another stage */
  if (life == NULL || passed_on || life->micro_batch != key || (overwritten && scope >= SL_SCOPE_MICRO && !same_op)) {
    SL_TRY(sl_grow(&k->lives->items, &k->lives->capacity, k->lives->count + 1, sizeof *k->lives->items));
    k->last_life[slot] = (int32_t)k->lives->count;
    life = &k->lives->items[k->lives->count++];
    *life = (struct sl_life){.slot = slot, .buffer = buffer, .program = k->p->kind, .micro_batch = key, .first = issue};
    memcpy(life->known, clock, sizeof life->known);
  }
  life->last = issue;
  /* later ops of a lane know no less than its first: that one counts */
  for (int lane = 0; lane < SL_LANE_COUNT && !(life->lanes >> op->lane & 1); lane++) {
    if (clock[lane] < life->known[lane]) life->known[lane] = clock[lane];
  }
  life->lanes |= UINT32_C(1) << op->lane;
  life->done[op->lane] = own + 1;
  return SL_OK;
}

/* ---- one op ---- */

/* Index in class->slot_offsets. */
static uint32_t slot_of(const struct sl_program *p, const struct sl_buffer *b, const struct sl_slice *s,
                        const struct sl_instance *n) {
  return (uint32_t)(b->first_slot + sl_slice_slot(p, b, s, n));
}

static enum sl_status link_op(struct linker *k, uint32_t op_index, uint32_t instance) {
  struct sl_program *p = k->p;
  const struct sl_class *c = k->rank_class;
  const struct sl_op *op = &p->ops[op_index];
  const struct sl_instance *n = &p->instances[instance];
  const uint32_t issue = (uint32_t)p->issue_count, own = p->lane_ops[op->lane];
  uint32_t need[SL_LANE_COUNT] = {0};
  SL_TRY(sl_grow(&k->lane_issue[op->lane], &k->lane_capacity[op->lane], (size_t)own + 1, sizeof(uint32_t)));
  struct sl_issue *e = &p->issues[p->issue_count++];
  *e = (struct sl_issue){.op = op_index, .instance = instance, .lane_index = own & 0xffffff};
  k->rank_class->work.derived++;
  k->lane_issue[op->lane][own] = issue;

  for (int i = 0; i < op->slice_count; i++) {
    const struct sl_slice *s = &p->slices[op->slice + i];
    const struct sl_buffer *b = &c->buffers[s->buffer];
    SL_TRY(access_slice(k, op, s, slot_of(p, b, s, n), own, need));
  }
  need_control(k, op, need);
  need[op->lane] = 0; /* FIFO */
  uint32_t *clock = &k->clocks[(size_t)issue * SL_LANE_COUNT];
  if (own > 0) memcpy(clock, clock_behind(k, (int)op->lane, own), SL_LANE_COUNT * sizeof *clock);
  clock[op->lane] = own;
  SL_TRY(add_waits(k, e, need, clock));
  for (int i = 0; i < op->slice_count; i++) {
    const struct sl_slice *s = &p->slices[op->slice + i];
    const struct sl_buffer *b = &c->buffers[s->buffer];
    if (b->persistent) continue;
    SL_TRY(record_life(k, slot_of(p, b, s, n), s->buffer, n->micro_batch, issue, op, own, overwrites(op, b, s)));
  }
  p->lane_ops[op->lane]++;
  if (op->flags & SL_OP_BLOCKING) k->blocking[op->lane] = own + 1;
  return SL_OK;
}

/* ---- periods that come out alike ---- */

/* Periods that are derived before others are copied: the first settles what was there before, the others must be alike. Their ops
 * touch the same bytes in the same order, so what a period leaves in the histories is what the one before it left, later by the
 * ops of a period, and what no period touches stays. With waits and clocks alike as well nothing is left by which the next could
 * differ. Three alike and not two, for a life may reach into the next period: every pair of lives that ever meet then stands
 * among those that are kept. */
enum { DERIVED = 4 };

static struct mark mark_here(const struct linker *k) {
  struct mark m = {.issue = (uint32_t)k->p->issue_count};
  memcpy(m.lane_ops, k->p->lane_ops, sizeof m.lane_ops);
  return m;
}

static uint32_t ops_between(const struct mark *a, const struct mark *b, uint32_t lane) {
  return b->lane_ops[lane] - a->lane_ops[lane];
}

/* Are the waits of issue `b` those of issue `a`, one period before, and does it know as much more as the period has ops? */
static bool alike(const struct linker *k, uint32_t a, uint32_t b, const struct mark *from, const struct mark *to) {
  const struct sl_issue *x = &k->p->issues[a], *y = &k->p->issues[b];
  const uint32_t *before = &k->clocks[(size_t)a * SL_LANE_COUNT], *after = &k->clocks[(size_t)b * SL_LANE_COUNT];
  if (x->op != y->op || x->wait_count != y->wait_count) return false;
  for (uint32_t w = 0; w < x->wait_count; w++) {
    const struct sl_wait *u = &k->p->waits[x->wait + w], *v = &k->p->waits[y->wait + w];
    if (u->lane != v->lane || v->count - u->count != ops_between(from, to, u->lane)) return false;
  }
  for (uint32_t lane = 0; lane < SL_LANE_COUNT; lane++)
    if (after[lane] - before[lane] != ops_between(from, to, lane)) return false;
  return true;
}

/* Have all derived periods but the first come out alike? marks[DERIVED] is here. */
static bool settled(const struct linker *k, const struct mark marks[DERIVED + 1]) {
  for (int m = 1; m + 2 <= DERIVED; m++) {
    const uint32_t issues = marks[m + 1].issue - marks[m].issue;
    if (marks[m + 2].issue - marks[m + 1].issue != issues) return false;
    for (uint32_t i = 0; i < issues; i++)
      if (!alike(k, marks[m].issue + i, marks[m + 1].issue + i, &marks[m], &marks[m + 1])) return false;
  }
  return true;
}

/* The issue that stands a period before the next one, once more; `step`: a period, of `period` instances. */
static enum sl_status copy_issue(struct linker *k, const struct mark *step, uint32_t period) {
  struct sl_program *p = k->p;
  const uint32_t at = (uint32_t)p->issue_count;
  const struct sl_issue from = p->issues[at - step->issue];
  const uint32_t lane = p->ops[from.op].lane, own = p->lane_ops[lane];
  SL_TRY(sl_grow(&k->lane_issue[lane], &k->lane_capacity[lane], (size_t)own + 1, sizeof(uint32_t)));
  SL_TRY(sl_grow(&p->waits, &p->wait_capacity, p->wait_count + from.wait_count, sizeof *p->waits));
  struct sl_issue *e = &p->issues[p->issue_count++];
  *e = from;
  e->instance += period;
  e->lane_index = own & 0xffffff;
  e->wait = (uint32_t)p->wait_count;
  for (uint32_t w = 0; w < from.wait_count; w++) {
    const struct sl_wait wait = p->waits[from.wait + w];
    p->waits[p->wait_count++] = (struct sl_wait){wait.lane, wait.count + step->lane_ops[wait.lane]};
  }
  k->lane_issue[lane][own] = at;
  p->lane_ops[lane]++;
  return SL_OK;
}

/* What comes behind the copies refers to the last of them, and to nothing in the others. */
static void move_clocks(struct linker *k, const struct mark *since, uint32_t issues, const struct mark *jump) {
  for (uint32_t i = 0; i < issues; i++) {
    const uint32_t *before = &k->clocks[(size_t)(since->issue + i) * SL_LANE_COUNT];
    uint32_t *clock = &k->clocks[(size_t)(since->issue + i + jump->issue) * SL_LANE_COUNT];
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) clock[lane] = before[lane] + jump->lane_ops[lane];
  }
}

/* A count of `lane` moves on where it was reached behind `since`. */
static void move_on(uint32_t *count, int lane, const struct mark *since, const struct mark *jump) {
  if (*count > since->lane_ops[lane]) *count += jump->lane_ops[lane];
}

static void move_histories(struct linker *k, const struct mark *since, const struct mark *jump) {
  for (size_t slot = 0; slot < k->rank_class->slot_count; slot++) {
    for (size_t i = 0; i < k->histories[slot].count; i++) {
      struct span *x = &k->histories[slot].spans[i];
      if (x->writer_lane >= 0) move_on(&x->written, x->writer_lane, since, jump);
      for (int lane = 0; lane < SL_LANE_COUNT; lane++) move_on(&x->read[lane], lane, since, jump);
    }
  }
}

/* The newest life of each slot goes on behind the copies: as one that was begun there, where each period begins one. */
static void move_lives(struct linker *k, const struct mark marks[DERIVED + 1], const struct mark *jump,
                       int32_t further) {
  const struct mark *since = &marks[DERIVED - 1];
  for (size_t slot = 0; slot < k->rank_class->slot_count; slot++) {
    if (k->last_life[slot] < 0) continue;
    struct sl_life *life = &k->lives->items[k->last_life[slot]];
    if (life->last < since->issue) continue;
    life->last += jump->issue;
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) move_on(&life->done[lane], lane, since, jump);
    if (life->first < marks[DERIVED - 2].issue) continue;
    life->first += jump->issue;
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) life->known[lane] += jump->lane_ops[lane];
    if (life->micro_batch >= 0) life->micro_batch += further;
  }
}

/* `copies` more periods like the last. */
static enum sl_status copy_periods(struct linker *k, const struct sl_repeat *r, uint32_t copies,
                                   const struct mark marks[DERIVED + 1]) {
  const struct mark *since = &marks[DERIVED - 1], *here = &marks[DERIVED];
  struct mark step = {.issue = here->issue - since->issue}, jump = {.issue = copies * step.issue};
  for (uint32_t lane = 0; lane < SL_LANE_COUNT; lane++) {
    step.lane_ops[lane] = ops_between(since, here, lane);
    jump.lane_ops[lane] = copies * step.lane_ops[lane];
  }
  for (uint32_t i = 0; i < jump.issue; i++) SL_TRY(copy_issue(k, &step, r->period));
  move_clocks(k, since, step.issue, &jump);
  move_histories(k, since, &jump);
  move_lives(k, marks, &jump, (int32_t)copies * r->micro_batches);
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) move_on(&k->blocking[lane], lane, since, &jump);
  return SL_OK;
}

/* Slot numbers that an instance of the class's programs has. */
static int32_t slot_numbers(const struct sl_class *c) {
  int32_t numbers = SL_SLOT_ACTIVATION;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    if (b->slots > 1 && b->slot >= SL_SLOT_ACTIVATION && SL_SLOT_ACTIVATION + b->pool >= numbers)
      numbers = SL_SLOT_ACTIVATION + b->pool + 1;
  }
  return numbers;
}

static enum sl_status link_instances(struct linker *k, bool all) {
  const struct sl_program *p = k->p;
  const bool step = p->kind == SL_PROGRAM_STEP && !all;
  const struct sl_repeat r = step ? sl_repeat_find(p, slot_numbers(k->rank_class)) : (struct sl_repeat){0};
  struct mark marks[DERIVED + 1];
  for (uint32_t i = 0; i < p->instance_count; i++) {
    const uint32_t periods = r.period > 0 && i >= r.first ? (i - r.first) / r.period : DERIVED + 1;
    if (periods <= DERIVED && (i - r.first) % r.period == 0) {
      const uint32_t copies = (r.end - i) / r.period;
      marks[periods] = mark_here(k);
      if (periods == DERIVED && i < r.end && copies > 0 && settled(k, marks)) {
        SL_TRY(copy_periods(k, &r, copies, marks));
        i += copies * r.period;
      }
    }
    const struct sl_instance *n = &p->instances[i];
    for (int32_t o = 0; o < n->op_count; o++) SL_TRY(link_op(k, (uint32_t)(n->first_op + o), i));
  }
  return SL_OK;
}

static size_t count_issues(const struct sl_program *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->instance_count; i++) n += (size_t)p->instances[i].op_count;
  return n;
}

enum sl_status sl_waits_derive(const struct sl_plan *plan, struct sl_class *rank_class, const enum sl_scope *scopes,
                               bool all, struct sl_program *p, struct sl_lives *lives) {
  enum sl_status status;
  const size_t slots = rank_class->slot_count, issues = count_issues(p);
  struct linker k = {.plan = plan, .rank_class = rank_class, .scopes = scopes, .p = p, .lives = lives};
  /* sl_issue keeps a lane's index in 24 bits, which also bounds what one step may hold */
  if (issues >= 1u << 24)
    return sl_fail(SL_ERR_INPUT, "the step has %zu ops; expected fewer than %u", issues, 1u << 24);
  SL_GO(sl_calloc(&p->issues, issues, sizeof *p->issues));
  p->issue_capacity = issues;
  SL_GO(sl_calloc(&k.histories, slots, sizeof *k.histories));
  SL_GO(sl_calloc(&k.last_life, slots, sizeof *k.last_life));
  SL_GO(sl_calloc(&k.clocks, issues, SL_LANE_COUNT * sizeof *k.clocks));
  for (size_t i = 0; i < slots; i++) k.last_life[i] = -1;
  SL_GO(link_instances(&k, all));
done:
  for (size_t i = 0; k.histories != NULL && i < slots; i++) free(k.histories[i].spans);
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) free(k.lane_issue[lane]);
  free(k.histories);
  free(k.last_life);
  free(k.clocks);
  return status;
}
