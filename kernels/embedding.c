/* Embedding on the host (kernels/embedding.h).
 *
 * For the scatter-add, equal tokens within a window are linked in lists. A thread sums a chunk of columns of each list
 * in scratch, in order, and then adds the sum to the table. There are no races, the result does not depend on the
 * number of threads, and a 16-bit table is rounded once per token and window instead of once per occurrence. */
#include "kernels/embedding.h"
#include "kernels/parallel.h"
#include "kernels/philox_inline.h"
#include "kernels/positions.h"

#include <string.h>

#define COLUMN_CHUNK ((size_t)128) /* at most one run */
#define WINDOW 2048                /* tokens linked at a time */
#define BUCKETS 4096               /* of the hash table that finds equal tokens */
#define HASH 2654435761u           /* Knuth's multiplier; the upper 12 bits of the product select the bucket */

/* Does this part of the table hold the row of `token`? */
static int holds(int32_t token, const struct sl_embedding_shape *s) {
  return token >= 0 && (size_t)token >= s->first_row && (size_t)token - s->first_row < s->n_rows;
}

/* The row of `token`, or NULL if this part of the table does not hold it. */
static const sl_store *token_row(const sl_store *wte, int32_t token, const struct sl_embedding_shape *s) {
  return holds(token, s) ? wte + ((size_t)token - s->first_row) * s->C : NULL;
}

/* out = a scale + b; a NULL operand counts as 0. */
static void add_rows_scaled(sl_store *out, const sl_store *a, const sl_store *b, size_t n, sl_real scale) {
  for (size_t i = 0; i < n; i++) out[i] = sl_put((a ? sl_load(a[i]) * scale : 0) + (b ? sl_load(b[i]) : 0));
}

static void add_rows(sl_store *out, const sl_store *a, const sl_store *b, size_t n) {
  if (a && b) {
    sl_sum(out, a, b, n);
  } else if (a || b) {
    memcpy(out, a ? a : b, n * sizeof *out);
  } else {
    memset(out, 0, n * sizeof *out);
  }
}

/* The same with dropout, whose mask begins at global element `first`. */
static void add_rows_masked(sl_store *out, const sl_store *a, const sl_store *b, size_t n, struct sl_mask mask,
                            const struct sl_philox_key *key, uint64_t first, sl_real scale) {
  for (size_t c0 = 0; c0 < n; c0 += SL_PHILOX_CHUNK) {
    const size_t m = n - c0 < SL_PHILOX_CHUNK ? n - c0 : SL_PHILOX_CHUNK;
    sl_real sum[SL_PHILOX_CHUNK] = {0};
    if (a) sl_widen(sum, a + c0, m);
    for (size_t i = 0; scale != 0 && i < m; i++) sum[i] *= scale;
    if (b) sl_accumulate(sum, b + c0, m);
    sl_mask_apply(sum, sum, sl_mask_at(mask, c0), key, first + c0, m);
    sl_narrow(out + c0, sum, m);
  }
}

void SL_K(sl_embedding_forward)(sl_store *out, const int32_t *tokens, const sl_store *wte, const sl_store *wpe,
                                const struct sl_embedding_shape *shape, const struct sl_dropout *dropout) {
  const size_t T = shape->T, C = shape->C, rows = shape->B * T;
  const struct sl_mask mask = sl_mask_of(dropout);
#pragma omp parallel for schedule(static) if (rows * C > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    sl_store *o = out + r * C;
    const sl_store *token = token_row(wte, tokens[r], shape);
    const sl_store *position = token && wpe ? wpe + (shape->first_position + sl_position(&shape->at, r % T)) * C : NULL;
    if (mask.on) {
      const uint64_t first = dropout->first_element + r * dropout->row_stride;
      struct sl_mask row = mask;
      if (dropout->mask) {
        sl_mask_draw(dropout->mask + r * C, mask, &dropout->key, first, C);
        row.stored = dropout->mask + r * C;
      }
      add_rows_masked(o, token, position, C, row, &dropout->key, first, (sl_real)shape->scale);
    } else if (shape->scale != 0) {
      add_rows_scaled(o, token, position, C, (sl_real)shape->scale);
    } else {
      add_rows(o, token, position, C);
    }
  }
}

