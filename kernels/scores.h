/* Scaling, soft cap, ALiBi and window of attention scores, shared by host and GPU (parameters: struct
 * sl_attention_shape).
 *
 *   score(t, s) = cap(scale q . k) + slope(h) (s - t),  cap(x) = cap tanh(x / cap)
 *   slope(h) = 2^(-alibi_max (h + 1) / n),  n the largest power of two up to the layer's heads H; heads h >= n have
 *              2^(-alibi_max (2 (h - n) + 1) / (2 n))      (Press et al., arXiv:2108.12409, as BLOOM and MPT have it)
 * The query at position t attends to the keys s <= t; with a window, to t - window < s <= t. */
#pragma once

#include "kernels/positions.h"

#include <math.h>

/* Offsets in elements of head h within a token's queries, and of head g within its keys or values. */
SL_BOTH static inline size_t sl_query_head(const struct sl_attention_shape *s, size_t h) {
  return h * s->D + (s->q_gap ? h / (s->H / s->KV) * s->q_gap : 0);
}
SL_BOTH static inline size_t sl_key_head(const struct sl_attention_shape *s, size_t g) {
  return g * (s->kv_step ? s->kv_step : s->D);
}

/* Keys of a sequence. */
SL_BOTH static inline size_t sl_keys(const struct sl_attention_shape *s) {
  return s->keys ? s->keys : s->T;
}

/* The first key that the query at position t attends to. */
SL_BOTH static inline size_t sl_first_key(const struct sl_attention_shape *s, size_t t) {
  return s->window && t >= s->window ? t + 1 - s->window : 0;
}

/* The ALiBi slope of local head h; 0 without ALiBi. */
SL_BOTH static inline double sl_alibi_slope(const struct sl_attention_shape *s, size_t h) {
  size_t n = 1, at = s->first_head + h;
  if (!(s->alibi_max > 0)) return 0;
  while (2 * n <= s->global_heads) n *= 2;
  if (at < n) return exp2(-(double)s->alibi_max * (double)(at + 1) / (double)n);
  return exp2(-(double)s->alibi_max * (double)(2 * (at - n) + 1) / (double)(2 * n));
}

/* Whether scores are just scale q . k, without cap and ALiBi. */
SL_BOTH static inline int sl_plain_scores(const struct sl_attention_shape *s) {
  return !(s->cap > 0) && !(s->alibi_max > 0);
}
