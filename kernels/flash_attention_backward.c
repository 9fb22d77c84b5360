/* Flash attention on the host, backward (kernels/flash_attention.h). With Pd = dropout(P), as in attention_backward.c:
 *
 *   P = exp(q k^T / sqrt(D) - lse);  dV = Pd^T dO;  dP = dropout(dO V^T);  dS = P (dP - dO . out) / sqrt(D)
 *   dQ = dS K;  dK = dS^T Q
 * One task is one (sequence, key/value head) with all query heads that share it, so nothing is added across threads.
 * Each block of 32 queries iterates over the keys in tiles, so only 32 by SL_FLASH_KEYS numbers of P and dS exist at a
 * time. */
#include "kernels/attention_pack.h"
#include "kernels/flash_attention.h"
#include "kernels/philox_inline.h"
#include "kernels/vecmath.h"

#include <omp.h>

#define BLOCK SL_ATTENTION_BLOCK
#define KEYS SL_FLASH_KEYS

/* One thread's scratch. */
struct buffers {
  sl_real *kt, *vt;       /* K and V transposed, in panels: (Tk/panel, D, panel) */
  sl_real *k;             /* (Tq, Dp) */
  sl_real *dk, *dv;       /* (Tq, Dp), summed over queries and query heads */
  sl_real *q, *dout, *dq; /* (BLOCK, Dp) */
  sl_real *probs, *ds;    /* (BLOCK, KEYS) */
};

/* What the functions for one query head share. */
struct head {
  const struct sl_attention_shape *s;
  struct sl_attention_padded p;
  struct buffers b;
  const sl_real *lse; /* (T) */
  struct sl_mask mask;
  const struct sl_philox_key *key;
  uint64_t first;       /* the global dropout element of (0,0) */
  double alibi;         /* ALiBi's slope */
  sl_real delta[BLOCK]; /* dout . out, per row of the block */
};

static size_t thread_reals(const struct sl_attention_shape *s) {
  struct sl_attention_padded p = sl_attention_pad(s);
  return sl_round_up(2 * p.Tk * s->D + 3 * p.Tq * p.Dp + 3 * BLOCK * p.Dp + 2 * BLOCK * KEYS, 64);
}

static struct buffers buffers_of(const struct sl_attention_shape *s, sl_real *base) {
  struct sl_attention_padded p = sl_attention_pad(s);
  struct buffers b;
  b.kt = base;
  b.vt = b.kt + p.Tk * s->D;
  b.k = b.vt + p.Tk * s->D;
  b.dk = b.k + p.Tq * p.Dp;
  b.dv = b.dk + p.Tq * p.Dp;
  b.q = b.dv + p.Tq * p.Dp;
  b.dout = b.q + BLOCK * p.Dp;
  b.dq = b.dout + BLOCK * p.Dp;
  b.probs = b.dq + BLOCK * p.Dp;
  b.ds = b.probs + BLOCK * KEYS;
  return b;
}

size_t SL_K(sl_flash_attention_backward_scratch_bytes)(const struct sl_attention_shape *shape, int threads) {
  return sl_scratch_bytes(thread_reals(shape), threads);
}

/* probs: scores in, Pd out. ds: dO V^T in, dS out. Both are zero where a query does not attend to the key. */
static void tile_softmax(const struct head *h, size_t t0, size_t j0, size_t n) {
  const size_t T = h->s->T, keys = sl_keys(h->s);
  const sl_real scale = sl_attention_scale(h->s);
  const int plain = sl_plain_scores(h->s);
  for (size_t r = 0; r < BLOCK; r++) {
    const size_t t = sl_position(&h->s->at, t0 + r);
    size_t seen = t0 + r < T && t >= j0 ? t + 1 - j0 : 0;
    if (seen > n) seen = n;
    const size_t low = sl_first_key(h->s, t), from = low > j0 ? (low - j0 < seen ? low - j0 : seen) : 0;
    sl_real *probs = h->b.probs + r * KEYS, *ds = h->b.ds + r * KEYS, slopes[KEYS];
    if (seen > 0) {
      const sl_real lse = h->lse[t0 + r], delta = h->delta[r];
      const uint64_t first = h->first + t * keys + j0;
      if (h->mask.on) sl_mask_apply(ds, ds, h->mask, h->key, first, seen);
      if (plain) {
#pragma omp simd
        for (size_t i = from; i < seen; i++) {
          const sl_real p = sl_exp(probs[i] * scale - lse);
          probs[i] = p;
          ds[i] = p * (ds[i] - delta) * scale;
        }
      } else {
        for (size_t i = from; i < seen; i++) probs[i] *= scale;
        sl_attention_shape_scores(probs + from, slopes + from, seen - from, h->s, h->alibi, t, j0 + from);
        for (size_t i = from; i < seen; i++) {
          const sl_real p = sl_exp(probs[i] - lse);
          probs[i] = p;
          ds[i] = p * (ds[i] - delta) * scale * slopes[i];
        }
      }
      memset(probs, 0, from * sizeof *probs);
      memset(ds, 0, from * sizeof *ds);
      if (h->mask.on) sl_mask_apply(probs, probs, h->mask, h->key, first, seen);
    }
    memset(probs + seen, 0, (n - seen) * sizeof *probs);
    memset(ds + seen, 0, (n - seen) * sizeof *ds);
  }
}

/* How many queries of the block from t0 are before key j, and so do not attend to it. */
static size_t rows_before(const struct sl_attention_shape *s, size_t t0, size_t j) {
  size_t r = 0;
  if (s->at.chunk == 0) return j > t0 ? j - t0 : 0;
  while (r < BLOCK && sl_position(&s->at, t0 + r) < j) r++;
  return r;
}

