/* Checks one rank's memory, byte by byte: a race detector over arena offsets.
 *
 * Ops are taken in program order with a vector clock that only FIFO lanes and the given waits advance. A shadow of the
 * arena (cells.h) records, for each range of bytes, which buffer slot wrote it last, when, and which lanes have read it
 * since. */
#include <stdlib.h>
#include <string.h>

#include "core/check/cells.h"
#include "core/check/rendezvous.h"
#include "core/op/operands.h"
#include "core/op/wire.h"

struct checker {
  const struct sl_job *job;
  const struct sl_class *c;
  const struct sl_program *p;
  int rank;
  struct sl_cells shadow;          /* gaps were never touched */
  uint32_t *clocks[SL_LANE_COUNT]; /* per lane: the clock at the end of each of its ops */
  uint32_t done[SL_LANE_COUNT];    /* ops of each lane processed so far */
};

static enum sl_status refuse(const struct checker *k, uint32_t issue, const char *what, const struct sl_buffer *b) {
  const struct sl_issue *e = &k->p->issues[issue];
  char action[32];
  sl_action_print(action, sizeof action, &k->p->instances[e->instance].action);
  return sl_fail(SL_ERR_CHECK, "rank %d: #%u %s in %s: %s (buffer %s)  <-- ERROR HERE", k->rank, issue,
                 sl_op_name(k->p->ops[e->op].kind), action, what, b->name);
}

/* Makes lo and hi boundaries; *first: the first cell that ends above lo. Most accesses have the same boundaries as
 * earlier ones. */
static enum sl_status cut(struct sl_cells *s, int64_t lo, int64_t hi, struct sl_cells_place *first) {
  *first = sl_cells_find(s, lo);
  const struct sl_cell *x = sl_cells_at(s, *first);
  if (x != NULL && x->lo == lo && x->hi == hi) return SL_OK;
  SL_TRY(sl_cells_split(s, lo));
  SL_TRY(sl_cells_split(s, hi));
  *first = sl_cells_find(s, lo);
  return SL_OK;
}

/* Is the write, and with `readers` every read since, complete when an op with this clock starts on lane `own`? Earlier
 * ops of the same lane are, and so is the op's own read. */
static bool ordered(const struct sl_cell *x, const uint32_t *clock, enum sl_lane own, bool readers) {
  if (x->slot >= 0 && x->lane != (int)own && x->written > clock[x->lane]) return false;
  for (uint32_t lanes = readers ? x->readers & ~(UINT32_C(1) << own) : 0; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    if (x->read[lane] > clock[lane]) return false;
  }
  return true;
}

static enum sl_status check_read(struct checker *k, uint32_t issue, const struct sl_buffer *b, int64_t slot, int64_t lo,
                                 int64_t hi, const uint32_t *clock, enum sl_lane lane) {
  struct sl_cells *s = &k->shadow;
  struct sl_cells_place p;
  SL_TRY(cut(s, lo, hi, &p));
  int64_t at = lo;
  for (struct sl_cell *x; (x = sl_cells_at(s, p)) != NULL && x->lo < hi; p = sl_cells_next(s, p)) {
    if (x->lo > at) break;
    if (x->slot != slot) return refuse(k, issue, "reads bytes that another buffer has written over: use after free", b);
    if (!ordered(x, clock, lane, false)) return refuse(k, issue, "reads what no wait orders after its write", b);
    x->readers |= UINT32_C(1) << lane;
    if (k->done[lane] + 1 > x->read[lane]) x->read[lane] = k->done[lane] + 1;
    at = x->hi;
  }
  return at < hi ? refuse(k, issue, "reads bytes that nobody wrote", b) : SL_OK;
}

static enum sl_status check_write(struct checker *k, uint32_t issue, const struct sl_buffer *b, int64_t slot,
                                  int64_t lo, int64_t hi, const uint32_t *clock, enum sl_lane lane) {
  struct sl_cells *s = &k->shadow;
  struct sl_cells_place p;
  SL_TRY(cut(s, lo, hi, &p));
  for (const struct sl_cell *old; (old = sl_cells_at(s, p)) != NULL && old->lo < hi; p = sl_cells_remove(s, p))
    if (!ordered(old, clock, lane, true)) return refuse(k, issue, "overwrites what no wait orders before it", b);
  return sl_cells_insert(
      s, p, (struct sl_cell){.lo = lo, .hi = hi, .slot = slot, .lane = (int)lane, .written = k->done[lane] + 1});
}

