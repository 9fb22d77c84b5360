/* Ops that run one behind the other are timed at once, with one event for all of them.
 *
 * A stretch begins with the op that runs on the compute lane. Behind it stand the next of that lane that wait for
 * nothing more, as long as no other lane waits for one of them. If one does, and its op is a collective that meets no
 * other simulated rank, its end is known, too, and the stretch goes on with both: compute beside it loses speed until
 * then, and what waits for it begins there. One collective at a time moves bytes, and all of a stretch are of one lane.
 *
 * All this holds if nothing else happens to the rank meanwhile: a transfer that begins or ends, or a call that the host
 * makes beside. Then the stretch is closed first: its ops that have ended are complete, those that run are as if each
 * had been started alone, and those behind are not begun. So times are those that single events give. */
#include "sim/ahead.h"

#include <math.h>

/* ---- who is told ---- */

void sl_sim_emit(struct sl_sim *sim, int local, struct sl_issue_ref issue, double start, double end) {
  const struct sl_sim_rank *rank = &sim->ranks[local];
  const uint32_t number = sl_issue_number(rank->now->program, issue);
  if (rank->unreported != NULL) {
    sl_unreported_note_one(rank->unreported, number, issue.stored, start, end);
    return;
  }
  const struct sl_completion done = {.local = local, .index = number, .start_s = start, .end_s = end};
  if (sim->out_count < sim->out_max) {
    sim->out[sim->out_count++] = done;
  } else {
    sim->spill[sim->spill_count++] = done;
  }
}

/* Tells of ops [first, end) of a stretch, which are compute: at once of those that are stored one behind another and
 * run without a gap. */
static void tell(struct sl_sim *sim, int local, uint32_t first, uint32_t end) {
  const struct sl_sim_rank *rank = &sim->ranks[local];
  const struct sl_sim_ahead *op = &rank->stretch.ops[first], *const last = &rank->stretch.ops[end];
  while (op < last) {
    const struct sl_issue_ref issue = {op->stored, op->turn};
    if (rank->unreported == NULL) {
      sl_sim_emit(sim, local, issue, op->start, op->end);
      op++;
      continue;
    }
    double *const times = sl_unreported_times(rank->unreported, SL_SIM_AHEAD), *time = times;
    const struct sl_issue *stored = issue.stored;
    *time = op->start;
    do {
      *++time = op++->end, stored++;
    } while (op < last && op->stored == stored && op->start == *time);
    sl_unreported_note(rank->unreported, sl_issue_number(rank->now->program, issue), issue.stored,
                       (uint32_t)(time - times));
  }
}

/* ---- one op ---- */

/* Seconds of a compute op at full speed. */
static inline double seconds_of(const struct sl_sim *sim, const struct sl_sim_rank *rank, const struct sl_issue *stored,
                                uint32_t turn) {
  const struct sl_issue_ref issue = {stored, turn};
  const uint32_t number = sim->assume.jitter > 0 ? sl_issue_number(rank->now->program, issue) : 0;
  return sl_jitter_seconds(sim, rank, number, rank->now->costs[stored->op].seconds);
}

void sl_sim_run_compute(struct sl_sim *sim, int local) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_lane *lane = &rank->lanes[SL_LANE_COMPUTE];
  struct sl_sim_ahead *op = &rank->stretch.ops[0];
  op->stored = sl_sim_head(rank, SL_LANE_COMPUTE).stored;
  op->at = lane->at, op->turn = lane->turn;
  op->call = -1, op->behind = false;
  op->launch = rank->now->costs[op->stored->op].host;
  op->start = sl_sim_launch(sim, &rank->host, sim->time, op->launch);
  rank->launching += op->launch;
  double seconds = rank->work = seconds_of(sim, rank, op->stored, op->turn);
  if (rank->lost > 0) seconds /= 1 - rank->lost;
  if (sim->one_thread) op->start = sl_sim_take_turn(rank, op->start, seconds);
  op->end = op->start + seconds;
  lane->start = rank->work_since = op->start;
  rank->stretch.count = 1;
  rank->stretch.timed = false;
  lane->state = SL_SIM_RUNNING;
}

/* ---- what follows ---- */

