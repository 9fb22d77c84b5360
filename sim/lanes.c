/* Lanes: when ops start and complete. The op at the head of its lane is blocked (by another lane of its rank), at a
 * rendezvous (waiting for other ranks), or running. Lanes are FIFO, so two ranks always match the heads of their lanes:
 * no sequence numbers are needed. */
#include "sim/contention.h"
#include "sim/jitter.h"
#include "sim/state.h"

/* ---- who is told ---- */

static void emit(struct sl_sim *sim, int local, struct sl_issue_ref issue, double start, double end) {
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

/* Tells of the first `count` ops of a rank's stretch: at once of those that are stored one behind another and run
 * without a gap. */
static void tell(struct sl_sim *sim, int local, uint32_t count) {
  const struct sl_sim_rank *rank = &sim->ranks[local];
  const struct sl_sim_ahead *ops = rank->stretch.ops;
  for (uint32_t first = 0, n; first < count; first += n) {
    const struct sl_sim_ahead *op = &ops[first];
    for (n = 1; first + n < count && op[n].issue.stored == op->issue.stored + n && op[n].start == op[n - 1].end;) n++;
    if (n == 1) {
      emit(sim, local, op->issue, op->start, op->end);
      continue;
    }
    double *times = sl_untold_times(rank->untold, n);
    times[0] = op->start;
    for (uint32_t i = 0; i < n; i++) times[i + 1] = op[i].end;
    sl_untold_note(rank->untold, sl_issue_number(rank->now->program, op->issue), op->issue.stored, n);
  }
}

/* ---- compute ---- */

/* The largest share that a transfer takes of the rank's compute now. */
static double largest(const struct sl_sim_rank *rank) {
  double most = 0;
  for (uint32_t moving = rank->moving; moving != 0; moving &= moving - 1) {
    const double share = rank->beside[__builtin_ctz(moving)];
    if (share > most) most = share;
  }
  return most;
}

/* When the host has launched an op that could begin at `now` and takes it `seconds`. The host launches one op after another and runs ahead of
 * the device, so a step takes the longer of the two; if launches block, the host waits for the device, and the two add
 * up. */
static double launched(const struct sl_sim *sim, struct sl_sim_rank *rank, double now, double seconds) {
  if (sim->cost_rank.kernel_costs.launch_blocking && rank->host < now) rank->host = now;
  rank->host += seconds;
  rank->launching += seconds;
  return rank->host > now ? rank->host : now;
}

/* When the only thread gets to an op of `seconds` that could start at `start`. It takes ops in the order in which they
 * come. */
static double take_turn(struct sl_sim_rank *rank, double start, double seconds) {
  if (rank->thread > start) start = rank->thread;
  rank->thread = start + seconds;
  return start;
}

/* Appends the compute op `issue` to the stretch of its rank; it could begin at `now`. */
static void append(const struct sl_sim *sim, struct sl_sim_rank *rank, struct sl_issue_ref issue, double now) {
  const struct sl_sim_cost *cost = &rank->now->costs[issue.stored->op];
  const uint32_t number = sl_issue_number(rank->now->program, issue);
  struct sl_sim_ahead *op = &rank->stretch.ops[rank->stretch.count++];
  double seconds = sl_jitter_seconds(sim, rank, number, cost->seconds);
  double start = launched(sim, rank, now, cost->host);
  op->issue = issue;
  op->seconds = seconds;
  if (rank->lost > 0) seconds /= 1 - rank->lost;
  if (sim->one_thread) start = take_turn(rank, start, seconds);
  op->start = start;
  op->end = start + seconds;
  op->host = rank->host;
  op->launching = rank->launching;
}

/* The first op of the stretch runs. */
static void run_first(struct sl_sim_rank *rank) {
  const struct sl_sim_ahead *op = &rank->stretch.ops[0];
  rank->lanes[SL_LANE_COMPUTE].start = rank->work_since = op->start;
  rank->work = op->seconds;
}

static void run_compute(struct sl_sim *sim, int local) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  rank->stretch.count = 0;
  rank->stretch.timed = false;
  append(sim, rank, sl_sim_head(rank, SL_LANE_COMPUTE), sim->time);
  run_first(rank);
  rank->lanes[SL_LANE_COMPUTE].state = SL_SIM_RUNNING;
}

/* How many ops a stretch may have now: as many as are handed over, and no more than another lane waits for. Where one
 * thread does everything, or where ops are told of one by one, just one. */
