/* The ring through a group of devices, as if it were one link; the formulas of alpha and beta stand in
 * cost/collective.h. */
#pragma once

#include "core/cluster/cluster.h"

/* Devices of a group, numbered node by node: member i stands at first + (i % inner) * stride + (i / inner) * outer. */
struct sl_cost_group {
  int64_t first, stride, outer;
  int size, inner;
};

/* Bandwidth of a link of this level, per device, in a ring that crosses it between `units` units of the level inside:
 *   bandwidth x bandwidth_share x (units / 2)^-bandwidth_decay, units at least 2. */
double sl_cost_attained(const struct sl_link *link, int units);

/* How many units of `span` devices hold members of the group, and how many members the emptiest of those holds. Members
 * are in the order of their devices. */
int sl_cost_group_units(const struct sl_cost_group *group, int64_t span, int *fewest);

/* What a ring through the group is like to each of its members: zero for one member. */
struct sl_link sl_cost_group_link(const struct sl_cluster *cluster, const struct sl_cost_group *group);
/* For each level, how long a byte that goes round the ring takes of a member's own link there: 1 / (m_(k-1) beta_k), in
 * the words of cost/collective.h; 0 where the ring does not cross it. */
void sl_cost_group_shares(const struct sl_cluster *cluster, const struct sl_cost_group *group,
                          double seconds_per_byte[SL_MAX_LINKS]);
