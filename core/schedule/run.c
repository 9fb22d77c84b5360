/* Plays a schedule without a clock: in ticks, for its length, bubble and memory, and without time, to find deadlocks of
 * its sends and receives; see sl_schedule_dry_run in schedule/action.h. */
#include "core/schedule/action.h"

#include <stdlib.h>
#include <string.h>

struct dry {
  const struct sl_schedule *s;
  const struct sl_schedule_costs *costs;
  struct sl_schedule_run *run;
  int64_t *forward, *backward; /* (stages, micro_batches): tick at which F, and B or I, has ended; -1: not yet */
  bool *received;              /* (2, stages, micro_batches): RECV_F, RECV_B has happened */
  size_t *at;                  /* (ranks): next action */
  int64_t *now;                /* (ranks): when the rank is free */
  /* the ranks whose next action may be possible, in a ring, each at most once: a rank that waits is tried again only
   * when another has done what it may wait for */
  int *ring;
  bool *queued;
  int first, count;
};

static void wake(struct dry *d, int rank) {
  if (d->queued[rank]) return;
  d->queued[rank] = true;
  d->ring[(d->first + d->count++) % d->s->ranks] = rank;
}

static int next_rank(struct dry *d) {
  const int rank = d->ring[d->first];
  d->first = (d->first + 1) % d->s->ranks, d->count--;
  d->queued[rank] = false;
  return rank;
}

static void wake_rank_of(struct dry *d, int stage) {
  if (stage >= 0 && stage < d->s->stages) wake(d, d->s->stage_rank[stage]);
}

/* The stage whose F (for a forward) or B or I (for a backward) must end before `a`; -1: none. */
static int producer(const struct sl_schedule *s, const struct sl_action *a) {
  if (a->kind == SL_ACTION_FORWARD) return a->stage - 1;
  return sl_action_is_backward(a->kind) && a->stage < s->stages - 1 ? a->stage + 1 : -1;
}

static int64_t ready_at(const struct dry *d, const struct sl_action *a) {
  const int from = producer(d->s, a);
  if (from < 0) return 0;
  return (a->kind == SL_ACTION_FORWARD ? d->forward : d->backward)[sl_schedule_cell(d->s, from, a->micro_batch)];
}

static int cost_of(const struct sl_schedule_costs *costs, enum sl_action_kind kind) {
  switch (kind) {
  case SL_ACTION_FORWARD:
    return costs->forward;
  case SL_ACTION_BACKWARD:
    return costs->backward;
  case SL_ACTION_BACKWARD_INPUT:
    return costs->input;
  case SL_ACTION_BACKWARD_WEIGHT:
    return costs->weight;
  default:
    return 0;
  }
}

/* What the next action of `rank` waits for: the other end of a transfer, its own receive, or the preceding stage.
 * Several kinds may be possible (B or I); the bits say which. Returns the rank that has to do it. */
static int awaited(const struct dry *d, int rank, struct sl_action *want, unsigned *kinds) {
  const struct sl_action a = d->s->actions[rank][d->at[rank]];
  const bool transfer = a.kind >= SL_ACTION_SEND_F && a.kind <= SL_ACTION_RECV_B;
  *want = a;
  if (transfer) {
    static const enum sl_action_kind other[] = {SL_ACTION_RECV_F, SL_ACTION_SEND_F, SL_ACTION_RECV_B, SL_ACTION_SEND_B};
    _Static_assert(SL_ACTION_RECV_B == SL_ACTION_SEND_F + 3, "the four transfers stand together");
    want->stage = sl_action_peer_stage(&a);
    want->kind = other[a.kind - SL_ACTION_SEND_F];
  } else {
    want->stage = producer(d->s, &a);
    want->kind = sl_action_is_backward(a.kind) ? SL_ACTION_BACKWARD : SL_ACTION_FORWARD;
  }
  *kinds = 1u << want->kind;
  if (want->kind == SL_ACTION_BACKWARD) *kinds |= 1u << SL_ACTION_BACKWARD_INPUT;
  return want->stage >= 0 && want->stage < d->s->stages ? d->s->stage_rank[want->stage] : rank;
}

/* Writes "rank 2 waits at #17 2RECV_F3: 1SEND_F3 stands at #21 of rank 1", or "no 1SEND_F3 is left on rank 1". */
static int put_waiting(char *out, size_t size, const struct dry *d, int rank) {
  struct sl_action want;
  unsigned kinds;
  char head[32], text[32];
  const int other = awaited(d, rank, &want, &kinds);
  size_t at = d->at[other];
  for (; at < d->s->counts[other]; at++) {
    const struct sl_action *b = &d->s->actions[other][at];
    if ((kinds >> b->kind & 1) && b->stage == want.stage && b->micro_batch == want.micro_batch) break;
  }
  if (at < d->s->counts[other]) want.kind = d->s->actions[other][at].kind;
  sl_action_print(head, sizeof head, &d->s->actions[rank][d->at[rank]]);
  sl_action_print(text, sizeof text, &want);
  if (at == d->s->counts[other])
    return snprintf(out, size, "\n  rank %d waits at #%zu %s: no %s is left on rank %d", rank, d->at[rank], head, text,
                    other);
  return snprintf(out, size, "\n  rank %d waits at #%zu %s: %s stands at #%zu of rank %d", rank, d->at[rank], head,
                  text, at, other);
}

