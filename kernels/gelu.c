/* GELU on the host (kernels/gelu.h). */
#include "kernels/gelu.h"
#include "kernels/parallel.h"
#include "kernels/vecmath.h"

static const sl_real minus_two_k = (sl_real)-1.59576912160573071176; /* -2 sqrt(2/pi) */
static const sl_real cubic = (sl_real)0.044715;

/* exp(-2u), bounded: beyond, s is 0 to every digit that x s keeps, and an infinite exponential would make 0 * inf. */
static inline sl_real exp_minus_two_u(sl_real x) {
  sl_real a = minus_two_k * (x + cubic * x * x * x);
  return sl_exp(a > 80 ? 80 : a);
}

static inline sl_real gelu(sl_real x) {
  return x / (1 + exp_minus_two_u(x));
}

static inline sl_real gelu_slope(sl_real x) {
  sl_real e = exp_minus_two_u(x);
  sl_real s = 1 / (1 + e);
  return s - x * s * (s * e) * (minus_two_k * (1 + 3 * cubic * x * x));
}

void SL_K(sl_gelu_forward)(sl_store *out, const sl_store *x, const sl_store *bias, size_t rows, size_t cols) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    sl_store *o = out + r * cols;
    const sl_store *in = x + r * cols;
    if (bias) {
#pragma omp simd
      for (size_t c = 0; c < cols; c++) o[c] = sl_put(gelu(sl_load(in[c]) + sl_load(bias[c])));
    } else {
#pragma omp simd
      for (size_t c = 0; c < cols; c++) o[c] = sl_put(gelu(sl_load(in[c])));
    }
  }
}

void SL_K(sl_gelu_backward)(sl_store *dx, const sl_store *dout, const sl_store *x, const sl_store *bias, size_t rows,
                            size_t cols) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    sl_store *d = dx + r * cols;
    const sl_store *in = x + r * cols, *g = dout + r * cols;
    if (bias) {
#pragma omp simd
      for (size_t c = 0; c < cols; c++) d[c] = sl_put(sl_load(g[c]) * gelu_slope(sl_load(in[c]) + sl_load(bias[c])));
    } else {
#pragma omp simd
      for (size_t c = 0; c < cols; c++) d[c] = sl_put(sl_load(g[c]) * gelu_slope(sl_load(in[c])));
    }
  }
}