/* sum[0..n) += columns [c0, c0 + n) of dout's row r, with dropout, times scale (0 stands for 1); n <= COLUMN_CHUNK. */
static void add_masked(sl_real *sum, const sl_store *dout, size_t r, size_t C, size_t c0, size_t n, struct sl_mask mask,
                       const struct sl_dropout *dropout, sl_real scale) {
  const sl_store *src = dout + r * C + c0;
  if (mask.on || scale != 0) {
    sl_real masked[COLUMN_CHUNK];
    if (mask.on)
      sl_mask_load(masked, src, sl_mask_at(mask, r * C + c0), &dropout->key,
                   dropout->first_element + r * dropout->row_stride + c0, n);
    else
      sl_widen(masked, src, n);
    const sl_real by = scale != 0 ? scale : 1;
#pragma omp simd
    for (size_t i = 0; i < n; i++) sum[i] += masked[i] * by;
  } else {
    sl_accumulate(sum, src, n);
  }
}

/* The gradient of a table, which is of sl_store or, with in_fp32, of float. */
struct gradient {
  void *table;
  int in_fp32;
};

static void gradient_zero(struct gradient g, size_t n) {
  const size_t bytes = n * (g.in_fp32 ? sizeof(float) : sizeof(sl_store)), piece = 1 << 16;
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t at = 0; at < bytes; at += piece) memset((char *)g.table + at, 0, bytes - at < piece ? bytes - at : piece);
}

static void gradient_load(sl_real *sum, struct gradient g, size_t at, size_t n) {
  if (!g.in_fp32) {
    sl_widen(sum, (const sl_store *)g.table + at, n);
    return;
  }
  for (size_t i = 0; i < n; i++) sum[i] = ((const float *)g.table)[at + i];
}

static void gradient_store(struct gradient g, size_t at, const sl_real *sum, size_t n) {
  if (!g.in_fp32) {
    sl_narrow((sl_store *)g.table + at, sum, n);
    return;
  }
  for (size_t i = 0; i < n; i++) ((float *)g.table)[at + i] = (float)sum[i];
}

/* Up to WINDOW tokens, with equal ones linked in order. -1 ends a list. */
struct window {
  size_t n;
  int32_t first[WINDOW]; /* the distinct tokens, by the index of their first occurrence, in order */
  size_t distinct;
  int32_t next[WINDOW];  /* the next occurrence of the same token */
  int32_t last[WINDOW];  /* at a first occurrence: the latest one so far */
  int32_t chain[WINDOW]; /* at a first occurrence: another first occurrence in the same bucket */
  int32_t bucket[BUCKETS];
};

static void window_link(struct window *w, const int32_t *tokens, size_t n) {
  memset(w->bucket, 0xff, sizeof w->bucket);
  w->n = n;
  w->distinct = 0;
  for (size_t i = 0; i < n; i++) {
    int32_t *bucket = &w->bucket[(uint32_t)tokens[i] * HASH >> 20], found = *bucket;
    while (found >= 0 && tokens[found] != tokens[i]) found = w->chain[found];
    w->next[i] = -1;
    if (found >= 0) {
      w->next[w->last[found]] = (int32_t)i;
      w->last[found] = (int32_t)i;
    } else {
      w->first[w->distinct++] = (int32_t)i;
      w->last[i] = (int32_t)i;
      w->chain[i] = *bucket;
      *bucket = (int32_t)i;
    }
  }
}

