/* Counts what ranks communicate and copy in a step. */
#include "sim/state.h"

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
