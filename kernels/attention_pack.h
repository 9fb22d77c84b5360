/* How the host attention lays out its per-thread scratch, and the copies into and out of it. */
#pragma once

#include "kernels/numbers/run.h"
#include "kernels/numbers/types.h"
#include "kernels/scores.h"
#include "kernels/tile.h"
#include "kernels/vecmath.h"

#include <omp.h>
#include <stdint.h>
#include <string.h>

/* Queries handled together. A panel of keys stays in the first-level cache while all of them use it. */
#define SL_ATTENTION_BLOCK ((size_t)32)

/* Keys per tile of flash attention, a multiple of a panel: 32 rows of scores fit into the first-level cache. */
#define SL_FLASH_KEYS ((size_t)256)

/* Padded sizes of a sequence's keys: Tq rows (whole query blocks), Tk columns (whole panels), Dp columns (whole
 * vectors). */
struct sl_attention_padded {
  size_t Tq, Tk, Dp;
};

static inline struct sl_attention_padded sl_attention_pad(const struct sl_attention_shape *s) {
  struct sl_attention_padded p;
  p.Tq = sl_round_up(sl_keys(s), SL_ATTENTION_BLOCK);
  p.Tk = sl_round_up(p.Tq, SL_PANEL);
  p.Dp = sl_round_up(s->D, SL_LANES);
  return p;
}

/* dst (padded rows, Dp) = factor * src (T rows of D, `stride` apart), zeros in the padding. */
static inline void sl_pack_rows(sl_real *restrict dst, const sl_store *restrict src, size_t stride, size_t T, size_t D,
                                size_t rows, size_t Dp, sl_real factor) {
  for (size_t t = 0; t < T; t++) {
    sl_real *restrict to = dst + t * Dp;
#if SL_STORE_IS_REAL
    const sl_real *restrict from = src + t * stride;
#else
    const sl_real *from = to;
    sl_widen(to, src + t * stride, D);
#endif
#pragma omp simd
    for (size_t d = 0; d < D; d++) to[d] = from[d] * factor;
    for (size_t d = D; d < Dp; d++) dst[t * Dp + d] = 0;
  }
  memset(dst + T * Dp, 0, (rows - T) * Dp * sizeof *dst);
}

/* Packs the transpose of src in panels of SL_PANEL columns: dst[t / SL_PANEL][d][t % SL_PANEL] = src[t][d]. A panel is
 * contiguous, so that the rows of a long sequence do not all map to one set of the cache. */
static inline void sl_pack_panels(sl_real *restrict dst, const sl_store *restrict src, size_t stride, size_t T,
                                  size_t D, size_t Tk) {
  for (size_t t0 = 0; t0 < Tk; t0 += SL_PANEL) {
    sl_real *panel = dst + t0 * D;
    size_t n = t0 >= T ? 0 : T - t0 < SL_PANEL ? T - t0 : SL_PANEL;
    for (size_t j = 0; j < n; j++) {
      sl_room room;
      for (size_t d0 = 0, m; d0 < D; d0 += m) {
        m = sl_run(D - d0);
        const sl_real *row = sl_open(room, src + (t0 + j) * stride + d0, m);
        for (size_t d = 0; d < m; d++) panel[(d0 + d) * SL_PANEL + j] = row[d];
      }
    }
    for (size_t d = 0; d < D && n < SL_PANEL; d++) memset(panel + d * SL_PANEL + n, 0, (SL_PANEL - n) * sizeof *panel);
  }
}

/* dst (T rows of D, `stride` apart) = src (rows of Dp). */
static inline void sl_unpack_rows(sl_store *dst, size_t stride, const sl_real *src, size_t T, size_t D, size_t Dp) {
  for (size_t t = 0; t < T; t++) sl_narrow(dst + t * stride, src + t * Dp, D);
}

/* scores (SL_ATTENTION_BLOCK rows `ld` apart) = a b: rows a (block, Dp) against the first n columns of b in panels of D
 * rows; columns up to the next whole vector are written too. */
