/* Costs by measurement. Where the cluster has op_costs (a calibrated profile) with an entry for a work's kind and type, the
 * entry replaces the formulas of compute.h and collective.h:
 *   seconds = turns x sum over terms t of entry.seconds[t] x work.terms[t]     (core/op/measured.h)
 * The entry is that of the number of ranks nearest to those of the node (of a communication op: to its members). Ranks that
 * were measured shared the cache of the node, so a rank found 1 / entry.ranks of it. More ranks than cores take turns
 * beyond the entry's own, r on a node of c cores r / max(c, entry.ranks) times as long. */
#pragma once

#include "core/op/measured.h"
#include "cost/share.h"

/* The entry for `work`, NULL where there is none. */
const struct sl_op_cost *sl_cost_entry(const struct sl_cost_rank *rank, const struct sl_work *work);
/* `work` as one of `ranks` ranks on a node finds it, its bytes told apart by its share of the cache. */
struct sl_work sl_cost_as_measured(const struct sl_device *device, int ranks, const struct sl_work *work);
/* Seconds of `work` by an entry, turns included. */
double sl_cost_by_entry(const struct sl_cost_rank *rank, const struct sl_op_cost *entry, const struct sl_work *work);
/* Was the entry measured on other ops than `work`: of another type, where that matters, or without its epilogue? */
bool sl_cost_stands_in(const struct sl_op_cost *entry, const struct sl_work *work);
