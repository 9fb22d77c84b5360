/* Slots: which buffers of a rank the micro-batches in flight occupy.
 *
 * Slots are taken and given back in the schedule's order, the lowest free one first. So a rank has as many as its
 * schedule has micro-batches in flight, for 1F1B min(pp - stage, m), and no more.
 *
 *   stream      IN: taken by RECV_F, given back by B (W). OUT: taken by F, given back by SEND_F; if the next stage is
 *               on the same rank, it becomes that stage's IN
 *   DX          taken by RECV_B (by the last stage's own B or I), given back by SEND_B (by the first stage's B or I); a
 *               stage on the same rank takes it over
 *   ACTIVATION  taken by F, given back by B; if the backward is split, by I, or by W if W reads it
 *   WEIGHT      taken by I, given back by W; an undivided B in a split schedule takes and gives one back
 *   PARAMETER   taken by UNSHARD, given back by RESHARD
 *
 * Buffers that only one action uses need no slots. A buffer that I no longer needs may leave its slot to one that I
 * makes for W. What is sent or received has one slot more, so that the transfer overlaps with the next action.
 *
 * The stages of a rank are not all full at the same time: with separate slots for each, a rank of 12 stages would need
 * a quarter more than it ever holds. Equal buffers of several stages therefore form a family with common slots, and all
 * families of the same stages take theirs from one pool. If all stages are identical there is one pool; others are for
 * buffers that only the model's ends have, or stages with one layer more. */
#include "core/lower/slots.h"

#include "core/base/limits.h"
#include "core/lower/lower.h"

#include <stdlib.h>
#include <string.h>

struct pool {
  enum sl_slot kind;
  bool late;                           /* W reads it */
  bool *users;                         /* by stage of the rank */
  int32_t *slot_of;                    /* by holder; -1: none */
  uint64_t *taken;                     /* one bit per slot */
  size_t full;                         /* the words of `taken` before this one have no free bit */
  int size;                            /* the most slots ever taken */
  int32_t resting[SL_SLOT_ACTIVATION]; /* the slot given back last, plus 1; see rest */
};

struct sl_slots {
  struct pool stream, dx, *kept;
  size_t kept_count, kept_capacity;
  int32_t *head; /* by buffer: the first of its family; -1: none */
  size_t buffer_count;
};

/* A stage's parameters serve all its micro-batches: the first one holds them. */
enum { ANY = -1 };

/* Who holds a slot: a micro-batch of a stage of the rank. A stage's output has a number of its own until it is sent or
 * becomes the next stage's input. */
static size_t holder(const struct sl_lowering *l, int local, int micro_batch, bool output) {
  const size_t stage = (size_t)local + (output ? (size_t)l->pp_rank->stage_count : 0);
  return stage * (size_t)l->plan->n_micro + (size_t)(micro_batch == ANY ? 0 : micro_batch);
}

static size_t holders(const struct sl_lowering *l) {
  return 2 * (size_t)l->pp_rank->stage_count * (size_t)l->plan->n_micro;
}

/* ---- one pool ---- */

static enum sl_status open_pool(const struct sl_lowering *l, struct pool *pool) {
  const size_t most = holders(l) + SL_SLOT_ACTIVATION; /* as many more may be resting */
  SL_TRY(sl_calloc(&pool->users, (size_t)l->pp_rank->stage_count, sizeof *pool->users));
  SL_TRY(sl_calloc(&pool->slot_of, holders(l), sizeof *pool->slot_of));
  SL_TRY(sl_calloc(&pool->taken, most / 64 + 1, sizeof *pool->taken));
  memset(pool->slot_of, 0xff, holders(l) * sizeof *pool->slot_of);
  return SL_OK;
}

static void close_pool(struct pool *pool) {
  free(pool->users);
  free(pool->slot_of);
  free(pool->taken);
}

static void take(struct pool *pool, size_t holder) {
  size_t word = pool->full;
  while (pool->taken[word] == UINT64_MAX) word++;
  pool->full = word;
  const int bit = __builtin_ctzll(~pool->taken[word]), slot = (int)word * 64 + bit;
  pool->taken[word] |= UINT64_C(1) << bit;
  pool->slot_of[holder] = slot;
  if (slot >= pool->size) pool->size = slot + 1;
}

