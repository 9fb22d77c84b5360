/* Communicators of groups of devices; see group.h. */
#include "cost/nccl/group.h"

enum sl_status sl_nccl_group_check(const struct sl_cluster *cluster) {
  const struct sl_device *d = &cluster->device;
  if (d->kind == SL_DEVICE_GPU && d->compute_capability > 0 && cluster->n_link > 0) return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 "--nccl-algo: choice is NCCL's; device '%s' gives no compute_capability, expected a GPU of NVIDIA's",
                 d->name);
}

static enum sl_nccl_gpu gpu_of(const struct sl_device *d) {
  if (d->compute_capability < 8) return SL_NCCL_VOLTA;
  if (d->compute_capability < 9) return SL_NCCL_AMPERE;
  return d->compute_capability < 10 ? SL_NCCL_HOPPER : SL_NCCL_BLACKWELL;
}

/* What NCCL takes a level for: as the cluster says, or else inferred from its position and speed. */
static enum sl_hop hop_of(const struct sl_cluster *cluster, int level) {
  static const double fastest_pcie = 64e9; /* x16 of PCIe 5, each way: PCI-SIG */
  const struct sl_link *link = &cluster->link[level];
  if (link->hop != SL_HOP_PLAIN) return link->hop;
  if (level > 0 && level + 1 == cluster->n_link) return SL_HOP_NETWORK;
  return link->bandwidth > fastest_pcie ? SL_HOP_NVLINK : SL_HOP_PCIE;
}

/* The slowest level from `first` to before `end` that a ring through the group crosses, and over how many units; else
 * `first`. */
static const struct sl_link *slowest(const struct sl_cluster *cluster, const struct sl_cost_group *group, int first,
                                     int end, int *units) {
  const struct sl_link *found = &cluster->link[first];
  double least = 0;
  int fewest;
  *units = 2;
  for (int level = first; level < end; level++) {
    const struct sl_link *link = &cluster->link[level];
    const int below = sl_cost_group_units(group, level > 0 ? cluster->link[level - 1].span : 1, &fewest);
    const int here = level + 1 < cluster->n_link ? sl_cost_group_units(group, link->span, &fewest) : 1;
    const double bandwidth = sl_cost_attained(link, below);
    if (here == below || (least > 0 && bandwidth >= least)) continue;
    found = link, least = bandwidth, *units = below;
  }
  return found;
}

static double share_of(const struct sl_link *link, int units) {
  return sl_cost_attained(link, units) / link->bandwidth;
}

enum sl_status sl_nccl_group_open(struct sl_nccl_group *out, const struct sl_cluster *cluster,
                                  const struct sl_cost_group *group) {
  int network = 0, fewest = 1, units;
  while (network < cluster->n_link && hop_of(cluster, network) != SL_HOP_NETWORK) network++;
  struct sl_nccl_comm comm = {
      .gpu = gpu_of(&cluster->device), .cpu = SL_NCCL_CPU_OTHER, .ranks = group->size, .nodes = 1, .ll128 = true};
  *out = (struct sl_nccl_group){.attained = sl_nccl_as_estimated};
  if (network < cluster->n_link)
    comm.nodes = sl_cost_group_units(group, network > 0 ? cluster->link[network - 1].span : 1, &fewest);
  if (network > 0) {
    const struct sl_link *inside = slowest(cluster, group, 0, network, &units);
    const bool nvlink = hop_of(cluster, (int)(inside - cluster->link)) == SL_HOP_NVLINK;
    *(nvlink ? &comm.nvlink : &comm.pcie) = inside->bandwidth;
    comm.nvls = nvlink && comm.gpu >= SL_NCCL_HOPPER;
    out->attained.inside = share_of(inside, units);
    out->attained.fill = inside->half_bytes;
  }
  if (comm.nodes > 1) {
    const struct sl_link *across = slowest(cluster, group, network, cluster->n_link, &units);
    comm.nics = fewest; /* one NIC for each GPU of the group */
    comm.nic = across->bandwidth;
    out->attained.across = share_of(across, units);
    out->attained.fill = across->half_bytes;
  }
  enum sl_hop hops[SL_MAX_LINKS] = {SL_HOP_PLAIN};
  for (int level = 0; level < cluster->n_link; level++) hops[level] = hop_of(cluster, level);
  const struct sl_cost_extra extra = sl_cost_group_extra(cluster, group, hops);
  out->attained.inside_extra = extra.inside, out->attained.across_extra = extra.across;
  return sl_nccl_open(&out->nccl, &comm);
}

/* An exchange, which consists of sends and receives, counts as the gather of the same bytes. */
static enum sl_nccl_coll coll_of(unsigned moves) {
  if (moves & SL_MOVE_CHAIN) return SL_NCCL_BROADCAST;
  if ((moves & SL_MOVE_REDUCE) && (moves & SL_MOVE_GATHER)) return SL_NCCL_ALL_REDUCE;
  return moves & SL_MOVE_REDUCE ? SL_NCCL_REDUCE_SCATTER : SL_NCCL_ALL_GATHER;
}

struct sl_nccl_choice sl_nccl_group_choose(const struct sl_nccl_group *group, const struct sl_work *work) {
  const int n = work->members;
  /* uneven shares take as long as even ones of the largest size */
  const double size = work->uneven ? work->bytes * n / (n - 1) : work->size;
  return sl_nccl_attain(&group->nccl, &group->attained, coll_of(sl_op_moves(work->kind)), (int64_t)size);
}
