/* Seconds of attention; the formulas stand in attention.h. */
#include "cost/attention.h"

#include "cost/gemm.h"

enum sl_flash sl_attention_kernel(const struct sl_work *work) {
  if (work->flags & SL_OP_FLASH_1) return SL_FLASH_1;
  if (work->flags & SL_OP_FLASH_3) return SL_FLASH_3;
  return work->flags & SL_OP_CUDNN ? SL_FLASH_CUDNN : SL_FLASH_2;
}

static double flash_seconds(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const struct sl_device *d = rank->device;
  const bool backward = work->kind == SL_OP_FLASH_BWD;
  const double given = d->flash_efficiency[sl_attention_kernel(work)][backward];
  const double tokens = (double)work->dim[1], reached = tokens / (tokens + d->flash_half_tokens);
  return work->flops / (rank->peak[work->dtype] * (given > 0 ? given * reached : d->attention_efficiency));
}

/* `batch` products of scores and `batch` of outputs, or of their gradients. */
static double materialised_seconds(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const struct sl_device *d = rank->device;
  const int64_t batch = work->dim[0] * work->dim[2], t = work->dim[1], head = work->dim[3];
  const double pair =
      sl_gemm_padded_flops(d, work->dtype, batch, t, t, head) + sl_gemm_padded_flops(d, work->dtype, batch, t, head, t);
  const double batched = d->batched_gemm_efficiency > 0 ? d->batched_gemm_efficiency : d->attention_efficiency;
  const double given = sl_gemm_on_cuda_cores(d, work->dtype) ? d->gemm_efficiency : batched; /* of tensor cores */
  const double flops = (work->kind == SL_OP_ATTENTION_BWD ? 2 : 1) * pair;
  if (rank->kernel_costs.unaligned_batches_on_cuda_cores && !sl_gemm_is_aligned(work->dtype, head))
    return flops / (rank->peak[SL_F32] * d->gemm_efficiency);
  return flops * sl_gemm_slowdown(d, work->dtype, head) / (rank->peak[work->dtype] * given);
}

double sl_attention_seconds(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const bool flash = work->kind == SL_OP_FLASH_FWD || work->kind == SL_OP_FLASH_BWD;
  if (rank->device->sm_count == 0) return work->flops / (rank->peak[work->dtype] * rank->device->attention_efficiency);
  return flash ? flash_seconds(rank, work) : materialised_seconds(rank, work);
}

double sl_attention_score_bytes(const struct sl_cost_rank *rank, const struct sl_work *work) {
  if (work->kind != SL_OP_ATTENTION_FWD && work->kind != SL_OP_ATTENTION_BWD) return 0;
  const double scores = (double)work->dim[0] * (double)work->dim[2] * (double)work->dim[1] * (double)work->dim[1];
  const double passes = rank->kernel_costs.score_passes * (work->kind == SL_OP_ATTENTION_BWD ? 1.5 : 1);
  return passes * scores * (double)sl_dtype_bytes(work->dtype);
}