/* 0 if nothing is held, because the action does not use it. */
static int32_t find(const struct pool *pool, size_t holder) {
  return pool->slot_of[holder] >= 0 ? pool->slot_of[holder] : 0;
}

static void release(struct pool *pool, int32_t slot) {
  if ((size_t)slot / 64 < pool->full) pool->full = (size_t)slot / 64;
  pool->taken[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

static void give(struct pool *pool, size_t holder) {
  if (pool->slot_of[holder] >= 0) release(pool, pool->slot_of[holder]);
  pool->slot_of[holder] = -1;
}

/* Delays giving the slot back until another one is given back, so that what comes next uses a different one. A transfer
 * from or into the slot then overlaps with one action. Without transfers the slot is given back at once. */
static void rest(struct pool *pool, size_t holder, enum sl_slot as, bool transfers) {
  if (!transfers) give(pool, holder);
  if (pool->slot_of[holder] < 0) return;
  if (pool->resting[as] > 0) release(pool, pool->resting[as] - 1);
  pool->resting[as] = pool->slot_of[holder] + 1;
  pool->slot_of[holder] = -1;
}

static void hand_over(struct pool *pool, size_t from, size_t to) {
  pool->slot_of[to] = pool->slot_of[from];
  pool->slot_of[from] = -1;
}

/* ---- what actions take and give back ---- */

/* Which of this rank's stages is stage `stage` of the pipeline; -1 if it is another rank's. */
static int local_of(const struct sl_lowering *l, int stage) {
  if (stage < 0 || stage >= l->plan->stage_count) return -1;
  return l->plan->stages[stage].rank == l->rank_class->pp_rank ? l->plan->stages[stage].local : -1;
}

static void take_kept(struct sl_slots *s, enum sl_slot kind, int local, size_t own) {
  for (size_t k = 0; k < s->kept_count; k++) {
    if (s->kept[k].kind == kind && s->kept[k].users[local]) take(&s->kept[k], own);
  }
}

/* Gives back activations, if `late` also those that W reads. */
static void give_kept(struct sl_slots *s, enum sl_slot kind, bool late, size_t own) {
  for (size_t k = 0; k < s->kept_count; k++) {
    if (s->kept[k].kind == kind && (late || !s->kept[k].late)) give(&s->kept[k], own);
  }
}

int sl_slots_count(const struct sl_lowering *l) {
  return SL_SLOT_ACTIVATION + (int)l->slots->kept_count;
}

void sl_slots_take(struct sl_lowering *l, const struct sl_action *a, int32_t *numbers) {
  struct sl_slots *s = l->slots;
  const int local = local_of(l, a->stage);
  const bool head = l->plan->stages[a->stage].head;
  const size_t own = holder(l, local, a->micro_batch, false), output = holder(l, local, a->micro_batch, true);
  const size_t stage = holder(l, local, ANY, false);
  switch (a->kind) {
  case SL_ACTION_RECV_F:
    take(&s->stream, own);
    break;
  case SL_ACTION_FORWARD:
    take_kept(s, SL_SLOT_ACTIVATION, local, own);
    if (!head) take(&s->stream, output);
    break;
  case SL_ACTION_RECV_B:
    take(&s->dx, own);
    break;
  case SL_ACTION_BACKWARD:
  case SL_ACTION_BACKWARD_INPUT:
    if (head) take(&s->dx, own);
    take_kept(s, SL_SLOT_WEIGHT, local, own);
    break;
  case SL_ACTION_UNSHARD:
    take_kept(s, SL_SLOT_PARAMETER, local, stage);
    break;
  default:
    break;
  }
  numbers[SL_SLOT_IN] = find(&s->stream, own);
  numbers[SL_SLOT_OUT] = find(&s->stream, output);
  numbers[SL_SLOT_DX] = find(&s->dx, own);
  for (size_t k = 0; k < s->kept_count; k++)
    numbers[SL_SLOT_ACTIVATION + k] = find(&s->kept[k], s->kept[k].kind == SL_SLOT_PARAMETER ? stage : own);
}

void sl_slots_give(struct sl_lowering *l, const struct sl_action *a) {
  struct sl_slots *s = l->slots;
  const int local = local_of(l, a->stage), next = local_of(l, a->stage + 1), previous = local_of(l, a->stage - 1);
  const size_t own = holder(l, local, a->micro_batch, false), output = holder(l, local, a->micro_batch, true);
  const bool transfers = l->plan->pp > 1;
  const bool whole = a->kind == SL_ACTION_BACKWARD, input = whole || a->kind == SL_ACTION_BACKWARD_INPUT;
  if (a->kind == SL_ACTION_FORWARD && next >= 0) hand_over(&s->stream, output, holder(l, next, a->micro_batch, false));
  if (a->kind == SL_ACTION_SEND_F) rest(&s->stream, output, SL_SLOT_OUT, transfers);
  if (a->kind == SL_ACTION_SEND_B || (input && a->stage == 0)) rest(&s->dx, own, SL_SLOT_DX, transfers);
  if (input && previous >= 0) hand_over(&s->dx, own, holder(l, previous, a->micro_batch, false));
  if (a->kind == SL_ACTION_RESHARD) give_kept(s, SL_SLOT_PARAMETER, true, holder(l, local, ANY, false));
  if (l->zero->evaluates && a->kind == SL_ACTION_FORWARD) { /* no backward will read it */
    rest(&s->stream, own, SL_SLOT_IN, transfers);
    give_kept(s, SL_SLOT_ACTIVATION, true, own);
  }
  if (input) give_kept(s, SL_SLOT_ACTIVATION, false, own);
  if (!whole && a->kind != SL_ACTION_BACKWARD_WEIGHT) return;
  rest(&s->stream, own, SL_SLOT_IN, transfers);
  give_kept(s, SL_SLOT_ACTIVATION, true, own);
  give_kept(s, SL_SLOT_WEIGHT, true, own);
}

/* ---- families ---- */

/* A buffer with slots from a pool, and what makes two such buffers equal: it is the `ordinal`th of its stage with this
 * kind, end, category, space and size. */
struct member {
  int32_t buffer;
  int stage, ordinal;
  bool late;
  const struct sl_buffer *b;
};

#define DIFFER(x, y)                                                                                                   \
  if ((x) != (y)) return (x) < (y) ? -1 : 1

static int alike(const struct member *x, const struct member *y) {
  DIFFER(x->b->slot, y->b->slot);
  DIFFER(x->late, y->late);
  DIFFER(x->b->category, y->b->category);
  DIFFER(x->b->space, y->b->space);
  DIFFER(x->b->bytes, y->b->bytes);
  return 0;
}

static int by_stage(const void *a, const void *b) {
  const struct member *x = a, *y = b;
  const int order = alike(x, y);
  if (order != 0) return order;
  DIFFER(x->stage, y->stage);
  return x->buffer < y->buffer ? -1 : 1;
}

static int by_family(const void *a, const void *b) {
  const struct member *x = a, *y = b;
  const int order = alike(x, y);
  if (order != 0) return order;
  DIFFER(x->ordinal, y->ordinal);
  return x->stage < y->stage ? -1 : 1;
}

/* The pool of such members for exactly these stages; made if there is none. */
static enum sl_status pool_for(const struct sl_lowering *l, const struct member *m, const bool *users, int32_t *out) {
  struct sl_slots *s = l->slots;
  const size_t bytes = (size_t)l->pp_rank->stage_count * sizeof *users;
  for (size_t k = 0; k < s->kept_count; k++) {
    const struct pool *pool = &s->kept[k];
    *out = (int32_t)k;
    if (pool->kind == m->b->slot && pool->late == m->late && memcmp(pool->users, users, bytes) == 0) return SL_OK;
  }
  *out = (int32_t)s->kept_count;
  SL_TRY(sl_grow(&s->kept, &s->kept_capacity, s->kept_count + 1, sizeof *s->kept));
  struct pool *pool = &s->kept[s->kept_count++];
  pool->kind = m->b->slot;
  pool->late = m->late;
  SL_TRY(open_pool(l, pool));
  memcpy(pool->users, users, bytes);
  return SL_OK;
}

static enum sl_status join_family(struct sl_lowering *l, const struct member *family, size_t count, bool *users) {
  int32_t pool;
  memset(users, 0, (size_t)l->pp_rank->stage_count * sizeof *users);
  for (size_t i = 0; i < count; i++) users[family[i].stage] = true;
  SL_TRY(pool_for(l, family, users, &pool));
  for (size_t i = 0; i < count; i++) {
    l->rank_class->buffers[family[i].buffer].pool = pool;
    l->slots->head[family[i].buffer] = family->buffer;
  }
  return SL_OK;
}

/* How the backward of a stage uses a buffer. Positions count drafts from 1; 0: none. */
struct use {
  bool by_input, by_weight; /* by I and by W; an undivided backward counts as I */
  size_t first, last;       /* in I */
  bool first_computes;      /* the first use is by an op of the compute lane */
  bool only_computes;       /* so are all uses in I */
  int32_t heir;             /* plus 1: the buffer that takes over the slot */
  bool inherits;            /* takes over another's slot */
};

static void note_input_use(struct use *u, size_t position, bool computes) {
  if (u->first == 0) u->first_computes = u->only_computes = computes;
  if (u->first == 0) u->first = position;
  u->only_computes = u->only_computes && computes;
  u->last = position;
}

static void find_uses(const struct sl_lowered_stage *c, struct use *uses) {
  for (size_t i = 0; i < c->backward.count; i++) {
    const struct sl_draft *d = &c->backward.items[i];
    const bool weight = c->split && d->half == SL_HALF_WEIGHT;
    for (int k = 0; k < d->operand_count; k++) {
      if (d->operand[k].buffer < 0) continue;
      struct use *u = &uses[d->operand[k].buffer];
      u->by_weight = u->by_weight || weight;
      u->by_input = u->by_input || !weight;
      if (!weight) note_input_use(u, i + 1, d->op.lane == SL_LANE_COMPUTE);
    }
  }
}

/* Lets an activation that I no longer needs leave its slot to a buffer of the same size that I makes later for W. Ops
 * of one lane use both, so the first life is over when the other begins. With separate slots, each would need room for
 * its own maximum, though one is small when the other is large. */
static void find_heir(const struct sl_lowering *l, const struct sl_lowered_stage *c, struct use *uses, int32_t made) {
  const struct sl_buffer *buffers = l->rank_class->buffers, *b = &buffers[made];
  if (b->slot != SL_SLOT_WEIGHT || !uses[made].by_weight || !uses[made].first_computes) return;
  for (int32_t i = c->first_buffer; i < c->end_buffer; i++) {
    const struct sl_buffer *x = &buffers[i];
    if (x->slot != SL_SLOT_ACTIVATION || x->bytes != b->bytes || x->category != b->category || x->space != b->space)
      continue;
    if (uses[i].by_weight || !uses[i].only_computes || uses[i].heir > 0 || uses[i].last >= uses[made].first) continue;
    uses[i].heir = made + 1;
    uses[made].inherits = true;
    return;
  }
}

/* Is the buffer used by two actions or more, and has it a slot of its own? */
static bool is_member(const struct sl_buffer *b, const struct use *u) {
  if (b->slot == SL_SLOT_ACTIVATION) return u->by_input || u->by_weight;
  return b->slot == SL_SLOT_PARAMETER || (b->slot == SL_SLOT_WEIGHT && u->by_input && u->by_weight && !u->inherits);
}

static size_t list_members(const struct sl_lowering *l, struct use *uses, struct member *members) {
  size_t n = 0;
  for (int stage = 0; stage < l->pp_rank->stage_count; stage++) {
    const struct sl_lowered_stage *c = &l->stages[stage];
    find_uses(c, uses);
    for (int32_t i = c->first_buffer; i < c->end_buffer; i++) find_heir(l, c, uses, i);
    for (int32_t i = c->first_buffer; i < c->end_buffer; i++) {
      const struct sl_buffer *b = &l->rank_class->buffers[i];
      if (!is_member(b, &uses[i])) continue;
      members[n++] =
          (struct member){.buffer = i, .stage = stage, .late = uses[i].by_weight || uses[i].heir > 0, .b = b};
    }
  }
  return n;
}

static enum sl_status find_families(struct sl_lowering *l) {
  enum sl_status status;
  struct member *members = NULL;
  struct use *uses = NULL; /* by buffer */
  bool *users = NULL;
  SL_GO(sl_calloc(&members, l->rank_class->buffer_count, sizeof *members));
  SL_GO(sl_calloc(&uses, l->rank_class->buffer_count, sizeof *uses));
  SL_GO(sl_calloc(&users, (size_t)l->pp_rank->stage_count, sizeof *users));
  const size_t n = list_members(l, uses, members);
  qsort(members, n, sizeof *members, by_stage);
  for (size_t i = 1; i < n; i++) {
    const struct member *before = &members[i - 1];
    if (alike(before, &members[i]) == 0 && before->stage == members[i].stage) members[i].ordinal = before->ordinal + 1;
  }
  qsort(members, n, sizeof *members, by_family);
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && alike(&members[i], &members[end]) == 0; end++) {
      if (members[i].ordinal != members[end].ordinal) break;
    }
    SL_GO(join_family(l, &members[i], end - i, users));
  }
  for (size_t i = 0; i < n; i++) {
    const int32_t heir = uses[members[i].buffer].heir - 1;
    if (heir < 0) continue;
    l->rank_class->buffers[heir].pool = members[i].b->pool;
    l->slots->head[heir] = l->slots->head[members[i].buffer];
  }
done:
  free(members);
  free(uses);
  free(users);
  return status;
}

