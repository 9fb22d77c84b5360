/* Lanes: when ops start and complete. The op at the head of its lane is blocked (by another lane of its rank), at a
 * rendezvous (waiting for other ranks), or running. Lanes are FIFO, so two ranks always match the heads of their lanes:
 * no sequence numbers are needed. */
#include "sim/ahead.h"
#include "sim/contention.h"
#include "sim/state.h"

/* A lane's transfer begins (`beside` > 0) or ends (0): the running compute op changes speed. */
static void transfers(struct sl_sim *sim, int local, int lane, double beside) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  if (beside == rank->beside[lane]) return;
  if (beside > rank->lost || rank->beside[lane] == rank->lost) sl_sim_settle(sim, local);
  const double before = rank->lost;
  sl_sim_move(rank, lane, beside);
  if (before == rank->lost || rank->lanes[SL_LANE_COMPUTE].state != SL_SIM_RUNNING) return;
  if (rank->stretch.ops[0].end == sim->time) return; /* it has ended, whichever event comes first */
  const double end = sl_sim_change_speed(&rank->work, &rank->work_since, sim->time, before, rank->lost);
  if (end > rank->thread) rank->thread = end;
  rank->stretch.ops[0].end = end;
  rank->stretch.timed = false;
}

/* A copy between memories, or an update in host memory. */
static void run_beside(struct sl_sim *sim, int local, int lane, const struct sl_sim_cost *cost) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  double start = sim->time;
  if (sim->one_thread) start = sl_sim_take_turn(rank, start, cost->seconds);
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

/* ---- rendezvous ---- */

/* `local` has reached the collective at the head of `lane`; the last member to arrive starts it, once all hosts have
 * called it. */
static void meet_group(struct sl_sim *sim, int local, int lane) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  const struct sl_sim_call *call = &rank->now_calls[rank->lanes[lane].call];
  struct sl_sim_group *group = &sim->groups[call->partner];
  const double called = sl_sim_launch(sim, &rank->host, sim->time, call->host);
  rank->launching += call->host;
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
    if (member != local) sl_sim_look_ahead(sim, member);
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
  sl_sim_look_ahead(sim, call->partner);
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
    sl_sim_run_compute(sim, local);
  } else if (cost->call < 0) {
    run_beside(sim, local, index, cost);
  } else if (index >= SL_LANE_SEND_F) {
    meet_peer(sim, local, index);
  } else {
    meet_group(sim, local, index);
  }
}

void sl_sim_try(struct sl_sim *sim, int local, int lane) {
  sl_sim_settle(sim, local);
  try(sim, local, lane);
  sl_sim_look_ahead(sim, local);
}

/* Completes the head of a lane, which is not compute: counts it. */
static void complete_beside(struct sl_sim *sim, int local, int index) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  struct sl_sim_lane *lane = &rank->lanes[index];
  const struct sl_issue_ref issue = sl_sim_head(rank, index);
  sl_sim_settle(sim, local);
  if (lane->call >= 0) {
    transfers(sim, local, index, 0);
    /* the host waits for the rank's neighbours */
    if (index >= SL_LANE_SEND_F && rank->host < sim->time) rank->host = sim->time;
    if (rank->counting) sl_sim_count_call(rank, index, lane->call, sim->time - lane->start);
  } else if (rank->counting && sl_lane_is_link((enum sl_lane)index)) {
    sl_sim_count_copy(rank, issue.stored->op, sim->time - lane->start);
  }
  sl_sim_emit(sim, local, issue, lane->start, sim->time);
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
    sl_sim_leave(sim, local);
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
  sl_sim_look_ahead(sim, local);
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
