/* Ops that run one behind the other are timed at once, with one event for all of them.
 *
 * A stretch begins with the op that runs on the compute lane. Behind it stand the next of that lane, each of which could
 * begin when the one before it ends, as long as no op of another lane waits for any but the last. If that op is a
 * collective that meets no other simulated rank, and the next compute op waits for it alone, the stretch goes on with
 * both: then only one of the two lanes runs at any time.
 *
 * All this holds if nothing else happens to the rank meanwhile: a transfer that begins or ends, or a call that the host
 * makes beside. Then the stretch is settled first: its ops that have ended are complete, the one that runs is as if it
 * had been started alone, and those behind it are not begun. So times are those that single events give. */
#include "sim/ahead.h"

/* ---- who is told ---- */

void sl_sim_emit(struct sl_sim *sim, int local, struct sl_issue_ref issue, double start, double end) {
  const struct sl_sim_rank *rank = &sim->ranks[local];
  const uint32_t number = sl_issue_number(rank->now->program, issue);
  if (rank->untold != NULL) {
    sl_untold_note_one(rank->untold, number, issue.stored, start, end);
    return;
  }
  const struct sl_completion done = {.local = local, .index = number, .start_s = start, .end_s = end};
  if (sim->out_count < sim->out_max) {
    sim->out[sim->out_count++] = done;
  } else {
    sim->spill[sim->spill_count++] = done;
  }
}

/* Tells of the first `count` ops of a stretch: at once of compute that is stored one behind another and runs without a
 * gap. */
static void tell(struct sl_sim *sim, int local, uint32_t count) {
  const struct sl_sim_rank *rank = &sim->ranks[local];
  const struct sl_sim_ahead *ops = rank->stretch.ops;
  const struct sl_sim_cost *costs = rank->now->costs;
  for (uint32_t first = 0, n; first < count; first += n) {
    const struct sl_sim_ahead *op = &ops[first];
    const struct sl_issue *stored = op->issue.stored;
    n = 1;
    if (rank->untold == NULL || costs[stored->op].call >= 0) {
      sl_sim_emit(sim, local, op->issue, op->start, op->end);
      continue;
    }
    double *times = sl_untold_times(rank->untold, SL_SIM_AHEAD);
    times[0] = op->start, times[1] = op->end;
    for (; first + n < count && op[n].issue.stored == stored + n && op[n].start == times[n]; n++) {
      if (costs[stored[n].op].call >= 0) break;
      times[n + 1] = op[n].end;
    }
    sl_untold_note(rank->untold, sl_issue_number(rank->now->program, op->issue), stored, n);
  }
}

/* ---- one op ---- */

/* Seconds of a compute op at full speed. */
static inline double seconds_of(const struct sl_sim *sim, const struct sl_sim_rank *rank, struct sl_issue_ref issue) {
  const uint32_t number = sim->assume.jitter > 0 ? sl_issue_number(rank->now->program, issue) : 0;
  return sl_jitter_seconds(sim, rank, number, rank->now->costs[issue.stored->op].seconds);
}

/* Host seconds of an op of a stretch. */
static inline double launch_of(const struct sl_sim_rank *rank, const struct sl_issue *stored) {
  const struct sl_sim_cost *cost = &rank->now->costs[stored->op];
  return cost->call >= 0 ? rank->now_calls[cost->call].host : cost->host;
}

/* The first op of the stretch runs, as compute. */
static void run_first(const struct sl_sim *sim, struct sl_sim_rank *rank) {
  const struct sl_sim_ahead *op = &rank->stretch.ops[0];
  rank->lanes[SL_LANE_COMPUTE].start = rank->work_since = op->start;
  rank->work = seconds_of(sim, rank, op->issue);
}

void sl_sim_run_compute(struct sl_sim *sim, int local) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_ahead *op = &rank->stretch.ops[0];
  op->issue = sl_sim_head(rank, SL_LANE_COMPUTE);
  const double host = launch_of(rank, op->issue.stored);
  op->start = sl_sim_launch(sim, &rank->host, sim->time, host);
  rank->launching += host;
  double seconds = seconds_of(sim, rank, op->issue);
  if (rank->lost > 0) seconds /= 1 - rank->lost;
  if (sim->one_thread) op->start = sl_sim_take_turn(rank, op->start, seconds);
  op->end = op->start + seconds;
  rank->stretch.count = 1;
  rank->stretch.timed = false;
  run_first(sim, rank);
  rank->lanes[SL_LANE_COMPUTE].state = SL_SIM_RUNNING;
}

/* ---- what follows ---- */

