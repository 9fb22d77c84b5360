/* What the GPU's attention kernels share: the address of a head, which queries a block handles, dropout's element of a
 * score, and the number that backward stores in a query's row of dq. */
#pragma once

#include "kernels/gpu/device.cuh"
#include "kernels/scores.h"

#include <math.h>

namespace sl {
namespace {

/* Queries at positions [first, end) of a sequence, one after the other: the one at position p is token origin + p of
 * those that are here. `origin` counts modulo 2^64, since the token of position 0 may be a member's that has others. */
struct query_run {
  int first, end;
  size_t origin;
};

/* `s.keys` is never 0 here. */
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
    return (b * s.keys + t) * s.k_stride + sl_key_head(&s, g);
  }
  __device__ size_t v_at(size_t b, size_t t, size_t g) const {
    return (b * s.keys + t) * s.v_stride + sl_key_head(&s, g);
  }
  __device__ size_t out_at(size_t b, size_t t, size_t h) const {
    return (b * s.T + t) * s.out_stride + h * s.D;
  }
  /* The factor of q . k. */
  __device__ float scale() const {
    return s.scale > 0 ? s.scale : 1 / sqrtf((float)s.D);
  }
  /* Whether the query at position t attends to `key`. */
  __device__ bool sees(size_t t, size_t key) const {
    return key <= t && (!s.window || key + s.window > t);
  }
  /* The first key that any of the queries from position t on attends to. */
  __device__ size_t first_key(size_t t) const {
    return sl_first_key(&s, t);
  }
  /* The end (exclusive) of the queries that attend to any of the keys up to `key`, in whole sequences. */
  __device__ size_t last_query(size_t key) const {
    return s.window && key + s.window < s.T ? key + s.window : s.T;
  }
  /* Runs of a sequence's queries are numbered head by head: the first of head h, and the head of run i. */
  __device__ unsigned first_run(unsigned h) const {
    return h << (s.at.chunk ? 1 : 0);
  }
  __device__ unsigned head_of(unsigned i) const {
    return i >> (s.at.chunk ? 1 : 0);
  }
  __device__ query_run run(unsigned i) const {
    if (s.at.chunk == 0) return {0, (int)s.T, 0};
    /* no index that is not constant: that would put all parameters into memory where dropout changes one */
    if (i % 2 == 0) return {(int)s.at.first[0], (int)(s.at.first[0] + s.at.chunk), 0 - s.at.first[0]};
    return {(int)s.at.first[1], (int)(s.at.first[1] + s.T - s.at.chunk), s.at.chunk - s.at.first[1]};
  }
  /* The queries of run i that attend to any of the `n` keys from `key`. */
  __device__ query_run run_seeing(unsigned i, int key, int n) const {
    query_run r = run(i);
    const size_t last = (size_t)(key + n - 1);
    if (r.first < key) r.first = key;
    if (s.window && last + s.window < (size_t)r.end) r.end = (int)(last + s.window);
    return r;
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
  /* Dropout's global element of the query at position t and key 0. */
  __device__ uint64_t element(size_t b, size_t h, size_t t) const {
    return drop.first + ((b * s.global_heads + h) * s.keys + t) * s.keys;
  }
  /* The factor of the probability of `key`. */
  __device__ float kept(uint64_t row_element, size_t key) const {
    return drop.on ? drop.factor(row_element + key) : 1;
  }
};

inline heads heads_of(const struct sl_attention_shape *shape, const struct sl_dropout *dropout, const int64_t *step) {
  heads h;
  h.s = *shape;
  h.s.keys = sl_keys(shape);
  h.drop = mask_of(dropout, step);
  return h;
}

/* How many blocks of up to `rows` queries a sequence has. None has queries of two runs, so that within a block
 * positions follow each other. */
__host__ __device__ inline unsigned query_blocks(const sl_attention_shape &s, unsigned rows) {
  const unsigned front = (unsigned)s.at.chunk, back = (unsigned)s.T - front;
  return (front + rows - 1) / rows + (back + rows - 1) / rows;
}

/* What a block of queries handles: those of one head at the up to `rows` positions from `first`, of a run that ends at
 * `end`. The longest rows come first, since they take longest. */
struct query_block {
  int first, end;
  size_t origin;
  unsigned b, h;

  __device__ query_block(const heads &a, unsigned rows, unsigned block) {
    const unsigned blocks = query_blocks(a.s, rows), head = block / blocks;
    const unsigned front = ((unsigned)a.s.at.chunk + rows - 1) / rows, i = blocks - 1 - block % blocks;
    const bool back = i >= front; /* of the second run, if there are two */
    const query_run run = a.run(back && front ? 1 : 0);
    first = run.first + (int)((back ? i - front : i) * rows), end = run.end, origin = run.origin;
    h = head % (unsigned)a.s.H, b = head / (unsigned)a.s.H;
  }
  /* The end (exclusive) of its keys. */
  __device__ int keys_end(int rows) const {
    return first + rows < end ? first + rows : end;
  }
};

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
