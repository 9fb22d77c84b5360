/* The step program of one rank: its part of the schedule, action by action; and the evaluation program, which has the
 * forward actions only.
 *
 * A distinct action (kind, stage, place in the accumulation) is lowered once; every action of the schedule becomes an
 * instance of it with its own micro-batch and buffer slots (lower/slots.c). */
#include "core/lower/step.h"

#include "core/base/limits.h"
#include "core/lower/ahead.h"
#include "core/lower/lower.h"
#include "core/lower/scaling.h"
#include "core/lower/slots.h"

#include <stdlib.h>

/* A lowered variant of a stage's action: its first op and number of ops; -1 if not lowered yet. */
struct segment {
  int32_t first, count;
};

enum { VARIANTS = 128 }; /* the flags of struct sl_pass */

/* The progress of a stage. */
struct progress {
  int passes; /* the step's backwards (or W) lowered so far */
  int forwards;
  bool gathered; /* an UNSHARD has been lowered */
};

struct walk {
  struct sl_lowering *l;
  struct sl_program *p;
  struct segment (*segments)[SL_ACTION_COUNT][VARIANTS]; /* per stage of the rank */
  struct progress *progress;                             /* per stage of the rank */
  size_t at;                                             /* index of the action in the rank's list */
  size_t last_backward;                                  /* the rank's last backward */
  int64_t ops, most;                                     /* of the program so far; it must have fewer than `most` */
};

/* ---- segments ---- */

/* Which of two pairs of lanes a transfer uses: that to the next rank or that to the previous one. A V-shaped schedule
 * sends activations, and gradients, in both directions; on one lane, transfers with one neighbour would queue behind
 * those with the other. Of two ranks, each is both neighbours of the other: there, and between ranks that are not
 * neighbours, activations go up. */
static bool goes_up(int ranks, int from, int to, bool forward) {
  if (ranks > 2 && to == (from + 1) % ranks) return true;
  if (ranks > 2 && from == (to + 1) % ranks) return false;
  return forward;
}

/* A transfer between this rank and the one that holds the neighbouring stage. */
static enum sl_status lower_transfer(struct sl_lowering *l, struct sl_program *p, const struct sl_action *a) {
  const bool send = a->kind == SL_ACTION_SEND_F || a->kind == SL_ACTION_SEND_B;
  const bool forward = a->kind == SL_ACTION_SEND_F || a->kind == SL_ACTION_RECV_F;
  const struct sl_stage *c = l->stage->stage;
  /* what crosses the stage's end, or its beginning */
  const bool behind = a->kind == SL_ACTION_SEND_F || a->kind == SL_ACTION_RECV_B;
  const int64_t count = sl_build_stream_count(l->plan, behind ? c->first_layer + c->layer_count : c->first_layer);
  const enum sl_slot slot = !forward ? SL_SLOT_DX : send ? SL_SLOT_OUT : SL_SLOT_IN;
  const int own = c->rank, peer = l->plan->stages[sl_action_peer_stage(a)].rank;
  const bool up = goes_up(l->plan->pp, send ? own : peer, send ? peer : own, forward);
  const enum sl_lane lane = up ? (send ? SL_LANE_SEND_F : SL_LANE_RECV_F) : (send ? SL_LANE_SEND_B : SL_LANE_RECV_B);
  struct sl_op op =
      sl_op_plain(send ? SL_OP_SEND : SL_OP_RECV, l->dtype, forward ? SL_PHASE_FORWARD : SL_PHASE_BACKWARD);
  op.lane = lane;
  op.payload = SL_PAYLOAD_ACTIVATION;
  op.dim[0] = count;
  op.layer = c->first_layer;
  op.peer = peer;
  if (l->plan->strategy.blocking_messages) op.flags = SL_OP_AFTER_COMPUTE | SL_OP_IN_TURN | SL_OP_BLOCKING;
  return SL_BUILD_EMIT(p, op, sl_build_stream(l, slot, send ? SL_READ : SL_WRITE, count));
}

/* The step after it knows nothing of it. */
static enum sl_status end_evaluation(struct sl_lowering *l, struct sl_program *p) {
  SL_TRY(sl_scaling_forget(l, p, SL_PHASE_STEP));
  return sl_update_sum(l, p);
}

