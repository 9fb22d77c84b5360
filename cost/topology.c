/* Links under a ring; see topology.h. */
#include "cost/topology.h"

#include "cost/nccl/tables.h"

#include <math.h>

static int64_t device_of(const struct sl_cost_group *g, int i) {
  return g->first + i % g->inner * g->stride + i / g->inner * g->outer;
}

/* Of a group whose members all follow at one stride, `span` a multiple of it: all units but the first and the last hold
 * the same number of members. */
static int units_at_stride(const struct sl_cost_group *g, int64_t span, int *fewest) {
  const int64_t room = span - g->first % span, inside = (room - 1) / g->stride + 1, each = span / g->stride;
  const int64_t first = inside < g->size ? inside : g->size, full = (g->size - first) / each,
                last = (g->size - first) % each;
  int64_t least = first;
  if (full > 0 && each < least) least = each;
  if (last > 0 && last < least) least = last;
  *fewest = (int)least;
  return (int)(1 + full + (last > 0));
}

int sl_cost_group_units(const struct sl_cost_group *g, int64_t span, int *fewest) {
  const bool one_stride = g->inner >= g->size && g->stride > 0;
  if (one_stride && g->stride % span == 0) { /* a unit of its own for every member */
    *fewest = 1;
    return g->size;
  }
  if (one_stride && span % g->stride == 0) return units_at_stride(g, span, fewest);
  int64_t unit = -1, held = 0;
  int units = 0;
  *fewest = g->size;
  for (int i = 0, step; i < g->size; i += step) {
    const int64_t device = device_of(g, i), room = span - device % span;
    const int run = g->inner - i % g->inner; /* members that follow at the stride */
    const int64_t inside = (room - 1) / g->stride + 1;
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

double sl_cost_attained(const struct sl_link *link, int units) {
  const double share = link->bandwidth_share > 0 ? link->bandwidth_share : 1;
  const double fall = units > 2 && link->bandwidth_decay > 0 ? pow(units / 2.0, -link->bandwidth_decay) : 1;
  return link->bandwidth * share * fall;
}

/* Of a latency that NCCL's own figure rounds to, 0. */
static double beyond_nccl(const struct sl_link *link, enum sl_hop hop) {
  static const enum sl_nccl_hop kinds[SL_HOP_COUNT] = {
      [SL_HOP_NVLINK] = SL_NCCL_HOP_NVLINK, [SL_HOP_PCIE] = SL_NCCL_HOP_PCIE, [SL_HOP_NETWORK] = SL_NCCL_HOP_NETWORK};
  if (hop == SL_HOP_PLAIN) return 0;
  const double own = sl_nccl_hop_latency(kinds[hop], SL_NCCL_RING, SL_NCCL_SIMPLE), extra = link->latency - own;
  return fabs(extra) > 1e-9 * own ? extra : 0;
}

struct sl_cost_extra sl_cost_group_extra(const struct sl_cluster *cluster, const struct sl_cost_group *group,
                                         const enum sl_hop hops[SL_MAX_LINKS]) {
  bool own = true;
  for (int level = 0; level < cluster->n_link; level++) own &= beyond_nccl(&cluster->link[level], hops[level]) == 0;
  if (own) return (struct sl_cost_extra){0, 0};
  double extra[2] = {0, 0}; /* within nodes, between them */
  int steps[2] = {0, 0}, fewest, units = group->size;
  bool between = false; /* from the first level that is the network on */
  for (int level = 0; level < cluster->n_link; level++) {
    const struct sl_link *link = &cluster->link[level];
    const int apart = level + 1 < cluster->n_link ? sl_cost_group_units(group, link->span, &fewest) : 1;
    between |= hops[level] == SL_HOP_NETWORK;
    extra[between] += (units - apart) * beyond_nccl(link, hops[level]);
    steps[between] += units - apart;
    units = apart;
  }
  return (struct sl_cost_extra){steps[0] > 0 ? extra[0] / steps[0] : 0, steps[1] > 0 ? extra[1] / steps[1] : 0};
}

static struct sl_link ring_through(const struct sl_cluster *cluster, const struct sl_cost_group *g,
                                   double seconds_per_byte[SL_MAX_LINKS]) {
  struct sl_link ring = {.name = "ring"};
  double latency = 0, ramp = 0; /* the longest, seconds */
  int fewest, units = sl_cost_group_units(g, 1, &fewest);
  for (int level = 0; level < cluster->n_link && units > 1; level++) {
    const struct sl_link *link = &cluster->link[level];
    int inside = fewest, apart = level + 1 < cluster->n_link ? sl_cost_group_units(g, link->span, &fewest) : 1;
    if (apart == units) continue; /* no two units of the level below share one of this level */
    if (ring.hop == SL_HOP_PLAIN) ring.hop = link->hop;
    if (link->hop == SL_HOP_NETWORK && ring.nodes == 0) ring.nodes = units;
    ring.message = fmax(ring.message, link->message);
    const double bandwidth = inside * sl_cost_attained(link, units);
    seconds_per_byte[level] = 1 / bandwidth;
    if (ring.bandwidth <= 0 || bandwidth < ring.bandwidth) ring.bandwidth = bandwidth;
    if (ring.nominal <= 0 || inside * link->bandwidth < ring.nominal) ring.nominal = inside * link->bandwidth;
    if (link->half_bytes / bandwidth > ramp) ramp = link->half_bytes / bandwidth;
    latency += (units - apart) * link->latency;
    units = apart;
  }
  if (ring.hop != SL_HOP_PLAIN && ring.nodes == 0) ring.nodes = 1;
  ring.half_bytes = ramp * ring.bandwidth;
  ring.latency = g->size > 1 ? latency / (g->size - 1) : 0;
  return ring;
}

struct sl_link sl_cost_group_link(const struct sl_cluster *cluster, const struct sl_cost_group *g) {
  double unused[SL_MAX_LINKS] = {0};
  enum sl_hop hops[SL_MAX_LINKS];
  struct sl_link ring = ring_through(cluster, g, unused);
  for (int level = 0; level < SL_MAX_LINKS; level++) hops[level] = cluster->link[level].hop;
  const struct sl_cost_extra extra = sl_cost_group_extra(cluster, g, hops);
  ring.inside_extra = extra.inside, ring.across_extra = extra.across;
  return ring;
}

void sl_cost_group_shares(const struct sl_cluster *cluster, const struct sl_cost_group *g,
                          double seconds_per_byte[SL_MAX_LINKS]) {
  for (int level = 0; level < SL_MAX_LINKS; level++) seconds_per_byte[level] = 0;
  ring_through(cluster, g, seconds_per_byte);
}
