/* Ranks, their coordinates and their process groups; see coords.h. */
#include "core/plan/coords.h"

#include "core/plan/plan.h"

struct sl_coord sl_plan_coord(const struct sl_plan *plan, int rank) {
  struct sl_coord c;
  c.tp = rank % plan->tp;
  c.cp = rank / plan->tp % plan->cp;
  c.dp = rank / (plan->tp * plan->cp) % plan->dp;
  c.pp = rank / (plan->tp * plan->cp * plan->dp);
  return c;
}

int sl_plan_rank(const struct sl_plan *plan, struct sl_coord c) {
  return ((c.pp * plan->dp + c.dp) * plan->cp + c.cp) * plan->tp + c.tp;
}

struct sl_members sl_plan_group(const struct sl_plan *plan, enum sl_group group, int rank) {
  if (group == SL_GROUP_NONE) /* asked for every operand: before any division */
    return (struct sl_members){.first = rank, .stride = 1, .size = 1, .inner = 1, .outer = 1, .id = rank};
  const struct sl_coord me = sl_plan_coord(plan, rank);
  const int dp_stride = plan->tp * plan->cp, pp_stride = dp_stride * plan->dp;
  struct sl_coord zero = me; /* the coordinates of member 0 */
  struct sl_members m = {.stride = 1, .size = 1};
  m.outer = pp_stride;
  switch (group) {
  case SL_GROUP_TP:
    m.size = plan->tp, m.index = me.tp, zero.tp = 0;
    break;
  case SL_GROUP_CP:
    m.size = plan->cp, m.stride = plan->tp, m.index = me.cp, zero.cp = 0;
    break;
  case SL_GROUP_DP:
    m.size = plan->dp, m.stride = dp_stride, m.index = me.dp, zero.dp = 0;
    break;
  case SL_GROUP_SHARD:
    m.size = plan->shard, m.stride = dp_stride, m.index = me.dp % plan->shard, zero.dp = me.dp - m.index;
    break;
  case SL_GROUP_REPLICATE:
    m.size = plan->dp / plan->shard, m.stride = dp_stride * plan->shard, m.index = me.dp / plan->shard;
    zero.dp = me.dp % plan->shard;
    break;
  case SL_GROUP_MODEL:
    m.size = plan->tp * plan->pp, m.index = me.pp * plan->tp + me.tp, zero.pp = zero.tp = 0;
    m.inner = plan->tp;
    break;
  case SL_GROUP_WORLD:
    m.size = plan->world, m.index = rank, zero = (struct sl_coord){0};
    break;
  case SL_GROUP_EMBED: {
    const int *ends = plan->embed_ranks;
    const int low = ends[0] < ends[1] ? ends[0] : ends[1], high = ends[0] + ends[1] - low;
    if (low < high && (me.pp == low || me.pp == high))
      m.size = 2, m.stride = pp_stride * (high - low), m.index = me.pp == high, zero.pp = low;
    break;
  }
  case SL_GROUP_SECONDARY:
    m.size = plan->secondary, m.stride = dp_stride, m.index = me.dp % plan->secondary, zero.dp = me.dp - m.index;
    break;
  case SL_GROUP_NONE:
  case SL_GROUP_COUNT:
    break;
  }
  if (m.inner == 0) m.inner = m.size;
  m.first = sl_plan_rank(plan, zero);
  m.id = m.first; /* two groups of a class never share their first member */
  return m;
}
