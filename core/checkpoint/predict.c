/* See predict.h. */
#include "core/checkpoint/predict.h"

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/checkpoint/pieces.h"

#include <math.h>

static double copy_seconds(const struct sl_device *d, int64_t rank_bytes, int64_t node_bytes) {
  if (d->kind == SL_DEVICE_CPU) return d->memory_bandwidth > 0 ? 2 * (double)node_bytes / d->memory_bandwidth : 0;
  const double link = d->host_link > 0 ? (double)rank_bytes / d->host_link : 0;
  return fmax(link, d->host_bandwidth > 0 ? (double)node_bytes / d->host_bandwidth : 0);
}

/* Of every rank, what it holds of each tensor is asked. */
static enum sl_status check_number(const struct sl_plan *plan) {
  int64_t tensors = 0;
  for (int r = 0; r < plan->pp; r++)
    if (plan->pp_ranks[r].tensor_count > tensors) tensors = plan->pp_ranks[r].tensor_count;
  if (sl_product(plan->world, tensors) <= SL_MAX_SHARES) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "--save-every: %d ranks with up to %lld tensors each; expected at most %lld in all",
                 plan->world, (long long)tensors, (long long)SL_MAX_SHARES);
}

enum sl_status sl_checkpoint_predict(struct sl_checkpoint_cost *cost, const struct sl_job *job) {
  const struct sl_cluster *cluster = job->plan->cluster;
  int64_t node_bytes = 0, most = 0; /* of this node: total, and the rank that copies most */
  *cost = (struct sl_checkpoint_cost){0};
  SL_TRY(check_number(job->plan));
  for (int rank = 0; rank < job->plan->world; rank++) {
    int64_t bytes;
    SL_TRY(sl_checkpoint_bytes(&bytes, job, rank));
    if (rank % cluster->devices_per_node == 0) node_bytes = most = 0;
    node_bytes += bytes;
    if (bytes > most) most = bytes;
    if (bytes > cost->copy_bytes) cost->copy_bytes = bytes;
    if (bytes > cost->rank_bytes) cost->rank_bytes = bytes;
    cost->bytes += bytes;
    cost->wait_s = fmax(cost->wait_s, copy_seconds(&cluster->device, most, node_bytes));
  }
  return SL_OK;
}
