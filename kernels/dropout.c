/* Dropout and its fusions on the host (kernels/dropout.h). */
#include "kernels/dropout.h"
#include "kernels/parallel.h"
#include "kernels/philox_inline.h"

/* out[i] = in[i] with dropout, for the n elements from global element `first`. out may be in. */
static void dropout_row(sl_store *out, const sl_store *in, struct sl_mask mask, const struct sl_philox_key *key,
                        uint64_t first, size_t n) {
  sl_room room;
  for (size_t i0 = 0; i0 < n; i0 += SL_PHILOX_CHUNK) {
    size_t m = n - i0 < SL_PHILOX_CHUNK ? n - i0 : SL_PHILOX_CHUNK;
    sl_real *kept = sl_begin(room, out + i0);
    sl_mask_load(kept, in + i0, sl_mask_at(mask, i0), key, first + i0, m);
    sl_finish(out + i0, kept, m);
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
      const uint64_t first = dropout->first_element + r * dropout->row_stride;
      struct sl_mask row = mask;
      if (dropout->mask) {
        row.stored = dropout->mask + r * cols;
        sl_mask_draw(dropout->mask + r * cols, mask, &dropout->key, first, cols);
      }
      dropout_row(o, in, row, &dropout->key, first, cols);
    } else if (o != in) {
      memcpy(o, in, cols * sizeof *o);
    }
  }
}

void SL_K(sl_dropout_backward)(sl_store *dx, const sl_store *dout, size_t rows, size_t cols,
                               const struct sl_dropout *dropout) {
  const struct sl_mask mask = sl_mask_of_backward(dropout);
  if (!mask.stored) {
    SL_K(sl_dropout_forward)(dx, dout, rows, cols, dropout);
    return;
  }
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    const size_t at = r * cols;
    dropout_row(dx + at, dout + at, sl_mask_at(mask, at), &dropout->key, 0, cols);
  }
}

/* n <= SL_PHILOX_CHUNK elements of a row, with dropout. */
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
      out[i] = residual[i] + (words[i] >> 8 >= mask.threshold ? x[i] * mask.scale : 0);
    }
  }
}

/* One row with dropout, whose first element is the global element `first`. Writes its mask to `kept` unless that is
 * NULL. */
static void residual_row(sl_store *out, const sl_store *residual, const sl_store *x, const sl_store *bias, size_t cols,
                         uint8_t *kept, struct sl_mask mask, const struct sl_philox_key *key, uint64_t first) {
  sl_room residual_room, x_room, bias_room, out_room;
  struct sl_philox_chunk chunk;
  for (size_t c0 = 0, n; c0 < cols; c0 += n) {
    n = cols - c0 < SL_PHILOX_CHUNK ? cols - c0 : SL_PHILOX_CHUNK;
    const sl_real *rest = sl_open(residual_room, residual + c0, n), *in = sl_open(x_room, x + c0, n);
    const sl_real *b = bias ? sl_open(bias_room, bias + c0, n) : NULL;
    sl_real *o = sl_begin(out_room, out + c0);
    const uint32_t *words = sl_philox_chunk_fill(&chunk, key, first + c0, n);
    residual_masked(o, rest, in, b, words, mask, n);
    if (kept) sl_mask_store(kept + c0, words, mask, n);
    sl_finish(out + c0, o, n);
  }
}

void SL_K(sl_dropout_residual)(sl_store *out, const sl_store *residual, const sl_store *x, const sl_store *bias,
                               size_t rows, size_t cols, const struct sl_dropout *dropout) {
  const struct sl_mask mask = sl_mask_of(dropout);
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    const size_t at = r * cols;
    if (mask.on) {
      residual_row(out + at, residual + at, x + at, bias, cols, dropout->mask ? dropout->mask + at : NULL, mask,
                   &dropout->key, dropout->first_element + r * dropout->row_stride);
    } else if (bias) {
      sl_sum3(out + at, residual + at, x + at, bias, cols);
    } else {
      sl_sum(out + at, residual + at, x + at, cols);
    }
  }
}
