/* See predict.h. */
#include "core/checkpoint/predict.h"

#include "core/checkpoint/pieces.h"

#include <math.h>

static double copy_seconds(const struct sl_device *d, int64_t rank_bytes, int64_t node_bytes) {
  if (d->kind == SL_DEVICE_CPU) return d->memory_bandwidth > 0 ? 2 * (double)node_bytes / d->memory_bandwidth : 0;
  const double link = d->host_link > 0 ? (double)rank_bytes / d->host_link : 0;
  return fmax(link, d->host_bandwidth > 0 ? (double)node_bytes / d->host_bandwidth : 0);
}

enum sl_status sl_checkpoint_predict(struct sl_checkpoint_cost *cost, const struct sl_job *job) {
  const struct sl_cluster *cluster = job->plan->cluster;
  int64_t node_bytes = 0, most = 0; /* of this node: total, and the rank that copies most */
  *cost = (struct sl_checkpoint_cost){0};
  for (int rank = 0; rank < job->plan->world; rank++) {
    struct sl_checkpoint_pieces pieces;
    SL_TRY(sl_checkpoint_pieces(&pieces, job, rank));
    if (rank % cluster->devices_per_node == 0) node_bytes = most = 0;
    node_bytes += pieces.bytes;
    if (pieces.bytes > most) most = pieces.bytes;
    if (pieces.bytes > cost->copy_bytes) cost->copy_bytes = pieces.bytes;
    if (pieces.bytes > cost->rank_bytes) cost->rank_bytes = pieces.bytes;
    cost->bytes += pieces.bytes;
    cost->wait_s = fmax(cost->wait_s, copy_seconds(&cluster->device, most, node_bytes));
    sl_checkpoint_pieces_free(&pieces);
  }
  return SL_OK;
}
