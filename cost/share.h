/* One rank's share of the device that its cluster's profile describes.
 *
 * Ranks share a CPU node. The profile's `peak` is that of ONE core; `memory_bandwidth`, `cache_bytes` and
 * `cache_bandwidth` are those of the whole node. With r ranks on a node of c cores, a rank has max(1, c / r) threads,
 * so peak x threads, and 1/r of the node's bandwidth and cache, since all ranks run the same program at the same time.
 * If r > c the ranks take turns, and everything that a core does (flops, launches, transfers) takes r / c times as
 * long. A GPU's numbers are those of one GPU; if a node has more ranks than GPUs, they take turns on them. */
#pragma once

#include "core/cluster/cluster.h"
#include "core/cluster/kernel_costs.h"

/* Filled once per run by sl_cost_share. SI units. */
struct sl_cost_rank {
  const struct sl_device *device; /* borrowed */
  double peak[SL_DTYPE_COUNT];    /* flop/s of this rank */
  double memory_bandwidth;        /* byte/s of this rank, elementwise_efficiency included */
  double cache_bytes, cache_bandwidth;
  double launch;                       /* seconds per op */
  double turns;                        /* >= 1: ranks per core or GPU, which stretches transfers too */
  int threads;                         /* of this rank; 1 for a GPU */
  const struct sl_op_costs *costs;     /* borrowed; measured ops */
  int ranks;                           /* on this rank's node */
  bool fitted;                         /* was anything fitted to the cluster and to the kernel set? */
  double pipeline_stall;               /* the host's seconds per member; see sl_cost_call_host */
  struct sl_kernel_costs kernel_costs; /* neutral on a CPU, except comm_compute_share: the device's comm_cpu_share */
};

/* The share of one rank when `world` ranks fill the nodes in order, with the kernels' costs of its kernel set (NULL:
 * neutral ones). Errors: SL_ERR_INPUT naming the device's key whose value no cost can be computed from. */
enum sl_status sl_cost_share(struct sl_cost_rank *rank, const struct sl_cluster *cluster,
                             const struct sl_kernel_costs *kernels, int world);

/* Does the host's time matter: may an op wait for its launch? */
static inline bool sl_cost_has_host(const struct sl_cost_rank *rank) {
  return rank->kernel_costs.host_launch > 0 || rank->kernel_costs.host_collective > 0 || rank->pipeline_stall > 0;
}