static enum sl_status lower_action(struct walk *w, const struct sl_action *a, struct sl_pass pass) {
  struct sl_lowering *l = w->l;
  switch (a->kind) {
  case SL_ACTION_FORWARD:
    return sl_zero_forward(l, w->p, pass);
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
    SL_TRY(l->zero->evaluates ? end_evaluation(l, w->p) : sl_update_step(l, w->p));
    return sl_build_join(w->p, SL_PHASE_STEP);
  default:
    /* RESHARD needs no op: a buffer's life ends with its last use. REDUCE_GRAD follows a stage's last backward, which
     * launched the reductions as its gradients became ready */
    return SL_OK;
  }
}

/* ---- the rank's list of actions ---- */

static bool contributes(enum sl_action_kind kind) {
  return kind == SL_ACTION_BACKWARD || kind == SL_ACTION_BACKWARD_WEIGHT;
}

/* Does this rank hold both ends of a tied embedding, and is `local` one of them? */
static bool shares_tied(const struct sl_lowering *l, int local) {
  const struct sl_plan *plan = l->plan;
  const struct sl_stage *c = l->stages[local].stage;
  return plan->model->tied_head && plan->embed_ranks[0] == plan->embed_ranks[1] && (c->embedding || c->head);
}

static struct sl_pass pass_of(const struct walk *w, const struct sl_action *a, int local) {
  const struct sl_lowering *l = w->l;
  const int n = (int)l->plan->n_micro;
  struct sl_pass pass = {.end = w->at == w->last_backward};
  /* only a second copy of the parameters makes later gathers differ from the first */
  pass.again = a->kind == SL_ACTION_UNSHARD && l->plan->secondary > 1 && w->progress[local].gathered;
  pass.gathers =
      a->kind == SL_ACTION_FORWARD && l->plan->strategy.overlap_param_gather && w->progress[local].forwards == 0;
  if (!contributes(a->kind)) return pass;
  int done = 0, all = 0; /* of the stages that share the tied embedding */
  for (int i = 0; i < l->pp_rank->stage_count; i++) {
    if (!shares_tied(l, i)) continue;
    done += w->progress[i].passes;
    all += n;
  }
  pass.first = w->progress[local].passes == 0;
  pass.last = w->progress[local].passes == n - 1;
  pass.tied_first = shares_tied(l, local) ? done == 0 : pass.first;
  pass.tied_last = shares_tied(l, local) ? done == all - 1 : pass.last;
  return pass;
}

/* Is the step longer than it may be? The rest of it is then only counted, because it may be a hundred times as long. */
static bool is_too_long(const struct walk *w) {
  return w->ops >= w->most;
}

/* Makes room for an instance of each of so many actions. */
static enum sl_status make_room(struct walk *w, size_t actions) {
  struct sl_program *p = w->p;
  SL_TRY(sl_room(&p->instances, &p->instance_capacity, actions, sizeof *p->instances));
  return sl_room(&p->slots, &p->slot_capacity, actions * (size_t)sl_slots_count(w->l), sizeof *p->slots);
}

/* The slot numbers of the next instance. */
static void number_slots(struct walk *w, const struct sl_action *a) {
  struct sl_program *p = w->p;
  sl_slots_take(w->l, a, &p->slots[p->slot_count]);
  p->slot_count += (size_t)sl_slots_count(w->l);
}

static enum sl_status emit(struct walk *w, const struct sl_action *a, int local) {
  struct sl_program *p = w->p;
  const struct sl_pass pass = pass_of(w, a, local);
  const int variant = pass.first | pass.last << 1 | pass.tied_first << 2 | pass.tied_last << 3 |
                      (contributes(a->kind) && pass.end) << 4 | pass.again << 5 | pass.gathers << 6;
  struct segment *s = &w->segments[local][a->kind][variant];
  w->l->stage = &w->l->stages[local];
  if (s->count == 0) {
    s->first = (int32_t)p->op_count;
    SL_TRY(lower_action(w, a, pass));
    s->count = (int32_t)p->op_count - s->first;
  }
  if (contributes(a->kind)) w->progress[local].passes++;
  if (a->kind == SL_ACTION_FORWARD) w->progress[local].forwards++;
  if (a->kind == SL_ACTION_UNSHARD) w->progress[local].gathered = true;
  w->ops += s->count;
  if (s->count == 0 || is_too_long(w)) return SL_OK;
  SL_TRY(sl_build_instance(p, *a, s->first, s->count));
  if (a->kind != SL_ACTION_STEP)
    p->instances[p->instance_count - 1].slots = (int32_t)p->slot_count - sl_slots_count(w->l);
  return SL_OK;
}