/* Reports a deadlock: what each of the first few waiting ranks waits for, one line each, then the grid of the first. */
static enum sl_status stuck(const struct dry *d, bool rendezvous) {
  char lines[420] = "";
  size_t used = 0;
  int first = -1;
  for (int rank = 0; rank < d->s->ranks; rank++) {
    if (d->at[rank] == d->s->counts[rank]) continue;
    if (first < 0) first = rank;
    if (used + 100 < sizeof lines) used += (size_t)put_waiting(lines + used, sizeof lines - used, d, rank);
  }
  return sl_schedule_fail(d->s, first, (int64_t)d->at[first], "deadlock%s%s",
                          rendezvous ? ": sends and receives wait for each other" : "", lines);
}

static void advance(struct dry *d, int rank, int64_t *busy) {
  const struct sl_action *a = &d->s->actions[rank][d->at[rank]];
  const int64_t ready = ready_at(d, a), start = d->now[rank] > ready ? d->now[rank] : ready;
  const int cost = cost_of(d->costs, a->kind);
  if (sl_action_computes(a->kind)) {
    d->run->start[rank][d->at[rank]] = start;
    d->now[rank] = start + cost;
    *busy += cost;
    if (a->kind == SL_ACTION_FORWARD) d->forward[sl_schedule_cell(d->s, a->stage, a->micro_batch)] = d->now[rank];
    if (sl_action_is_backward(a->kind)) d->backward[sl_schedule_cell(d->s, a->stage, a->micro_batch)] = d->now[rank];
    wake_rank_of(d, a->kind == SL_ACTION_FORWARD ? a->stage + 1 : a->stage - 1);
  }
  d->at[rank]++;
}

static enum sl_status play_timed(struct dry *d) {
  int64_t busy = 0;
  while (d->count > 0) {
    const int rank = next_rank(d);
    while (d->at[rank] < d->s->counts[rank] && ready_at(d, &d->s->actions[rank][d->at[rank]]) >= 0)
      advance(d, rank, &busy);
  }
  for (int rank = 0; rank < d->s->ranks; rank++) {
    if (d->at[rank] < d->s->counts[rank]) return stuck(d, false);
    if (d->now[rank] > d->run->makespan) d->run->makespan = d->now[rank];
  }
  const double room = (double)d->run->makespan * d->s->ranks;
  d->run->bubble = room > 0 ? 1 - (double)busy / room : 0;
  return SL_OK;
}

static bool is_send(enum sl_action_kind kind) {
  return kind == SL_ACTION_SEND_F || kind == SL_ACTION_SEND_B;
}

/* The send at the head of `rank` completes when its receive is at the head of the other rank: both advance. */
static bool rendezvous(struct dry *d, int rank, const struct sl_action *a) {
  const int peer = sl_action_peer_stage(a);
  if (peer < 0 || peer >= d->s->stages) return false;
  const int other = d->s->stage_rank[peer];
  if (other == rank || d->at[other] == d->s->counts[other]) return false;
  const struct sl_action *b = &d->s->actions[other][d->at[other]];
  const enum sl_action_kind receive = a->kind == SL_ACTION_SEND_F ? SL_ACTION_RECV_F : SL_ACTION_RECV_B;
  if (b->kind != receive || b->stage != peer || b->micro_batch != a->micro_batch) return false;
  const size_t half = receive == SL_ACTION_RECV_F ? 0 : (size_t)d->s->stages * (size_t)d->s->micro_batches;
  d->received[half + sl_schedule_cell(d->s, peer, a->micro_batch)] = true;
  d->at[other]++;
  wake(d, other);
  return true;
}

/* Can the head of `rank` proceed if everything blocks? */
static bool can_go(struct dry *d, int rank) {
  const struct sl_action *a = &d->s->actions[rank][d->at[rank]];
  if (is_send(a->kind)) return rendezvous(d, rank, a);
  if (a->kind == SL_ACTION_RECV_F || a->kind == SL_ACTION_RECV_B) return false; /* its sender advances it */
  const int from = producer(d->s, a);
  if (from < 0) return true;
  const bool forward = a->kind == SL_ACTION_FORWARD;
  if (d->s->stage_rank[from] == rank)
    return (forward ? d->forward : d->backward)[sl_schedule_cell(d->s, from, a->micro_batch)] >= 0;
  const size_t half = forward ? 0 : (size_t)d->s->stages * (size_t)d->s->micro_batches;
  return d->received[half + sl_schedule_cell(d->s, a->stage, a->micro_batch)];
}