/* How far a stretch has been looked ahead. */
struct ahead {
  uint32_t at, turn, done; /* compute: its next op, and how many are complete before that */
  double host, lost;       /* of the rank: its host, and the share that compute loses */
  uint32_t need;           /* the least that a lane waits for ... */
  int lane;                /* ... which is this one; -1: none, or several */
  uint32_t others;         /* the least that the others wait for */
  /* of `lane`: its head, and how many are complete before that, with the calls of the stretch */
  uint32_t call_at, call_turn, call_done;
  bool moves; /* its last call still does, until ... */
  double until, beside;
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
  if (a->lane < SL_LANE_TP || a->lane >= SL_LANE_SEND_F || a->need == a->others || rank->blocked[a->lane] != 0) {
    a->lane = -1;
    return;
  }
  const struct sl_sim_lane *l = &rank->lanes[a->lane];
  a->call_at = l->at, a->call_turn = l->turn, a->call_done = l->done;
}

/* The op of a lane at a place in its order. */
static inline struct sl_issue_ref issue_at(const struct sl_sim_rank *rank, int lane, uint32_t at, uint32_t turn) {
  return (struct sl_issue_ref){&rank->now->program->issues[rank->lanes[lane].order->items[at]], turn};
}

/* Is complete, or known to be, what a compute op waits for, if `calls` of the lane are? */
static bool may_follow(const struct sl_sim_rank *rank, const struct ahead *a, struct sl_issue_ref issue, uint32_t calls,
                       bool *behind) {
  *behind = false;
  for (uint32_t i = 0; i < issue.stored->wait_count; i++) {
    const struct sl_wait wait = sl_issue_wait(rank->now->program, issue, i);
    const bool own = wait.lane == SL_LANE_COMPUTE, called = (int)wait.lane == a->lane;
    if (wait.count > (own ? a->done : called ? calls : rank->lanes[wait.lane].done)) return false;
    *behind |= called && wait.count == calls;
  }
  return true;
}

/* The lane that waits for the last op of the stretch has its call behind that, if that meets no other rank, and the
 * lane then waits for compute again. */
static bool call_on(const struct sl_sim *sim, struct sl_sim_rank *rank, struct ahead *a) {
  struct sl_sim_stretch *s = &rank->stretch;
  const struct sl_sim_lane *l = &rank->lanes[a->lane];
  const struct sl_program *program = rank->now->program;
  const struct sl_issue_ref issue = issue_at(rank, a->lane, a->call_at, a->call_turn);
  const int32_t index = rank->now->costs[issue.stored->op].call;
  if (index < 0 || issue.stored->wait_count != 1 || s->count + 2 > SL_SIM_AHEAD) return false;
  const struct sl_sim_call *call = &rank->now_calls[index];
  const struct sl_sim_group *group = &sim->groups[call->partner];
  if (group->count != 1 || group->lane != a->lane) return false;
  uint32_t at = a->call_at, turn = a->call_turn, need = UINT32_MAX;
  sl_sim_step(program, l->order, &at, &turn);
  if (a->call_done + 1 < l->issued) {
    const struct sl_issue_ref next = issue_at(rank, a->lane, at, turn);
    if (next.stored->wait_count != 1) return false;
    const struct sl_wait wait = sl_issue_wait(program, next, 0);
    if (wait.lane != SL_LANE_COMPUTE || wait.count <= a->done) return false;
    need = wait.count;
  }
  const double now = s->ops[s->count - 1].end;
  struct sl_sim_ahead *op = &s->ops[s->count++];
  a->until = sl_sim_launch(sim, &a->host, now, call->host) + call->seconds;
  a->beside = call->beside;
  a->moves = true;
  *op = (struct sl_sim_ahead){issue.stored, a->call_at, a->call_turn, index, false, now, a->until, call->host, a->host};
  a->call_at = at, a->call_turn = turn, a->call_done++;
  a->need = need;
  return true;
}

/* Appends the next compute op, which could begin at `now`, and those behind it that wait for nothing, up to number
 * `most` of the lane. */
static void run_on(const struct sl_sim *sim, struct sl_sim_rank *rank, struct ahead *a, double now, bool behind,
                   uint32_t most) {
  const struct sl_program *program = rank->now->program;
  const struct sl_sim_order *order = rank->lanes[SL_LANE_COMPUTE].order;
  const struct sl_sim_cost *costs = rank->now->costs;
  const struct sl_issue *stored = &program->issues[order->items[a->at]];
  struct sl_sim_ahead *const ops = rank->stretch.ops, *op = &ops[rank->stretch.count];
  const struct sl_sim_ahead *const end =
      most - a->done < (uint32_t)SL_SIM_AHEAD - rank->stretch.count ? op + (most - a->done) : &ops[SL_SIM_AHEAD];
  double until = a->moves ? a->until : INFINITY, lost = a->moves && a->beside > a->lost ? a->beside : a->lost;
  uint32_t at = a->at, turn = a->turn;
  do {
    const double seconds = seconds_of(sim, rank, stored, turn), launch = costs[stored->op].host;
    op->stored = stored;
    op->at = at, op->turn = turn;
    op->call = -1, op->behind = behind;
    op->launch = launch;
    op->start = sl_sim_launch(sim, &a->host, now, launch);
    op->host = a->host;
    now = op->start + (lost > 0 ? seconds / (1 - lost) : seconds);
    if (until <= now) {
      double work = seconds, since = op->start;
      if (lost != a->lost && until < now) now = sl_sim_change_speed(&work, &since, until, lost, a->lost);
      until = INFINITY, lost = a->lost;
    }
    op->end = now;
    op++;
    behind = false;
    sl_sim_step(program, order, &at, &turn);
    if (op == end) break;
    stored = &program->issues[order->items[at]];
  } while (stored->wait_count == 0);
  a->moves = until < INFINITY;
  a->at = at, a->turn = turn;
  a->done += (uint32_t)(op - ops) - rank->stretch.count;
  rank->stretch.count = (uint32_t)(op - ops);
}

