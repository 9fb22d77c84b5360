/* The passes from a compute-only schedule to one with communication; see schedule/action.h. Each writes new lists and
 * replaces the old ones. Idle ticks are dropped: after this only the order counts. */
#include "core/schedule/action.h"

#include <stdlib.h>
#include <string.h>

/* A schedule of the same shape with empty lists, which have room for `times` as many actions. */
static enum sl_status open_like(struct sl_schedule *made, const struct sl_schedule *s, size_t times) {
  SL_TRY(sl_schedule_open(made, s->ranks, s->stages, s->micro_batches));
  memcpy(made->stage_rank, s->stage_rank, (size_t)s->stages * sizeof *s->stage_rank);
  for (int rank = 0; rank < s->ranks; rank++)
    SL_TRY(sl_room(&made->actions[rank], &made->capacities[rank], times * s->counts[rank], sizeof **made->actions));
  return SL_OK;
}

static void replace(struct sl_schedule *s, struct sl_schedule *made) {
  sl_schedule_free(s);
  *s = *made;
  *made = (struct sl_schedule){0};
}

/* The remaining uses of a rank's stages: next[c] is the index of the first one at or after the current action. */
struct window {
  const struct sl_action *actions;
  size_t count;
  int stages, *stage;        /* (stages): the rank's stages */
  size_t *next;              /* (stages); count: there is none */
  int active_count, *active; /* stages that are gathered, in the order of their UNSHARD */
};

static void find_next(struct window *w, int stage, size_t from) {
  while (from < w->count && !(sl_action_computes(w->actions[from].kind) && w->actions[from].stage == w->stage[stage]))
    from++;
  w->next[stage] = from;
}

/* Fills soon[] with the `count` stages that are used soonest, in order of use; returns how many there are. */
static int soonest(const struct window *w, int count, int *soon) {
  int n = 0;
  for (int stage = 0; stage < w->stages; stage++) {
    if (w->next[stage] == w->count) continue;
    int at = n < count ? n++ : n;
    while (at > 0 && w->next[soon[at - 1]] > w->next[stage]) {
      if (at < count) soon[at] = soon[at - 1];
      at--;
    }
    if (at < count) soon[at] = stage;
  }
  return n;
}

static bool contains(const int *list, int count, int value) {
  for (int i = 0; i < count; i++)
    if (list[i] == value) return true;
  return false;
}

static enum sl_status move_window(struct sl_schedule *made, int rank, struct window *w, const int *soon, int count) {
  int kept = 0;
  for (int i = 0; i < w->active_count; i++) {
    const int stage = w->active[i];
    if (contains(soon, count, stage)) {
      w->active[kept++] = stage;
    } else {
      SL_TRY(sl_schedule_append(made, rank, (struct sl_action){SL_ACTION_RESHARD, w->stage[stage], -1}));
    }
  }
  w->active_count = kept;
  for (int i = 0; i < count; i++) {
    if (contains(w->active, w->active_count, soon[i])) continue;
    w->active[w->active_count++] = soon[i];
    SL_TRY(sl_schedule_append(made, rank, (struct sl_action){SL_ACTION_UNSHARD, w->stage[soon[i]], -1}));
  }
  return SL_OK;
}

static enum sl_status unshard_rank(struct sl_schedule *made, const struct sl_schedule *s, int rank, int max_active,
                                   struct window *w, int *soon) {
  w->actions = s->actions[rank];
  w->count = s->counts[rank];
  w->stages = w->active_count = 0;
  for (int stage = 0; stage < s->stages; stage++)
    if (s->stage_rank[stage] == rank) w->stage[w->stages++] = stage;
  for (int stage = 0; stage < w->stages; stage++) find_next(w, stage, 0);
  for (size_t i = 0; i < w->count; i++) {
    if (w->actions[i].kind == SL_ACTION_IDLE) continue;
    if (sl_action_computes(w->actions[i].kind)) SL_TRY(move_window(made, rank, w, soon, soonest(w, max_active, soon)));
    SL_TRY(sl_schedule_append(made, rank, w->actions[i]));
    for (int stage = 0; stage < w->stages; stage++)
      if (w->next[stage] == i) find_next(w, stage, i + 1);
  }
  return move_window(made, rank, w, soon, 0);
}

