/* The step program of one rank: its part of the schedule, action by action.
 *
 * A distinct action (kind, stage, place in the accumulation) is lowered once; every action of the schedule becomes an
 * instance of it with its micro-batch and its buffer slots. Slots are taken and given back as the schedule goes, the lowest
 * free one first: so a stage holds what its schedule has in flight, min(pp - stage, m) micro-batches for 1F1B, and no more.
 *
 *   ACTIVATION  taken by F, given back by B (W)
 *   stream      IN taken by RECV_F, given back by B (W); OUT taken by F, given back by SEND_F, or becoming the IN of the next
 *               stage where that is on the same rank
 *   DX          taken by RECV_B (by the last stage's own B or I), given back by SEND_B (by the first stage's B or I); a stage
 *               on the same rank takes it over
 *   WEIGHT      taken by I, given back by W; a whole B of a split schedule takes and gives one back
 * What is sent or received has one slot more, so that it can travel while the next action computes. */
#include <stdlib.h>

#include "core/lower.h"

/* Slots of one kind. */
struct pool {
  int64_t *holder; /* what holds each slot, -1 nothing */
  size_t capacity;
  int size;                       /* most slots ever taken */
  int32_t resting[SL_SLOT_COUNT]; /* slot given back last, plus 1; see rest */
};

/* A variant of a chunk's actions that is lowered: first op and number of ops, -1 before. */
struct segment {
  int32_t first, count;
};

enum { VARIANTS = 64 }; /* the flags of struct sl_pass */

struct walk {
  struct sl_lowering *l;
  struct sl_program *p; /* NULL: only count slots */
  struct pool stream, dx;
  struct pool *activation, *weight;                      /* per chunk of the rank */
  struct segment (*segments)[SL_ACTION_COUNT][VARIANTS]; /* per chunk of the rank */
  size_t at;                                             /* index of the action in the rank's list */
  size_t last_backward;                                  /* of the rank */
};

/* Holds a slot that is given back but not free yet. */
static const int64_t RESTING = INT64_MAX;

static int64_t key(const struct walk *w, int stage, int micro_batch) {
  return (int64_t)stage * w->l->plan->n_micro + micro_batch;
}

static enum sl_status take(struct pool *pool, int64_t holder, int32_t *slot) {
  int i = 0;
  while (i < pool->size && pool->holder[i] >= 0) i++;
  if (i == pool->size) {
    SL_TRY(sl_grow(&pool->holder, &pool->capacity, (size_t)i + 1, sizeof *pool->holder));
    pool->size++;
  }
  pool->holder[i] = holder;
  *slot = i;
  return SL_OK;
}

static int32_t find(const struct pool *pool, int64_t holder) {
  for (int i = 0; i < pool->size; i++) {
    if (pool->holder[i] == holder) return i;
  }
  return 0; /* nothing passes here: the buffer has one slot, or there is none */
}

static void give(struct pool *pool, int64_t holder) {
  for (int i = 0; i < pool->size; i++) {
    if (pool->holder[i] == holder) pool->holder[i] = -1;
  }
}

/* Give back when something else is given back: until then what comes next stands beside it. So a transfer out of the slot,
 * or the next one into it, has the time of one action to hide behind. Where nothing is sent there is nothing to hide. */
static void rest(struct pool *pool, int64_t holder, enum sl_slot as, bool transfers) {
  for (int i = 0; i < pool->size; i++) {
    if (pool->holder[i] != holder) continue;
    if (!transfers) {
      pool->holder[i] = -1;
      continue;
    }
    if (pool->resting[as] > 0) pool->holder[pool->resting[as] - 1] = -1;
    pool->holder[i] = RESTING;
    pool->resting[as] = i + 1;
  }
}

static void hand_over(struct pool *pool, int64_t from, int64_t to) {
  for (int i = 0; i < pool->size; i++) {
    if (pool->holder[i] == from) pool->holder[i] = to;
  }
}

/* An output of stage s stands under the key of stage s + 1's input with this bit until it is that. */
static const int64_t OUTPUT = (int64_t)1 << 62;

/* ---- slots ---- */

static bool same_rank(const struct walk *w, int stage, int other) {
  const struct sl_plan *plan = w->l->plan;
  return other >= 0 && other < plan->chunk_count && plan->chunks[other].rank == plan->chunks[stage].rank;
}

