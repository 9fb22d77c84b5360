/* ReLU and mean squared error on the host (kernels/mlp.h). */
#include "kernels/mlp.h"
#include "kernels/parallel.h"

#define BLOCK ((size_t)4096) /* as in reduce.c: the caller's scratch has one double per block */

void SL_K(sl_mlp_relu_forward)(sl_store *out, const sl_store *x, const sl_store *bias, size_t rows, size_t cols) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    sl_store *o = out + r * cols;
    const sl_store *in = x + r * cols;
#pragma omp simd
    for (size_t c = 0; c < cols; c++) {
      sl_real y = bias ? sl_load(in[c]) + sl_load(bias[c]) : sl_load(in[c]);
      o[c] = sl_put(y < 0 ? 0 : y); /* a NaN stays one, as in torch */
    }
  }
}

void SL_K(sl_mlp_relu_backward)(sl_store *dx, const sl_store *dout, const sl_store *out, size_t rows, size_t cols) {
  size_t n = rows * cols;
#pragma omp parallel for simd schedule(static) if (parallel : n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < n; i++) dx[i] = sl_load(out[i]) > 0 ? dout[i] : 0;
}

static double mse_block(sl_store *dprediction, const sl_store *prediction, const sl_store *target, size_t n,
                        sl_real scale) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    double d = (double)sl_load(prediction[i]) - (double)sl_load(target[i]);
    sum += d * d;
  }
  if (dprediction) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) dprediction[i] = sl_put(2 * (sl_load(prediction[i]) - sl_load(target[i])) * scale);
  }
  return sum;
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