enum sl_status sl_slots_open(struct sl_lowering *l) {
  SL_TRY(sl_calloc(&l->slots, 1, sizeof *l->slots));
  struct sl_slots *s = l->slots;
  s->buffer_count = l->rank_class->buffer_count;
  SL_TRY(sl_calloc(&s->head, s->buffer_count, sizeof *s->head));
  memset(s->head, 0xff, s->buffer_count * sizeof *s->head);
  SL_TRY(open_pool(l, &s->stream));
  SL_TRY(open_pool(l, &s->dx));
  return find_families(l);
}

void sl_slots_close(struct sl_lowering *l) {
  struct sl_slots *s = l->slots;
  if (s == NULL) return;
  for (size_t k = 0; k < s->kept_count; k++) close_pool(&s->kept[k]);
  close_pool(&s->stream);
  close_pool(&s->dx);
  free(s->kept);
  free(s->head);
  free(s);
}

/* ---- slot numbers ---- */

static int slots_of(const struct sl_lowering *l, int32_t buffer) {
  const struct sl_slots *s = l->slots;
  const struct sl_buffer *b = &l->rank_class->buffers[buffer];
  const struct pool *pool = buffer == l->stream                                        ? &s->stream
                            : buffer == l->dx                                          ? &s->dx
                            : (size_t)buffer < s->buffer_count && s->head[buffer] >= 0 ? &s->kept[b->pool]
                                                                                       : NULL;
  return pool != NULL && pool->size > 1 ? pool->size : 1;
}