/* Appends to the stretch what follows. */
static void extend(const struct sl_sim *sim, struct sl_sim_rank *rank) {
  const struct sl_sim_lane *lane = &rank->lanes[SL_LANE_COMPUTE];
  struct sl_sim_stretch *s = &rank->stretch;
  struct ahead a = {.at = lane->at, .turn = lane->turn, .done = lane->done + 1, .host = rank->host, .lost = rank->lost};
  const struct sl_issue *issues = rank->now->program->issues;
  find_waiting(rank, &a);
  if (sim->contention != NULL) a.lane = -1;
  sl_sim_step(rank->now->program, lane->order, &a.at, &a.turn);
  while (s->count < SL_SIM_AHEAD && a.done < lane->issued) {
    const struct sl_issue *stored = &issues[lane->order->items[a.at]];
    const bool called = a.done == a.need;
    bool behind = false;
    if (a.done == a.others || (called && (a.lane < 0 || a.moves))) break;
    if ((called || stored->wait_count > 0) &&
        !may_follow(rank, &a, (struct sl_issue_ref){stored, a.turn}, a.call_done + called, &behind))
      break;
    if (called && !call_on(sim, rank, &a)) break;
    const double now = called ? s->ops[s->count - 1].start : s->ops[s->count - 1].end;
    behind &= a.moves && a.until > now;
    if (behind) a.moves = false;
    const uint32_t least = a.need < a.others ? a.need : a.others;
    run_on(sim, rank, &a, behind ? a.until : now, behind, least < lane->issued ? least : lane->issued);
  }
  rank->host = a.host;
}

void sl_sim_look_ahead(struct sl_sim *sim, int local) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_stretch *s = &rank->stretch;
  if (rank->lanes[SL_LANE_COMPUTE].state != SL_SIM_RUNNING || s->timed) return;
  s->ops[0].host = rank->host;
  if (!sim->one_thread && rank->unreported != NULL) extend(sim, rank);
  s->timed = true;
  sl_queue_set(&sim->queue, sl_sim_lane_source(local, SL_LANE_COMPUTE), s->ops[s->count - 1].end);
}

/* ---- what happens ---- */

/* A call of a stretch is complete: its lane, which has stood blocked by compute, goes on to its next op. */
static void leave_call(struct sl_sim *sim, int local, const struct sl_sim_ahead *op) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  const struct sl_program *program = rank->now->program;
  const int index = rank->now->costs[op->stored->op].lane;
  struct sl_sim_lane *l = &rank->lanes[index];
  sl_sim_emit(sim, local, (struct sl_issue_ref){op->stored, op->turn}, op->start, op->end);
  if (rank->counting) sl_sim_count_call(rank, index, op->call, op->end - op->start);
  sl_sim_step(program, l->order, &l->at, &l->turn);
  if (++l->done < l->issued) {
    l->need = sl_issue_wait(program, sl_sim_head(rank, index), 0).count;
    return;
  }
  l->state = SL_SIM_IDLE;
  rank->blocked[SL_LANE_COMPUTE] &= ~(UINT32_C(1) << index);
}

/* A call of a stretch moves bytes: from now on its lane says so, and it has an event of its own. */
static void run_call(struct sl_sim *sim, int local, const struct sl_sim_ahead *op) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  const struct sl_sim_call *call = &rank->now_calls[op->call];
  const int index = rank->now->costs[op->stored->op].lane;
  struct sl_sim_lane *lane = &rank->lanes[index];
  rank->blocked[SL_LANE_COMPUTE] &= ~(UINT32_C(1) << index);
  lane->state = SL_SIM_RUNNING;
  lane->start = op->start;
  lane->call = op->call;
  sl_queue_set(&sim->queue, sl_sim_group_source(sim, call->partner), op->end);
  sl_sim_move(rank, index, call->beside);
}

