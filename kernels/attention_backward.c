/* Causal attention on the host, backward (kernels/attention.h).
 *
 *   Pd = dropout(P);  dV = Pd^T dO;  dPd = dO V^T;  dP = mask dPd / (1-p)
 *   dS = P (dP - sum_s P dP) / sqrt(D);  dQ = dS K;  dK = dS^T Q
 * One task is one (sequence, key/value head) with all query heads that share it: nothing is added across threads.
 * Queries go in blocks of 32, so only 32 rows of dS and Pd exist at a time. */
#include "kernels/attention.h"
#include "kernels/attention_pack.h"
#include "kernels/philox_inline.h"
#include "kernels/vecmath.h"

#include <omp.h>

#define BLOCK SL_ATTENTION_BLOCK

/* One thread's scratch. */
struct buffers {
  sl_real *v;             /* V transposed, in panels: (Tk/panel, D, panel) */
  sl_real *k, *q, *dout;  /* (Tq, Dp) */
  sl_real *dk, *dv;       /* (Tq, Dp), summed over queries and query heads */
  sl_real *dq;            /* (BLOCK, Dp) */
  sl_real *ds, *p_masked; /* (BLOCK, Tk) */
};

static size_t thread_reals(const struct sl_attention_shape *s) {
  struct sl_attention_padded p = sl_attention_pad(s);
  return sl_round_up(p.Tk * s->D + 5 * p.Tq * p.Dp + BLOCK * p.Dp + 2 * BLOCK * p.Tk, 64);
}

static struct buffers buffers_of(const struct sl_attention_shape *s, sl_real *base) {
  struct sl_attention_padded p = sl_attention_pad(s);
  struct buffers b;
  b.v = base;
  b.k = b.v + p.Tk * s->D;
  b.q = b.k + p.Tq * p.Dp;
  b.dout = b.q + p.Tq * p.Dp;
  b.dk = b.dout + p.Tq * p.Dp;
  b.dv = b.dk + p.Tq * p.Dp;
  b.dq = b.dv + p.Tq * p.Dp;
  b.ds = b.dq + BLOCK * p.Dp;
  b.p_masked = b.ds + BLOCK * p.Tk;
  return b;
}

size_t SL_K(sl_attention_backward_scratch_bytes)(const struct sl_attention_shape *shape, int threads) {
  return sl_scratch_bytes(thread_reals(shape), threads);
}

/* What the functions for one query head share. */
struct head {
  const struct sl_attention_shape *s;
  struct sl_attention_padded p;
  struct buffers b;
  const sl_store *probs;   /* (T,T) */
  const sl_store *dropped; /* (T,T), if the mask was stored */
  struct sl_mask mask;
  const struct sl_philox_key *key;
  uint64_t first; /* the global dropout element of (0,0) */
};

/* Turns ds of the keys [from, from + n) of query t from the gradient of capped scores into that of scaled products. The
 * scores are computed again, since P does not determine them. */
static void uncap_row(const struct head *h, sl_real *ds, size_t t, size_t from, size_t n, sl_real scale) {
  const sl_real *q = h->b.q + t * h->p.Dp, cap = (sl_real)h->s->cap;
  for (size_t i = 0; i < n; i++) {
    const sl_real *k = h->b.k + (from + i) * h->p.Dp;
    sl_real score = 0;
#pragma omp simd reduction(+ : score)
    for (size_t d = 0; d < h->s->D; d++) score += q[d] * k[d];
    const sl_real tanned = SL_TANH(score * scale / cap);
    ds[i] *= 1 - tanned * tanned;
  }
}

/* Turns n gradients of masked probabilities into gradients of scores, in place. */
static void softmax_backward_row(sl_real *ds, const sl_store *probs, size_t n, sl_real scale) {
  sl_room room;
  sl_real dot = 0;
  for (size_t i0 = 0, m; i0 < n; i0 += m) {
    m = sl_run(n - i0);
    const sl_real *p = sl_open(room, probs + i0, m), *d = ds + i0;
    sl_real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < m; i++) sum += p[i] * d[i];
    dot += sum;
  }
  for (size_t i0 = 0, m; i0 < n; i0 += m) {
    m = sl_run(n - i0);
    const sl_real *p = sl_open(room, probs + i0, m);
    sl_real *d = ds + i0;
#pragma omp simd
    for (size_t i = 0; i < m; i++) d[i] = p[i] * (d[i] - dot) * scale;
  }
}

/* ds becomes the gradient of the scores, p_masked the probabilities after dropout, with zeros from the diagonal to the
 * end of the block and in padding rows. */