/* How far a stretch has been looked ahead. */
struct ahead {
  uint32_t at, turn, done; /* compute: its last op, and how many are complete with it */
  uint32_t need;           /* the least that a lane waits for ... */
  int lane;                /* ... which is this one; -1: none, or several */
  uint32_t others;         /* the least that the others wait for */
  /* of `lane`, once calls of it are in the stretch: its head, and how many are complete before that */
  bool called;
  uint32_t call_at, call_turn, call_done;
};

/* Who waits for compute. */
static void find_waiting(const struct sl_sim_rank *rank, struct ahead *a) {
  a->need = a->others = UINT32_MAX;
  a->lane = -1;
  for (uint32_t waiting = rank->blocked[SL_LANE_COMPUTE]; waiting != 0; waiting &= waiting - 1) {
    const int lane = __builtin_ctz(waiting);
    const uint32_t need = rank->lanes[lane].need;
    if (need < a->need) {
      a->others = a->need;
      a->need = need;
      a->lane = lane;
    } else if (need < a->others) {
      a->others = need;
    }
  }
  if (a->need == a->others) a->lane = -1;
}

/* The op of a lane at a place in its order. */
static inline struct sl_issue_ref issue_at(const struct sl_sim_rank *rank, int lane, uint32_t at, uint32_t turn) {
  return (struct sl_issue_ref){&rank->now->program->issues[rank->lanes[lane].order->items[at]], turn};
}

/* Is `issue` one that waits for nothing but for `count` ops of `lane`? */
static inline bool waits_for(const struct sl_sim_rank *rank, struct sl_issue_ref issue, int lane, uint32_t count) {
  if (issue.stored->wait_count != 1) return false;
  const struct sl_wait wait = sl_issue_wait(rank->now->program, issue, 0);
  return (int)wait.lane == lane && wait.count == count;
}

/* The lane that waits for the last op of the stretch has its call behind that, if then the next compute op, `next`,
 * follows, and the lane's next op waits for compute behind that. */
static bool call_on(const struct sl_sim *sim, struct sl_sim_rank *rank, struct ahead *a, struct sl_issue_ref next) {
  const int lane = a->lane;
  struct sl_sim_stretch *s = &rank->stretch;
  if (lane < SL_LANE_TP || lane >= SL_LANE_SEND_F || sim->contention != NULL || rank->blocked[lane] != 0) return false;
  if (s->count + 2 > SL_SIM_AHEAD || a->others == a->done) return false;
  const struct sl_sim_lane *l = &rank->lanes[lane];
  if (!a->called) a->call_at = l->at, a->call_turn = l->turn, a->call_done = l->done;
  const struct sl_issue_ref issue = issue_at(rank, lane, a->call_at, a->call_turn);
  const int32_t index = rank->now->costs[issue.stored->op].call;
  if (index < 0 || !waits_for(rank, issue, SL_LANE_COMPUTE, a->done)) return false;
  if (!waits_for(rank, next, lane, a->call_done + 1)) return false;
  const struct sl_sim_call *call = &rank->now_calls[index];
  const struct sl_sim_group *group = &sim->groups[call->partner];
  if (group->count != 1 || group->lane != lane) return false;
  uint32_t at = a->call_at, turn = a->call_turn, need = UINT32_MAX;
  sl_sim_step(rank->now->program, l->order, &at, &turn);
  if (a->call_done + 1 < l->issued) {
    const struct sl_issue_ref behind = issue_at(rank, lane, at, turn);
    if (behind.stored->wait_count != 1) return false;
    const struct sl_wait wait = sl_issue_wait(rank->now->program, behind, 0);
    if (wait.lane != SL_LANE_COMPUTE || wait.count <= a->done) return false;
    need = wait.count;
  }
  const double now = s->ops[s->count - 1].end;
  struct sl_sim_ahead *op = &s->ops[s->count++];
  op->issue = issue;
  op->start = now;
  op->end = sl_sim_launch(sim, &rank->host, now, call->host) + call->seconds;
  op->host = rank->host;
  a->called = true;
  a->call_at = at, a->call_turn = turn, a->call_done++;
  a->need = need;
  return true;
}

/* Appends to the stretch what follows. */
static void extend(const struct sl_sim *sim, struct sl_sim_rank *rank) {
  const struct sl_sim_lane *lane = &rank->lanes[SL_LANE_COMPUTE];
  const struct sl_program *program = rank->now->program;
  struct sl_sim_stretch *s = &rank->stretch;
  struct ahead a = {.at = lane->at, .turn = lane->turn, .done = lane->done + 1};
  find_waiting(rank, &a);
  while (s->count < SL_SIM_AHEAD && a.done < lane->issued) {
    sl_sim_step(program, lane->order, &a.at, &a.turn);
    const struct sl_issue_ref next = issue_at(rank, SL_LANE_COMPUTE, a.at, a.turn);
    if (a.done >= (a.need < a.others ? a.need : a.others)) {
      if (a.done != a.need || !call_on(sim, rank, &a, next)) return;
    } else if (next.stored->wait_count > 0) {
      return;
    }
    const double now = s->ops[s->count - 1].end;
    struct sl_sim_ahead *op = &s->ops[s->count++];
    double seconds = seconds_of(sim, rank, next);
    if (rank->lost > 0) seconds /= 1 - rank->lost;
    op->issue = next;
    op->start = sl_sim_launch(sim, &rank->host, now, rank->now->costs[next.stored->op].host);
    op->end = op->start + seconds;
    op->host = rank->host;
    a.done++;
  }
}

