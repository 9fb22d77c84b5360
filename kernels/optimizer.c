/* Adam, AdamW and SGD on the host (kernels/optimizer.h). Each is one pass over memory and runs at its bandwidth. */
#include "kernels/optimizer.h"
#include "kernels/optimizer_inline.h"
#include "kernels/parallel.h"

void SL_K(sl_optimizer_adam)(sl_real *param, sl_real *m, sl_real *v, const sl_real *grad, size_t n,
                             const struct sl_adam *adam) {
  const struct sl_adam_scalars s = sl_adam_scalars_of(adam);
#pragma omp parallel for simd schedule(static) if (parallel : n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < n; i++) sl_adam_one(&param[i], &m[i], &v[i], grad[i], s);
}

void SL_K(sl_optimizer_sgd)(sl_real *param, sl_real *buf, const sl_real *grad, size_t n, const struct sl_sgd *sgd) {
  const struct sl_sgd_scalars s = sl_sgd_scalars_of(sgd);
  if (sgd->momentum == 0) {
#pragma omp parallel for simd schedule(static) if (parallel : n > SL_PARALLEL_MIN)
    for (size_t i = 0; i < n; i++) sl_sgd_plain_one(&param[i], grad[i], s);
    return;
  }
#pragma omp parallel for simd schedule(static) if (parallel : n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < n; i++) sl_sgd_one(&param[i], &buf[i], grad[i], s);
}