/* What the action takes before it runs. */
static enum sl_status take_slots(struct walk *w, const struct sl_action *a, int local, int32_t slots[SL_SLOT_COUNT]) {
  const struct sl_chunk *c = &w->l->plan->chunks[a->stage];
  const int64_t own = key(w, a->stage, a->micro_batch);
  int32_t slot;
  switch (a->kind) {
  case SL_ACTION_RECV_F:
    SL_TRY(take(&w->stream, own, &slot));
    break;
  case SL_ACTION_FORWARD:
    SL_TRY(take(&w->activation[local], own, &slot));
    if (!c->head) SL_TRY(take(&w->stream, own | OUTPUT, &slot));
    break;
  case SL_ACTION_RECV_B:
    SL_TRY(take(&w->dx, own, &slot));
    break;
  case SL_ACTION_BACKWARD:
  case SL_ACTION_BACKWARD_INPUT:
    if (c->head) SL_TRY(take(&w->dx, own, &slot));
    if (w->l->chunks[local].split) SL_TRY(take(&w->weight[local], own, &slot));
    break;
  default:
    break;
  }
  slots[SL_SLOT_ACTIVATION] = find(&w->activation[local], own);
  slots[SL_SLOT_IN] = find(&w->stream, own);
  slots[SL_SLOT_OUT] = find(&w->stream, own | OUTPUT);
  slots[SL_SLOT_DX] = find(&w->dx, own);
  slots[SL_SLOT_WEIGHT] = find(&w->weight[local], own);
  return SL_OK;
}

/* What it leaves free, or to the stage beside it. */
static void give_slots(struct walk *w, const struct sl_action *a, int local) {
  const int64_t own = key(w, a->stage, a->micro_batch);
  const bool transfers = w->l->plan->pp > 1;
  const bool whole = a->kind == SL_ACTION_BACKWARD, input = whole || a->kind == SL_ACTION_BACKWARD_INPUT;
  if (a->kind == SL_ACTION_FORWARD && same_rank(w, a->stage, a->stage + 1))
    hand_over(&w->stream, own | OUTPUT, key(w, a->stage + 1, a->micro_batch));
  if (a->kind == SL_ACTION_SEND_F) rest(&w->stream, own | OUTPUT, SL_SLOT_OUT, transfers);
  if (a->kind == SL_ACTION_SEND_B || (input && a->stage == 0)) rest(&w->dx, own, SL_SLOT_DX, transfers);
  if (input && same_rank(w, a->stage, a->stage - 1)) hand_over(&w->dx, own, key(w, a->stage - 1, a->micro_batch));
  if (!whole && a->kind != SL_ACTION_BACKWARD_WEIGHT) return;
  give(&w->activation[local], own);
  rest(&w->stream, own, SL_SLOT_IN, transfers);
  give(&w->weight[local], own);
}

/* ---- segments ---- */

/* Which of the two pairs of lanes: the one to the next rank or the one to the rank before. A V sends activations both ways
 * and gradients too; were they on one lane, those of one neighbour would stand behind those of the other. Two ranks are each
 * other's both neighbours: there, and between ranks that are none, activations go up. */
static bool goes_up(int ranks, int from, int to, bool forward) {
  if (ranks > 2 && to == (from + 1) % ranks) return true;
  if (ranks > 2 && from == (to + 1) % ranks) return false;
  return forward;
}

