/* What the GPU's attention kernels share: the address of a head, dropout's element of a score, and the number that
 * backward stores in a query's row of dq. */
#pragma once

#include "kernels/gpu/device.cuh"
#include "kernels/scores.h"

#include <math.h>

namespace sl {
namespace {

struct heads {
  sl_attention_shape s;
  mask drop;

  __device__ size_t kv_of(size_t h) const {
    return h * s.KV / s.H;
  }
  __device__ size_t q_at(size_t b, size_t t, size_t h) const {
    return (b * s.T + t) * s.q_stride + sl_query_head(&s, h);
  }
  __device__ size_t k_at(size_t b, size_t t, size_t g) const {
    return (b * s.T + t) * s.k_stride + sl_key_head(&s, g);
  }
  __device__ size_t v_at(size_t b, size_t t, size_t g) const {
    return (b * s.T + t) * s.v_stride + sl_key_head(&s, g);
  }
  __device__ size_t out_at(size_t b, size_t t, size_t h) const {
    return (b * s.T + t) * s.out_stride + h * s.D;
  }
  /* The factor of q . k. */
  __device__ float scale() const {
    return s.scale > 0 ? s.scale : 1 / sqrtf((float)s.D);
  }
  __device__ bool sees(size_t t, size_t key) const {
    return key <= t && t < s.T && (!s.window || key + s.window > t);
  }
  /* The first key that any of the queries from t on attends to. */
  __device__ size_t first_key(size_t t) const {
    return sl_first_key(&s, t);
  }
  /* The end (exclusive) of the queries that attend to any of the keys up to `key`. */
  __device__ size_t last_query(size_t key) const {
    return s.window && key + s.window < s.T ? key + s.window : s.T;
  }
  /* The score for a scaled product, in a head with this slope; `by` is the factor for its gradient. */
  __device__ float score(float x, float slope, size_t t, size_t key, float *by) const {
    *by = 1;
    if (sl_plain_scores(&s)) return x;
    if (s.cap > 0) {
      const float tanned = tanhf(x / s.cap);
      x = s.cap * tanned;
      *by = 1 - tanned * tanned;
    }
    return x - slope * ((float)t - (float)key);
  }
  __device__ float slope(size_t h) const {
    return (float)sl_alibi_slope(&s, h);
  }
  /* Dropout's global element of query t and key 0. */
  __device__ uint64_t element(size_t b, size_t h, size_t t) const {
    return drop.first + ((b * s.global_heads + h) * s.T + t) * s.T;
  }
  /* The factor of the probability of `key`. */
  __device__ float kept(uint64_t row_element, size_t key) const {
    return drop.on ? drop.factor(row_element + key) : 1;
  }
};

inline heads heads_of(const struct sl_attention_shape *shape, const struct sl_dropout *dropout, const int64_t *step) {
  heads h;
  h.s = *shape;
  h.drop = mask_of(dropout, step);
  return h;
}

/* Stores a float in the first four bytes of a row. */
__device__ inline void stash(float *row, float x) {
  row[0] = x;
}
__device__ inline float stashed(const float *row) {
  return row[0];
}
union two_halves {
  float f;
  uint16_t h[2];
};
template <typename T> __device__ inline void stash(T *row, float x) {
  two_halves u = {x};
  row[0].bits = u.h[0];
  row[1].bits = u.h[1];
}
template <typename T> __device__ inline float stashed(const T *row) {
  two_halves u;
  u.h[0] = row[0].bits;
  u.h[1] = row[1].bits;
  return u.f;
}

/* Whether a row of dq has at least four bytes. */
template <typename T> inline bool can_stash(const struct sl_attention_shape *shape) {
  return shape->D * sizeof(T) >= 4;
}

} /* namespace */
} /* namespace sl */
