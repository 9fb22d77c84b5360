/* Causal attention on the host, forward (kernels/attention.h; the backward is in attention_backward.c).
 *
 * One task is one (sequence, head). K is packed transposed, V and blocks of 32 queries are packed as padded rows; all
 * products are register tiles (kernels/tile.h) over the lower triangle only. */
#include "kernels/attention.h"
#include "kernels/attention_pack.h"
#include "kernels/philox_inline.h"
#include "kernels/vecmath.h"

#include <omp.h>

#define BLOCK SL_ATTENTION_BLOCK

size_t SL_K(sl_attention_forward_scratch_bytes)(const struct sl_attention_shape *shape, int threads) {
  return sl_scratch_bytes(sl_attention_reals(shape, sl_attention_pad(shape).Tk), threads);
}

/* Softmax of n scores in place. */
static void softmax_row(sl_real *x, size_t n) {
  sl_real max = sl_max_of(x, n), sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    sl_real e = sl_exp(x[i] - max);
    x[i] = e;
    sum += e;
  }
  sl_real inverse = 1 / sum;
#pragma omp simd
  for (size_t i = 0; i < n; i++) x[i] *= inverse;
}

/* What a head keeps for backward: the probabilities (T,T), and, if dropout's mask is stored, the mask and the
 * probabilities after dropout; otherwise both are NULL. */
struct kept {
  sl_store *probs, *dropped;
  uint8_t *mask;
};

/* Applies dropout to a row of probabilities; writes the mask and the result to `kept`. */
static void drop_row(sl_real *row, struct kept kept, size_t t, size_t T, struct sl_mask mask,
                     const struct sl_philox_key *key, uint64_t first) {
  const size_t n = t + 1;
  if (!kept.mask) {
    sl_mask_apply(row, row, mask, key, first + t * T, n);
    return;
  }
  sl_mask_draw(kept.mask + t * T, mask, key, first + t * T, n);
  memset(kept.mask + t * T + n, 0, T - n);
  mask.stored = kept.mask + t * T;
  sl_mask_apply(row, row, mask, key, 0, n);
  sl_narrow(kept.dropped + t * T, row, n);
  memset(kept.dropped + t * T + n, 0, (T - n) * sizeof *kept.dropped);
}

/* Softmax of the block's rows, written to what is kept of this head. `scores` becomes what multiplies V: the
 * probabilities after dropout, with zeros from the diagonal to the end of the block. */
static void block_softmax(struct sl_attention_buffers b, const struct sl_attention_shape *s,
                          struct sl_attention_padded p, size_t t0, struct kept kept, struct sl_mask mask,
                          const struct sl_philox_key *key, uint64_t first, double alibi) {
  for (size_t r = 0; r < BLOCK; r++) {
    const size_t t = t0 + r, n = t + 1, from = sl_first_key(s, t);
    sl_real *row = b.scores + r * p.Tk;
    if (t >= s->T) {
      memset(row, 0, (t0 + BLOCK) * sizeof *row);
      continue;
    }
    if (!sl_plain_scores(s)) sl_attention_shape_scores(row + from, NULL, n - from, s, alibi, t, from);
    memset(row, 0, from * sizeof *row);
    softmax_row(row + from, n - from);
    memset(row + n, 0, (t0 + BLOCK - n) * sizeof *row);
    sl_narrow(kept.probs + t * s->T, row, n);
    memset(kept.probs + t * s->T + n, 0, (s->T - n) * sizeof *kept.probs);
    if (mask.on) drop_row(row, kept, t, s->T, mask, key, first);
  }
}

static void forward_head(sl_store *out, struct kept kept, const sl_store *q, const sl_store *k, const sl_store *v,
                         const struct sl_attention_shape *s, struct sl_mask mask, const struct sl_philox_key *key,
                         uint64_t first, struct sl_attention_buffers b, double alibi) {
  const struct sl_attention_padded p = sl_attention_pad(s);
  const sl_real scale = sl_attention_scale(s);
  sl_pack_panels(b.k, k, s->k_stride, s->T, s->D, p.Tk);
  sl_pack_rows(b.v, v, s->v_stride, s->T, s->D, p.Tq, p.Dp, 1);
  for (size_t t0 = 0; t0 < s->T; t0 += BLOCK) {
    size_t rows = s->T - t0 < BLOCK ? s->T - t0 : BLOCK;
    sl_pack_rows(b.q, q + t0 * s->q_stride, s->q_stride, rows, s->D, BLOCK, p.Dp, scale);
    sl_attention_scores(b.scores, p.Tk, b.q, p.Dp, b.k, s->D, t0 + BLOCK);
    block_softmax(b, s, p, t0, kept, mask, key, first, alibi);
    for (size_t r = 0; r < BLOCK; r += SL_TILE_ROWS) {
      size_t keys = t0 + r + SL_TILE_ROWS;
      sl_tile_row(p.Dp, keys, b.scores + r * p.Tk, p.Tk, 1, b.v, p.Dp, b.out + r * p.Dp, p.Dp, 0);
    }
    sl_unpack_rows(out + t0 * s->out_stride, s->out_stride, b.out, rows, s->D, p.Dp);
  }
}

void SL_K(sl_attention_forward)(sl_store *out, sl_store *probs, sl_store *dropped, const sl_store *q, const sl_store *k,
                                const sl_store *v, const struct sl_attention_shape *shape,
                                const struct sl_dropout *dropout, void *scratch, size_t scratch_bytes) {
  const struct sl_attention_shape s = *shape;
  const struct sl_mask mask = sl_mask_of(dropout);
  const size_t each = sl_attention_reals(&s, sl_attention_pad(&s).Tk);
  sl_real *base = sl_scratch_align(scratch);
#pragma omp parallel for schedule(static) num_threads(sl_scratch_threads(scratch_bytes, each))
  for (size_t task = 0; task < s.B * s.H; task++) {
    size_t b = task / s.H, h = task % s.H, g = h * s.KV / s.H, row = b * s.T;
    uint64_t first = sl_attention_first(&s, dropout, b, h);
    struct kept kept = {.probs = probs + task * s.T * s.T};
    if (mask.on && dropout->mask) {
      kept.dropped = dropped + task * s.T * s.T;
      kept.mask = dropout->mask + task * s.T * s.T;
    }
    forward_head(out + row * s.out_stride + h * s.D, kept, q + row * s.q_stride + sl_query_head(&s, h),
                 k + row * s.k_stride + sl_key_head(&s, g), v + row * s.v_stride + sl_key_head(&s, g), &s, mask,
                 dropout ? &dropout->key : NULL, first,
                 sl_attention_buffers_of(&s, base + (size_t)omp_get_thread_num() * each), sl_alibi_slope(&s, h));
  }
}
