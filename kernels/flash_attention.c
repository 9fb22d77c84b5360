/* Flash attention on the host, forward (kernels/flash_attention.h; the backward is in flash_attention_backward.c).
 *
 * One task is one (sequence, head), packed as in attention.c. Each block of 32 queries iterates over the keys in tiles
 * of SL_FLASH_KEYS. Every row keeps its largest score m so far, the sum l of exp(score - m), and in out the sum of
 * exp(score - m) v. Whenever m grows, l and out are multiplied by exp(old m - new m). */
#include "kernels/flash_attention.h"
#include "kernels/attention_pack.h"
#include "kernels/philox_inline.h"
#include "kernels/vecmath.h"

#include <omp.h>

#define BLOCK SL_ATTENTION_BLOCK
#define KEYS SL_FLASH_KEYS

/* One head, and the state of the rows of its current block. */
struct head {
  const struct sl_attention_shape *s;
  struct sl_attention_padded p;
  struct sl_attention_buffers b;
  struct sl_mask mask;
  const struct sl_philox_key *key;
  uint64_t first; /* the global dropout element of (0,0) */
  double alibi;   /* ALiBi's slope */
  sl_real max[BLOCK];
  double sum[BLOCK];
};

size_t SL_K(sl_flash_attention_forward_scratch_bytes)(const struct sl_attention_shape *shape, int threads) {
  return sl_scratch_bytes(sl_attention_reals(shape, KEYS), threads);
}

/* Replaces n scores by exponentials relative to the largest score so far. Returns the factor by which the row's earlier
 * terms shrink. */
static sl_real row_update(sl_real *max, double *total, sl_real *x, size_t n) {
  const sl_real here = sl_max_of(x, n), grown = here > *max ? here : *max;
  const sl_real shrink = sl_exp(*max - grown); /* 0 at first, when max is -infinity */
  sl_real sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    sl_real e = sl_exp(x[i] - grown);
    x[i] = e;
    sum += e;
  }
  *total = *total * (double)shrink + (double)sum;
  *max = grown;
  return shrink;
}

/* Processes the keys [j0, j0 + n) for the queries from t0: `scores` becomes the exponentials after dropout, with zeros
 * where a query does not attend to the key, and the rows of out are rescaled. */
static void tile_softmax(struct head *h, size_t t0, size_t j0, size_t n) {
  const size_t T = h->s->T, Dp = h->p.Dp, keys = sl_keys(h->s);
  for (size_t r = 0; r < BLOCK; r++) {
    const size_t t = sl_position(&h->s->at, t0 + r);
    size_t seen = t0 + r < T && t >= j0 ? t + 1 - j0 : 0;
    if (seen > n) seen = n;
    const size_t first = sl_first_key(h->s, t), from = first > j0 ? (first - j0 < seen ? first - j0 : seen) : 0;
    sl_real *row = h->b.scores + r * KEYS, *out = h->b.out + r * Dp;
    memset(row, 0, from * sizeof *row);
    if (seen > from) {
      if (!sl_plain_scores(h->s))
        sl_attention_shape_scores(row + from, NULL, seen - from, h->s, h->alibi, t, j0 + from);
      const sl_real shrink = row_update(&h->max[r], &h->sum[r], row + from, seen - from);
#pragma omp simd
      for (size_t d = 0; d < Dp; d++) out[d] *= shrink;
      if (h->mask.on) sl_mask_apply(row, row, h->mask, h->key, h->first + t * keys + j0, seen);
    }
    memset(row + seen, 0, (n - seen) * sizeof *row);
  }
}

static void forward_block(struct head *h, size_t t0) {
  const struct sl_attention_buffers b = h->b;
  const size_t Dp = h->p.Dp, D = h->s->D, end = sl_keys_end(h->s, t0);
  memset(b.out, 0, BLOCK * Dp * sizeof *b.out);
  for (size_t r = 0; r < BLOCK; r++) h->max[r] = (sl_real)-INFINITY, h->sum[r] = 0;
  for (size_t j0 = sl_first_key(h->s, sl_position(&h->s->at, t0)) / KEYS * KEYS; j0 < end; j0 += KEYS) {
    const size_t n = end - j0 < KEYS ? end - j0 : KEYS;
    sl_attention_scores(b.scores, KEYS, b.q, Dp, b.k + j0 * D, D, n);
    tile_softmax(h, t0, j0, n);
    for (size_t r = 0; r < BLOCK; r += SL_TILE_ROWS) {
      sl_tile_row(Dp, n, b.scores + r * KEYS, KEYS, 1, b.v + j0 * Dp, Dp, b.out + r * Dp, Dp, 1);
    }
  }
}

static void forward_head(struct head *h, sl_store *out, sl_real *lse, const sl_store *q, const sl_store *k,
                         const sl_store *v) {
  const struct sl_attention_shape *s = h->s;
  const size_t D = s->D, Dp = h->p.Dp;
  sl_pack_panels(h->b.k, k, s->k_stride, sl_keys(s), D, h->p.Tk);
  sl_pack_rows(h->b.v, v, s->v_stride, sl_keys(s), D, h->p.Tq, Dp, 1);
  for (size_t t0 = 0; t0 < s->T; t0 += BLOCK) {
    const size_t rows = s->T - t0 < BLOCK ? s->T - t0 : BLOCK;
    sl_pack_rows(h->b.q, q + t0 * s->q_stride, s->q_stride, rows, D, BLOCK, Dp, sl_attention_scale(s));
    forward_block(h, t0);
    for (size_t r = 0; r < rows; r++) {
      const sl_real inverse = (sl_real)(1 / h->sum[r]);
      sl_real *row = h->b.out + r * Dp;
#pragma omp simd
      for (size_t d = 0; d < Dp; d++) row[d] *= inverse;
      lse[t0 + r] = (sl_real)((double)h->max[r] + log(h->sum[r]));
    }
    sl_unpack_rows(out + t0 * s->out_stride, s->out_stride, h->b.out, rows, D, Dp);
  }
}

void SL_K(sl_flash_attention_forward)(sl_store *out, sl_real *lse, const sl_store *q, const sl_store *k,
                                      const sl_store *v, const struct sl_attention_shape *shape,
                                      const struct sl_dropout *dropout, void *scratch, size_t scratch_bytes) {
  const struct sl_attention_shape s = *shape;
  const size_t each = sl_attention_reals(&s, KEYS);
  sl_real *base = sl_scratch_align(scratch);
#pragma omp parallel for schedule(static) num_threads(sl_scratch_threads(scratch_bytes, each))
  for (size_t task = 0; task < s.B * s.H; task++) {
    const size_t b = task / s.H, h = task % s.H, g = h * s.KV / s.H, row = b * s.T, key = b * sl_keys(&s);
    struct head head = {.s = &s, .p = sl_attention_pad(&s)};
    head.b = sl_attention_buffers_of(&s, base + (size_t)omp_get_thread_num() * each);
    head.mask = sl_mask_of(dropout);
    head.key = dropout ? &dropout->key : NULL;
    head.first = sl_attention_first(&s, dropout, b, h);
    head.alibi = sl_alibi_slope(&s, h);
    forward_head(&head, out + row * s.out_stride + h * s.D, lse + task * s.T,
                 q + row * s.q_stride + sl_query_head(&s, h), k + key * s.k_stride + sl_key_head(&s, g),
                 v + key * s.v_stride + sl_key_head(&s, g));
  }
}