static uint32_t longest(const struct sl_sim *sim, const struct sl_sim_rank *rank) {
  const struct sl_sim_lane *lane = &rank->lanes[SL_LANE_COMPUTE];
  uint32_t most = lane->issued - lane->done;
  if (sim->one_thread || rank->untold == NULL) return 1;
  for (uint32_t waiting = rank->blocked[SL_LANE_COMPUTE]; waiting != 0; waiting &= waiting - 1) {
    const uint32_t need = rank->lanes[__builtin_ctz(waiting)].need - lane->done;
    if (need < most) most = need;
  }
  return most < SL_SIM_AHEAD ? most : SL_SIM_AHEAD;
}

/* Times the compute that runs: on from its last op, as far as nothing else is known to come between. */
static void look_ahead(struct sl_sim *sim, int local) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  const struct sl_sim_lane *lane = &rank->lanes[SL_LANE_COMPUTE];
  struct sl_sim_stretch *s = &rank->stretch;
  if (lane->state != SL_SIM_RUNNING || s->timed) return;
  const struct sl_program *program = rank->now->program;
  uint32_t at = lane->at, turn = lane->turn;
  s->ops[0].host = rank->host, s->ops[0].launching = rank->launching; /* it may have called others since */
  for (const uint32_t most = longest(sim, rank); s->count < most;) {
    sl_sim_step(program, lane->order, &at, &turn);
    const struct sl_issue_ref next = {&program->issues[lane->order->items[at]], turn};
    if (next.stored->wait_count > 0) break;
    append(sim, rank, next, s->ops[s->count - 1].end);
  }
  s->timed = true;
  sl_queue_set(&sim->queue, sl_sim_lane_source(local, SL_LANE_COMPUTE), s->ops[s->count - 1].end);
}

/* The first `count` ops of the stretch are complete, the others are now its first. */
static void leave(struct sl_sim *sim, int local, uint32_t count) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_lane *lane = &rank->lanes[SL_LANE_COMPUTE];
  struct sl_sim_stretch *s = &rank->stretch;
  tell(sim, local, count);
  for (uint32_t i = 0; i < count; i++) sl_sim_step(rank->now->program, lane->order, &lane->at, &lane->turn);
  lane->done += count;
  rank->pending -= count;
  sim->pending -= count;
  s->count -= count;
  for (uint32_t i = 0; i < s->count; i++) s->ops[i] = s->ops[i + count];
}

/* Something comes between: of the stretch only the op remains that runs now. */
static void settle(struct sl_sim *sim, int local) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_stretch *s = &rank->stretch;
  if (rank->lanes[SL_LANE_COMPUTE].state != SL_SIM_RUNNING || s->count < 2) return;
  uint32_t over = 0;
  while (over + 1 < s->count && s->ops[over].end <= sim->time) over++;
  if (over > 0) leave(sim, local, over);
  if (over > 0) run_first(rank);
  if (s->count > 1) s->timed = false;
  s->count = 1;
  rank->host = s->ops[0].host;
  rank->launching = s->ops[0].launching;
}

/* A lane's transfer begins (`beside` > 0) or ends (0): the running compute op changes speed. */
static void transfers(struct sl_sim *sim, int local, int lane, double beside) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  const double before = rank->lost;
  if (beside == rank->beside[lane]) return;
  rank->beside[lane] = beside;
  rank->moving = beside > 0 ? rank->moving | UINT32_C(1) << lane : rank->moving & ~(UINT32_C(1) << lane);
  const double now = rank->lost = largest(rank);
  if (before == now) return;
  if (rank->lanes[SL_LANE_COMPUTE].state != SL_SIM_RUNNING) return;
  settle(sim, local);
  if (sim->time > rank->work_since) {
    rank->work -= (sim->time - rank->work_since) * (1 - before);
    if (rank->work < 0) rank->work = 0;
    rank->work_since = sim->time;
  }
  const double end = rank->work_since + rank->work / (1 - now);
  if (end > rank->thread) rank->thread = end;
  rank->stretch.ops[0].end = end;
  rank->stretch.timed = false;
}

/* A copy between memories, or an update in host memory. */
static void run_beside(struct sl_sim *sim, int local, int lane, const struct sl_sim_cost *cost) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  double start = sim->time;
  if (sim->one_thread) start = take_turn(rank, start, cost->seconds);
  const double copied = start + cost->seconds, carried = sim->time + cost->link;
  rank->lanes[lane].start = start;
  rank->lanes[lane].state = SL_SIM_RUNNING;
  sl_queue_set(&sim->queue, sl_sim_lane_source(local, lane), copied > carried ? copied : carried);
}