enum sl_status sl_schedule_lower_unshard(struct sl_schedule *s, int max_active) {
  enum sl_status status;
  struct sl_schedule made = {0};
  struct window w = {0};
  int *soon = NULL;
  if (max_active < 1)
    return sl_fail(SL_ERR_INPUT, "schedule: at most %d stages whole at a time; expected 1 or more", max_active);
  SL_GO(open_like(&made, s, 1));
  SL_GO(sl_calloc(&w.stage, (size_t)s->stages, sizeof *w.stage));
  SL_GO(sl_calloc(&w.next, (size_t)s->stages, sizeof *w.next));
  SL_GO(sl_calloc(&w.active, (size_t)s->stages, sizeof *w.active));
  SL_GO(sl_calloc(&soon, (size_t)s->stages, sizeof *soon));
  for (int rank = 0; rank < s->ranks; rank++) SL_GO(unshard_rank(&made, s, rank, max_active, &w, soon));
  replace(s, &made);
done:
  sl_schedule_free(&made);
  free(w.stage);
  free(w.next);
  free(w.active);
  free(soon);
  return status;
}

enum sl_status sl_schedule_lower_reduce(struct sl_schedule *s) {
  enum sl_status status;
  struct sl_schedule made = {0};
  int *backwards = NULL; /* (stages) */
  SL_GO(open_like(&made, s, 1));
  SL_GO(sl_calloc(&backwards, (size_t)s->stages, sizeof *backwards));
  for (int rank = 0; rank < s->ranks; rank++) {
    for (size_t i = 0; i < s->counts[rank]; i++) {
      const struct sl_action a = s->actions[rank][i];
      if (a.kind == SL_ACTION_IDLE) continue;
      SL_GO(sl_schedule_append(&made, rank, a));
      if (a.kind != SL_ACTION_BACKWARD && a.kind != SL_ACTION_BACKWARD_WEIGHT) continue;
      if (++backwards[a.stage] == s->micro_batches)
        SL_GO(sl_schedule_append(&made, rank, (struct sl_action){SL_ACTION_REDUCE_GRAD, a.stage, -1}));
    }
  }
  replace(s, &made);
done:
  sl_schedule_free(&made);
  free(backwards);
  return status;
}

/* What has been computed while the ranks are played in turn. */
struct player {
  const struct sl_schedule *s;
  struct sl_schedule made;
  bool *forward, *backward; /* (stages, micro_batches): F, and B or I, has been played */
  size_t *at;               /* (ranks): next action */
  /* (ranks): what was played in this turn, IDLE for nothing; NULL: messages are exchanged at once */
  struct sl_action *turn;
};

static bool is_ready(const struct player *p, const struct sl_action *a) {
  if (a->kind == SL_ACTION_FORWARD && a->stage > 0)
    return p->forward[sl_schedule_cell(p->s, a->stage - 1, a->micro_batch)];
  if (sl_action_is_backward(a->kind) && a->stage < p->s->stages - 1)
    return p->backward[sl_schedule_cell(p->s, a->stage + 1, a->micro_batch)];
  return true;
}

static enum sl_status transfer(struct player *p, const struct sl_action *a, int to, enum sl_action_kind send,
                               enum sl_action_kind receive) {
  const int *rank = p->s->stage_rank;
  if (to < 0 || to >= p->s->stages || rank[to] == rank[a->stage]) return SL_OK;
  SL_TRY(sl_schedule_append(&p->made, rank[a->stage], (struct sl_action){send, a->stage, a->micro_batch}));
  return sl_schedule_append(&p->made, rank[to], (struct sl_action){receive, to, a->micro_batch});
}