static void block_softmax(const struct head *h, size_t t0) {
  const size_t T = h->s->T, Tk = h->p.Tk, end = t0 + BLOCK;
  const sl_real scale = sl_attention_scale(h->s);
  for (size_t r = 0; r < BLOCK; r++) {
    const size_t t = t0 + r, n = t < T ? t + 1 : 0, from = n > 0 ? sl_first_key(h->s, t) : 0;
    sl_real *ds = h->b.ds + r * Tk, *p_masked = h->b.p_masked + r * Tk;
    const sl_store *probs = h->probs + t * T;
    if (n > 0 && h->mask.on) {
      if (h->mask.stored)
        sl_widen(p_masked, h->dropped + t * T, n);
      else
        sl_mask_load(p_masked, probs, h->mask, h->key, h->first + t * T, n);
      sl_mask_apply(ds, ds, sl_mask_at(h->mask, t * T), h->key, h->first + t * T, n);
    } else if (n > 0) {
      sl_widen(p_masked, probs, n);
    }
    if (n > 0) softmax_backward_row(ds + from, probs + from, n - from, scale);
    if (n > 0 && h->s->cap > 0) uncap_row(h, ds + from, t, from, n - from, scale);
    memset(ds, 0, from * sizeof *ds);
    memset(p_masked, 0, from * sizeof *ds);
    memset(ds + n, 0, (end - n) * sizeof *ds);
    memset(p_masked + n, 0, (end - n) * sizeof *ds);
  }
}

/* Writes the block's dq to memory and adds its contributions to dk and dv in scratch. */
static void block_products(const struct head *h, size_t t0, sl_store *dq) {
  const struct buffers b = h->b;
  const size_t Dp = h->p.Dp, Tk = h->p.Tk, T = h->s->T;
  for (size_t r = 0; r < BLOCK; r += SL_TILE_ROWS) {
    sl_tile_row(Dp, t0 + r + SL_TILE_ROWS, b.ds + r * Tk, Tk, 1, b.k, Dp, b.dq + r * Dp, Dp, 0);
  }
  sl_unpack_rows(dq + t0 * h->s->q_stride, h->s->q_stride, b.dq, T - t0 < BLOCK ? T - t0 : BLOCK, h->s->D, Dp);
  for (size_t j = 0; j < t0 + BLOCK; j += SL_TILE_ROWS) {
    size_t r = j > t0 ? j - t0 : 0; /* queries before key j do not attend to it */
    const sl_real *q = b.q + (t0 + r) * Dp, *dout = b.dout + (t0 + r) * Dp;
    sl_tile_row(Dp, BLOCK - r, b.ds + r * Tk + j, 1, Tk, q, Dp, b.dk + j * Dp, Dp, 1);
    sl_tile_row(Dp, BLOCK - r, b.p_masked + r * Tk + j, 1, Tk, dout, Dp, b.dv + j * Dp, Dp, 1);
  }
}

void SL_K(sl_attention_backward)(sl_store *dq, sl_store *dk, sl_store *dv, const sl_store *dout, const sl_store *q,
                                 const sl_store *k, const sl_store *v, const sl_store *probs, const sl_store *dropped,
                                 const struct sl_attention_shape *shape, const struct sl_dropout *dropout,
                                 void *scratch, size_t scratch_bytes) {
  const struct sl_attention_shape s = *shape;
  const struct sl_attention_padded p = sl_attention_pad(&s);
  const struct sl_mask mask = sl_mask_of_backward(dropout);
  const size_t each = thread_reals(&s), group = s.H / s.KV, T = s.T, D = s.D;
  sl_real *base = sl_scratch_align(scratch);
#pragma omp parallel for schedule(static) num_threads(sl_scratch_threads(scratch_bytes, each))
  for (size_t task = 0; task < s.B * s.KV; task++) {
    const size_t b = task / s.KV, g = task % s.KV, row = b * T;
    const size_t k_at = row * s.k_stride + sl_key_head(&s, g), v_at = row * s.v_stride + sl_key_head(&s, g);
    struct head head = {.s = &s, .p = p, .b = buffers_of(&s, base + (size_t)omp_get_thread_num() * each)};
    head.key = dropout ? &dropout->key : NULL;
    sl_pack_panels(head.b.v, v + v_at, s.v_stride, T, D, p.Tk);
    sl_pack_rows(head.b.k, k + k_at, s.k_stride, T, D, p.Tq, p.Dp, 1);
    memset(head.b.dk, 0, 2 * p.Tq * p.Dp * sizeof(sl_real)); /* dk and dv are adjacent */
    for (size_t h = g * group; h < (g + 1) * group; h++) {
      const size_t q_at = row * s.q_stride + sl_query_head(&s, h);
      const size_t square = (b * s.H + h) * T * T;
      head.probs = probs + square;
      head.mask = sl_mask_at(mask, square);
      head.dropped = mask.stored ? dropped + square : NULL;
      head.first = sl_attention_first(&s, dropout, b, h);
      sl_pack_rows(head.b.q, q + q_at, s.q_stride, T, D, p.Tq, p.Dp, 1);
      sl_pack_rows(head.b.dout, dout + row * s.out_stride + h * D, s.out_stride, T, D, p.Tq, p.Dp, 1);
      for (size_t t0 = 0; t0 < T; t0 += BLOCK) {
        /* ds = dout v^T: the gradient of the masked probabilities, not yet of the scores */
        sl_attention_scores(head.b.ds, p.Tk, head.b.dout + t0 * p.Dp, p.Dp, head.b.v, D, t0 + BLOCK);
        block_softmax(&head, t0);
        block_products(&head, t0, dq + q_at);
      }
    }
    sl_unpack_rows(dk + k_at, s.k_stride, head.b.dk, T, D, p.Dp);
    sl_unpack_rows(dv + v_at, s.v_stride, head.b.dv, T, D, p.Dp);
  }
}