static void run_transfer(struct sl_sim *sim, int local, int lane) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  rank->lanes[lane].state = SL_SIM_RUNNING;
  transfers(sim, local, lane, rank->now_calls[rank->lanes[lane].call].beside);
}

/* ---- traffic counts ---- */

void sl_sim_hash_call(struct sl_sim_rank *rank, int32_t index) {
  const struct sl_sim_call *call = &rank->now_calls[index];
  if (!sl_program_is_step(rank->now->program->kind)) return;
  rank->call_hash = sl_hash_call(rank->call_hash, call->group, call->kind, call->bytes);
}

void sl_sim_count_call(struct sl_sim_rank *rank, int lane, int32_t index, double seconds) {
  const struct sl_sim_call *call = &rank->now_calls[index];
  struct sl_traffic *t = &rank->traffic.items[call->row];
  t->calls++;
  t->bytes += call->bytes;
  t->wire_bytes += call->wire;
  rank->call_s[call->row * SL_LANE_COUNT + (uint32_t)lane] += seconds;
}

void sl_sim_count_copy(struct sl_sim_rank *rank, uint32_t op, double seconds) {
  const struct sl_sim_cost *cost = &rank->now->costs[op];
  const uint32_t row = cost->row;
  const struct sl_work *work = &rank->now->works[op];
  struct sl_traffic *t = &rank->traffic.items[row];
  t->calls++;
  t->bytes += (int64_t)work->size;
  t->wire_bytes += (int64_t)work->size;
  rank->call_s[row * SL_LANE_COUNT + (uint32_t)work->lane] += seconds > cost->link ? seconds : cost->link;
}

/* ---- rendezvous ---- */

/* `local` has reached the collective at the head of `lane`; the last member to arrive starts it, once all hosts have
 * called it. */
static void meet_group(struct sl_sim *sim, int local, int lane) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  const struct sl_sim_call *call = &rank->now_calls[rank->lanes[lane].call];
  struct sl_sim_group *group = &sim->groups[call->partner];
  const double called = launched(sim, rank, sim->time, call->host);
  rank->lanes[lane].state = SL_SIM_MEETING;
  if (group->arrived == 0 || called > group->launched) group->launched = called;
  if (group->arrived++ == 0) {
    group->opener = local;
  } else {
    const struct sl_sim_rank *other = &sim->ranks[group->opener];
    if (other->now_calls[other->lanes[lane].call].bytes != call->bytes ||
        sl_sim_head_op(other, lane)->kind != sl_sim_head_op(rank, lane)->kind) {
      sim->status = sl_sim_mismatch(sim, local, group->opener, lane, lane);
      return;
    }
  }
  if (group->arrived < group->count) return;
  group->arrived = 0;
  for (int i = 0; i < group->count; i++) {
    const int member = sim->members[group->first + i];
    run_transfer(sim, member, lane);
    if (member != local) look_ahead(sim, member);
  }
  const double begin = group->launched > sim->time ? group->launched : sim->time;
  sl_queue_set(&sim->queue, sl_sim_group_source(sim, call->partner), begin + call->seconds);
  if (sim->contention != NULL) sl_contention_begin_group(sim, call->partner, begin, call->seconds);
}

/* `local` has reached a send or receive; the second of the two starts the transfer, whose event is the sender's. */
static void meet_peer(struct sl_sim *sim, int local, int lane) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  const struct sl_sim_call *call = &rank->now_calls[rank->lanes[lane].call];
  struct sl_sim_rank *peer = &sim->ranks[call->partner];
  int peer_lane = sl_sim_peer_lane(lane);
  rank->lanes[lane].state = SL_SIM_MEETING;
  if (peer->lanes[peer_lane].state != SL_SIM_MEETING) return;
  const struct sl_sim_call *other = &peer->now_calls[peer->lanes[peer_lane].call];
  if (other->partner != local) return;
  if (other->bytes != call->bytes) {
    sim->status = sl_sim_mismatch(sim, local, call->partner, lane, peer_lane);
    return;
  }
  run_transfer(sim, local, lane);
  run_transfer(sim, call->partner, peer_lane);
  look_ahead(sim, call->partner);
  bool sends = lane == SL_LANE_SEND_F || lane == SL_LANE_SEND_B;
  uint32_t source = sends ? sl_sim_lane_source(local, lane) : sl_sim_lane_source(call->partner, peer_lane);
  sl_queue_set(&sim->queue, source, sim->time + call->seconds);
  if (sim->contention != NULL)
    sl_contention_begin_pair(sim, sends ? local : call->partner, sends ? lane : peer_lane, call->seconds);
}