/* Does the stage that is gathered here compute a forward before it is released? */
static bool serves_forward(const struct walk *w) {
  const struct sl_schedule *s = &w->l->plan->schedule;
  const int rank = w->l->rank_class->pp_rank, stage = s->actions[rank][w->at].stage;
  for (size_t i = w->at + 1; i < s->counts[rank]; i++) {
    const struct sl_action *a = &s->actions[rank][i];
    if (a->stage != stage) continue;
    if (a->kind == SL_ACTION_FORWARD) return true;
    if (a->kind == SL_ACTION_RESHARD) return false;
  }
  return false;
}

/* Does the action belong to the program? The forward actions of all ranks keep the common order that the whole lists
 * have, so none of their messages can wait forever (sl_schedule_lower_sends). */
static bool takes_part(const struct walk *w, const struct sl_action *a) {
  if (a->kind == SL_ACTION_IDLE) return false;
  if (!w->l->zero->evaluates) return true;
  if (a->kind == SL_ACTION_UNSHARD) return serves_forward(w);
  return a->kind == SL_ACTION_FORWARD || a->kind == SL_ACTION_SEND_F || a->kind == SL_ACTION_RECV_F ||
         a->kind == SL_ACTION_RESHARD || a->kind == SL_ACTION_STEP;
}

static enum sl_status visit(struct walk *w, const struct sl_action *a) {
  if (a->kind == SL_ACTION_STEP) return emit(w, a, 0);
  const int local = w->l->plan->stages[a->stage].local;
  if (is_too_long(w)) return emit(w, a, local);
  number_slots(w, a);
  SL_TRY(emit(w, a, local));
  sl_slots_give(w->l, a);
  return SL_OK;
}

/* The programs of all pipeline ranks are made side by side, and share what there may be. */
static int64_t most_ops(const struct sl_lowering *l) {
  const bool once = l->options->repeated && !l->options->memory_curve; /* whether repetitions are stored once */
  const int64_t share = (once ? SL_MAX_OPS_ALL : SL_MAX_OPS_APART) / l->plan->pp;
  return share < SL_MAX_OPS ? share : SL_MAX_OPS;
}

enum sl_status sl_lower_step(struct sl_lowering *l, enum sl_program_kind kind) {
  enum sl_status status;
  const struct sl_schedule *s = &l->plan->schedule;
  const int rank = l->rank_class->pp_rank;
  struct walk w = {.l = l, .p = &l->rank_class->programs[kind], .most = most_ops(l)};
  l->zero->compressed = kind == SL_PROGRAM_COMPRESSED;
  l->zero->evaluates = kind == SL_PROGRAM_EVAL;
  sl_ahead_begin(l);
  SL_GO(sl_calloc(&w.segments, (size_t)l->pp_rank->stage_count, sizeof *w.segments));
  SL_GO(sl_calloc(&w.progress, (size_t)l->pp_rank->stage_count, sizeof *w.progress));
  for (size_t i = 0; i < s->counts[rank]; i++) {
    if (contributes(s->actions[rank][i].kind)) w.last_backward = i;
  }
  SL_GO(make_room(&w, s->counts[rank]));
  for (w.at = 0; w.at < s->counts[rank]; w.at++) {
    const struct sl_action *a = &s->actions[rank][w.at];
    if (takes_part(&w, a)) SL_GO(visit(&w, a));
  }
  if (is_too_long(&w))
    SL_GO(sl_fail(SL_ERR_INPUT,
                  "gradient_accumulation_steps: is %lld: a step of rank %d would have %lld ops; expected fewer than "
                  "%lld on each of %d pipeline ranks",
                  (long long)l->plan->n_micro, l->rank_class->first_rank, (long long)w.ops, (long long)w.most,
                  l->plan->pp));
done:
  l->zero->compressed = l->zero->evaluates = false;
  free(w.segments);
  free(w.progress);
  return status;
}
