/* Optimizers with master weights on the host (kernels/master.h).
 *
 * A thread takes chunks that stay in its caches: it widens the gradient, lets the float optimizer update the chunk, and
 * rounds the result. Memory is read and written once. */
#include "kernels/master.h"
#include "kernels/convert.h"
#include "kernels/optimizer.h"
#include "kernels/parallel.h"

#define CHUNK ((size_t)4096) /* below SL_PARALLEL_MIN, so that the float optimizer starts no threads of its own */

/* The gradient of elements [at, at + n), widened to `wide` unless it is float already. */
static const float *widen(float *wide, const void *grad, enum sl_number type, size_t at, size_t n) {
  if (type == SL_NUMBER_F32) return (const float *)grad + at;
  sl_convert_chunk(wide, SL_NUMBER_F32, (const uint16_t *)grad + at, type, n);
  return wide;
}

static void round_to(void *param, enum sl_number type, const float *master, size_t at, size_t n) {
  if (param) sl_convert_chunk((char *)param + at * sl_convert_bytes(type), type, master + at, SL_NUMBER_F32, n);
}

void sl_master_adam(float *master, float *m, float *v, const void *grad, enum sl_number grad_type, void *param,
                    enum sl_number param_type, size_t n, const struct sl_adam *adam) {
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t at = 0; at < n; at += CHUNK) {
    const size_t k = n - at < CHUNK ? n - at : CHUNK;
    float wide[CHUNK];
    sl_optimizer_adam(master + at, m + at, v + at, widen(wide, grad, grad_type, at, k), k, adam);
    round_to(param, param_type, master, at, k);
  }
}

void sl_master_sgd(float *master, float *buf, const void *grad, enum sl_number grad_type, void *param,
                   enum sl_number param_type, size_t n, const struct sl_sgd *sgd) {
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t at = 0; at < n; at += CHUNK) {
    const size_t k = n - at < CHUNK ? n - at : CHUNK;
    float wide[CHUNK];
    sl_optimizer_sgd(master + at, buf ? buf + at : NULL, widen(wide, grad, grad_type, at, k), k, sgd);
    round_to(param, param_type, master, at, k);
  }
}
