/* GELU on the host (kernels/gelu.h). */
#include "kernels/gelu.h"
#include "kernels/numbers/run.h"
#include "kernels/parallel.h"
#include "kernels/vecmath.h"

static const sl_real minus_two_k = (sl_real)-1.59576912160573071176; /* -2 sqrt(2/pi) */
static const sl_real cubic = (sl_real)0.044715;

/* exp(-2u), bounded: beyond the bound, s is 0 to the precision of x s, and an infinite exponential would give 0 *
 * inf. */
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

static void forward_row(sl_store *out, const sl_store *x, const sl_store *bias, size_t cols) {
  sl_room x_room, bias_room, out_room;
  for (size_t c0 = 0, n; c0 < cols; c0 += n) {
    n = sl_run(cols - c0);
    const sl_real *in = sl_open(x_room, x + c0, n), *b = bias ? sl_open(bias_room, bias + c0, n) : NULL;
    sl_real *o = sl_begin(out_room, out + c0);
    if (b) {
#pragma omp simd
      for (size_t c = 0; c < n; c++) o[c] = gelu(in[c] + b[c]);
    } else {
#pragma omp simd
      for (size_t c = 0; c < n; c++) o[c] = gelu(in[c]);
    }
    sl_finish(out + c0, o, n);
  }
}

void SL_K(sl_gelu_forward)(sl_store *out, const sl_store *x, const sl_store *bias, size_t rows, size_t cols) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) forward_row(out + r * cols, x + r * cols, bias, cols);
}

static void backward_row(sl_store *dx, const sl_store *dout, const sl_store *x, const sl_store *bias, size_t cols) {
  sl_room x_room, bias_room, dout_room, dx_room;
  for (size_t c0 = 0, n; c0 < cols; c0 += n) {
    n = sl_run(cols - c0);
    const sl_real *in = sl_open(x_room, x + c0, n), *b = bias ? sl_open(bias_room, bias + c0, n) : NULL;
    const sl_real *g = sl_open(dout_room, dout + c0, n);
    sl_real *d = sl_begin(dx_room, dx + c0);
    if (b) {
#pragma omp simd
      for (size_t c = 0; c < n; c++) d[c] = g[c] * gelu_slope(in[c] + b[c]);
    } else {
#pragma omp simd
      for (size_t c = 0; c < n; c++) d[c] = g[c] * gelu_slope(in[c]);
    }
    sl_finish(dx + c0, d, n);
  }
}

void SL_K(sl_gelu_backward)(sl_store *dx, const sl_store *dout, const sl_store *x, const sl_store *bias, size_t rows,
                            size_t cols) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) backward_row(dx + r * cols, dout + r * cols, x + r * cols, bias, cols);
}
