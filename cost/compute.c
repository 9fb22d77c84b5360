/* Seconds of compute; compute.h has the formulas. */
#include "cost/compute.h"

#include "core/base/checked.h"
#include "cost/attention.h"
#include "cost/gemm.h"
#include "cost/measured.h"

#include <math.h>

static double max2(double a, double b) {
  return a > b ? a : b;
}

/* The flops that a product is charged for: those of whole tiles if the device's structure is known, else its own plus
 * the ramp of a small product. */
static double charged_flops(const struct sl_device *d, const struct sl_work *work) {
  const int64_t *dim = work->dim;
  if (d->sm_count == 0) return work->flops + d->gemm_half_flops;
  return sl_gemm_padded_flops(d, work->dtype, 1, dim[0], dim[1], dim[2]) *
         sl_gemm_slowdown(d, work->dtype, sl_gemm_rows(work));
}

double sl_cost_launch_host(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const struct sl_kernel_costs *costs = &rank->kernel_costs;
  const double pieces = work->kind == SL_OP_PASS ? work->terms[SL_TERM_PIECES] : sl_work_in_call(work);
  if (work->kind == SL_OP_PASS && work->dim[3] > 0) return costs->host_hook * (double)work->dim[3];
  return pieces > 0 ? costs->host_piece * pieces : costs->host_launch * work->terms[SL_TERM_LAUNCH];
}

static double gemm_seconds(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const struct sl_device *d = rank->device;
  const double arithmetic = charged_flops(d, work) / (rank->peak[work->dtype] * d->gemm_efficiency);
  return rank->launch + max2(arithmetic, work->bytes / rank->memory_bandwidth);
}

/* The same if sizes are first padded to multiples of 16 bytes. The weight is copied; what the compiler itself computes it
 * writes with its padding. */
static double padded_gemm_seconds(const struct sl_cost_rank *rank, const struct sl_work *work) {
  struct sl_work padded = *work;
  const int64_t bytes = sl_dtype_bytes(work->dtype), multiple = 16 / bytes;
  for (int i = 0; i < 3; i++) padded.dim[i] = sl_round_up(work->dim[i], multiple);
  const bool of_weight = work->variant != SL_VARIANT_TRANS_A && sl_variant_base(work->variant) != SL_VARIANT_TRANS_A;
  const double weight = of_weight ? (double)(work->dim[1] * work->dim[2] * bytes) : 0;
  const double copy = weight > 0 ? rank->launch + 2 * weight / rank->memory_bandwidth : 0;
  return gemm_seconds(rank, &padded) + copy;
}

double sl_cost_gemm(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const double seconds = gemm_seconds(rank, work);
  const bool padding = rank->kernel_costs.pads_unaligned_products && rank->device->sm_count > 0 &&
                       !sl_gemm_is_aligned(work->dtype, sl_gemm_rows(work));
  return padding ? fmin(seconds, padded_gemm_seconds(rank, work)) : seconds;
}

double sl_cost_attention(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const double products = max2(sl_attention_seconds(rank, work), work->bytes / rank->memory_bandwidth);
  return rank->launch + products + sl_attention_score_bytes(rank, work) / rank->memory_bandwidth;
}

double sl_cost_elementwise(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const double cached = work->bytes < rank->cache_bytes ? work->bytes : rank->cache_bytes;
  const double launches = work->kind == SL_OP_PASS ? work->terms[SL_TERM_LAUNCH] : 1;
  const double factor = sl_op_class_of(work->kind) == SL_CLASS_OPTIMIZER ? 1 : rank->kernel_costs.elementwise_factor;
  const double seconds = launches * rank->launch + factor * (work->bytes - cached) / rank->memory_bandwidth;
  return cached > 0 ? seconds + cached / rank->cache_bandwidth : seconds;
}

/* byte/s of a node's NVMe in the direction of a copy. */
static double nvme_rate(const struct sl_device *d, const struct sl_work *work) {
  return work->lane == SL_LANE_NVME_READ ? d->nvme_read : d->nvme_write;
}

double sl_cost_nvme(double latency, double rate, double size, double block, double depth) {
  if (!(block > 0) || !(depth > 0)) block = size, depth = 1;
  const double alone = latency + fmin(block, size) / rate;
  return fmax(ceil(size / block) * alone / depth, latency + size / rate);
}

