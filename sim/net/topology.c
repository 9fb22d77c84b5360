/* Links under groups and pairs of ranks. */
#include "cost/topology.h"
#include "sim/state.h"

static struct sl_cost_group devices_of(const struct sl_members *m) {
  return (struct sl_cost_group){
      .first = m->first, .stride = m->stride, .outer = m->outer, .size = m->size, .inner = m->inner};
}

struct sl_link sl_sim_group_link(const struct sl_plan *plan, const struct sl_members *m) {
  const struct sl_cost_group group = devices_of(m);
  return sl_cost_group_link(plan->cluster, &group);
}

void sl_sim_group_shares(const struct sl_plan *plan, const struct sl_members *m,
                         double seconds_per_byte[SL_MAX_LINKS]) {
  const struct sl_cost_group group = devices_of(m);
  sl_cost_group_shares(plan->cluster, &group, seconds_per_byte);
}

int sl_sim_peer_rank(const struct sl_plan *plan, int rank, int stage) {
  struct sl_coord coord = sl_plan_coord(plan, rank);
  coord.pp = stage;
  return sl_plan_rank(plan, coord);
}

const struct sl_link *sl_sim_peer_link(const struct sl_plan *plan, int rank, int stage) {
  int other = sl_sim_peer_rank(plan, rank, stage), low = rank < other ? rank : other;
  return sl_cluster_link(plan->cluster, low, rank + other - 2 * low, 2);
}
