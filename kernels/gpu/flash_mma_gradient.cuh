/* Flash attention on the tensor cores, backward: what becomes of a tile of scores, and of the gradients of its
 * probabilities, in registers, whichever instruction made them. */
#pragma once

#include "kernels/gpu/flash_mma_tile.cuh"

namespace sl {
namespace {

/* What a launch applies to all scores. */
struct scores {
  float scale, unit; /* the factor of q . k; the same for powers of two */
  int window;
  bool plain;
};
template <mma_form F> __device__ inline scores scores_of(const heads &a) {
  const float scale = a.scale();
  return {scale, scale * log2_e, window_of(a), F != mma_general || sl_plain_scores(&a.s)};
}

/* What a query keeps from forward: the logarithm of its sum, for powers of two, and the dot product of out and dout,
 * times the scale. */
struct kept_of_query {
  float lse, dots;
};
/* Where those of a head's queries are, by their positions; past the run's `end` they are 0. */
template <typename T> struct kept_of_head {
  const float *lse;
  const T *dq;
  __device__ kept_of_query of(int t, int end, float scale, const heads &a) const {
    if (t >= end) return {0, 0};
    return {lse[t] * log2_e, stashed(dq + (uint64_t)(uint32_t)t * (uint32_t)a.s.q_stride) * scale};
  }
};
template <typename T>
__device__ inline kept_of_head<T> kept_in(const float *lse, const T *dq, const heads &a, size_t b, size_t h,
                                          size_t origin) {
  return {lse + (b * a.s.H + h) * a.s.T + origin, dq + a.q_at(b, origin, h)};
}

/* The probability for a product q . k; `by` is the factor for its gradient. */
__device__ inline float probability(float x, const heads &a, const scores &z, float slope, int t, int key, float lse,
                                    float *by) {
  *by = 1;
  if (z.plain) return exp2_fast(x * z.unit - lse);
  if (!near(t, key, z.window)) return 0; /* here, because the cap would make minus infinity finite */
  return exp2_fast(a.score(x * z.scale, slope, (size_t)t, (size_t)key, by) * log2_e - lse);
}

/* Multiplies a probability by dropout's factor, and turns the gradient dp into that of the score. */
__device__ inline void finish_pair(float &p, float &dp, float kept, float by, float dots, float scale) {
  dp = p * (dp * (kept * scale) - dots) * by;
  p = kept == 0 ? 0 : p * kept;
}

/* Writes the thread's two rows, `row` and row + 8, of a (16,W) sum to memory if they are before `end`. */
template <mma_form F, typename T, int W>
__device__ inline void put_rows(T *x, size_t stride, const float (&sum)[W / 8][4], int row, int end, const heads &a) {
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const size_t r = (size_t)(row + 8 * half);
    if (row + 8 * half >= end) continue;
#pragma unroll
    for (int i = 0; i < W / 8; i++)
      put_two<F>(x + r * stride, 8 * i + (int)threadIdx.x % 4 * 2, (int)a.s.D, sum[i][2 * half], sum[i][2 * half + 1]);
  }
}

/* The parts into which the query heads of a key head are divided, and the sums of each: (parts, 2, B, keys, KV, D),
 * dk's and dv's. With one part there are none. */
struct head_parts {
  int count;
  float *sums;

  __device__ float *of(int part, int which, const heads &a) const {
    return sums + (size_t)(2 * part + which) * a.s.B * a.s.keys * a.s.KV * a.s.D;
  }
};

/* What a block of keys handles: 64 of one key head and one part of its query heads. Within a head the longest come
 * first, and with few blocks the longest of all heads; with many, blocks of one head run together and find its
 * queries in the cache. */
struct keys_block {
  int first; /* key */
  int part;
  unsigned b, g, run, end; /* of the runs of queries */