int sl_slots_messages(const struct sl_lowering *l) {
  return l->slots->stream.size + l->slots->dx.size;
}

/* A family is numbered at the first of its buffers. This need not be its head: a buffer that takes over a slot may have
 * been made before the one that leaves it, which a pass keeps (models/passes.c). */
enum sl_status sl_slots_number(struct sl_lowering *l) {
  struct sl_class *c = l->rank_class;
  for (size_t i = 0; i < c->buffer_count; i++) c->buffers[i].first_slot = -1;
  for (int32_t i = 0; i < (int32_t)c->buffer_count; i++) {
    struct sl_buffer *b = &c->buffers[i];
    const int32_t head = (size_t)i < l->slots->buffer_count ? l->slots->head[i] : -1;
    struct sl_buffer *first = head >= 0 ? &c->buffers[head] : b;
    b->slots = slots_of(l, i);
    if (first->first_slot < 0) {
      first->first_slot = (int32_t)c->slot_count;
      c->slot_count += (size_t)b->slots;
    }
    b->first_slot = first->first_slot;
  }
  if (c->slot_count <= SL_MAX_SLOTS) return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 "gradient_accumulation_steps: is %lld: rank %d would keep %zu buffers of micro-batches in flight; "
                 "expected at most %lld: schedule 1f1b keeps fewer than gpipe",
                 (long long)l->plan->n_micro, c->first_rank, c->slot_count, (long long)SL_MAX_SLOTS);
}