/* The same for a copy by a rank, which has its share of the node's rate. */
static double nvme_seconds(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const struct sl_device *d = rank->device;
  const double latency = work->lane == SL_LANE_NVME_READ ? d->nvme_read_latency : d->nvme_write_latency;
  return sl_cost_nvme(latency, nvme_rate(d, work) / rank->ranks, work->size, (double)work->dim[1],
                      (double)work->dim[2]);
}

/* Does the device have the numbers for the memory that `work` uses? */
static enum sl_status check_offload(const struct sl_device *d, const struct sl_work *work) {
  if (sl_lane_is_nvme(work->lane) && !(nvme_rate(d, work) > 0))
    return sl_fail(SL_ERR_INPUT,
                   "device '%s': nvme_read_GBps and nvme_write_GBps are not given, which offload to NVMe needs",
                   d->name);
  if (d->kind != SL_DEVICE_GPU || (d->host_link > 0 && d->host_bandwidth > 0)) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "device '%s': host_link_GBps and host_bandwidth_GBps are not given, which offload needs",
                 d->name);
}

/* Offload on a GPU: copies over the link to host memory or from there to NVMe, and updates in host memory. A CPU has
 * only one memory: its cores copy and update; see sl_cost_copy_link. */
static double offload_seconds(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const struct sl_device *d = rank->device;
  if (work->lane == SL_LANE_HOST) return rank->launch + work->bytes * rank->ranks / d->host_bandwidth;
  if (sl_lane_is_nvme(work->lane)) return rank->launch + nvme_seconds(rank, work);
  return rank->launch + work->size / sl_device_copy_rate(d, work->flags);
}

static double measured_seconds(const struct sl_cost_rank *rank, const struct sl_op_cost *entry,
                               const struct sl_work *work) {
  const double seconds = rank->launch + sl_cost_by_entry(rank, entry, work);
  return entry->variant != work->variant ? seconds + work->epilogue_bytes / rank->memory_bandwidth : seconds;
}

static enum sl_status no_peak(const struct sl_cost_rank *rank, const struct sl_work *work) {
  char known[128] = "";
  size_t used = 0;
  for (int type = 0; type < SL_DTYPE_COUNT; type++)
    if (rank->peak[type] > 0)
      used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "",
                               sl_dtype_name((enum sl_dtype)type));
  return sl_fail(SL_ERR_INPUT, "device '%s': peak_TFLOPS.%s: is missing, and %s needs it; it has %s",
                 rank->device->name, sl_dtype_name(work->dtype), sl_op_name(work->kind), used > 0 ? known : "none");
}

static enum sl_status formula_seconds(const struct sl_cost_rank *rank, const struct sl_work *work, double *seconds) {
  const enum sl_op_class op_class = sl_op_class_of(work->kind);
  if ((op_class == SL_CLASS_GEMM || op_class == SL_CLASS_ATTENTION) && !(rank->peak[work->dtype] > 0)) {
    return no_peak(rank, work);
  }
  switch (op_class) {
  case SL_CLASS_GEMM:
    *seconds = sl_cost_gemm(rank, work);
    break;
  case SL_CLASS_ATTENTION:
    *seconds = sl_cost_attention(rank, work);
    break;
  case SL_CLASS_ELEMENTWISE:
  case SL_CLASS_OPTIMIZER:
    *seconds = sl_cost_elementwise(rank, work);
    break;
  default:
    *seconds = rank->launch;
  }
  return SL_OK;
}

bool sl_cost_is_host_side(enum sl_lane lane) {
  return sl_lane_is_link(lane) || lane == SL_LANE_HOST;
}

double sl_cost_copy_link(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const struct sl_device *d = rank->device;
  if (!sl_lane_is_link(work->lane) || d->kind != SL_DEVICE_CPU) return 0;
  if (sl_lane_is_nvme(work->lane)) return nvme_seconds(rank, work);
  const double rate = sl_device_copy_rate(d, work->flags);
  return rate > 0 ? work->size / rate : 0;
}

enum sl_status sl_cost_compute(const struct sl_cost_rank *rank, const struct sl_work *work, double *seconds) {
  if (sl_cost_is_host_side(work->lane)) SL_TRY(check_offload(rank->device, work));
  if (sl_cost_is_host_side(work->lane) && rank->device->kind == SL_DEVICE_GPU) {
    *seconds = offload_seconds(rank, work);
    return SL_OK;
  }
  const struct sl_op_cost *entry = sl_cost_entry(rank, work);
  if (entry == NULL) return formula_seconds(rank, work, seconds);
  *seconds = measured_seconds(rank, entry, work);
  return SL_OK;
}