  __device__ keys_block(const heads &a, const head_parts &parts, unsigned block) {
    const unsigned tiles = ((unsigned)a.s.keys + mma_rows - 1) / mma_rows, all = gridDim.x / tiles;
    const bool few = gridDim.x <= 4 * 400; /* about four times what an H100 runs at once */
    const unsigned head = few ? block % all : block / tiles, each = (unsigned)parts.count;
    first = (int)(few ? block / all : block % tiles) * mma_rows;
    part = (int)(head % each);
    g = head / each % (unsigned)a.s.KV, b = head / each / (unsigned)a.s.KV;
    const unsigned group = (unsigned)(a.s.H / a.s.KV), of_part = group / each;
    const unsigned h = g * group + (unsigned)part * of_part;
    run = a.first_run(h), end = a.first_run(h + of_part);
  }
};

/* Writes the thread's two rows of its block's sums, to dk and dv or for sum_parts_kernel. Where they belong is computed
 * again: registers are short until here. */
template <mma_form F, typename T, int W>
__device__ inline void put_keys(T *dk, T *dv, const head_parts &parts, const float (&sum_k)[W / 8][4],
                                const float (&sum_v)[W / 8][4], const heads &a) {
  const keys_block mine(a, parts, anew(blockIdx.x));
  const unsigned thread = anew(threadIdx.x);
  const int all = (int)a.s.keys, key = mine.first + (int)(thread / 32 * 16 + thread % 32 / 4);
  if (parts.count == 1) {
    put_rows<F, T, W>(dk + a.k_at(mine.b, 0, mine.g), a.s.k_stride, sum_k, key, all, a);
    put_rows<F, T, W>(dv + a.v_at(mine.b, 0, mine.g), a.s.v_stride, sum_v, key, all, a);
    return;
  }
  const size_t row = a.s.KV * a.s.D, at = mine.b * a.s.keys * row + mine.g * a.s.D;
  put_rows<F, float, W>(parts.of(mine.part, 0, a) + at, row, sum_k, key, all, a);
  put_rows<F, float, W>(parts.of(mine.part, 1, a) + at, row, sum_v, key, all, a);
}

/* Adds up the parts' sums, in their order, V numbers of a row at a time. */
template <typename T, int V> struct add_parts {
  static constexpr int width = V;
  T *dk, *dv;
  head_parts parts;
  heads a;

  __device__ void begin() {}
  __device__ void operator()(size_t i) const {
    const sl_attention_shape &s = a.s;
    const size_t d = i % s.D, g = i / s.D % s.KV, t = i / s.D / s.KV % s.keys, b = i / s.D / s.KV / s.keys;
#pragma unroll
    for (int which = 0; which < 2; which++) {
      float sum[V] = {};
      for (int part = 0; part < parts.count; part++) {
        float x[V];
        load_v<V>(x, parts.of(part, which, a) + i);
#pragma unroll
        for (int k = 0; k < V; k++) sum[k] += x[k];
      }
      put_v<V>(which ? dv + a.v_at(b, t, g) + d : dk + a.k_at(b, t, g) + d, sum);
    }
  }
  __device__ void one(size_t i) const {
    add_parts<T, 1>{dk, dv, parts, a}(i);
  }
};

template <typename T>
inline int sum_parts(sl_cuda_stream stream, void *dk, void *dv, const head_parts &parts, const heads &a, bool wide) {
  const size_t n = a.s.B * a.s.keys * a.s.KV * a.s.D;
  if (parts.count == 1) return 0;
  return wide && aligned(dk, dv, parts.sums) ? launch_flat(stream, add_parts<T, 4>{(T *)dk, (T *)dv, parts, a}, n)
                                             : launch_flat(stream, add_parts<T, 1>{(T *)dk, (T *)dv, parts, a}, n);
}

/* Which scores of a tile dropout keeps, four bits per eight columns. `element`: that of the thread's first query and
 * first key. */
template <bool KEYS, int N> __device__ inline uint32_t drawn(const heads &a, uint64_t element) {
  const bool whole = whole_blocks(a);
  const uint64_t row = a.s.keys;
  uint32_t bits = 0;
#pragma unroll
  for (int i = 0; i < N / 8; i++) {
    const uint64_t e = element + (uint64_t)(8 * i) * (KEYS ? row : 1);
    bits |= (KEYS ? keeps_columns(a.drop, whole, e, row) : keeps_rows(a.drop, whole, e, e + 8 * row)) << 4 * i;
  }
  return bits;
}

template <mma_form F> __device__ inline bool drops(const heads &a) {
  return F == mma_dropout || (F == mma_general && a.drop.on);
}

/* Probabilities and gradients of a tile of keys by queries: the thread's keys from `key`, its queries from position
 * `t`, whose numbers are at `queries`. */
template <mma_form F, int N>
__device__ inline void keys_scores(float (&p)[N / 8][4], float (&ds)[N / 8][4], const heads &a, const scores &z,
                                   float slope, int t, int key, const kept_of_query *queries, uint32_t bits) {
#pragma unroll
  for (int i = 0; i < N / 8; i++) {
    const pack<kept_of_query, 2> two = *reinterpret_cast<const pack<kept_of_query, 2> *>(queries + 8 * i);
#pragma unroll
    for (int e = 0; e < 4; e++) {
      float by;
      p[i][e] = probability(p[i][e], a, z, slope, t + 8 * i + e % 2, key + e / 2 * 8, two.x[e % 2].lse, &by);
      finish_pair(p[i][e], ds[i][e], drops<F>(a) ? kept_of(a.drop, bits, 4 * i + e) : 1, by, two.x[e % 2].dots,
                  z.scale);
    }
  }
}

/* The same for queries by keys: the thread's queries at positions t and t + 8, its keys from `key`. */
template <mma_form F, int N>
__device__ inline void queries_scores(float (&p)[N / 8][4], float (&ds)[N / 8][4], const heads &a, const scores &z,
                                      float slope, int t, int key, const kept_of_query (&queries)[2], uint32_t bits) {
#pragma unroll
  for (int i = 0; i < N / 8; i++) {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      float by;
      const kept_of_query &query = queries[e / 2];
      p[i][e] = probability(p[i][e], a, z, slope, t + e / 2 * 8, key + 8 * i + e % 2, query.lse, &by);
      finish_pair(p[i][e], ds[i][e], drops<F>(a) ? kept_of(a.drop, bits, 4 * i + e) : 1, by, query.dots, z.scale);
    }
  }
}

/* Sets scores to minus infinity where a query does not attend to a key. `row` and `column` are the thread's first;
 * KEYS: rows are keys, otherwise queries. */
template <bool KEYS, int N> __device__ inline void hide(float (&p)[N / 8][4], int row, int column, int window) {
#pragma unroll
  for (int i = 0; i < N / 8; i++) {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const int r = row + (e >= 2 ? 8 : 0), c = column + 8 * i + e % 2;
      if (!(KEYS ? near(c, r, window) : near(r, c, window))) p[i][e] = -INFINITY;
    }
  }
}

} /* namespace */
} /* namespace sl */