/* A transfer between this rank and the one that holds the neighbouring stage. */
static enum sl_status lower_transfer(struct sl_lowering *l, struct sl_program *p, const struct sl_action *a) {
  const bool send = a->kind == SL_ACTION_SEND_F || a->kind == SL_ACTION_SEND_B;
  const bool forward = a->kind == SL_ACTION_SEND_F || a->kind == SL_ACTION_RECV_F;
  const struct sl_chunk *c = l->chunk->chunk;
  /* what passes behind a stage, or in front of it */
  const bool behind = a->kind == SL_ACTION_SEND_F || a->kind == SL_ACTION_RECV_B;
  const int64_t count = sl_stream_count(l->plan, behind ? c->first_layer + c->layer_count : c->first_layer);
  const enum sl_slot slot = !forward ? SL_SLOT_DX : send ? SL_SLOT_OUT : SL_SLOT_IN;
  const int own = c->rank, peer = l->plan->chunks[sl_action_peer_stage(a)].rank;
  const bool up = goes_up(l->plan->pp, send ? own : peer, send ? peer : own, forward);
  const enum sl_lane lane = up ? (send ? SL_LANE_SEND_F : SL_LANE_RECV_F) : (send ? SL_LANE_SEND_B : SL_LANE_RECV_B);
  const struct sl_op op = {.kind = send ? SL_OP_SEND : SL_OP_RECV,
                           .lane = lane,
                           .group = SL_GROUP_NONE,
                           .place_group = SL_GROUP_NONE,
                           .dtype = l->dtype,
                           .phase = forward ? SL_PHASE_FORWARD : SL_PHASE_BACKWARD,
                           .payload = SL_PAYLOAD_ACTIVATION,
                           .dim = {count},
                           .tensor = -1,
                           .layer = c->first_layer,
                           .peer = peer};
  return SL_EMIT(p, op, sl_stream(l, slot, send ? SL_READ : SL_WRITE, count));
}

static enum sl_status lower_action(struct walk *w, const struct sl_action *a, struct sl_pass pass) {
  struct sl_lowering *l = w->l;
  switch (a->kind) {
  case SL_ACTION_FORWARD:
    return sl_zero_forward(l, w->p);
  case SL_ACTION_BACKWARD:
    return sl_zero_backward(l, w->p, pass);
  case SL_ACTION_BACKWARD_INPUT:
    return sl_zero_backward_input(l, w->p);
  case SL_ACTION_BACKWARD_WEIGHT:
    return sl_zero_backward_weight(l, w->p, pass);
  case SL_ACTION_UNSHARD:
    return sl_zero_unshard(l, w->p, pass.again);
  case SL_ACTION_SEND_F:
  case SL_ACTION_RECV_F:
  case SL_ACTION_SEND_B:
  case SL_ACTION_RECV_B:
    return lower_transfer(l, w->p, a);
  case SL_ACTION_STEP:
    SL_TRY(sl_zero_step(l, w->p));
    return sl_lower_join(w->p, SL_PHASE_STEP);
  default:
    /* RESHARD ends lives, which their last use does; REDUCE_GRAD stands behind a stage's last backward, which has launched
     * the reductions as its gradients were made */
    return SL_OK;
  }
}

/* ---- the walk ---- */

static bool contributes(enum sl_action_kind kind) {
  return kind == SL_ACTION_BACKWARD || kind == SL_ACTION_BACKWARD_WEIGHT;
}

/* Does this rank hold both ends of a tied embedding, and is `local` one of them? */
static bool shares_tied(const struct sl_lowering *l, int local) {
  const struct sl_plan *plan = l->plan;
  const struct sl_chunk *c = l->chunks[local].chunk;
  return plan->model->tied_head && plan->embed_ranks[0] == plan->embed_ranks[1] && (c->embedding || c->head);
}

static struct sl_pass pass_of(const struct walk *w, const struct sl_action *a, int local) {
  const struct sl_lowering *l = w->l;
  const int n = (int)l->plan->n_micro;
  struct sl_pass pass = {.end = w->at == w->last_backward};
  /* only with a second copy of the parameters is the first gather another than those that follow */
  pass.again = a->kind == SL_ACTION_UNSHARD && l->plan->secondary > 1 && l->chunks[local].gathered;
  if (!contributes(a->kind)) return pass;
  int done = 0, all = 0; /* over the chunks that share the tied embedding */
  for (int i = 0; i < l->stage->chunk_count; i++) {
    if (!shares_tied(l, i)) continue;
    done += l->chunks[i].passes;
    all += n;
  }
  pass.first = l->chunks[local].passes == 0;
  pass.last = l->chunks[local].passes == n - 1;
  pass.tied_first = shares_tied(l, local) ? done == 0 : pass.first;
  pass.tied_last = shares_tied(l, local) ? done == all - 1 : pass.last;
  return pass;
}

