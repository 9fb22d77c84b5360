/* Coordinates of ranks (pp, dp, cp, tp), and the process groups that follow from them. Every rank belongs to one group
 * of each class (core/op/group.h).
 *
 * Ranks are numbered node by node, so the order of the axes decides which ranks share a node: neighbours along the axis
 * that varies fastest. shardlab.rank_order names the axes, the fastest first; cp is the fast part of dp. tp-dp-pp is
 * the order of Megatron-LM (megatron/core/parallel_state.py:617 of d98e8a6: "tp-cp-ep-dp-pp"; its
 * --use-tp-pp-dp-mapping makes it tp-pp-dp, megatron/training/initialize.py:395), of DeepSpeed
 * (runtime/pipe/topology.py, PipeModelDataParallelTopology) and of torchtitan's meshes. */
#pragma once

#include "core/op/group.h"

#include <stdbool.h>

struct sl_plan;

struct sl_coord {
  int pp, dp, cp, tp;
};

/* The place of a rank among the dp x cp ranks that hold the same parameters. */
int sl_plan_dp_cp(const struct sl_plan *plan, struct sl_coord coord);
/* For each axis, the distance in ranks between neighbours along it. */
struct sl_coord sl_plan_strides(const struct sl_plan *plan);
struct sl_coord sl_plan_coord(const struct sl_plan *plan, int rank);
int sl_plan_rank(const struct sl_plan *plan, struct sl_coord coord);
/* The coordinates of the rank after that at *at; after the last, of the first. */
void sl_plan_next(const struct sl_plan *plan, struct sl_coord *at);

/* The group of class `group` that `rank` belongs to; SL_GROUP_NONE gives a group of the rank alone. Member i is rank
 * first + (i % inner) * stride + (i / inner) * outer, in ascending order; only the model group of a plan with both tp
 * and pp needs the outer step. `index` is the rank's own position; `id` is the same for all members of a group and
 * different between two groups of a class. */
struct sl_members {
  int first, stride, size, inner, outer, index, id;
};
struct sl_members sl_plan_group(const struct sl_plan *plan, enum sl_group group, int rank);
/* Sets ids[rank] to the id of the group of each of the plan's ranks: sl_plan_group for all of them, in one pass. */
void sl_plan_group_ids(const struct sl_plan *plan, enum sl_group group, int *ids);
static inline int sl_members_rank(const struct sl_members *m, int i) {
  return m->first + i % m->inner * m->stride + i / m->inner * m->outer;
}
/* Does a tied embedding stand on two pipeline ranks? Then its gradients are summed over the embed group. */
bool sl_plan_ties(const struct sl_plan *plan);