static enum sl_status play_blocking(struct dry *d) {
  while (d->count > 0) {
    const int rank = next_rank(d);
    while (d->at[rank] < d->s->counts[rank] && can_go(d, rank)) {
      const struct sl_action *a = &d->s->actions[rank][d->at[rank]++];
      if (a->kind == SL_ACTION_FORWARD) d->forward[sl_schedule_cell(d->s, a->stage, a->micro_batch)] = 0;
      if (sl_action_is_backward(a->kind)) d->backward[sl_schedule_cell(d->s, a->stage, a->micro_batch)] = 0;
    }
    if (d->at[rank] == d->s->counts[rank]) continue;
    /* its sender, which may have been waiting for this rank to get here */
    const struct sl_action *head = &d->s->actions[rank][d->at[rank]];
    if (head->kind == SL_ACTION_RECV_F || head->kind == SL_ACTION_RECV_B) wake_rank_of(d, sl_action_peer_stage(head));
  }
  for (int rank = 0; rank < d->s->ranks; rank++)
    if (d->at[rank] < d->s->counts[rank]) return stuck(d, true);
  return SL_OK;
}

static void reset(struct dry *d) {
  const size_t cells = (size_t)d->s->stages * (size_t)d->s->micro_batches;
  for (size_t i = 0; i < cells; i++) d->forward[i] = d->backward[i] = -1;
  memset(d->at, 0, (size_t)d->s->ranks * sizeof *d->at);
  for (int rank = 0; rank < d->s->ranks; rank++) wake(d, rank);
}

static bool has_sends(const struct sl_schedule *s) {
  for (int rank = 0; rank < s->ranks; rank++)
    for (size_t i = 0; i < s->counts[rank]; i++)
      if (is_send(s->actions[rank][i].kind)) return true;
  return false;
}

static void count_held(const struct sl_schedule *s, struct sl_schedule_run *run) {
  for (int rank = 0; rank < s->ranks; rank++) {
    int held = 0;
    for (size_t i = 0; i < s->counts[rank]; i++) {
      const enum sl_action_kind kind = s->actions[rank][i].kind;
      held += kind == SL_ACTION_FORWARD;
      if (held > run->peak[rank]) run->peak[rank] = held;
      held -= kind == SL_ACTION_BACKWARD || kind == SL_ACTION_BACKWARD_WEIGHT;
    }
  }
}

static enum sl_status open_run(struct sl_schedule_run *run, const struct sl_schedule *s) {
  SL_TRY(sl_calloc(&run->peak, (size_t)s->ranks, sizeof *run->peak));
  SL_TRY(sl_calloc(&run->start, (size_t)s->ranks, sizeof *run->start));
  for (int rank = 0; rank < s->ranks; rank++) {
    SL_TRY(sl_calloc(&run->start[rank], s->counts[rank], sizeof *run->start[rank]));
    for (size_t i = 0; i < s->counts[rank]; i++) run->start[rank][i] = -1;
  }
  return SL_OK;
}

enum sl_status sl_schedule_dry_run(const struct sl_schedule *s, const struct sl_schedule_costs *costs,
                                   struct sl_schedule_run *run) {
  enum sl_status status;
  struct dry d = {.s = s, .costs = costs, .run = run};
  const size_t cells = (size_t)s->stages * (size_t)s->micro_batches;
  *run = (struct sl_schedule_run){.ranks = s->ranks};
  SL_GO(open_run(run, s));
  SL_GO(sl_calloc(&d.forward, cells, sizeof *d.forward));
  SL_GO(sl_calloc(&d.backward, cells, sizeof *d.backward));
  SL_GO(sl_calloc(&d.received, 2 * cells, sizeof *d.received));
  SL_GO(sl_calloc(&d.at, (size_t)s->ranks, sizeof *d.at));
  SL_GO(sl_calloc(&d.now, (size_t)s->ranks, sizeof *d.now));
  SL_GO(sl_calloc(&d.ring, (size_t)s->ranks, sizeof *d.ring));
  SL_GO(sl_calloc(&d.queued, (size_t)s->ranks, sizeof *d.queued));
  reset(&d);
  if (has_sends(s)) {
    SL_GO(play_blocking(&d));
    reset(&d);
  }
  SL_GO(play_timed(&d));
  count_held(s, run);
done:
  free(d.forward);
  free(d.backward);
  free(d.received);
  free(d.at);
  free(d.now);
  free(d.ring);
  free(d.queued);
  if (status != SL_OK) sl_schedule_run_free(run);
  return status;
}

void sl_schedule_run_free(struct sl_schedule_run *run) {
  for (int rank = 0; run->start != NULL && rank < run->ranks; rank++) free(run->start[rank]);
  free(run->start);
  free(run->peak);
  *run = (struct sl_schedule_run){0};
}