/* The first `count` ops of the stretch are complete, but for a call that still moves bytes at `time`. Returns that; -1:
 * none. */
static int leave(struct sl_sim *sim, int local, uint32_t count, double time) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_lane *compute = &rank->lanes[SL_LANE_COMPUTE];
  const struct sl_sim_ahead *ops = rank->stretch.ops;
  double launching = rank->launching;
  uint32_t first = 0, complete = 0;
  int moves = -1;
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0) launching += ops[i].launch;
    if (ops[i].call < 0) continue;
    tell(sim, local, first, i);
    compute->done += i - first;
    complete += i - first;
    first = i + 1;
    if (ops[i].end > time) {
      moves = (int)i;
      continue;
    }
    leave_call(sim, local, &ops[i]);
    complete++;
  }
  tell(sim, local, first, count);
  compute->done += count - first;
  complete += count - first;
  rank->launching = launching;
  const struct sl_sim_ahead *last = ops[count - 1].call < 0 ? &ops[count - 1] : &ops[count - 2];
  compute->at = last->at, compute->turn = last->turn;
  sl_sim_step(rank->now->program, compute->order, &compute->at, &compute->turn);
  rank->pending -= complete;
  sim->pending -= complete;
  return moves;
}

void sl_sim_leave(struct sl_sim *sim, int local) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  const int moves = leave(sim, local, rank->stretch.count, sim->time);
  if (moves >= 0) run_call(sim, local, &rank->stretch.ops[moves]);
  rank->stretch.count = 0;
}

/* The op that runs on the compute lane, number `at` of the stretch, as if it had been started alone. `moves`: as leave
 * returns it. */
static void run_alone(const struct sl_sim *sim, struct sl_sim_rank *rank, uint32_t at, int moves) {
  const struct sl_sim_ahead *ops = rank->stretch.ops, *op = &ops[at];
  rank->lanes[SL_LANE_COMPUTE].start = rank->work_since = op->start;
  rank->work = seconds_of(sim, rank, op->stored, op->turn);
  for (uint32_t i = at; moves < 0 && i-- > 0;) { /* the last call before, which may have ended meanwhile */
    if (ops[i].call < 0) continue;
    const double share = rank->now_calls[ops[i].call].beside, reached = at - i > 1 ? ops[at - 1].end : ops[i].start;
    if (!op->behind && ops[i].end > reached && share > rank->lost)
      sl_sim_change_speed(&rank->work, &rank->work_since, ops[i].end, share, rank->lost);
    break;
  }
}

/* The next op of the compute lane waits for a call that moves bytes. */
static void block_compute(struct sl_sim *sim, int local, const struct sl_sim_ahead *call) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_lane *compute = &rank->lanes[SL_LANE_COMPUTE];
  const int lane = rank->now->costs[call->stored->op].lane;
  compute->state = SL_SIM_BLOCKED;
  compute->blocker = (uint8_t)lane;
  compute->need = rank->lanes[lane].done + 1;
  rank->blocked[lane] |= UINT32_C(1) << SL_LANE_COMPUTE;
  rank->stretch.count = 0;
  sl_queue_clear(&sim->queue, sl_sim_lane_source(local, SL_LANE_COMPUTE));
}

void sl_sim_settle(struct sl_sim *sim, int local) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_stretch *s = &rank->stretch;
  if (rank->lanes[SL_LANE_COMPUTE].state != SL_SIM_RUNNING || s->count < 2) return;
  uint32_t now = 0;
  while (now + 1 < s->count && (s->ops[now].call >= 0 || s->ops[now].end <= sim->time)) now++;
  const int moves = now > 0 ? leave(sim, local, now, sim->time) : -1;
  const bool blocked = moves >= 0 && s->ops[now].behind;
  if (moves >= 0) run_call(sim, local, &s->ops[moves]);
  rank->host = s->ops[blocked ? now - 1 : now].host;
  if (blocked) {
    block_compute(sim, local, &s->ops[moves]);
    return;
  }
  if (now > 0) {
    rank->launching += s->ops[now].launch;
    run_alone(sim, rank, now, moves);
  }
  if (moves >= 0) { /* until the call's end, which will be known by its event */
    s->ops[now].end = rank->work_since + (rank->lost > 0 ? rank->work / (1 - rank->lost) : rank->work);
    s->timed = false;
  }
  if (now + 1 < s->count) s->timed = false;
  s->ops[0] = s->ops[now];
  s->count = 1;
}
