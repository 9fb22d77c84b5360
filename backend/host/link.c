/* Copies between memories. Those to and from NVMe are a file's (nvme.h). The device's memory and the host's: both are this machine's, so that a copy itself is the kernel's, on the thread
 * that computes; but the profile may give the link between them (host_link_GBps), and then a copy is over no sooner than that link
 * could have carried it. What it waits for beyond the kernel's own time costs no core: compute goes on meanwhile, as it does
 * beside the copy engine of a GPU. */
#include "backend/host/host.h"
#include "core/op/operands.h"
#include "core/op/wire.h"

/* When the last of an op's waits was over. Older completions than the ring keeps are long ago. */
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

/* Which of the two operands of a copy lives on NVMe, and where the other is. */
static void describe(struct sl_host *host, struct sl_nvme_request *io, const struct sl_issued *it) {
  const bool write = it->op->lane == SL_LANE_NVME_WRITE;
  const int there = sl_op_at(it->op, write ? SL_AT_OUT : SL_AT_X), here = sl_op_at(it->op, write ? SL_AT_X : SL_AT_OUT);
  const struct sl_slice *slice = &sl_op_slices(it->program, it->op)[there];
  char *blocks = sl_host_operand(host, it, sl_op_at(it->op, SL_AT_SCRATCH));
  *io = (struct sl_nvme_request){.write = write,
                                 .at = (char *)sl_host_operand(host, it, there) - host->arena[SL_SPACE_NVME],
                                 .bytes = slice->bytes,
                                 .memory = sl_host_operand(host, it, here),
                                 .blocks = blocks + (SL_MACHINE_PAGE - (uintptr_t)blocks % SL_MACHINE_PAGE) % SL_MACHINE_PAGE,
                                 .what = host->rank_class->buffers[slice->buffer].name};
}

enum sl_status sl_host_link_start(struct sl_host *host, struct sl_host_lane *lane, const struct sl_issued *it) {
  const struct sl_device *device = &host->job->plan->cluster->device;
  if (sl_lane_is_nvme(it->op->lane)) {
    describe(host, &lane->io, it);
    sl_nvme_start(&lane->io);
    return SL_OK;
  }
  const double ready = ready_at(host, it), bytes = (double)sl_op_copy_bytes(it->op, sl_op_slices(it->program, it->op));
  const double link_s = device->kind == SL_DEVICE_CPU && device->host_link > 0 ? bytes / device->host_link : 0;
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
  if (host->kind != SL_PROGRAM_STEP) return SL_OK;
  if (sl_lane_is_nvme(it->op->lane)) return sl_traffic_add(&host->traffic, it->op, bytes, bytes, end_s - lane->start_s);
  const double link_s = lane->link_until_s - lane->link_from_s, own_s = lane->copied_s - lane->start_s;
  return sl_traffic_add(&host->traffic, it->op, bytes, bytes, link_s > own_s ? link_s : own_s);
}
