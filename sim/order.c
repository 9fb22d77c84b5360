/* Which issues are on which lane. What repeats is listed once, as it is stored. */
#include "sim/state.h"

/* The part of a lane that repeats: its items from stored issue `first` on, before `end`. */
static void find_repeated(const struct sl_program *program, struct sl_sim_order *order, uint32_t stored) {
  const struct sl_repetition *r = &program->repeated;
  uint32_t first = 0, turn = 0;
  if (r->times == 0) return;
  while (first < stored && order->items[first] < r->first) first++;
  for (turn = first; turn < stored && order->items[turn] < r->first + r->length;) turn++;
  order->turn = turn;
  order->length = turn - first;
  order->count += order->length * r->times;
}

static enum sl_status make_order(struct sl_sim_program *table) {
  const struct sl_program *program = table->program;
  const size_t stored = program->issue_count - sl_issues_repeated(program);
  SL_TRY(sl_calloc(&table->order_items, 2 * stored, sizeof *table->order_items));
  table->calls.items = table->order_items + stored;
  for (size_t i = 0; i < stored; i++) table->order[table->costs[program->issues[i].op].lane].count++;
  uint32_t *items = table->order_items;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    table->order[lane].items = items;
    items += table->order[lane].count;
    table->order[lane].count = 0;
  }
  for (size_t i = 0; i < stored; i++) {
    struct sl_sim_order *order = &table->order[table->costs[program->issues[i].op].lane];
    order->items[order->count++] = (uint32_t)i;
    if (table->costs[program->issues[i].op].call >= 0) table->calls.items[table->calls.count++] = (uint32_t)i;
  }
  find_repeated(program, &table->calls, table->calls.count);
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    find_repeated(program, &table->order[lane], table->order[lane].count);
  return SL_OK;
}

/* Orders are made when the first op is handed over: a program that runs without events needs none. */
enum sl_status sl_sim_take_order(struct sl_sim *sim, struct sl_sim_rank *rank) {
  struct sl_sim_program *table = &sim->programs[rank->class_index][rank->now->program->kind];
  if (table->order_items == NULL) SL_TRY(make_order(table));
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) rank->lanes[lane].order = &table->order[lane];
  return SL_OK;
}
