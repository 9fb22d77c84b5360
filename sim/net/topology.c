/* Links under groups and pairs of ranks, and whether one rank can stand for its class. */
#include "sim/state.h"

#include <stdlib.h>

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

/* Is the ring of a rank's group that of the class's first rank? The first of a group to be asked answers for all. */
static bool same_group(const struct sl_plan *plan, enum sl_group group, int rank, int first_rank) {
  const struct sl_members first = sl_plan_group(plan, group, first_rank), m = sl_plan_group(plan, group, rank);
  if (m.size != first.size) return false;
  if (m.id == first.id || (m.index > 0 && sl_members_rank(&m, m.index - 1) >= first_rank)) return true;
  const struct sl_link a = sl_sim_group_link(plan, &first), b = sl_sim_group_link(plan, &m);
  return a.bandwidth == b.bandwidth && a.half_bytes == b.half_bytes && a.latency == b.latency;
}

/* peers[stage]: the class's programs send to, or receive from, that stage. */
static void find_peers(const struct sl_class *c, int stages, bool *peers) {
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
    const struct sl_program *p = &c->programs[kind];
    for (size_t i = 0; i < p->op_count; i++) {
      const struct sl_op *op = &p->ops[i];
      if (sl_op_class_of(op->kind) == SL_CLASS_P2P && op->peer >= 0 && op->peer < stages) peers[op->peer] = true;
    }
  }
}

/* Has every rank the links of its class's first one, in the groups of `used` and towards `peers`? */
static bool class_alike(const struct sl_plan *plan, const struct sl_class *c, const bool *used, const bool *peers) {
  for (int rank = c->first_rank; rank < c->first_rank + c->rank_count; rank++) {
    for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) {
      if (used[g] && !same_group(plan, (enum sl_group)g, rank, c->first_rank)) return false;
    }
    for (int stage = 0; stage < plan->pp; stage++) {
      if (peers[stage] && sl_sim_peer_link(plan, rank, stage) != sl_sim_peer_link(plan, c->first_rank, stage)) {
        return false;
      }
    }
  }
  return true;
}

enum sl_status sl_sim_alike(const struct sl_sim *sim, bool *alike) {
  const struct sl_job *job = sim->job;
  bool used[SL_GROUP_COUNT] = {0}, *peers;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) used[g] |= sim->meets[lane][g];
  }
  *alike = true;
  for (int i = 0; i < job->class_count && *alike; i++) {
    SL_TRY(sl_calloc(&peers, (size_t)job->plan->pp, sizeof *peers));
    find_peers(&job->classes[i], job->plan->pp, peers);
    *alike = class_alike(job->plan, &job->classes[i], used, peers);
    free(peers);
  }
  return SL_OK;
}
