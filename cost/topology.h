/* The ring through a group of devices, as if it were one link; cost/collective.h has the formulas of alpha and beta. */
#pragma once

#include "core/cluster/cluster.h"

/* Devices of a group, numbered node by node: member i is device first + (i % inner) * stride + (i / inner) * outer. */
struct sl_cost_group {
  int64_t first, stride, outer;
  int size, inner;
};

/* The bandwidth per device that a link of this level has in a ring that crosses it between `units` units of the next
 * inner level:
 *   bandwidth x bandwidth_share x (units / 2)^-bandwidth_decay, units at least 2. */
double sl_cost_attained(const struct sl_link *link, int units);

/* How many units of `span` devices hold members of the group, and (in *fewest) how many members the emptiest of those
 * holds. Members are in the order of their devices. */
int sl_cost_group_units(const struct sl_cost_group *group, int64_t span, int *fewest);

/* What the hops of a NCCL ring through the group take beyond NCCL's own figure, seconds a hop, the mean of those within
 * nodes and of those between them: latency_us of their levels less what NCCL has for a ring's hop with Simple over
 * what `hops` says that each level is (PLAIN: nothing beyond). 0 and 0 where all latencies are NCCL's own. */
struct sl_cost_extra {
  double inside, across;
};
struct sl_cost_extra sl_cost_group_extra(const struct sl_cluster *cluster, const struct sl_cost_group *group,
                                         const enum sl_hop hops[SL_MAX_LINKS]);

/* The ring through the group as each of its members sees it; zeros for one member. */
struct sl_link sl_cost_group_link(const struct sl_cluster *cluster, const struct sl_cost_group *group);
/* For each level, the time that a byte on the ring takes on a member's own link there: 1 / (m_(k-1) beta_k), in the
 * terms of cost/collective.h; 0 if the ring does not cross it. */
void sl_cost_group_shares(const struct sl_cluster *cluster, const struct sl_cost_group *group,
                          double seconds_per_byte[SL_MAX_LINKS]);
