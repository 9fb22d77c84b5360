/* Dropout and its fusions on the host (kernels/dropout.h). */
#include "kernels/dropout.h"
#include "kernels/parallel.h"
#include "kernels/philox_inline.h"

/* out[i] = in[i] kept and scaled, for the n elements from global element `first`. out may be in. */
static void dropout_row(sl_store *out, const sl_store *in, struct sl_mask mask, const struct sl_philox_key *key,
                        uint64_t first, size_t n) {
  struct sl_philox_chunk chunk;
  for (size_t i0 = 0; i0 < n; i0 += SL_PHILOX_CHUNK) {
    size_t m = n - i0 < SL_PHILOX_CHUNK ? n - i0 : SL_PHILOX_CHUNK;
    const uint32_t *words = sl_philox_chunk_fill(&chunk, key, first + i0, m);
#pragma omp simd
    for (size_t i = 0; i < m; i++) {
      out[i0 + i] = sl_put(words[i] >> 8 >= mask.threshold ? sl_load(in[i0 + i]) * mask.scale : 0);
    }
  }
}

void SL_K(sl_dropout_forward)(sl_store *out, const sl_store *x, size_t rows, size_t cols,
                              const struct sl_dropout *dropout) {
  const struct sl_mask mask = sl_mask_of(dropout);
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    sl_store *o = out + r * cols;
    const sl_store *in = x + r * cols;
    if (mask.on) {
      dropout_row(o, in, mask, &dropout->key, dropout->first_element + r * dropout->row_stride, cols);
    } else if (o != in) {
      memcpy(o, in, cols * sizeof *o);
    }
  }
}

void SL_K(sl_dropout_backward)(sl_store *dx, const sl_store *dout, size_t rows, size_t cols,
                               const struct sl_dropout *dropout) {
  SL_K(sl_dropout_forward)(dx, dout, rows, cols, dropout);
}

/* One row without dropout. The two loops differ only in the bias: a zero row to add would be one more stream to read.
 */
static void residual_row(sl_store *out, const sl_store *residual, const sl_store *x, const sl_store *bias, size_t n) {
  if (bias) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) out[i] = sl_put(sl_load(residual[i]) + (sl_load(x[i]) + sl_load(bias[i])));
  } else {
#pragma omp simd
    for (size_t i = 0; i < n; i++) out[i] = sl_put(sl_load(residual[i]) + sl_load(x[i]));
  }
}

/* n <= SL_PHILOX_CHUNK elements of a row with dropout. */
static void residual_masked(sl_store *out, const sl_store *residual, const sl_store *x, const sl_store *bias,
                            const uint32_t *words, struct sl_mask mask, size_t n) {
  if (bias) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      sl_real kept = (sl_load(x[i]) + sl_load(bias[i])) * mask.scale;
      out[i] = sl_put(sl_load(residual[i]) + (words[i] >> 8 >= mask.threshold ? kept : 0));
    }
  } else {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      sl_real kept = sl_load(x[i]) * mask.scale;
      out[i] = sl_put(sl_load(residual[i]) + (words[i] >> 8 >= mask.threshold ? kept : 0));
    }
  }
}

void SL_K(sl_dropout_residual)(sl_store *out, const sl_store *residual, const sl_store *x, const sl_store *bias,
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
