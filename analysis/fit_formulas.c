/* The numbers of the formulas, which predict what was not measured: the peak, the bandwidths and the efficiencies,
 * which entries of op_costs replace. See fit.h. */
#include "analysis/fit.h"

#include <math.h>

/* The plain entry of exactly this type, not a substitute for it; NULL if it has nothing on `term`. */
static const struct sl_op_cost *entry_of(const struct sl_fit *fit, int kind, enum sl_dtype dtype, int ranks,
                                         enum sl_term term) {
  const struct sl_op_cost *c = sl_op_cost_find(&fit->profile.op_costs, kind, SL_VARIANT_PLAIN, dtype, ranks);
  return c != NULL && c->dtype == dtype && c->seconds[term] > 0 ? c : NULL;
}

/* The relative error of one point: from the spread of its rounds, or, for a single round, the scatter of its entry. */
static double error_of(const struct sl_fit *fit, const struct sl_point *p) {
  if (p->low_s > 0 && p->high_s > p->low_s) return log(p->high_s / p->low_s) / 2.56;
  return sl_op_cost_find(&fit->profile.op_costs, p->kind, p->variant, p->dtype, p->ranks)->scatter;
}

/* The largest rate above `peak` that any fp32 product reached, with all ranks together; 0 if none did. */
static double fastest_product(const struct sl_fit *fit, double peak, double *error) {
  double fastest = 0;
  for (size_t i = 0; i < fit->merged.count; i++) {
    const struct sl_point *p = &fit->merged.items[i];
    if (p->kind != SL_OP_GEMM || p->dtype != SL_F32) continue;
    const double rate = 2.0 * (double)p->dim[0] * (double)p->dim[1] * (double)p->dim[2] * p->ranks / p->median_s;
    if (rate <= fmax(peak, fastest)) continue;
    fastest = rate;
    *error = error_of(fit, p);
  }
  return fastest;
}

/* The fp32 peak of a core: the largest rate that any product reached, or the fitted rate of large ones. The fitted rate
 * of plain products alone may be lower than what others reach, and a step could then have an mfu above 1. */
static void fill_peak(struct sl_fit *fit) {
  struct sl_device *d = &fit->profile.device;
  const struct sl_op_cost *plain = entry_of(fit, SL_OP_GEMM, SL_F32, 1, SL_TERM_FLOPS);
  const double fitted = plain != NULL ? 1 / plain->seconds[SL_TERM_FLOPS] : 0;
  double error = plain != NULL ? plain->relative_stderr[SL_TERM_FLOPS] : NAN;
  const double peak = fmax(fitted, fastest_product(fit, fitted, &error));
  if (!(peak > 0)) return;
  d->peak[SL_F32] = peak / d->cores;
  sl_fit_found(fit, "device.peak_TFLOPS.fp32", error * d->peak[SL_F32] / 1e12);
  d->gemm_efficiency = plain != NULL ? fmax(0.001, fitted / peak) : 1;
  if (plain != NULL)
    sl_fit_found(fit, "device.gemm_efficiency", d->gemm_efficiency * plain->relative_stderr[SL_TERM_FLOPS]);
  else
    sl_fit_set(fit, "device.gemm_efficiency", "1, since peak_TFLOPS is what the fastest product reached");
}

/* A GPU keeps the peaks of its data sheet, which utilisation refers to; products reach a share of them. */
static void fill_gpu_products(struct sl_fit *fit) {
  const enum sl_dtype types[] = {SL_F32, SL_F16, SL_BF16}; /* the last known one is used */
  struct sl_device *d = &fit->profile.device;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const struct sl_op_cost *plain = entry_of(fit, SL_OP_GEMM, types[i], 1, SL_TERM_FLOPS);
    if (plain == NULL || !(d->peak[types[i]] > 0)) continue;
    d->gemm_efficiency = fmin(1, 1 / plain->seconds[SL_TERM_FLOPS] / d->peak[types[i]]);
    sl_fit_found(fit, "device.gemm_efficiency", d->gemm_efficiency * plain->relative_stderr[SL_TERM_FLOPS]);
  }
}

/* Memory and cache bandwidth from copies. If all sizes are below the cache that the system reports, which a virtual
 * machine shares with others, there is only their one rate. */
static void fill_memory(struct sl_fit *fit) {
  struct sl_device *d = &fit->profile.device;
  const struct sl_op_cost *cached = entry_of(fit, SL_OP_COPY, SL_F32, 1, SL_TERM_CACHED),
                          *far = entry_of(fit, SL_OP_COPY, SL_F32, 1, SL_TERM_BYTES);
  const enum sl_term term = far != NULL ? SL_TERM_BYTES : SL_TERM_CACHED;
  const struct sl_op_cost *memory = far != NULL ? far : cached;
  if (memory != NULL) {
    d->memory_bandwidth = 1 / memory->seconds[term];
    d->elementwise_efficiency = 1;
    sl_fit_found(fit, "device.memory_bandwidth_GBps", d->memory_bandwidth / 1e9 * memory->relative_stderr[term]);
    sl_fit_set(fit, "device.elementwise_efficiency", "1, since memory_bandwidth_GBps is what a copy reaches");
  }
  if (cached == NULL) return;
  d->cache_bandwidth = 1 / cached->seconds[SL_TERM_CACHED];
  sl_fit_found(fit, "device.cache_bandwidth_GBps", d->cache_bandwidth / 1e9 * cached->relative_stderr[SL_TERM_CACHED]);
}

/* The innermost link, from receives between two ranks. */
static void fill_link(struct sl_fit *fit) {
  struct sl_link *link = &fit->profile.link[0];
  const struct sl_op_cost *c = sl_op_cost_find(&fit->profile.op_costs, SL_OP_RECV, SL_VARIANT_PLAIN, SL_F32, 2);
  if (c == NULL) return;
  const enum sl_term slower = c->seconds[SL_TERM_BYTES] > c->seconds[SL_TERM_CACHED] ? SL_TERM_BYTES : SL_TERM_CACHED;
  if (c->seconds[slower] > 0) {
    link->bandwidth = 1 / c->seconds[slower];
    sl_fit_found(fit, "links[0].bandwidth_GBps", link->bandwidth / 1e9 * c->relative_stderr[slower]);
  }
  link->latency = c->seconds[SL_TERM_LAUNCH];
  link->half_bytes = 0;
  sl_fit_found(fit, "links[0].latency_us", 1e6 * link->latency * c->relative_stderr[SL_TERM_LAUNCH]);
  sl_fit_set(fit, "links[0].half_KiB", "0, since a receive is fitted by latency and bandwidth alone");
}

void sl_fit_formulas(struct sl_fit *fit) {
  if (fit->profile.device.kind == SL_DEVICE_GPU)
    fill_gpu_products(fit);
  else
    fill_peak(fit);
  fill_memory(fit);
  fill_link(fit);
}
