/* Optimizers with master weights on the host (kernels/master.h).
 *
 * A thread processes short runs: it widens the gradient, updates, and rounds the result. Memory is read and written
 * once, and runs are so short that a core already loads the next one while it computes this one. */
#include "kernels/master.h"
#include "kernels/numbers/half_run.h"
#include "kernels/optimizer_inline.h"
#include "kernels/parallel.h"

#define RUN ((size_t)128)

/* The gradient of elements [at, at + n), widened to `wide` unless it is float already. */
static inline const float *widen(float *wide, const void *grad, enum sl_number type, size_t at, size_t n) {
  if (type == SL_NUMBER_F32) return (const float *)grad + at;
  if (type == SL_NUMBER_BF16) sl_half_run_from_bf16(wide, (const uint16_t *)grad + at, n);
  if (type == SL_NUMBER_F16) sl_half_run_from_f16(wide, (const uint16_t *)grad + at, n);
  return wide;
}

static inline void round_to(void *param, enum sl_number type, const float *master, size_t at, size_t n) {
  if (!param) return;
  if (type == SL_NUMBER_BF16) sl_half_run_to_bf16((uint16_t *)param + at, master + at, n);
  if (type == SL_NUMBER_F16) sl_half_run_to_f16((uint16_t *)param + at, master + at, n);
  if (type == SL_NUMBER_F32) memcpy((float *)param + at, master + at, n * sizeof *master);
}

void sl_master_adam(float *master, float *m, float *v, const void *grad, enum sl_number grad_type, void *param,
                    enum sl_number param_type, size_t n, const struct sl_adam *adam) {
  const struct sl_adam_scalars s = sl_adam_scalars_of(adam);
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t at = 0; at < n; at += RUN) {
    const size_t end = n - at < RUN ? n : at + RUN;
    _Alignas(64) float wide[RUN];
    const float *g = widen(wide, grad, grad_type, at, end - at);
#pragma omp simd
    for (size_t i = at; i < end; i++) sl_adam_one(&master[i], &m[i], &v[i], g[i - at], s);
    round_to(param, param_type, master, at, end - at);
  }
}

void sl_master_sgd(float *master, float *buf, const void *grad, enum sl_number grad_type, void *param,
                   enum sl_number param_type, size_t n, const struct sl_sgd *sgd) {
  const struct sl_sgd_scalars s = sl_sgd_scalars_of(sgd);
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t at = 0; at < n; at += RUN) {
    const size_t end = n - at < RUN ? n : at + RUN;
    _Alignas(64) float wide[RUN];
    const float *g = widen(wide, grad, grad_type, at, end - at);
    if (sgd->momentum == 0) {
#pragma omp simd
      for (size_t i = at; i < end; i++) sl_sgd_plain_one(&master[i], g[i - at], s);
    } else {
#pragma omp simd
      for (size_t i = at; i < end; i++) sl_sgd_one(&master[i], &buf[i], g[i - at], s);
    }
    round_to(param, param_type, master, at, end - at);
  }
}