static enum sl_status emit(struct walk *w, const struct sl_action *a, int local, const int32_t slots[SL_SLOT_COUNT]) {
  struct sl_program *p = w->p;
  const struct sl_pass pass = pass_of(w, a, local);
  const int variant = pass.first | pass.last << 1 | pass.tied_first << 2 | pass.tied_last << 3 |
                      (contributes(a->kind) && pass.end) << 4 | pass.again << 5;
  struct segment *s = &w->segments[local][a->kind][variant];
  w->l->chunk = &w->l->chunks[local];
  if (s->count == 0) {
    s->first = (int32_t)p->op_count;
    SL_TRY(lower_action(w, a, pass));
    s->count = (int32_t)p->op_count - s->first;
  }
  if (contributes(a->kind)) w->l->chunks[local].passes++;
  if (a->kind == SL_ACTION_UNSHARD) w->l->chunks[local].gathered = true;
  if (s->count == 0) return SL_OK;
  SL_TRY(sl_lower_instance(p, *a, s->first, s->count));
  for (int k = 0; k < SL_SLOT_COUNT; k++) p->instances[p->instance_count - 1].slots[k] = slots[k];
  return SL_OK;
}

static enum sl_status visit(struct walk *w, const struct sl_action *a) {
  const bool step = a->kind == SL_ACTION_STEP;
  const int local = step ? 0 : w->l->plan->chunks[a->stage].local;
  int32_t slots[SL_SLOT_COUNT] = {0};
  if (a->micro_batch >= 0) SL_TRY(take_slots(w, a, local, slots));
  if (w->p != NULL) SL_TRY(emit(w, a, local, slots));
  if (a->micro_batch >= 0) give_slots(w, a, local);
  return SL_OK;
}

static void close_walk(struct walk *w) {
  for (int i = 0; i < w->l->stage->chunk_count; i++) {
    if (w->activation != NULL) free(w->activation[i].holder);
    if (w->weight != NULL) free(w->weight[i].holder);
  }
  free(w->activation);
  free(w->weight);
  free(w->segments);
  free(w->stream.holder);
  free(w->dx.holder);
}

static enum sl_status walk(struct walk *w) {
  enum sl_status status;
  const struct sl_schedule *s = &w->l->plan->schedule;
  const int rank = w->l->rank_class->stage;
  const size_t chunks = (size_t)w->l->stage->chunk_count;
  SL_GO(sl_calloc(&w->activation, chunks, sizeof *w->activation));
  SL_GO(sl_calloc(&w->weight, chunks, sizeof *w->weight));
  SL_GO(sl_calloc(&w->segments, chunks, sizeof *w->segments));
  for (size_t i = 0; i < s->counts[rank]; i++) {
    if (contributes(s->actions[rank][i].kind)) w->last_backward = i;
  }
  for (w->at = 0; w->at < s->counts[rank]; w->at++) {
    const struct sl_action *a = &s->actions[rank][w->at];
    if (a->kind != SL_ACTION_IDLE) SL_GO(visit(w, a));
  }
fail:
  return status;
}

static int at_least_one(int n) {
  return n > 0 ? n : 1;
}

enum sl_status sl_lower_count_slots(struct sl_lowering *l) {
  const struct sl_schedule *s = &l->plan->schedule;
  const int rank = l->rank_class->stage;
  struct walk w = {.l = l};
  for (size_t i = 0; i < s->counts[rank]; i++) {
    const struct sl_action *a = &s->actions[rank][i];
    if (a->kind == SL_ACTION_BACKWARD_INPUT) l->chunks[l->plan->chunks[a->stage].local].split = true;
  }
  const enum sl_status status = walk(&w);
  for (int i = 0; status == SL_OK && i < l->stage->chunk_count; i++) {
    l->chunks[i].activation_slots = at_least_one(w.activation[i].size);
    l->chunks[i].weight_slots = at_least_one(w.weight[i].size);
  }
  l->stream_slots = at_least_one(w.stream.size);
  l->dx_slots = at_least_one(w.dx.size);
  close_walk(&w);
  return status;
}

enum sl_status sl_lower_step(struct sl_lowering *l) {
  struct walk w = {.l = l, .p = &l->rank_class->programs[SL_PROGRAM_STEP]};
  const enum sl_status status = walk(&w);
  close_walk(&w);
  return status;
}
