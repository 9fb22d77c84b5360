/* Flash attention on the tensor cores, forward (flash_mma.cuh, mma.cuh). A block has 64 queries of one head, a warp 16 of
 * them, and goes over tiles of 64 keys up to the diagonal; scores, probabilities and sums stay in registers. */
#include "kernels/gpu/attention.cuh"
#include "kernels/gpu/flash_mma.cuh"
#include "kernels/gpu/mma.cuh"

#include <float.h>

namespace sl {
namespace {

constexpr int keys = 64;

/* A warp's 16 queries: what grows from tile to tile. A thread has rows g and g + 8 of it. */
template <int W> struct running { float max[2], sum[2], out[W / 8][4]; };

/* Of a query that may stand behind the last one: nothing is read of it. */
__device__ inline bool sees(const heads &a, size_t t, size_t key) {
  return key <= t && key < a.s.T && (!a.s.window || key + a.s.window > t);
}

/* Scores become probabilities, times dropout's factors; zeros where a query does not see the key. t: the thread's first
 * query; j0: the tile's first key. */
template <int W>
__device__ inline void soften(float (&s)[keys / 8][4], running<W> &r, const heads &a, uint64_t element0,
                              uint64_t element1, size_t t, size_t j0, float slope) {
  const float scale = a.s.scale > 0 ? log2_e * a.s.scale : log2_e / sqrtf((float)a.s.D);
  const bool plain = sl_plain_scores(&a.s);
  const size_t column = j0 + threadIdx.x % 4 * 2;
  float here[2] = {r.max[0], r.max[1]};
#pragma unroll
  for (int i = 0; i < keys / 8; i++) {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const size_t key = column + (size_t)(8 * i + e % 2);
      const size_t query = t + (e >= 2 ? 8 : 0);
      float by, x = s[i][e] * scale;
      if (!plain) x = a.score(x / log2_e, slope, query, key, &by) * log2_e;
      s[i][e] = sees(a, query, key) ? x : -FLT_MAX;
      here[e / 2] = fmaxf(here[e / 2], s[i][e]);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    here[half] = fmaxf(here[half], __shfl_xor_sync(0xffffffffu, here[half], 1));
    here[half] = fmaxf(here[half], __shfl_xor_sync(0xffffffffu, here[half], 2));
    const float shrink = exp2f(r.max[half] - here[half]); /* 0 at first */
    r.sum[half] *= shrink;
    r.max[half] = here[half];
#pragma unroll
    for (int i = 0; i < W / 8; i++) r.out[i][2 * half] *= shrink, r.out[i][2 * half + 1] *= shrink;
  }
#pragma unroll
  for (int i = 0; i < keys / 8; i++) {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const size_t key = column + (size_t)(8 * i + e % 2);
      const bool seen = sees(a, t + (e >= 2 ? 8 : 0), key);
      const float p = seen ? exp2f(s[i][e] - r.max[e / 2]) : 0;
      r.sum[e / 2] += p;
      s[i][e] = p == 0 ? 0 : p * a.kept(e < 2 ? element0 : element1, key);
    }
  }
}

/* c = Q K^T of a warp's queries and a tile of keys. */
template <typename T, int W>
__device__ inline void dot(float (&c)[keys / 8][4], const half_tile<T, W> &Q, const half_tile<T, W> &K, int warp_row) {
#pragma unroll
  for (int d = 0; d < W; d += 16) {
    uint32_t x[4], y[4];
    Q.as_a(x, warp_row, d);
#pragma unroll
    for (int j = 0; j < keys; j += 16) {
      K.as_b(y, j, d);
      mma<T>(c[j / 8], x, y[0], y[1]);
      mma<T>(c[j / 8 + 1], x, y[2], y[3]);
    }
  }
}

/* r.out += P V, the probabilities `c` rounded to T. */
template <typename T, int W>
__device__ inline void add_values(running<W> &r, const float (&c)[keys / 8][4], const half_tile<T, W> &V) {
#pragma unroll
  for (int j = 0; j < keys; j += 16) {
    const float(&left)[4] = c[j / 8], (&right)[4] = c[j / 8 + 1];
    const uint32_t x[4] = {pack_two<T>(left[0], left[1]), pack_two<T>(left[2], left[3]),
                           pack_two<T>(right[0], right[1]), pack_two<T>(right[2], right[3])};
    uint32_t y[4];
#pragma unroll
    for (int d = 0; d < W; d += 16) {
      V.as_b_rows(y, j, d);
      mma<T>(r.out[d / 8], x, y[0], y[1]);
      mma<T>(r.out[d / 8 + 1], x, y[2], y[3]);
    }
  }
}

/* The thread's two rows, from `t` on, of out and lse. */
template <typename T, int W>
__device__ inline void finish(T *out, float *lse, const running<W> &r, const heads &a, size_t b, size_t h, size_t t) {
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float sum = r.sum[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const size_t row = t + (size_t)(8 * half);
    if (row >= a.s.T) continue;
    const float inverse = 1 / sum;
#pragma unroll
    for (int i = 0; i < W / 8; i++) {
#pragma unroll
      for (int e = 0; e < 2; e++) {
        const size_t d = (size_t)(8 * i + e) + threadIdx.x % 4 * 2;
        if (d < a.s.D) out[a.out_at(b, row, h) + d] = put<T>(r.out[i][2 * half + e] * inverse);
      }
    }
    if (threadIdx.x % 4 == 0) lse[(b * a.s.H + h) * a.s.T + row] = r.max[half] / log2_e + logf(sum);
  }
}

template <typename T, int W>
__global__ void __launch_bounds__(mma_threads)
    mma_forward_kernel(T *out, float *lse, const T *q, const T *k, const T *v, heads a, bool wide) {
  SL_DYNAMIC_SHARED(shared);
  const sl_attention_shape &s = a.s;
  const half_tile<T, W> Q = {(T *)shared}, K = {Q.row(mma_rows)}, V = {K.row(keys)};
  const size_t tiles = (s.T + mma_rows - 1) / mma_rows;
  /* the longest rows first: they take longest */
  const size_t t0 = (tiles - 1 - blockIdx.x % tiles) * mma_rows, h = blockIdx.x / tiles % s.H;
  const size_t b = blockIdx.x / tiles / s.H, g = a.kv_of(h);
  const int warp_row = (int)threadIdx.x / 32 * 16;
  const size_t t = t0 + (size_t)warp_row + threadIdx.x % 32 / 4;
  running<W> r = {{-FLT_MAX, -FLT_MAX}, {0, 0}, {}};
  a.drop.begin();
  const uint64_t element0 = a.element(b, h, t), element1 = a.element(b, h, t + 8);
  Q.template fill<mma_rows, mma_threads>(q + a.q_at(b, 0, h), s.q_stride, t0, s.T, s.D, wide);
  const float slope = a.slope(h);
  for (size_t j0 = a.first_key(t0) / keys * keys; j0 < t0 + mma_rows && j0 < s.T; j0 += keys) {
    __syncthreads(); /* the tiles before these are still read */
    K.template fill<keys, mma_threads>(k + a.k_at(b, 0, g), s.k_stride, j0, s.T, s.D, wide);
    V.template fill<keys, mma_threads>(v + a.v_at(b, 0, g), s.v_stride, j0, s.T, s.D, wide);
    __syncthreads();
    float c[keys / 8][4] = {};
    dot(c, Q, K, warp_row);
    soften(c, r, a, element0, element1, t, j0, slope);
    add_values(r, c, V);
  }
  finish(out, lse, r, a, b, h, t);
}

template <typename T, int W>
int launch_forward(sl_cuda_stream stream, void *out, float *lse, const void *q, const void *k, const void *v,
                   const heads &a, bool wide) {
  const unsigned blocks = (unsigned)((a.s.T + mma_rows - 1) / mma_rows * a.s.B * a.s.H);
  return launch(stream, dim3(blocks), mma_threads, half_tile<T, W>::bytes(mma_rows + 2 * keys),
                mma_forward_kernel<T, W>, (T *)out, lse, (const T *)q, (const T *)k, (const T *)v, a, wide);
}

} /* namespace */

int mma_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *lse, const void *q, const void *k,
                const void *v, const sl_attention_shape *shape, const sl_dropout *dropout, const int64_t *step) {
  const heads a = heads_of(shape, dropout, step);
  const bool wide = mma_wide(shape, q, k, v, out), large = shape->D > 64;
  if (type == SL_NUMBER_BF16)
    return large ? launch_forward<bf16, 128>(stream, out, lse, q, k, v, a, wide)
                 : launch_forward<bf16, 64>(stream, out, lse, q, k, v, a, wide);
  return large ? launch_forward<f16, 128>(stream, out, lse, q, k, v, a, wide)
               : launch_forward<f16, 64>(stream, out, lse, q, k, v, a, wide);
}

} /* namespace sl */
