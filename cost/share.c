/* What one rank has of its device; see share.h. */
#include "cost/share.h"

#include "core/base/checked.h"
#include "cost/fitted.h"

static enum sl_status check_device(const struct sl_device *d) {
  const struct {
    const char *key;
    double value;
  } needed[] = {
      {"memory_bandwidth_GBps", d->memory_bandwidth},
      {"gemm_efficiency", d->gemm_efficiency},
      {"attention_efficiency", d->attention_efficiency},
      {"elementwise_efficiency", d->elementwise_efficiency},
      {"cores", d->kind == SL_DEVICE_CPU ? d->cores : 1},
      {"cache_bandwidth_GBps", d->cache_bytes > 0 ? d->cache_bandwidth : 1},
  };
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    if (!(needed[i].value > 0)) {
      return sl_fail(SL_ERR_INPUT, "device '%s': %s is %g, expected more than 0", d->name, needed[i].key,
                     needed[i].value);
    }
  }
  if (!(d->comm_cpu_share >= 0 && d->comm_cpu_share < 1)) {
    return sl_fail(SL_ERR_INPUT, "device '%s': comm_cpu_share is %g, expected 0 <= share < 1", d->name,
                   d->comm_cpu_share);
  }
  return SL_OK;
}

/* Ranks on the fullest node: the world fills the nodes in order; where it does not fit, nodes take more than they have
 * devices. */
static int64_t ranks_of_node(const struct sl_cluster *cluster, int64_t world) {
  int64_t per_node = cluster->devices_per_node > 0 ? cluster->devices_per_node : world;
  if (cluster->nodes > 0 && sl_product(cluster->nodes, per_node) < world)
    return (world + cluster->nodes - 1) / cluster->nodes;
  return per_node < world ? per_node : world;
}

/* A CPU's kernels run on its host: of the kernel set's costs, it has none. */
static struct sl_kernel_costs kernel_costs_of(const struct sl_device *d, const struct sl_kernel_costs *kernels,
                                              double host) {
  struct sl_kernel_costs costs = sl_kernel_costs_neutral();
  if (d->kind == SL_DEVICE_GPU && kernels != NULL) costs = *kernels;
  if (!(costs.elementwise_factor > 0)) costs.elementwise_factor = 1;
  if (d->comm_cpu_share > 0) costs.comm_compute_share = d->comm_cpu_share;
  costs.host_launch *= host;
  costs.host_piece *= host;
  costs.host_hook *= host;
  costs.host_collective *= host;
  return costs;
}

enum sl_status sl_cost_share(struct sl_cost_rank *rank, const struct sl_cluster *cluster,
                             const struct sl_kernel_costs *kernels, int world) {
  const struct sl_device *d = &cluster->device;
  SL_TRY(check_device(d));
  int64_t ranks = ranks_of_node(cluster, world);
  double share = 1; /* of the node's memory bandwidth and cache */
  *rank = (struct sl_cost_rank){.device = d, .threads = 1, .turns = 1};
  if (d->kind == SL_DEVICE_CPU) {
    if (d->cores > ranks) rank->threads = (int)(d->cores / ranks);
    if (ranks > d->cores) rank->turns = (double)ranks / d->cores;
    share = 1.0 / (double)ranks;
  } else if (cluster->devices_per_node > 0 && ranks > cluster->devices_per_node) {
    rank->turns = (double)ranks / (double)cluster->devices_per_node;
    share = 1 / rank->turns;
  }
  for (int i = 0; i < SL_DTYPE_COUNT; i++) rank->peak[i] = d->peak[i] * rank->threads / rank->turns;
  /* a CPU without products of 16 or 8 bits converts and multiplies in fp32; its ops' bytes have the copies in them */
  static const enum sl_dtype narrow[] = {SL_BF16, SL_F16, SL_F8};
  for (size_t i = 0; i < sizeof narrow / sizeof *narrow && d->kind == SL_DEVICE_CPU; i++)
    if (rank->peak[narrow[i]] == 0) rank->peak[narrow[i]] = rank->peak[SL_F32];
  rank->memory_bandwidth = d->memory_bandwidth * share * d->elementwise_efficiency;
  rank->cache_bytes = (double)d->cache_bytes * share;
  rank->cache_bandwidth = d->cache_bandwidth * share;
  rank->launch = d->launch_latency * rank->turns;
  const double slowdown = cluster->host_slowdown > 0 ? cluster->host_slowdown : 1;
  rank->kernel_costs = kernel_costs_of(d, kernels, rank->turns * slowdown);
  rank->pipeline_stall = d->kind == SL_DEVICE_GPU ? cluster->pipeline_stall : 0;
  rank->fitted = kernels != NULL && sl_cost_is_fitted(cluster, kernels);
  rank->costs = &cluster->op_costs;
  rank->ranks = (int)ranks;
  return SL_OK;
}