static inline void sl_attention_scores(sl_real *scores, size_t ld, const sl_real *a, size_t Dp, const sl_real *b,
                                       size_t D, size_t n) {
  const size_t columns = sl_round_up(n, SL_LANES);
  for (size_t j = 0; j < columns; j += SL_PANEL) {
    size_t vecs = (columns - j < SL_PANEL ? columns - j : SL_PANEL) / SL_LANES;
    for (size_t r = 0; r < SL_ATTENTION_BLOCK; r += SL_TILE_ROWS) {
      sl_tile(vecs, D, a + r * Dp, Dp, 1, b + j * D, SL_PANEL, scores + r * ld + j, ld, 0);
    }
  }
}

static inline sl_real sl_attention_scale(const struct sl_attention_shape *s) {
  return s->scale > 0 ? (sl_real)s->scale : 1 / SL_SQRT((sl_real)s->D);
}

/* x[0, n) holds the scaled products of the query at position t with the keys from `first` on. Applies the cap and ALiBi
 * to them in place. `slopes` (n), unless NULL, receives the derivative of the cap. */
static inline void sl_attention_shape_scores(sl_real *x, sl_real *slopes, size_t n, const struct sl_attention_shape *s,
                                             double alibi, size_t t, size_t first) {
  for (size_t i = 0; i < n; i++) {
    sl_real tanned = s->cap > 0 ? SL_TANH(x[i] / (sl_real)s->cap) : 0;
    if (s->cap > 0) x[i] = (sl_real)s->cap * tanned;
    if (slopes) slopes[i] = 1 - tanned * tanned;
    x[i] -= (sl_real)(alibi * (double)(t - (first + i)));
  }
}

/* The keys that flash attention reads for the block of queries from t0 end here: after the last one that its last query
 * attends to, in whole blocks. */
static inline size_t sl_keys_end(const struct sl_attention_shape *s, size_t t0) {
  const size_t end = s->T - t0 < SL_ATTENTION_BLOCK ? s->T : t0 + SL_ATTENTION_BLOCK;
  return sl_round_up(sl_position(&s->at, end - 1) + 1, SL_ATTENTION_BLOCK);
}

/* Bytes of scratch for `threads` threads with `each` numbers, a multiple of 64. */
static inline size_t sl_scratch_bytes(size_t each, int threads) {
  return (size_t)threads * each * sizeof(sl_real) + 64;
}

/* How many threads such scratch is enough for: at least 1, at most OpenMP's maximum. */
static inline int sl_scratch_threads(size_t bytes, size_t each) {
  const size_t threads = (bytes - 64) / (each * sizeof(sl_real)), limit = (size_t)omp_get_max_threads();
  return threads > limit ? (int)limit : threads > 0 ? (int)threads : 1;
}

/* `base` rounded up to the next vector boundary. */
static inline sl_real *sl_scratch_align(void *base) {
  return (sl_real *)(((uintptr_t)base + 63) & ~(uintptr_t)63);
}

/* One thread's scratch in a forward pass that handles `columns` keys at a time. */
struct sl_attention_buffers {
  sl_real *k;      /* K transposed, in panels: (Tk/panel, D, panel) */
  sl_real *v;      /* (Tq, Dp) */
  sl_real *q;      /* (block, Dp), scaled */
  sl_real *out;    /* (block, Dp) */
  sl_real *scores; /* (block, columns) */
};

static inline size_t sl_attention_reals(const struct sl_attention_shape *s, size_t columns) {
  const struct sl_attention_padded p = sl_attention_pad(s);
  return sl_round_up(p.Tk * s->D + p.Tq * p.Dp + 2 * SL_ATTENTION_BLOCK * p.Dp + SL_ATTENTION_BLOCK * columns, 64);
}

static inline struct sl_attention_buffers sl_attention_buffers_of(const struct sl_attention_shape *s, sl_real *base) {
  const struct sl_attention_padded p = sl_attention_pad(s);
  struct sl_attention_buffers b = {.k = base};
  b.v = b.k + p.Tk * s->D;
  b.q = b.v + p.Tq * p.Dp;
  b.out = b.q + SL_ATTENTION_BLOCK * p.Dp;
  b.scores = b.out + SL_ATTENTION_BLOCK * p.Dp;
  return b;
}

/* The dropout element index of entry (0,0) of a head's scores, of all positions. */
static inline uint64_t sl_attention_first(const struct sl_attention_shape *s, const struct sl_dropout *dropout,
                                          size_t b, size_t h) {
  return dropout ? dropout->first_element + (b * s->global_heads + h) * sl_keys(s) * sl_keys(s) : 0;
}
