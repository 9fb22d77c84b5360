/* Standard errors of a step's time; fitted.h states the formula. */
#include "cost/fitted.h"

#include "core/cluster/provenance.h"
#include "cost/attention.h"

#include <math.h>
#include <stdio.h>

/* Of the number at `path`, which is `value` in the unit of its key. */
static double relative(const struct sl_cluster *cluster, const char *path, double value) {
  return value > 0 ? sl_annotation_stderr(cluster->annotations, path) / value : 0;
}

static double share_error(const struct sl_cluster *cluster, int link) {
  char path[64];
  snprintf(path, sizeof path, "links[%d].bandwidth_share", link);
  return relative(cluster, path, cluster->link[link].bandwidth_share);
}

bool sl_cost_is_fitted(const struct sl_cluster *cluster, const struct sl_kernel_costs *kernels) {
  for (int i = 0; i < cluster->n_link; i++)
    if (share_error(cluster, i) > 0) return kernels->elementwise_factor_error > 0;
  return false;
}

static void put_flash_errors(struct sl_cost_fitted *f, const struct sl_cluster *cluster) {
  static const char *const names[SL_FLASH_COUNT] = {
      [SL_FLASH_1] = "flash1", [SL_FLASH_2] = "flash2", [SL_FLASH_3] = "flash3", [SL_FLASH_CUDNN] = "cudnn"};
  char path[64];
  for (int k = 0; k < 2 * SL_FLASH_COUNT; k++) {
    snprintf(path, sizeof path, "device.%s_%s_efficiency", names[k / 2], k % 2 == 0 ? "forward" : "backward");
    f->error[SL_FITTED_FLASH + k] = relative(cluster, path, cluster->device.flash_efficiency[k / 2][k % 2]);
  }
}

void sl_cost_fitted_open(struct sl_cost_fitted *f, const struct sl_cluster *cluster,
                         const struct sl_kernel_costs *kernels, double nodes) {
  const struct sl_device *d = &cluster->device;
  const int last = cluster->n_link - 1;
  char path[64];
  *f = (struct sl_cost_fitted){0};
  f->error[SL_FITTED_GEMM] = relative(cluster, "device.gemm_efficiency", d->gemm_efficiency);
  f->error[SL_FITTED_BATCHED_GEMM] = relative(cluster, "device.batched_gemm_efficiency", d->batched_gemm_efficiency);
  f->error[SL_FITTED_ELEMENTWISE] = relative(cluster, "device.elementwise_efficiency", d->elementwise_efficiency);
  f->error[SL_FITTED_LAUNCH] = relative(cluster, "device.launch_us", d->launch_latency * 1e6);
  f->error[SL_FITTED_FACTOR] = kernels->elementwise_factor_error;
  put_flash_errors(f, cluster);
  if (last < 0) return;
  f->error[SL_FITTED_NEAR_LINK] = share_error(cluster, 0);
  snprintf(path, sizeof path, "links[%d].bandwidth_decay", last);
  const double decay = sl_annotation_stderr(cluster->annotations, path);
  f->error[SL_FITTED_FAR_LINK] = hypot(share_error(cluster, last), nodes > 2 ? decay * log(nodes / 2) : 0);
}

/* What the time of a work beside its launches is in proportion to. */
static enum sl_fitted number_of(const struct sl_work *work) {
  switch (sl_op_class_of(work->kind)) {
  case SL_CLASS_GEMM:
    return SL_FITTED_GEMM;
  case SL_CLASS_ATTENTION:
    if (work->kind != SL_OP_FLASH_FWD && work->kind != SL_OP_FLASH_BWD) return SL_FITTED_BATCHED_GEMM;
    return SL_FITTED_FLASH + 2 * (int)sl_attention_kernel(work) + (work->kind == SL_OP_FLASH_BWD);
  default:
    return SL_FITTED_ELEMENTWISE;
  }
}

void sl_cost_fitted_add(struct sl_cost_fitted *f, const struct sl_cost_rank *rank, const struct sl_work *work,
                        double seconds, double times) {
  const enum sl_fitted number = number_of(work);
  const double launches = work->kind == SL_OP_PASS ? work->terms[SL_TERM_LAUNCH] : 1;
  const double launched = fmin(launches * rank->launch, seconds), rest = seconds - launched;
  f->compute += times * seconds;
  f->seconds[SL_FITTED_LAUNCH] += times * launched;
  f->seconds[number] += times * rest;
  if (number == SL_FITTED_ELEMENTWISE && sl_op_class_of(work->kind) != SL_CLASS_OPTIMIZER)
    f->seconds[SL_FITTED_FACTOR] += times * rest;
}

void sl_cost_fitted_add_transfers(struct sl_cost_fitted *f, bool between_nodes, double seconds) {
  f->seconds[between_nodes ? SL_FITTED_FAR_LINK : SL_FITTED_NEAR_LINK] += seconds;
}

double sl_cost_fitted_variance(const struct sl_cost_fitted *f, double step_s) {
  const double transfers = f->seconds[SL_FITTED_NEAR_LINK] + f->seconds[SL_FITTED_FAR_LINK];
  const double exposed = fmin(fmax(step_s - f->compute, 0), transfers);
  const double of_compute = f->compute > 0 ? (step_s - exposed) / f->compute : 0;
  const double of_links = transfers > 0 ? exposed / transfers : 0;
  double variance = 0;
  if (!(step_s > 0)) return 0;
  for (int j = 0; j < SL_FITTED_COUNT; j++)
    variance += pow((j < SL_FITTED_NEAR_LINK ? of_compute : of_links) * f->seconds[j] * f->error[j] / step_s, 2);
  return variance;
}
