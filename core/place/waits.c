/* Expands the schedule's instances into the issue list and derives what each op waits for.
 *
 * The meaning of a program is that of its order: an op must see what the ops before it wrote. Within a lane, FIFO order
 * ensures this. Across lanes, an op waits for the last writer of what it reads, and for the readers and the writer of
 * what it overwrites. A vector clock per op (how many ops of each lane are certain to be complete when it starts)
 * leaves out every wait that others imply, and tells arena.c which buffers may share memory.
 *
 * Most of a step repeats: place/periods.c copies what turns out identical. */
#include "core/place/waits.h"

#include "core/op/wire.h"
#include "core/place/chains.h"

#include <stdlib.h>
#include <string.h>

/* ---- what an access needs ---- */

static void move_gap(struct sl_history *h, size_t to) {
  const size_t gap = h->capacity - h->count;
  if (gap > 0 && to < h->low) memmove(&h->spans[to + gap], &h->spans[to], (h->low - to) * sizeof *h->spans);
  if (gap > 0 && to > h->low) memmove(&h->spans[h->low], &h->spans[h->low + gap], (to - h->low) * sizeof *h->spans);
  h->low = to;
}

/* Makes room for one more span, which is filled in at once. A slot has room for one from the start. */
static enum sl_status make_span_room(struct sl_history *h) {
  struct sl_span *spans;
  if (h->count < h->capacity) return SL_OK;
  const size_t capacity = 2 * h->capacity, behind = h->count - h->low;
  SL_TRY(sl_malloc(&spans, capacity, sizeof *spans));
  if (h->low > 0) memcpy(spans, h->spans, h->low * sizeof *spans);
  if (behind > 0) memcpy(&spans[capacity - behind], &h->spans[h->low], behind * sizeof *spans);
  if (h->capacity > 1) free(h->spans);
  h->spans = spans;
  h->capacity = capacity;
  return SL_OK;
}

static enum sl_status insert_span(struct sl_history *h, size_t at, struct sl_span s) {
  SL_TRY(make_span_room(h));
  move_gap(h, at);
  h->spans[h->low++] = s;
  h->count++;
  return SL_OK;
}

/* Makes the spans from `first` to before `end`, bytes [lo, hi), one that op `written - 1` of a lane has written. */
static void overwrite_spans(struct sl_history *h, size_t first, size_t end, int64_t lo, int64_t hi, int lane,
                            uint32_t written) {
  if (end - first > 1) {
    move_gap(h, end);
    h->low -= end - first - 1;
    h->count -= end - first - 1;
  }
  struct sl_span *x = sl_span_at(h, first);
  x->lo = lo, x->hi = hi;
  x->writer_lane = lane;
  x->written = written;
  x->readers = 0;
}

