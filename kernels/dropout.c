/* Dropout and its fusions on the host (kernels/dropout.h). */
#include "kernels/dropout.h"
#include "kernels/parallel.h"
#include "kernels/philox_inline.h"

void SL_K(sl_dropout_forward)(sl_real *out, const sl_real *x, size_t rows, size_t cols,
                              const struct sl_dropout *dropout) {
  const struct sl_mask mask = sl_mask_of(dropout);
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    sl_real *o = out + r * cols;
    const sl_real *in = x + r * cols;
    if (mask.on) {
      sl_mask_apply(o, in, mask, &dropout->key, dropout->first_element + r * dropout->row_stride, cols);
    } else if (o != in) {
      memcpy(o, in, cols * sizeof *o);
    }
  }
}

void SL_K(sl_dropout_backward)(sl_real *dx, const sl_real *dout, size_t rows, size_t cols,
                               const struct sl_dropout *dropout) {
  SL_K(sl_dropout_forward)(dx, dout, rows, cols, dropout);
}

/* One row without dropout. The two loops differ only in the bias: a zero row to add would be one more stream to read.
 */
static void residual_row(sl_real *out, const sl_real *residual, const sl_real *x, const sl_real *bias, size_t n) {
  if (bias) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) out[i] = residual[i] + (x[i] + bias[i]);
  } else {
#pragma omp simd
    for (size_t i = 0; i < n; i++) out[i] = residual[i] + x[i];
  }
}

/* n <= SL_PHILOX_CHUNK elements of a row with dropout. */
static void residual_masked(sl_real *out, const sl_real *residual, const sl_real *x, const sl_real *bias,
                            const uint32_t *words, struct sl_mask mask, size_t n) {
  if (bias) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      sl_real kept = (x[i] + bias[i]) * mask.scale;
      out[i] = residual[i] + (words[i] >> 8 >= mask.threshold ? kept : 0);
    }
  } else {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      sl_real kept = x[i] * mask.scale;
      out[i] = residual[i] + (words[i] >> 8 >= mask.threshold ? kept : 0);
    }
  }
}

void SL_K(sl_dropout_residual)(sl_real *out, const sl_real *residual, const sl_real *x, const sl_real *bias,
                               size_t rows, size_t cols, const struct sl_dropout *dropout) {
  const struct sl_mask mask = sl_mask_of(dropout);
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    size_t at = r * cols;
    if (!mask.on) {
      residual_row(out + at, residual + at, x + at, bias, cols);
      continue;
    }
    struct sl_philox_chunk chunk;
    uint64_t first = dropout->first_element + r * dropout->row_stride;
    for (size_t c0 = 0; c0 < cols; c0 += SL_PHILOX_CHUNK) {
      size_t n = cols - c0 < SL_PHILOX_CHUNK ? cols - c0 : SL_PHILOX_CHUNK;
      const uint32_t *words = sl_philox_chunk_fill(&chunk, &dropout->key, first + c0, n);
      residual_masked(out + at + c0, residual + at + c0, x + at + c0, bias ? bias + c0 : NULL, words, mask, n);
    }
  }
}