/* Starts the head of a lane, if it can start. */
static void try(struct sl_sim *sim, int local, int index) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_lane *lane = &rank->lanes[index];
  const struct sl_issue_ref issue = sl_sim_head(rank, index);
  for (uint32_t i = 0; i < issue.stored->wait_count; i++) {
    const struct sl_wait wait = sl_issue_wait(rank->now->program, issue, i);
    if (rank->lanes[wait.lane].done >= wait.count) continue;
    lane->state = SL_SIM_BLOCKED;
    lane->blocker = (uint8_t)wait.lane;
    lane->need = wait.count;
    rank->blocked[wait.lane] |= UINT32_C(1) << index;
    return;
  }
  const struct sl_sim_cost *cost = &rank->now->costs[issue.stored->op];
  lane->start = sim->time;
  lane->call = cost->call;
  if (index == SL_LANE_COMPUTE) {
    run_compute(sim, local);
  } else if (cost->call < 0) {
    run_beside(sim, local, index, cost);
  } else if (index >= SL_LANE_SEND_F) {
    meet_peer(sim, local, index);
  } else {
    meet_group(sim, local, index);
  }
}

void sl_sim_try(struct sl_sim *sim, int local, int lane) {
  settle(sim, local);
  try(sim, local, lane);
  look_ahead(sim, local);
}

/* Completes the head of a lane, which is not compute: counts it. */
static void complete_beside(struct sl_sim *sim, int local, int index) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_lane *lane = &rank->lanes[index];
  const struct sl_issue_ref issue = sl_sim_head(rank, index);
  settle(sim, local);
  if (lane->call >= 0) {
    transfers(sim, local, index, 0);
    /* the host waits for the rank's neighbours */
    if (index >= SL_LANE_SEND_F && rank->host < sim->time) rank->host = sim->time;
    if (rank->counting) sl_sim_count_call(rank, index, lane->call, sim->time - lane->start);
  } else if (rank->counting && sl_lane_is_link((enum sl_lane)index)) {
    sl_sim_count_copy(rank, issue.stored->op, sim->time - lane->start);
  }
  emit(sim, local, issue, lane->start, sim->time);
  sl_sim_step(rank->now->program, lane->order, &lane->at, &lane->turn);
  lane->done++;
  sim->pending--;
  rank->pending--;
}

/* Completes the head of a lane, then wakes those that waited for it. */
static void complete(struct sl_sim *sim, int local, int index) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_lane *lane = &rank->lanes[index];
  if (index == SL_LANE_COMPUTE) {
    leave(sim, local, rank->stretch.count);
  } else {
    complete_beside(sim, local, index);
  }
  lane->state = SL_SIM_IDLE; /* before others start: a transfer must not change the time of an op that has ended */
  if (rank->pending == 0) sim->dry = true;
  for (uint32_t waiting = rank->blocked[index]; waiting != 0; waiting &= waiting - 1) {
    int other = __builtin_ctz(waiting);
    if (rank->lanes[other].need > lane->done) continue;
    rank->blocked[index] &= ~(UINT32_C(1) << other);
    try(sim, local, other);
  }
  if (lane->done < lane->issued) try(sim, local, index);
  look_ahead(sim, local);
}

/* A send or receive ends on both sides. */
static void complete_pair(struct sl_sim *sim, int local, int lane) {
  const struct sl_sim_lane *head = &sim->ranks[local].lanes[lane];
  const int peer = head->call >= 0 ? sim->ranks[local].now_calls[head->call].partner : -1;
  complete(sim, local, lane);
  if (peer >= 0) complete(sim, peer, sl_sim_peer_lane(lane));
}

void sl_sim_event(struct sl_sim *sim, uint32_t source) {
  const uint32_t lanes = (uint32_t)sim->count * SL_LANE_COUNT;
  const int local = (int)(source / SL_LANE_COUNT), lane = (int)(source % SL_LANE_COUNT);
  if (source < lanes && lane == SL_LANE_COMPUTE) {
    complete(sim, local, lane);
    return;
  }
  if (sim->contention != NULL) sl_contention_end(sim, source);
  if (source < lanes) {
    complete_pair(sim, local, lane);
    return;
  }
  const struct sl_sim_group *group = &sim->groups[source - lanes];
  for (int i = 0; i < group->count; i++) complete(sim, sim->members[group->first + i], group->lane);
}
