/* Ranks, their coordinates and their process groups; see coords.h. */
#include "core/plan/coords.h"

#include "core/plan/plan.h"

enum axis { TP, DP, PP };

/* The axes by rank order, the fastest first; cp is the fast part of dp. */
static const enum axis orders[SL_RANK_ORDERS][3] = {
    [SL_RANKS_TP_DP_PP] = {TP, DP, PP}, [SL_RANKS_TP_PP_DP] = {TP, PP, DP}, [SL_RANKS_DP_TP_PP] = {DP, TP, PP},
    [SL_RANKS_DP_PP_TP] = {DP, PP, TP}, [SL_RANKS_PP_TP_DP] = {PP, TP, DP}, [SL_RANKS_PP_DP_TP] = {PP, DP, TP}};

struct sl_coord sl_plan_strides(const struct sl_plan *plan) {
  struct sl_coord strides = {0};
  int ranks = 1;
  for (int i = 0; i < 3; i++) {
    switch (orders[plan->rank_order][i]) {
    case TP:
      strides.tp = ranks, ranks *= plan->tp;
      break;
    case DP:
      strides.cp = ranks, strides.dp = ranks * plan->cp;
      ranks = strides.dp * plan->dp;
      break;
    case PP:
      strides.pp = ranks, ranks *= plan->pp;
      break;
    }
  }
  return strides;
}

static struct sl_coord coord_of(const struct sl_plan *plan, const struct sl_coord *strides, int rank) {
  return (struct sl_coord){.tp = rank / strides->tp % plan->tp,
                           .cp = rank / strides->cp % plan->cp,
                           .dp = rank / strides->dp % plan->dp,
                           .pp = rank / strides->pp % plan->pp};
}

struct sl_coord sl_plan_coord(const struct sl_plan *plan, int rank) {
  const struct sl_coord strides = sl_plan_strides(plan);
  return coord_of(plan, &strides, rank);
}

static int rank_of(const struct sl_coord *strides, struct sl_coord c) {
  return c.tp * strides->tp + c.cp * strides->cp + c.dp * strides->dp + c.pp * strides->pp;
}

int sl_plan_dp_cp(const struct sl_plan *plan, struct sl_coord c) {
  return c.dp * plan->cp + c.cp;
}

int sl_plan_rank(const struct sl_plan *plan, struct sl_coord c) {
  const struct sl_coord strides = sl_plan_strides(plan);
  return rank_of(&strides, c);
}

/* The ranks that hold one copy of the model, over both axes: the faster-varying axis inside the other. */
static struct sl_members model_group(const struct sl_plan *plan, const struct sl_coord *strides,
                                     const struct sl_coord *me) {
  struct sl_members m = {.size = plan->tp * plan->pp};
  if (strides->tp < strides->pp)
    m.inner = plan->tp, m.stride = strides->tp, m.outer = strides->pp, m.index = me->pp * plan->tp + me->tp;
  else
    m.inner = plan->pp, m.stride = strides->pp, m.outer = strides->tp, m.index = me->tp * plan->pp + me->pp;
  return m;
}

/* The group of the rank at `me`; `step`: the strides. Among the ranks that hold the same parameters, `own` is the place
 * of this one, and `first` that of the group's member 0. */
static struct sl_members group_at(const struct sl_plan *plan, enum sl_group group, struct sl_coord step,
                                  struct sl_coord me) {
  struct sl_coord zero = me; /* the coordinates of member 0 */
  struct sl_members m = {.stride = 1, .size = 1};
  const int own = sl_plan_dp_cp(plan, me);
  int first = own;
  switch (group) {
  case SL_GROUP_TP:
    m.size = plan->tp, m.stride = step.tp, m.index = me.tp, zero.tp = 0;
    break;
  case SL_GROUP_CP:
    m.size = plan->cp, m.stride = step.cp, m.index = me.cp, first = own - me.cp;
    break;
  case SL_GROUP_DP:
    m.size = plan->dp_cp, m.stride = step.cp, m.index = own, first = 0;
    break;
  case SL_GROUP_SHARD:
    m.size = plan->shard, m.stride = step.cp, m.index = own % plan->shard, first = own - m.index;
    break;
  case SL_GROUP_REPLICATE:
    m.size = plan->dp_cp / plan->shard, m.stride = step.cp * plan->shard, m.index = own / plan->shard;
    first = own % plan->shard;
    break;
  case SL_GROUP_MODEL:
    m = model_group(plan, &step, &me), zero.pp = zero.tp = 0;
    break;
  case SL_GROUP_WORLD:
    m.size = plan->world, m.index = rank_of(&step, me), zero = (struct sl_coord){0}, first = 0;
    break;
  case SL_GROUP_EMBED: {
    const int *ends = plan->embed_ranks;
    const int low = ends[0] < ends[1] ? ends[0] : ends[1], high = ends[0] + ends[1] - low;
    if (low < high && (me.pp == low || me.pp == high))
      m.size = 2, m.stride = step.pp * (high - low), m.index = me.pp == high, zero.pp = low;
    break;
  }
  case SL_GROUP_SECONDARY:
    m.size = plan->secondary, m.stride = step.cp, m.index = own % plan->secondary, first = own - m.index;
    break;
  case SL_GROUP_NODE:
    if (plan->node > 1) m.size = plan->node, m.stride = step.cp, m.index = own % plan->node;
    first = own - m.index;
    break;
  case SL_GROUP_ACROSS:
    if (plan->nodes > 1)
      m.size = plan->nodes, m.stride = step.cp * plan->node, m.index = own / plan->node, first = own % plan->node;
    break;
  case SL_GROUP_NONE:
  case SL_GROUP_COUNT:
    break;
  }
  if (m.inner == 0) m.inner = m.size, m.outer = m.size * m.stride;
  zero.dp = first / plan->cp, zero.cp = first % plan->cp;
  m.first = rank_of(&step, zero);
  m.id = m.first; /* two groups of a class never have the same first member */
  return m;
}

struct sl_members sl_plan_group(const struct sl_plan *plan, enum sl_group group, int rank) {
  if (group == SL_GROUP_NONE) /* called for every operand, so return before any division */
    return (struct sl_members){.first = rank, .stride = 1, .size = 1, .inner = 1, .outer = 1, .id = rank};
  const struct sl_coord step = sl_plan_strides(plan);
  return group_at(plan, group, step, coord_of(plan, &step, rank));
}

/* Counts an axis up; false: it begins anew, and the next slower one counts. */
static bool count_up(int *at, int size) {
  *at = *at + 1 < size ? *at + 1 : 0;
  return *at > 0;
}

void sl_plan_next(const struct sl_plan *plan, struct sl_coord *at) {
  for (int i = 0; i < 3; i++) {
    switch (orders[plan->rank_order][i]) {
    case TP:
      if (count_up(&at->tp, plan->tp)) return;
      break;
    case DP:
      if (count_up(&at->cp, plan->cp) || count_up(&at->dp, plan->dp)) return;
      break;
    case PP:
      if (count_up(&at->pp, plan->pp)) return;
      break;
    }
  }
}

void sl_plan_group_ids(const struct sl_plan *plan, enum sl_group group, int *ids) {
  const struct sl_coord step = sl_plan_strides(plan);
  struct sl_coord at = {0};
  for (int rank = 0; rank < plan->world; rank++, sl_plan_next(plan, &at))
    ids[rank] = group == SL_GROUP_NONE ? rank : group_at(plan, group, step, at).id;
}

bool sl_plan_ties(const struct sl_plan *plan) {
  return plan->model->tied_head && plan->embed_ranks[0] != plan->embed_ranks[1];
}