/* Adds the window's rows of dout, the first of which is row r0, to columns [c0, c0 + n) of the table. */
static void scatter_columns(struct gradient dwte, const sl_store *dout, const int32_t *tokens, const struct window *w,
                            size_t r0, size_t c0, size_t n, const struct sl_embedding_shape *shape, struct sl_mask mask,
                            const struct sl_dropout *dropout) {
  for (size_t k = 0; k < w->distinct; k++) {
    const size_t row = r0 + (size_t)w->first[k];
    if (!holds(tokens[row], shape)) continue;
    const size_t at = ((size_t)tokens[row] - shape->first_row) * shape->C + c0;
    /* a single occurrence needs no sum in scratch */
    if (w->next[w->first[k]] < 0 && !mask.on && shape->scale == 0 && !dwte.in_fp32) {
      sl_store *dst = (sl_store *)dwte.table + at;
      sl_sum(dst, dst, dout + row * shape->C + c0, n);
      continue;
    }
    sl_real sum[COLUMN_CHUNK];
    gradient_load(sum, dwte, at, n);
    for (int32_t i = w->first[k]; i >= 0; i = w->next[i]) {
      add_masked(sum, dout, r0 + (size_t)i, shape->C, c0, n, mask, dropout, (sl_real)shape->scale);
    }
    gradient_store(dwte, at, sum, n);
  }
}

static void scatter_tokens(struct gradient dwte, const sl_store *dout, const int32_t *tokens,
                           const struct sl_embedding_shape *shape, const struct sl_dropout *dropout) {
  const size_t C = shape->C, rows = shape->B * shape->T;
  const struct sl_mask mask = sl_mask_of_backward(dropout);
  for (size_t r0 = 0; r0 < rows; r0 += WINDOW) {
    struct window w;
    window_link(&w, tokens + r0, rows - r0 < WINDOW ? rows - r0 : WINDOW);
#pragma omp parallel for schedule(static) if (w.n * C > SL_PARALLEL_MIN)
    for (size_t c0 = 0; c0 < C; c0 += COLUMN_CHUNK) {
      size_t n = C - c0 < COLUMN_CHUNK ? C - c0 : COLUMN_CHUNK;
      scatter_columns(dwte, dout, tokens, &w, r0, c0, n, shape, mask, dropout);
    }
  }
}

static void sum_positions(struct gradient dwpe, const sl_store *dout, const struct sl_embedding_shape *shape,
                          const struct sl_dropout *dropout) {
  const size_t B = shape->B, T = shape->T, C = shape->C;
  const struct sl_mask mask = sl_mask_of_backward(dropout);
#pragma omp parallel for schedule(static) if (B * T * C > SL_PARALLEL_MIN)
  for (size_t t = 0; t < T; t++) {
    for (size_t c0 = 0; c0 < C; c0 += COLUMN_CHUNK) {
      const size_t n = C - c0 < COLUMN_CHUNK ? C - c0 : COLUMN_CHUNK;
      const size_t at = (shape->first_position + sl_position(&shape->at, t)) * C + c0;
      sl_real sum[COLUMN_CHUNK];
      gradient_load(sum, dwpe, at, n);
      for (size_t b = 0; b < B; b++) add_masked(sum, dout, b * T + t, C, c0, n, mask, dropout, 0);
      gradient_store(dwpe, at, sum, n);
    }
  }
}

void SL_K(sl_embedding_backward)(void *dwte, int accumulate_wte, void *dwpe, size_t n_positions, int accumulate_wpe,
                                 int in_fp32, const sl_store *dout, const int32_t *tokens,
                                 const struct sl_embedding_shape *shape, const struct sl_dropout *dropout) {
  const struct gradient of_tokens = {dwte, in_fp32}, of_positions = {dwpe, in_fp32};
  if (!accumulate_wte) gradient_zero(of_tokens, shape->n_rows * shape->C);
  scatter_tokens(of_tokens, dout, tokens, shape, dropout);
  if (!dwpe) return;
  if (!accumulate_wpe) gradient_zero(of_positions, n_positions * shape->C);
  sum_positions(of_positions, dout, shape, dropout);
}