/* The first span that ends above `at`. */
static size_t first_span(const struct sl_history *h, int64_t at) {
  size_t low = 0, high = h->count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (sl_span_at(h, middle)->hi <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Cuts spans at lo and hi and fills gaps, so that [lo, hi) is exactly spans [*first, *end). */
static enum sl_status isolate(struct sl_history *h, int64_t lo, int64_t hi, size_t *first, size_t *end) {
  const struct sl_span *only = h->count == 1 ? sl_span_at(h, 0) : NULL;
  if (only != NULL && only->lo == lo && only->hi == hi) { /* most slots are always used whole */
    *first = 0, *end = 1;
    return SL_OK;
  }
  size_t i = *first = first_span(h, lo);
  int64_t at = lo;
  while (at < hi) {
    struct sl_span *s = i < h->count ? sl_span_at(h, i) : NULL;
    if (s == NULL || s->lo >= hi || s->lo > at) {
      const int64_t gap_end = s == NULL || s->lo > hi ? hi : s->lo;
      SL_TRY(insert_span(h, i, (struct sl_span){.lo = at, .hi = gap_end, .writer_lane = -1}));
    } else if (s->lo < at) {
      struct sl_span left = *s;
      left.hi = s->lo = at;
      SL_TRY(insert_span(h, i, left));
      *first = ++i;
      continue;
    } else if (s->hi > hi) {
      struct sl_span left = *s;
      left.hi = s->lo = hi;
      SL_TRY(insert_span(h, i, left));
    }
    at = sl_span_at(h, i++)->hi;
  }
  *end = i;
  return SL_OK;
}

static void raise(uint32_t *value, uint32_t to) {
  if (to > *value) *value = to;
}

/* How many ops of each lane must be complete. */
struct needs {
  uint32_t lanes;                /* bit l: of lane l more than none ... */
  uint32_t count[SL_LANE_COUNT]; /* ... namely so many; undefined for other lanes */
};

static void need(struct needs *n, int lane, uint32_t count) {
  if (count == 0) return;
  if (!(n->lanes >> lane & 1) || count > n->count[lane]) n->count[lane] = count;
  n->lanes |= UINT32_C(1) << lane;
}

/* Op `own` of a lane uses a slot. */
static enum sl_status access_slot(struct linker *k, const struct sl_use *use, uint32_t slot, int own_lane, uint32_t own,
                                  struct needs *needs) {
  struct sl_history *h = &k->histories[slot];
  size_t first, end;
  if (use->hi <= use->lo) return SL_OK;
  SL_TRY(isolate(h, use->lo, use->hi, &first, &end));
  for (size_t i = first; i < end; i++) {
    struct sl_span *x = sl_span_at(h, i);
    if (x->writer_lane >= 0) need(needs, x->writer_lane, x->written);
    if (use->writes) {
      for (uint32_t lanes = x->readers; lanes != 0; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes);
        need(needs, lane, x->read[lane]);
      }
    } else {
      x->readers |= UINT32_C(1) << own_lane;
      x->read[own_lane] = own + 1; /* the ops of a lane complete in order */
    }
  }
  if (use->writes) overwrite_spans(h, first, end, use->lo, use->hi, own_lane, own + 1);
  return SL_OK;
}

/* ---- waits ---- */

/* Adds what is known once op `count - 1` of `lane` is complete. */
static void learn(const struct linker *k, uint32_t clock[SL_LANE_COUNT], int lane, uint32_t count) {
  const uint32_t *other = sl_clock_behind(k, lane, count);
  for (int i = 0; i < SL_LANE_COUNT; i++) raise(&clock[i], other[i]);
  raise(&clock[lane], count);
}

/* Turns needs into the fewest waits: the op issued last is considered first, because it is likely to imply the
 * others. */
static enum sl_status add_waits(struct linker *k, struct sl_issue *e, struct needs *needs,
                                uint32_t clock[SL_LANE_COUNT]) {
  const uint32_t *count = needs->count;
  struct sl_program *p = k->p;
  e->wait = (uint32_t)p->wait_count;
  for (;;) {
    int best = -1;
    for (uint32_t lanes = needs->lanes; lanes != 0; lanes &= lanes - 1) {
      const int lane = __builtin_ctz(lanes);
      if (count[lane] <= clock[lane])
        needs->lanes &= ~(UINT32_C(1) << lane);
      else if (best < 0 || sl_row_behind(k, lane, count[lane]) > sl_row_behind(k, best, count[best]))
        best = lane;
    }
    if (best < 0) break;
    SL_TRY(sl_room(&p->waits, &p->wait_capacity, p->wait_count + 1, sizeof *p->waits));
    p->waits[p->wait_count++] = (struct sl_wait){(uint32_t)best, count[best]};
    learn(k, clock, best, count[best]);
  }
  e->wait_count = (unsigned)(p->wait_count - e->wait) & 0xff;
  return SL_OK;
}

static void need_turn(const struct sl_program *p, const struct sl_op *op, struct needs *needs) {
  const bool message = op->lane >= SL_LANE_SEND_F && op->lane <= SL_LANE_RECV_B;
  const int sums = sl_lane_of_group(SL_GROUP_REPLICATE);
  const int first = message ? SL_LANE_SEND_F : sums, last = message ? SL_LANE_RECV_B : sums;
  for (int lane = first; lane <= last; lane++) need(needs, lane, p->lane_ops[lane]);
}

/* What program order requires besides data: the end of a program, and how communication is ordered with compute. */
static void need_control(struct linker *k, const struct sl_op *op, struct needs *needs) {
  const struct sl_program *p = k->p;
  if (op->kind == SL_OP_JOIN) {
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) need(needs, lane, p->lane_ops[lane]);
  }
  if (op->flags & SL_OP_AFTER_COMPUTE) need(needs, SL_LANE_COMPUTE, p->lane_ops[SL_LANE_COMPUTE]);
  if (op->flags & SL_OP_IN_TURN) need_turn(p, op, needs);
  if (op->lane != SL_LANE_COMPUTE) return;
  for (; k->blocks != 0; k->blocks &= k->blocks - 1) {
    const int lane = __builtin_ctz(k->blocks);
    need(needs, lane, k->blocking[lane]);
    k->blocking[lane] = 0;
  }
}

/* ---- one op ---- */

/* Does the op overwrite the slot's previous content, so that a new lifetime begins? */
static bool overwrites(const struct sl_op *op, const struct sl_buffer *b, const struct sl_slice *s) {
  const bool piece = op->flags & (SL_OP_SHARE_CHUNK | SL_OP_SHARE_RANGE); /* it writes less than its slice */
  return s->access == SL_WRITE && !piece && s->shard_stride == 0 && s->offset == 0 && s->bytes == b->bytes;
}

