/* ReLU and mean squared error on the host (kernels/mlp.h). */
#include "kernels/mlp.h"
#include "kernels/numbers/run.h"
#include "kernels/parallel.h"

#define BLOCK ((size_t)4096) /* as in reduce.c: the caller's scratch has one double per block */

static void relu_row(sl_store *out, const sl_store *x, const sl_store *bias, size_t cols) {
  sl_room x_room, bias_room, out_room;
  for (size_t c0 = 0, n; c0 < cols; c0 += n) {
    n = sl_run(cols - c0);
    const sl_real *in = sl_open(x_room, x + c0, n), *b = bias ? sl_open(bias_room, bias + c0, n) : NULL;
    sl_real *o = sl_begin(out_room, out + c0);
#pragma omp simd
    for (size_t c = 0; c < n; c++) {
      sl_real y = b ? in[c] + b[c] : in[c];
      o[c] = y < 0 ? 0 : y; /* a NaN stays NaN, as in torch */
    }
    sl_finish(out + c0, o, n);
  }
}

void SL_K(sl_mlp_relu_forward)(sl_store *out, const sl_store *x, const sl_store *bias, size_t rows, size_t cols) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) relu_row(out + r * cols, x + r * cols, bias, cols);
}

void SL_K(sl_mlp_relu_backward)(sl_store *dx, const sl_store *dout, const sl_store *out, size_t rows, size_t cols) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    sl_room room;
    for (size_t c0 = r * cols, n; c0 < (r + 1) * cols; c0 += n) {
      n = sl_run((r + 1) * cols - c0);
      const sl_real *y = sl_open(room, out + c0, n);
#pragma omp simd
      for (size_t c = 0; c < n; c++) dx[c0 + c] = y[c] > 0 ? dout[c0 + c] : 0;
    }
  }
}

static double mse_block(sl_store *dprediction, const sl_store *prediction, const sl_store *target, size_t n,
                        sl_real scale) {
  sl_room p_room, t_room, d_room;
  double total = 0;
  for (size_t i0 = 0, m; i0 < n; i0 += m) {
    m = sl_run(n - i0);
    const sl_real *p = sl_open(p_room, prediction + i0, m), *t = sl_open(t_room, target + i0, m);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < m; i++) sum += ((double)p[i] - (double)t[i]) * ((double)p[i] - (double)t[i]);
    total += sum;
    if (!dprediction) continue;
    sl_real *d = sl_begin(d_room, dprediction + i0);
#pragma omp simd
    for (size_t i = 0; i < m; i++) d[i] = 2 * (p[i] - t[i]) * scale;
    sl_finish(dprediction + i0, d, m);
  }
  return total;
}

void SL_K(sl_mlp_mse)(double *loss_sum, sl_store *dprediction, const sl_store *prediction, const sl_store *target,
                      size_t n, sl_real scale, int accumulate, void *scratch) {
  double *partial = scratch;
  size_t blocks = (n + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t b = 0; b < blocks; b++) {
    size_t at = b * BLOCK;
    partial[b] = mse_block(dprediction ? dprediction + at : NULL, prediction + at, target + at,
                           n - at < BLOCK ? n - at : BLOCK, scale);
  }
  double total = 0;
  for (size_t b = 0; b < blocks; b++) total += partial[b];
  *loss_sum = accumulate ? *loss_sum + total : total;
}