/* Identifies a slot of a buffer. Buffers of several stages may use the same slots, but what one of them wrote still
 * does not belong to the other. */
static int64_t owner(int32_t buffer, int32_t slot) {
  return (int64_t)buffer << 32 | slot;
}

/* The bytes of operand `i` that this rank really touches: of a shared range only its own piece is written. */
static void touched(const struct checker *k, const struct sl_issue *e, int i, int64_t *slot, int64_t *lo, int64_t *hi) {
  const struct sl_op *op = &k->p->ops[e->op];
  const struct sl_instance *n = &k->p->instances[e->instance];
  const struct sl_slice *s = &k->p->slices[op->slice + i];
  const struct sl_buffer *b = &k->c->buffers[s->buffer];
  const int place = s->shard_stride != 0 ? sl_plan_group(k->job->plan, op->place_group, k->rank).index : 0;
  *slot = owner(s->buffer, sl_slice_slot(k->p, b, s, n));
  /* each space has its own arena, far away from the others' */
  *lo = sl_operand_offset(k->c, k->p, n, op, i, place) + ((int64_t)b->space << 56);
  *hi = *lo + s->bytes;
  const enum sl_group sharers = sl_share_group(op, i);
  if (sharers != SL_GROUP_NONE) {
    const struct sl_members m = sl_plan_group(k->job->plan, sharers, k->rank);
    const struct sl_share share = sl_share_piece(op, sl_op_slices(k->p, op), i / 2, m.index);
    *lo += share.shard_first * sl_dtype_bytes(op->dtype);
    *hi = *lo + share.count * sl_dtype_bytes(op->dtype);
  }
}

static void advance_clock(const struct checker *k, const struct sl_issue *e, uint32_t clock[SL_LANE_COUNT]) {
  const enum sl_lane lane = k->p->ops[e->op].lane;
  const uint32_t *previous = k->done[lane] > 0 ? &k->clocks[lane][(size_t)(k->done[lane] - 1) * SL_LANE_COUNT] : NULL;
  memset(clock, 0, SL_LANE_COUNT * sizeof *clock);
  if (previous != NULL) memcpy(clock, previous, SL_LANE_COUNT * sizeof *clock);
  for (unsigned w = 0; w < e->wait_count; w++) {
    const struct sl_wait *wait = &k->p->waits[e->wait + w];
    const uint32_t *other = &k->clocks[wait->lane][(size_t)(wait->count - 1) * SL_LANE_COUNT];
    for (int i = 0; i < SL_LANE_COUNT; i++) {
      if (other[i] > clock[i]) clock[i] = other[i];
    }
  }
}

static enum sl_status check_issue(struct checker *k, uint32_t issue) {
  const struct sl_issue *e = &k->p->issues[issue];
  const struct sl_op *op = &k->p->ops[e->op];
  uint32_t *clock = &k->clocks[op->lane][(size_t)k->done[op->lane] * SL_LANE_COUNT];
  for (unsigned w = 0; w < e->wait_count; w++) {
    const struct sl_wait *wait = &k->p->waits[e->wait + w];
    if (wait->count <= k->done[wait->lane]) continue;
    return sl_fail(
        SL_ERR_CHECK, "rank %d: #%u %s waits for %u ops of lane %s, of which only %u come before it  <-- ERROR HERE",
        k->rank, issue, sl_op_name(op->kind), wait->count, sl_lane_name((enum sl_lane)wait->lane), k->done[wait->lane]);
  }
  advance_clock(k, e, clock);
  for (int pass = 0; pass < 2; pass++) { /* an op reads before it writes */
    const unsigned kind = pass == 0 ? SL_READ : SL_WRITE;
    for (int i = 0; i < op->slice_count; i++) {
      const struct sl_slice *s = &k->p->slices[op->slice + i];
      int64_t slot, lo, hi;
      if (!(s->access & kind)) continue;
      touched(k, e, i, &slot, &lo, &hi);
      if (hi <= lo) continue;
      SL_TRY(pass == 0 ? check_read(k, issue, &k->c->buffers[s->buffer], slot, lo, hi, clock, op->lane)
                       : check_write(k, issue, &k->c->buffers[s->buffer], slot, lo, hi, clock, op->lane));
    }
  }
  clock[op->lane] = ++k->done[op->lane];
  return SL_OK;
}

/* A program ends with a join of all lanes, so everything is complete for the next one. Only persistent buffers carry
 * over; all other bytes count as never written. */