/* Of a range that is reduced to its owners where it stands, a rank writes no more than that range, whichever part of
 * the flat space it owns: what a backward writes in front of it need not wait (op/wire.h). */
static bool writes_in_range(const struct sl_op *op, int operand, const struct sl_buffer *b, const struct sl_slice *s) {
  return op->flags & SL_OP_SHARE_RANGE && sl_share_group(op, operand) != SL_GROUP_NONE && s->shard_stride != 0 &&
         s->shard_stride == op->dim[3] * sl_dtype_bytes(b->dtype);
}

static struct sl_use use_of(const struct linker *k, const struct sl_op *op, int operand) {
  const struct sl_slice *s = &k->p->slices[op->slice + operand];
  const struct sl_buffer *b = &k->rank_class->buffers[s->buffer];
  const enum sl_scope scope = k->scopes[s->buffer];
  const int64_t further = (k->places[op->place_group] - 1) * s->shard_stride, element = sl_dtype_bytes(b->dtype);
  const bool range = writes_in_range(op, operand, b, s);
  return (struct sl_use){.lo = s->offset + (range ? op->dim[1] * element : 0),
                         .hi = s->offset + (range ? op->dim[2] * element : s->bytes + further),
                         .slot = (uint32_t)b->first_slot,
                         .number = sl_slice_number(b, s),
                         .buffer = s->buffer,
                         .writes = s->access & SL_WRITE,
                         .lives = !b->persistent,
                         .pieces = b->pieces > 0,
                         .of_micro = scope == SL_SCOPE_MICRO,
                         .renews = scope >= SL_SCOPE_MICRO && overwrites(op, b, s)};
}

static enum sl_status list_uses(struct linker *k) {
  const struct sl_program *p = k->p;
  uint32_t count = 0;
  SL_TRY(sl_malloc(&k->first_use, p->op_count, sizeof *k->first_use));
  for (size_t i = 0; i < p->op_count; i++) {
    k->first_use[i] = count;
    count += (uint32_t)p->ops[i].slice_count;
  }
  SL_TRY(sl_malloc(&k->uses, count, sizeof *k->uses));
  for (size_t i = 0; i < p->op_count; i++)
    for (int j = 0; j < p->ops[i].slice_count; j++) k->uses[k->first_use[i] + (uint32_t)j] = use_of(k, &p->ops[i], j);
  return SL_OK;
}

static enum sl_status link_op(struct linker *k, uint32_t op_index, uint32_t instance) {
  struct sl_program *p = k->p;
  const struct sl_op *op = &p->ops[op_index];
  const struct sl_instance *n = &p->instances[instance];
  const struct sl_use *uses = &k->uses[k->first_use[op_index]];
  const uint32_t issue = (uint32_t)p->issue_count, own = p->lane_ops[op->lane];
  struct needs needs;
  needs.lanes = 0;
  const uint32_t place = sl_lane_place(k, (int)op->lane, own);
  SL_TRY(sl_room(&k->lane_rows[op->lane], &k->lane_capacity[op->lane], (size_t)place + 1, sizeof(uint32_t)));
  struct sl_issue *e = sl_issue_at(k, issue);
  p->issue_count++;
  *e = (struct sl_issue){.op = op_index, .instance = instance, .lane_index = own & 0xffffff};
  k->rank_class->work.derived++;
  k->lane_rows[op->lane][place] = issue - k->copied.issue;

  for (const struct sl_use *use = uses; use < uses + op->slice_count; use++)
    SL_TRY(access_slot(k, use, sl_use_slot(use, p, n), (int)op->lane, own, &needs));
  need_control(k, op, &needs);
  needs.lanes &= ~(UINT32_C(1) << op->lane); /* FIFO */
  uint32_t *clock = sl_clock_of(k, issue);
  if (own > 0)
    memcpy(clock, sl_clock_behind(k, (int)op->lane, own), SL_LANE_COUNT * sizeof *clock);
  else
    memset(clock, 0, SL_LANE_COUNT * sizeof *clock);
  clock[op->lane] = own;
  SL_TRY(add_waits(k, e, &needs, clock));
  SL_TRY(sl_lives_record(k, issue));
  p->lane_ops[op->lane]++;
  if (op->flags & SL_OP_BLOCKING) k->blocking[op->lane] = own + 1, k->blocks |= UINT32_C(1) << op->lane;
  return SL_OK;
}

/* ---- all ops ---- */

