/* Runs a whole program event by event: what the executor's loop does with single ops, without handing them over one at
 * a time. An observer is told of many at once. */
#include "sim/state.h"

#include <stdlib.h>

/* All calls of a step, in program order. */
static void hash_calls(struct sl_sim_rank *rank) {
  const struct sl_program *program = rank->now->program;
  const struct sl_sim_order *calls = &rank->now->calls;
  uint32_t at = 0, turn = 0;
  for (uint32_t i = 0; i < calls->count; i++, sl_sim_step(program, calls, &at, &turn))
    sl_sim_hash_call(rank, rank->now->costs[program->issues[calls->items[at]].op].call);
}

/* Hands over all ops of a rank. Lanes begin in the order of their first ops. */
static enum sl_status hand_over(struct sl_sim *sim, int local) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  SL_TRY(sl_sim_take_order(sim, rank));
  if (rank->counting) hash_calls(rank);
  rank->pending = (uint32_t)rank->now->program->issue_count;
  sim->pending += rank->pending;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) rank->lanes[lane].issued = rank->lanes[lane].order->count;
  for (uint32_t begun = 0;;) {
    int first = -1;
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
      const struct sl_sim_order *order = rank->lanes[lane].order;
      if (order->count == 0 || begun >> lane & 1) continue;
      if (first < 0 || order->items[0] < rank->lanes[first].order->items[0]) first = lane;
    }
    if (first < 0) return sim->status;
    begun |= UINT32_C(1) << first;
    sl_sim_try(sim, local, first);
  }
}

static enum sl_status run_events(struct sl_sim *sim) {
  for (int i = 0; i < sim->count; i++) SL_TRY(hand_over(sim, i));
  while (sim->queue.count > 0 && sim->status == SL_OK) {
    const struct sl_event event = sl_queue_pop(&sim->queue);
    sim->time = event.time;
    sl_sim_event(sim, event.source);
  }
  SL_TRY(sim->status);
  return sim->pending > 0 ? sl_sim_deadlock(sim) : SL_OK;
}

enum sl_status sl_sim_play(struct sl_sim *sim, int64_t step, const struct sl_run *run) {
  enum sl_status status;
  struct sl_unreported *unreported = NULL;
  struct sl_sim_ahead *ahead = NULL;
  SL_GO(sl_calloc(&unreported, (size_t)sim->count, sizeof *unreported));
  SL_GO(sl_calloc(&ahead, (size_t)sim->count, SL_SIM_AHEAD * sizeof *ahead));
  for (int i = 0; i < sim->count; i++) {
    struct sl_unreported *u = sim->ranks[i].unreported = &unreported[i];
    sim->ranks[i].stretch.ops = &ahead[(size_t)i * SL_SIM_AHEAD];
    u->run = run, u->program = sim->ranks[i].now->program, u->local = i, u->step = step;
  }
  SL_GO(run_events(sim));
  for (int i = 0; i < sim->count; i++) sl_unreported_report(&unreported[i]);
done:
  for (int i = 0; i < sim->count; i++) sim->ranks[i].unreported = NULL;
  free(unreported);
  free(ahead);
  return status;
}
