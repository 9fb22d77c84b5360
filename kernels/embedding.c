/* Embedding on the host (kernels/embedding.h).
 *
 * The scatter-add is split over threads by columns, and each thread walks the tokens in order: every element is summed
 * by one thread in one order, so nothing races and the bits do not depend on the split. */
#include "kernels/embedding.h"
#include "kernels/parallel.h"
#include "kernels/philox_inline.h"
#include "kernels/reduce.h"

#include <omp.h>

#define COLUMN_CHUNK ((size_t)128)

/* The row of `token` in the held part of the table, or NULL. */
static const sl_real *token_row(const sl_real *wte, int32_t token, const struct sl_embedding_shape *s) {
  if (token < 0 || (size_t)token < s->first_row || (size_t)token - s->first_row >= s->n_rows) return NULL;
  return wte + ((size_t)token - s->first_row) * s->C;
}

static void add_rows(sl_real *out, const sl_real *a, const sl_real *b, size_t n) {
  if (a && b) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) out[i] = a[i] + b[i];
  } else if (a || b) {
    memcpy(out, a ? a : b, n * sizeof *out);
  } else {
    memset(out, 0, n * sizeof *out);
  }
}

void SL_K(sl_embedding_forward)(sl_real *out, const int32_t *tokens, const sl_real *wte, const sl_real *wpe,
                                const struct sl_embedding_shape *shape, const struct sl_dropout *dropout) {
  const size_t T = shape->T, C = shape->C, rows = shape->B * T;
  const struct sl_mask mask = sl_mask_of(dropout);
#pragma omp parallel for schedule(static) if (rows * C > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    sl_real *o = out + r * C;
    add_rows(o, token_row(wte, tokens[r], shape), wpe ? wpe + (shape->first_position + r % T) * C : NULL, C);
    if (mask.on) sl_mask_apply(o, o, mask, &dropout->key, dropout->first_element + r * dropout->row_stride, C);
  }
}

/* dst[0..n) += columns [c0, c0 + n) of dout's row r, through the mask; n <= COLUMN_CHUNK. */
static void add_masked(sl_real *dst, const sl_real *dout, size_t r, size_t C, size_t c0, size_t n, struct sl_mask mask,
                       const struct sl_dropout *dropout) {
  const sl_real *src = dout + r * C + c0;
  sl_real masked[COLUMN_CHUNK];
  if (mask.on) {
    sl_mask_apply(masked, src, mask, &dropout->key, dropout->first_element + r * dropout->row_stride + c0, n);
    src = masked;
  }
#pragma omp simd
  for (size_t i = 0; i < n; i++) dst[i] += src[i];
}

static void scatter_tokens(sl_real *dwte, const sl_real *dout, const int32_t *tokens,
                           const struct sl_embedding_shape *shape, const struct sl_dropout *dropout) {
  const size_t C = shape->C, rows = shape->B * shape->T;
  const struct sl_mask mask = sl_mask_of(dropout);
#pragma omp parallel for schedule(static) if (rows * C > SL_PARALLEL_MIN)
  for (size_t c0 = 0; c0 < C; c0 += COLUMN_CHUNK) {
    size_t n = C - c0 < COLUMN_CHUNK ? C - c0 : COLUMN_CHUNK;
    for (size_t r = 0; r < rows; r++) {
      const sl_real *held = token_row(dwte, tokens[r], shape);
      if (held) add_masked(dwte + (held - dwte) + c0, dout, r, C, c0, n, mask, dropout);
    }
  }
}

static void sum_positions(sl_real *dwpe, const sl_real *dout, const struct sl_embedding_shape *shape,
                          const struct sl_dropout *dropout) {
  const size_t B = shape->B, T = shape->T, C = shape->C;
  const struct sl_mask mask = sl_mask_of(dropout);
#pragma omp parallel for schedule(static) if (B * T * C > SL_PARALLEL_MIN)
  for (size_t t = 0; t < T; t++) {
    sl_real *row = dwpe + (shape->first_position + t) * C;
    for (size_t b = 0; b < B; b++) {
      for (size_t c0 = 0; c0 < C; c0 += COLUMN_CHUNK) {
        size_t n = C - c0 < COLUMN_CHUNK ? C - c0 : COLUMN_CHUNK;
        add_masked(row + c0, dout, b * T + t, C, c0, n, mask, dropout);
      }
    }
  }
}

void SL_K(sl_embedding_backward)(sl_real *dwte, int accumulate_wte, sl_real *dwpe, size_t n_positions,
                                 int accumulate_wpe, const sl_real *dout, const int32_t *tokens,
                                 const struct sl_embedding_shape *shape, const struct sl_dropout *dropout) {
  if (!accumulate_wte) SL_K(sl_reduce_fill)(dwte, 0, shape->n_rows * shape->C);
  scatter_tokens(dwte, dout, tokens, shape, dropout);
  if (!dwpe) return;
  if (!accumulate_wpe) SL_K(sl_reduce_fill)(dwpe, 0, n_positions * shape->C);
  sum_positions(dwpe, dout, shape, dropout);
}