/* *met becomes false if copies may have left out that two slots overlap in time. */
static enum sl_status link_instances(struct linker *k, enum sl_copying copying, bool *met) {
  enum sl_status status = SL_OK;
  const struct sl_program *p = k->p;
  struct sl_periods periods;
  SL_GO(sl_periods_open(&periods, k, sl_program_is_step(p->kind) ? copying : SL_COPY_NOTHING));
  for (uint32_t i = 0; i < p->instance_count; i++) {
    SL_GO(sl_periods_skip(&periods, &i));
    if (i == p->instance_count) break;
    const struct sl_instance *n = &p->instances[i];
    for (int32_t o = 0; o < n->op_count; o++) SL_GO(link_op(k, (uint32_t)(n->first_op + o), i));
  }
  sl_chains_end(&periods);
  *met = sl_chains_met(&periods);
done:
  sl_periods_close(&periods);
  return status;
}

static size_t count_issues(const struct sl_program *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->instance_count; i++) n += (size_t)p->instances[i].op_count;
  return n;
}

/* Most slots are only ever used whole: the one span that they need lies beside those of the other slots. */
static enum sl_status open_histories(struct linker *k, size_t slots) {
  SL_TRY(sl_malloc(&k->first_spans, slots, sizeof *k->first_spans));
  SL_TRY(sl_calloc(&k->histories, slots, sizeof *k->histories));
  for (size_t i = 0; i < slots; i++) {
    k->histories[i].spans = &k->first_spans[i];
    k->histories[i].capacity = 1;
  }
  return SL_OK;
}

static void close_histories(struct linker *k, size_t slots) {
  for (size_t i = 0; k->histories != NULL && i < slots; i++)
    if (k->histories[i].capacity > 1) free(k->histories[i].spans);
  free(k->histories);
  free(k->first_spans);
}

/* Links all instances of k->p, whose issue list has room for them. */
static enum sl_status link_program(struct linker *k, enum sl_copying copying, bool *met) {
  enum sl_status status;
  const size_t slots = k->rank_class->slot_count;
  SL_GO(open_histories(k, slots));
  SL_GO(sl_calloc(&k->last_life, slots, sizeof *k->last_life));
  SL_GO(sl_malloc(&k->clocks, k->p->issue_capacity, SL_LANE_COUNT * sizeof *k->clocks)); /* most are never written */
  for (size_t i = 0; i < slots; i++) k->last_life[i] = -1;
  for (int g = 0; g < SL_GROUP_COUNT; g++)
    k->places[g] = sl_plan_group(k->plan, (enum sl_group)g, k->rank_class->first_rank).size;
  SL_GO(list_uses(k));
  SL_GO(link_instances(k, copying, met));
done:
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) free(k->lane_rows[lane]);
  close_histories(k, slots);
  free(k->last_life);
  free(k->clocks);
  free(k->uses);
  free(k->first_use);
  return status;
}

/* How much memory an allocator reserves (place/reserve.h) follows from every lifetime that fills a pipeline. With
 * activations in host memory, slots of messages are held without being used: copies that leave lifetimes out would have
 * to be derived once more. */
static enum sl_copying copying_of(const struct sl_plan *plan, const struct sl_build_options *options) {
  const bool reserves = plan->config->sl.kernels != SL_KERNELS_SHARDLAB && !options->unplaced;
  if (options->memory_curve) return SL_COPY_NOTHING;
  return reserves || plan->config->activations.on_host ? SL_COPY_WHOLE : SL_COPY_SHORT;
}

enum sl_status sl_waits_derive(const struct sl_plan *plan, struct sl_class *rank_class, const enum sl_scope *scopes,
                               const struct sl_build_options *options, struct sl_program *p, struct sl_lives *lives) {
  const size_t issues = count_issues(p), before = lives->count;
  /* sl_issue keeps a lane's index in 24 bits, and steps have fewer (lower/step.c) */
  if (issues >= 1u << 24)
    return sl_fail(SL_ERR_INPUT, "a program has %zu ops; expected fewer than %u", issues, 1u << 24);
  SL_TRY(sl_malloc(&p->issues, issues, sizeof *p->issues));
  p->issue_capacity = issues;
  enum sl_copying copying = copying_of(plan, options);
  for (bool met = false; !met; copying = SL_COPY_WHOLE) {
    struct linker k = {.plan = plan,
                       .rank_class = rank_class,
                       .scopes = scopes,
                       .p = p,
                       .lives = lives,
                       .repeated = options->repeated};
    lives->count = before;
    p->issue_count = p->wait_count = 0;
    p->repeated = (struct sl_repetition){0};
    memset(p->lane_ops, 0, sizeof p->lane_ops);
    SL_TRY(link_program(&k, copying, &met));
  }
  return SL_OK;
}