void sl_sim_look_ahead(struct sl_sim *sim, int local) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_stretch *s = &rank->stretch;
  if (rank->lanes[SL_LANE_COMPUTE].state != SL_SIM_RUNNING || s->timed) return;
  s->ops[0].host = rank->host;
  if (!sim->one_thread && rank->untold != NULL) extend(sim, rank);
  s->timed = true;
  sl_queue_set(&sim->queue, sl_sim_lane_source(local, SL_LANE_COMPUTE), s->ops[s->count - 1].end);
}

/* ---- what happens ---- */

/* A call of a stretch is complete: its lane, which has stood blocked by compute, goes on to its next op. */
static void leave_call(struct sl_sim_rank *rank, int lane) {
  struct sl_sim_lane *l = &rank->lanes[lane];
  if (l->done < l->issued) {
    l->need = sl_issue_wait(rank->now->program, sl_sim_head(rank, lane), 0).count;
    return;
  }
  l->state = SL_SIM_IDLE;
  rank->blocked[SL_LANE_COMPUTE] &= ~(UINT32_C(1) << lane);
}

void sl_sim_leave(struct sl_sim *sim, int local, uint32_t count) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_stretch *s = &rank->stretch;
  tell(sim, local, count);
  for (uint32_t i = 0; i < count; i++) {
    const struct sl_sim_ahead *op = &s->ops[i];
    const struct sl_sim_cost *cost = &rank->now->costs[op->issue.stored->op];
    struct sl_sim_lane *l = &rank->lanes[cost->lane];
    sl_sim_step(rank->now->program, l->order, &l->at, &l->turn);
    l->done++;
    if (cost->call >= 0) {
      if (rank->counting) sl_sim_count_call(rank, cost->lane, cost->call, op->end - op->start);
      leave_call(rank, cost->lane);
    }
    /* the next one has been launched */
    if (i + 1 < s->count) rank->launching += launch_of(rank, s->ops[i + 1].issue.stored);
  }
  rank->pending -= count;
  sim->pending -= count;
  s->count -= count;
}

/* The op that runs is a call: from now on, two lanes tell so, and the event is the group's. */
static void run_call(struct sl_sim *sim, int local, const struct sl_sim_ahead *op, const struct sl_sim_ahead *next) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  const struct sl_sim_cost *cost = &rank->now->costs[op->issue.stored->op];
  struct sl_sim_lane *lane = &rank->lanes[cost->lane], *compute = &rank->lanes[SL_LANE_COMPUTE];
  const struct sl_sim_call *call = &rank->now_calls[cost->call];
  compute->state = SL_SIM_BLOCKED;
  compute->blocker = (uint8_t)cost->lane;
  compute->need = sl_issue_wait(rank->now->program, next->issue, 0).count;
  rank->blocked[cost->lane] |= UINT32_C(1) << SL_LANE_COMPUTE;
  rank->blocked[SL_LANE_COMPUTE] &= ~(UINT32_C(1) << cost->lane);
  lane->state = SL_SIM_RUNNING;
  lane->start = op->start;
  lane->call = cost->call;
  rank->host = op->host;
  rank->stretch.count = 0;
  sl_queue_clear(&sim->queue, sl_sim_lane_source(local, SL_LANE_COMPUTE));
  sl_queue_set(&sim->queue, sl_sim_group_source(sim, call->partner), op->end);
  sl_sim_transfers(sim, local, cost->lane, call->beside);
}

void sl_sim_settle(struct sl_sim *sim, int local) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_stretch *s = &rank->stretch;
  if (rank->lanes[SL_LANE_COMPUTE].state != SL_SIM_RUNNING || s->count < 2) return;
  uint32_t over = 0;
  while (over + 1 < s->count && s->ops[over].end <= sim->time) over++;
  const struct sl_sim_ahead now = s->ops[over], next = s->ops[over + 1 < s->count ? over + 1 : over];
  if (over > 0) sl_sim_leave(sim, local, over);
  if (rank->now->costs[now.issue.stored->op].call >= 0) {
    run_call(sim, local, &now, &next);
    return;
  }
  if (s->count > 1) s->timed = false;
  s->ops[0] = now;
  s->count = 1;
  rank->host = now.host;
  if (over > 0) run_first(sim, rank);
}