/* Adds the tile's contributions to dq, dk and dv. */
static void tile_products(const struct head *h, size_t t0, size_t j0, size_t n) {
  const struct buffers b = h->b;
  const size_t Dp = h->p.Dp;
  for (size_t r = 0; r < BLOCK; r += SL_TILE_ROWS) {
    sl_tile_row(Dp, n, b.ds + r * KEYS, KEYS, 1, b.k + j0 * Dp, Dp, b.dq + r * Dp, Dp, 1);
  }
  for (size_t j = 0; j < n; j += SL_TILE_ROWS) {
    const size_t r = rows_before(h->s, t0, j0 + j);
    sl_real *dk = b.dk + (j0 + j) * Dp, *dv = b.dv + (j0 + j) * Dp;
    sl_tile_row(Dp, BLOCK - r, b.ds + r * KEYS + j, 1, KEYS, b.q + r * Dp, Dp, dk, Dp, 1);
    sl_tile_row(Dp, BLOCK - r, b.probs + r * KEYS + j, 1, KEYS, b.dout + r * Dp, Dp, dv, Dp, 1);
  }
}

static sl_real dot_row(const sl_real *dout, const sl_store *out, size_t D) {
  sl_room room;
  sl_real dot = 0;
  for (size_t d0 = 0, m; d0 < D; d0 += m) {
    m = sl_run(D - d0);
    const sl_real *o = sl_open(room, out + d0, m), *g = dout + d0;
    sl_real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t d = 0; d < m; d++) sum += g[d] * o[d];
    dot += sum;
  }
  return dot;
}

/* Processes the queries from t0 of one head. Pointers are to the head's row of token 0. */
static void backward_block(struct head *h, size_t t0, sl_store *dq, const sl_store *dout, const sl_store *q,
                           const sl_store *out) {
  const struct sl_attention_shape *s = h->s;
  const struct buffers b = h->b;
  const size_t D = s->D, Dp = h->p.Dp, rows = s->T - t0 < BLOCK ? s->T - t0 : BLOCK, end = sl_keys_end(s, t0);
  sl_pack_rows(b.q, q + t0 * s->q_stride, s->q_stride, rows, D, BLOCK, Dp, 1);
  sl_pack_rows(b.dout, dout + t0 * s->out_stride, s->out_stride, rows, D, BLOCK, Dp, 1);
  memset(b.dq, 0, BLOCK * Dp * sizeof *b.dq);
  for (size_t r = 0; r < rows; r++) {
    h->delta[r] = dot_row(b.dout + r * Dp, out + (t0 + r) * s->out_stride, D);
  }
  for (size_t j0 = sl_first_key(s, sl_position(&s->at, t0)) / KEYS * KEYS; j0 < end; j0 += KEYS) {
    const size_t n = end - j0 < KEYS ? end - j0 : KEYS;
    sl_attention_scores(b.probs, KEYS, b.q, Dp, b.kt + j0 * D, D, n);
    sl_attention_scores(b.ds, KEYS, b.dout, Dp, b.vt + j0 * D, D, n);
    tile_softmax(h, t0, j0, n);
    tile_products(h, t0, j0, n);
  }
  sl_unpack_rows(dq + t0 * s->q_stride, s->q_stride, b.dq, rows, D, Dp);
}

void SL_K(sl_flash_attention_backward)(sl_store *dq, sl_store *dk, sl_store *dv, const sl_store *dout,
                                       const sl_store *q, const sl_store *k, const sl_store *v, const sl_store *out,
                                       const sl_real *lse, const struct sl_attention_shape *shape,
                                       const struct sl_dropout *dropout, void *scratch, size_t scratch_bytes) {
  const struct sl_attention_shape s = *shape;
  const struct sl_attention_padded p = sl_attention_pad(&s);
  const size_t each = thread_reals(&s), group = s.H / s.KV, T = s.T, D = s.D, keys = sl_keys(&s);
  sl_real *base = sl_scratch_align(scratch);
#pragma omp parallel for schedule(static) num_threads(sl_scratch_threads(scratch_bytes, each))
  for (size_t task = 0; task < s.B * s.KV; task++) {
    const size_t b = task / s.KV, g = task % s.KV, row = b * T;
    const size_t k_at = b * keys * s.k_stride + sl_key_head(&s, g), v_at = b * keys * s.v_stride + sl_key_head(&s, g);
    struct head head = {.s = &s, .p = p, .b = buffers_of(&s, base + (size_t)omp_get_thread_num() * each)};
    head.mask = sl_mask_of(dropout);
    head.key = dropout ? &dropout->key : NULL;
    sl_pack_panels(head.b.kt, k + k_at, s.k_stride, keys, D, p.Tk);
    sl_pack_panels(head.b.vt, v + v_at, s.v_stride, keys, D, p.Tk);
    sl_pack_rows(head.b.k, k + k_at, s.k_stride, keys, D, p.Tq, p.Dp, 1);
    memset(head.b.dk, 0, 2 * p.Tq * p.Dp * sizeof(sl_real)); /* dk and dv are adjacent */
    for (size_t h = g * group; h < (g + 1) * group; h++) {
      const size_t q_at = row * s.q_stride + sl_query_head(&s, h), out_at = row * s.out_stride + h * D;
      head.lse = lse + (b * s.H + h) * T;
      head.first = sl_attention_first(&s, dropout, b, h);
      head.alibi = sl_alibi_slope(&s, h);
      for (size_t t0 = 0; t0 < T; t0 += BLOCK) {
        backward_block(&head, t0, dq + q_at, dout + out_at, q + q_at, out + out_at);
      }
    }
    sl_unpack_rows(dk + k_at, s.k_stride, head.b.dk, keys, D, p.Dp);
    sl_unpack_rows(dv + v_at, s.v_stride, head.b.dv, keys, D, p.Dp);
  }
}
