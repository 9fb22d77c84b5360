/* Links under groups and pairs of ranks. */
#include "sim/state.h"

/* How many units of `span` devices hold members of m, and how many members the emptiest of those holds. Members are in
 * the order of their devices. */
static int count_units(const struct sl_members *m, int64_t span, int *fewest) {
  int64_t unit = -1, held = 0;
  int units = 0;
  *fewest = m->size;
  for (int i = 0, step; i < m->size; i += step) {
    const int64_t device = sl_members_rank(m, i), room = span - device % span;
    const int run = m->inner - i % m->inner; /* members that follow at the stride */
    const int64_t inside = (room - 1) / m->stride + 1;
    step = inside < run ? (int)inside : run;
    if (device / span == unit) {
      held += step;
      continue;
    }
    if (units > 0 && held < *fewest) *fewest = (int)held;
    unit = device / span, held = step, units++;
  }
  if (held < *fewest) *fewest = (int)held;
  return units;
}

struct sl_link sl_sim_group_link(const struct sl_plan *plan, const struct sl_members *m) {
  const struct sl_cluster *cluster = plan->cluster;
  struct sl_link ring = {.name = "ring"};
  double latency = 0;
  int fewest, units = count_units(m, 1, &fewest);
  for (int level = 0; level < cluster->n_link && units > 1; level++) {
    const struct sl_link *link = &cluster->link[level];
    int inside = fewest, apart = level + 1 < cluster->n_link ? count_units(m, link->span, &fewest) : 1;
    if (apart == units) continue; /* no two units of the level below share one of this level */
    const double bandwidth = inside * link->bandwidth;
    if (ring.bandwidth <= 0 || bandwidth < ring.bandwidth) {
      ring.bandwidth = bandwidth;
      ring.half_bytes = link->half_bytes;
    }
    latency += (units - apart) * link->latency;
    units = apart;
  }
  ring.latency = m->size > 1 ? latency / (m->size - 1) : 0;
  return ring;
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
