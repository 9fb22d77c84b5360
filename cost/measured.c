/* The measured cost of a work; see measured.h. */
#include "cost/measured.h"

const struct sl_op_cost *sl_cost_entry(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const int ranks = work->members > 0 ? work->members : rank->ranks;
  if (rank->costs == NULL || rank->costs->count == 0) return NULL;
  /* a send is measured by the one who receives it */
  const enum sl_op_kind kind = work->kind == SL_OP_SEND ? SL_OP_RECV : work->kind;
  return sl_op_cost_find(rank->costs, (int)kind, work->variant, work->dtype, ranks);
}

struct sl_work sl_cost_as_measured(const struct sl_device *device, int ranks, const struct sl_work *work) {
  return sl_work_in_cache(work, (double)device->cache_bytes / (ranks > 0 ? ranks : 1));
}

/* An entry whose ranks took turns already knows of those. */
static double turns_beyond(const struct sl_cost_rank *rank, const struct sl_op_cost *entry) {
  const double own = (double)entry->ranks / (rank->device->cores > 0 ? rank->device->cores : 1);
  return rank->turns > 1 && rank->turns > own ? rank->turns / (own > 1 ? own : 1) : 1;
}

double sl_cost_by_entry(const struct sl_cost_rank *rank, const struct sl_op_cost *entry, const struct sl_work *work) {
  const struct sl_work here = sl_cost_as_measured(rank->device, entry->ranks, work);
  return turns_beyond(rank, entry) * sl_op_cost_seconds(entry, &here);
}

bool sl_cost_stands_in(const struct sl_op_cost *entry, const struct sl_work *work) {
  const bool epilogue = work->epilogue_bytes > 0 && entry->variant != work->variant;
  return epilogue || (entry->dtype != work->dtype && !sl_op_cost_moves(entry->kind));
}
