/* Copies between memories. Those to and from NVMe are file I/O (backend/common/nvme.h). The device's memory and the
 * host's are both this machine's, so the copy itself is a memory copy on the thread that computes. But if the profile
 * gives the link between them (host_link_GBps), a copy completes no sooner than that link could have carried it. The
 * additional wait takes no core: compute goes on meanwhile, as it does next to the copy engine of a GPU. */
#include "backend/common/offload.h"
#include "backend/host/host.h"
#include "core/op/wire.h"

/* When the last of an op's waits was over. Completions that the ring no longer keeps are long past. */
static double ready_at(const struct sl_host *host, const struct sl_issued *it) {
  double at = host->begun_s;
  for (uint32_t i = 0; i < it->wait_count; i++) {
    const struct sl_host_lane *lane = &host->lanes[it->waits[i].lane];
    const uint32_t count = it->waits[i].count;
    if (count == 0 || lane->complete - count >= SL_HOST_QUEUE) continue;
    const double end = lane->ends[(count - 1) % SL_HOST_QUEUE];
    if (end > at) at = end;
  }
  return at;
}

enum sl_status sl_host_link_start(struct sl_host *host, struct sl_host_lane *lane, const struct sl_issued *it) {
  const struct sl_device *device = &host->job->plan->cluster->device;
  if (sl_lane_is_nvme(it->op->lane)) {
    const struct sl_call_rank rank = sl_host_call_rank(host);
    lane->io = sl_offload_request(&rank, it);
    sl_nvme_start(&lane->io);
    return SL_OK;
  }
  const double ready = ready_at(host, it), bytes = (double)sl_op_copy_bytes(it->op, sl_op_slices(it->program, it->op));
  const double rate = sl_device_copy_rate(device, it->op->flags);
  const double link_s = device->kind == SL_DEVICE_CPU && rate > 0 ? bytes / rate : 0;
  lane->link_from_s = ready > lane->link_until_s ? ready : lane->link_until_s;
  lane->link_until_s = lane->link_from_s + link_s;
  return sl_host_run(host, it);
}

enum sl_status sl_host_link_drive(struct sl_host *host, struct sl_host_lane *lane, double now_s, bool *over,
                                  bool *moved) {
  if (sl_lane_is_nvme((enum sl_lane)(lane - host->lanes))) return sl_nvme_drive(host->nvme, &lane->io, over, moved);
  *over = now_s >= lane->link_until_s;
  return SL_OK;
}

enum sl_status sl_host_link_count(struct sl_host *host, const struct sl_host_lane *lane, const struct sl_issued *it,
                                  double end_s) {
  const int64_t bytes = sl_op_copy_bytes(it->op, sl_op_slices(it->program, it->op));
  if (!sl_program_counts(host->kind)) return SL_OK;
  if (sl_lane_is_nvme(it->op->lane)) return sl_traffic_add(&host->traffic, it->op, bytes, bytes, end_s - lane->start_s);
  const double link_s = lane->link_until_s - lane->link_from_s, own_s = lane->copied_s - lane->start_s;
  return sl_traffic_add(&host->traffic, it->op, bytes, bytes, link_s > own_s ? link_s : own_s);
}