static void carry_over(struct checker *k) {
  struct sl_cells *s = &k->shadow;
  struct sl_cells_place p = {0, 0};
  for (struct sl_cell *x; (x = sl_cells_at(s, p)) != NULL;) {
    if (!k->c->buffers[x->slot >> 32].persistent) {
      p = sl_cells_remove(s, p);
      continue;
    }
    x->written = 0;
    memset(x->read, 0, sizeof x->read);
    p = sl_cells_next(s, p);
  }
}

static enum sl_status check_program(struct checker *k, const struct sl_program *p) {
  enum sl_status status;
  k->p = p;
  carry_over(k);
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    free(k->clocks[lane]);
    k->clocks[lane] = NULL;
    k->done[lane] = 0;
    SL_GO(sl_calloc(&k->clocks[lane], (size_t)p->lane_ops[lane] * SL_LANE_COUNT, sizeof(uint32_t)));
  }
  for (uint32_t i = 0; i < p->issue_count; i++) SL_GO(check_issue(k, i));
  const struct sl_issue *last = &p->issues[p->issue_count - 1];
  const uint32_t *end = &k->clocks[SL_LANE_COMPUTE][(size_t)(p->lane_ops[SL_LANE_COMPUTE] - 1) * SL_LANE_COUNT];
  if (p->ops[last->op].kind != SL_OP_JOIN || memcmp(end, p->lane_ops, sizeof p->lane_ops) != 0) {
    return sl_fail(SL_ERR_CHECK, "rank %d: the program does not end with a join of every lane  <-- ERROR HERE",
                   k->rank);
  }
done:
  return status;
}

enum sl_status sl_check_memory(const struct sl_job *job, int rank) {
  enum sl_status status;
  const struct sl_class *c = &job->classes[sl_job_class_of(job, rank)];
  struct checker k = {.job = job, .c = c, .rank = rank};
  const struct sl_buffer *control = &c->buffers[c->control];
  const int64_t at = c->slot_offsets[control->first_slot];
  /* the step state is set up before the first program */
  SL_GO(sl_cells_insert(&k.shadow, (struct sl_cells_place){0, 0},
                        (struct sl_cell){.lo = at, .hi = at + control->bytes, .slot = owner(c->control, 0)}));
  SL_GO(check_program(&k, &c->programs[SL_PROGRAM_INIT]));
  SL_GO(check_program(&k, &c->programs[SL_PROGRAM_STEP]));
  SL_GO(check_program(&k, &c->programs[SL_PROGRAM_STEP])); /* once more, from the state that a step leaves */
  for (int again = 0; again < 2 && c->programs[SL_PROGRAM_COMPRESSED].issue_count > 0; again++)
    SL_GO(check_program(&k, &c->programs[SL_PROGRAM_COMPRESSED]));
  for (int again = 0; again < 2 && c->programs[SL_PROGRAM_EVAL].issue_count > 0; again++) {
    SL_GO(check_program(&k, &c->programs[SL_PROGRAM_EVAL]));
    SL_GO(check_program(&k, &c->programs[SL_PROGRAM_STEP])); /* from the state that an evaluation leaves */
  }
  SL_GO(check_program(&k, &c->programs[SL_PROGRAM_SAVE]));
done:
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) free(k.clocks[lane]);
  sl_cells_free(&k.shadow);
  return status;
}

static int place_in(const struct sl_job *job, enum sl_group group, int rank) {
  return group == SL_GROUP_NONE ? 0 : sl_plan_group(job->plan, group, rank).index;
}

/* Do two ranks touch the same bytes? Their places in a group may differ, see touched(). */
static bool same_bytes(const struct sl_job *job, const struct sl_program *p, const struct sl_op *op, int a, int b) {
  if (op->kind == SL_OP_REDUCE_SCATTER && place_in(job, op->group, a) != place_in(job, op->group, b)) return false;
  if (place_in(job, op->place_group, a) == place_in(job, op->place_group, b)) return true;
  for (int i = 0; i < op->slice_count; i++)
    if (p->slices[op->slice + i].shard_stride != 0) return false;
  return true;
}

bool sl_check_same_memory(const struct sl_job *job, int a, int b) {
  const struct sl_class *c = &job->classes[sl_job_class_of(job, a)];
  if (c != &job->classes[sl_job_class_of(job, b)]) return false;
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
    const struct sl_program *p = &c->programs[kind];
    for (size_t i = 0; i < p->op_count; i++)
      if (!same_bytes(job, p, &p->ops[i], a, b)) return false;
  }
  return true;
}