/* Makes the result of `a` available to its consumers. */
static enum sl_status pass_on(struct player *p, const struct sl_action *a) {
  if (a->kind == SL_ACTION_FORWARD) {
    p->forward[sl_schedule_cell(p->s, a->stage, a->micro_batch)] = true;
    return transfer(p, a, a->stage + 1, SL_ACTION_SEND_F, SL_ACTION_RECV_F);
  }
  if (sl_action_is_backward(a->kind)) {
    p->backward[sl_schedule_cell(p->s, a->stage, a->micro_batch)] = true;
    return transfer(p, a, a->stage - 1, SL_ACTION_SEND_B, SL_ACTION_RECV_B);
  }
  return SL_OK;
}

static enum sl_status play(struct player *p, int rank) {
  const struct sl_action *a = &p->s->actions[rank][p->at[rank]++];
  if (a->kind == SL_ACTION_IDLE) return SL_OK;
  SL_TRY(sl_schedule_append(&p->made, rank, *a));
  if (p->turn == NULL) return pass_on(p, a);
  p->turn[rank] = *a;
  return SL_OK;
}

/* Exchanges the messages of a turn: activations, then gradients, pair of ranks by pair of ranks. */
static enum sl_status end_turn(struct player *p) {
  for (int forward = 1; forward >= 0; forward--) {
    for (int rank = 0; rank < p->s->ranks; rank++) {
      struct sl_action *a = &p->turn[rank];
      if ((a->kind == SL_ACTION_FORWARD) != forward) continue;
      SL_TRY(pass_on(p, a));
      a->kind = SL_ACTION_IDLE;
    }
  }
  return SL_OK;
}

static enum sl_status play_all(struct player *p) {
  for (bool progress = true; progress;) {
    progress = false;
    for (int rank = 0; rank < p->s->ranks; rank++) {
      if (p->at[rank] == p->s->counts[rank] || !is_ready(p, &p->s->actions[rank][p->at[rank]])) continue;
      SL_TRY(play(p, rank));
      progress = true;
    }
    if (p->turn != NULL) SL_TRY(end_turn(p));
  }
  for (int rank = 0; rank < p->s->ranks; rank++)
    if (p->at[rank] < p->s->counts[rank])
      return sl_schedule_fail(p->s, rank, (int64_t)p->at[rank], "what it needs never comes: the schedule deadlocks");
  return SL_OK;
}

static enum sl_status refuse_sends(const struct sl_schedule *s) {
  for (int rank = 0; rank < s->ranks; rank++) {
    for (size_t i = 0; i < s->counts[rank]; i++) {
      const enum sl_action_kind kind = s->actions[rank][i].kind;
      if (kind >= SL_ACTION_SEND_F && kind <= SL_ACTION_RECV_B)
        return sl_fail(SL_ERR_INPUT, "rank %d, step %zu: the schedule has sends and receives already", rank, i);
    }
  }
  return SL_OK;
}

static enum sl_status lower_sends(struct sl_schedule *s, bool in_turn) {
  enum sl_status status;
  struct player p = {.s = s};
  const size_t cells = (size_t)s->stages * (size_t)s->micro_batches;
  SL_TRY(refuse_sends(s));
  SL_GO(open_like(&p.made, s, 3));
  SL_GO(sl_calloc(&p.forward, cells, sizeof *p.forward));
  SL_GO(sl_calloc(&p.backward, cells, sizeof *p.backward));
  SL_GO(sl_calloc(&p.at, (size_t)s->ranks, sizeof *p.at));
  if (in_turn) SL_GO(sl_calloc(&p.turn, (size_t)s->ranks, sizeof *p.turn));
  for (int rank = 0; rank < s->ranks && in_turn; rank++) p.turn[rank].kind = SL_ACTION_IDLE;
  SL_GO(play_all(&p));
  replace(s, &p.made);
done:
  sl_schedule_free(&p.made);
  free(p.forward);
  free(p.backward);
  free(p.at);
  free(p.turn);
  return status;
}

enum sl_status sl_schedule_lower_sends(struct sl_schedule *s) {
  return lower_sends(s, false);
}

enum sl_status sl_schedule_lower_sends_in_turn(struct sl_schedule *s) {
  return lower_sends(s, true);
}
