/* Flash attention on the tensor cores, backward (flash_mma.cuh, mma.cuh; formulas in flash_attention_backward.c). Two
 * launches: dk and dv, a block having 64 keys of one key/value head and going over the queries that see them, of all query
 * heads; dq, a block having 64 queries. Each forms the probabilities again. */
#include "kernels/gpu/attention.cuh"
#include "kernels/gpu/flash_mma.cuh"
#include "kernels/gpu/mma.cuh"

namespace sl {
namespace {

/* Rows of the tile that a block goes over: what registers allow. */
template <int W> constexpr int across = W > 64 ? 32 : 64;

/* c = the 16 rows of `left` from row r against the N rows of `right`. */
template <typename T, int W, int N>
__device__ inline void products(float (&c)[N / 8][4], const half_tile<T, W> &left, int r,
                                const half_tile<T, W> &right) {
#pragma unroll
  for (int i = 0; i < N / 8; i++) c[i][0] = c[i][1] = c[i][2] = c[i][3] = 0;
#pragma unroll
  for (int d = 0; d < W; d += 16) {
    uint32_t x[4], y[4];
    left.as_a(x, r, d);
#pragma unroll
    for (int j = 0; j < N; j += 16) {
      right.as_b(y, j, d);
      mma<T>(c[j / 8], x, y[0], y[1]);
      mma<T>(c[j / 8 + 1], x, y[2], y[3]);
    }
  }
}

/* sum (16,W) += p (16,N), rounded, times the N rows of `rows`. */
template <typename T, int W, int N>
__device__ inline void add_products(float (&sum)[W / 8][4], const float (&p)[N / 8][4], const half_tile<T, W> &rows) {
#pragma unroll
  for (int j = 0; j < N; j += 16) {
    const float(&left)[4] = p[j / 8], (&right)[4] = p[j / 8 + 1];
    const uint32_t x[4] = {pack_two<T>(left[0], left[1]), pack_two<T>(left[2], left[3]),
                           pack_two<T>(right[0], right[1]), pack_two<T>(right[2], right[3])};
    uint32_t y[4];
#pragma unroll
    for (int d = 0; d < W; d += 16) {
      rows.as_b_rows(y, j, d);
      mma<T>(sum[d / 8], x, y[0], y[1]);
      mma<T>(sum[d / 8 + 1], x, y[2], y[3]);
    }
  }
}

/* The score of a query and a key becomes its probability times dropout's factor, and dp becomes the score's gradient. */
__device__ inline void backward_of(float &score, float &dp, const heads &a, size_t b, size_t h, size_t t, size_t key,
                                   float lse, float dots, float scale, float slope) {
  float p = 0, kept = 0, by = 1;
  if (a.sees(t, key)) {
    p = exp2f((a.score(score * scale, slope, t, key, &by) - lse) * log2_e);
    kept = a.kept(a.element(b, h, t), key);
  }
  score = p * kept;
  dp = p * (dp * kept - dots) * scale * by;
}

/* The thread's two rows of a (16,W) sum into memory. */
template <typename T, int W>
__device__ inline void put_rows(T *x, size_t stride, const float (&sum)[W / 8][4], size_t row, const heads &a) {
#pragma unroll
  for (int i = 0; i < W / 8; i++) {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const size_t d = (size_t)(8 * i + e % 2) + threadIdx.x % 4 * 2, r = row + (e >= 2 ? 8 : 0);
      if (d < a.s.D && r < a.s.T) x[r * stride + d] = put<T>(sum[i][e]);
    }
  }
}

template <typename T, int W>
__global__ void __launch_bounds__(mma_threads)
    mma_keys_kernel(T *dk, T *dv, const T *dq, const T *dout, const T *q, const T *k, const T *v, const float *lse,
                    heads a, bool wide) {
  SL_DYNAMIC_SHARED(shared);
  constexpr int N = across<W>;
  __shared__ float lses[N], dots[N];
  const sl_attention_shape &s = a.s;
  const half_tile<T, W> K = {(T *)shared}, V = {K.row(mma_rows)}, Q = {V.row(mma_rows)}, dO = {Q.row(N)};
  const size_t tiles = (s.T + mma_rows - 1) / mma_rows, j0 = blockIdx.x % tiles * mma_rows;
  const size_t g = blockIdx.x / tiles % s.KV, b = blockIdx.x / tiles / s.KV, group = s.H / s.KV;
  const int warp_row = (int)threadIdx.x / 32 * 16;
  const size_t key = j0 + (size_t)warp_row + threadIdx.x % 32 / 4;
  const float scale = a.scale();
  float sum_k[W / 8][4] = {}, sum_v[W / 8][4] = {};
  a.drop.begin();
  K.template fill<mma_rows, mma_threads>(k + a.k_at(b, 0, g), s.k_stride, j0, s.T, s.D, wide);
  V.template fill<mma_rows, mma_threads>(v + a.v_at(b, 0, g), s.v_stride, j0, s.T, s.D, wide);
  for (size_t h = g * group; h < (g + 1) * group; h++) {
    const float slope = a.slope(h);
    for (size_t t0 = j0; t0 < a.last_query(j0 + mma_rows - 1); t0 += N) {
      __syncthreads(); /* the tiles before these are still read */
      Q.template fill<N, mma_threads>(q + a.q_at(b, 0, h), s.q_stride, t0, s.T, s.D, wide);
      dO.template fill<N, mma_threads>(dout + a.out_at(b, 0, h), s.out_stride, t0, s.T, s.D, wide);
      if (threadIdx.x < N) {
        const size_t t = t0 + threadIdx.x;
        lses[threadIdx.x] = t < s.T ? lse[(b * s.H + h) * s.T + t] : 0;
        dots[threadIdx.x] = t < s.T ? stashed(dq + a.q_at(b, t, h)) : 0;
      }
      __syncthreads();
      float p[N / 8][4], ds[N / 8][4]; /* keys by queries */
      products<T, W, N>(p, K, warp_row, Q);
      products<T, W, N>(ds, V, warp_row, dO);
#pragma unroll
      for (int i = 0; i < N / 8; i++) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
          const unsigned y = (unsigned)(8 * i + e % 2) + threadIdx.x % 4 * 2;
          backward_of(p[i][e], ds[i][e], a, b, h, t0 + y, key + (e >= 2 ? 8 : 0), lses[y], dots[y], scale, slope);
        }
      }
      add_products<T, W, N>(sum_v, p, dO);
      add_products<T, W, N>(sum_k, ds, Q);
    }
  }
  put_rows<T, W>(dk + a.k_at(b, 0, g), s.k_stride, sum_k, key, a);
  put_rows<T, W>(dv + a.v_at(b, 0, g), s.v_stride, sum_v, key, a);
}

template <typename T, int W>
__global__ void __launch_bounds__(mma_threads)
    mma_queries_kernel(T *dq, const T *dout, const T *q, const T *k, const T *v, const float *lse, heads a, bool wide) {
  SL_DYNAMIC_SHARED(shared);
  constexpr int N = across<W>;
  const sl_attention_shape &s = a.s;
  const half_tile<T, W> Q = {(T *)shared}, dO = {Q.row(mma_rows)}, K = {dO.row(mma_rows)}, V = {K.row(N)};
  const size_t tiles = (s.T + mma_rows - 1) / mma_rows, t0 = (tiles - 1 - blockIdx.x % tiles) * mma_rows;
  const size_t h = blockIdx.x / tiles % s.H, b = blockIdx.x / tiles / s.H, g = a.kv_of(h);
  const int warp_row = (int)threadIdx.x / 32 * 16;
  const size_t t = t0 + (size_t)warp_row + threadIdx.x % 32 / 4;
  const float scale = a.scale();
  float sum[W / 8][4] = {}, lses[2] = {0, 0}, dots[2] = {0, 0};
  a.drop.begin();
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const size_t row = t + (size_t)(8 * half);
    if (row >= s.T) continue;
    lses[half] = lse[(b * s.H + h) * s.T + row];
    dots[half] = stashed(dq + a.q_at(b, row, h));
  }
  Q.template fill<mma_rows, mma_threads>(q + a.q_at(b, 0, h), s.q_stride, t0, s.T, s.D, wide);
  dO.template fill<mma_rows, mma_threads>(dout + a.out_at(b, 0, h), s.out_stride, t0, s.T, s.D, wide);
  const float slope = a.slope(h);
  for (size_t j0 = a.first_key(t0) / N * N; j0 < t0 + mma_rows && j0 < s.T; j0 += N) {
    __syncthreads();
    K.template fill<N, mma_threads>(k + a.k_at(b, 0, g), s.k_stride, j0, s.T, s.D, wide);
    V.template fill<N, mma_threads>(v + a.v_at(b, 0, g), s.v_stride, j0, s.T, s.D, wide);
    __syncthreads();
    float p[N / 8][4], ds[N / 8][4]; /* queries by keys */
    products<T, W, N>(p, Q, warp_row, K);
    products<T, W, N>(ds, dO, warp_row, V);
#pragma unroll
    for (int i = 0; i < N / 8; i++) {
#pragma unroll
      for (int e = 0; e < 4; e++)
        backward_of(p[i][e], ds[i][e], a, b, h, t + (e >= 2 ? 8 : 0),
                    j0 + (size_t)(8 * i + e % 2) + threadIdx.x % 4 * 2, lses[e / 2], dots[e / 2], scale, slope);
    }
    add_products<T, W, N>(sum, ds, K);
  }
  /* a query's dots were read by its own four threads before the first barrier: its row is free */
  put_rows<T, W>(dq + a.q_at(b, 0, h), s.q_stride, sum, t, a);
}

template <typename T, int W>
int launch_backward(sl_cuda_stream stream, void *dq, void *dk, void *dv, const void *dout, const void *q, const void *k,
                    const void *v, const float *lse, const heads &a, bool wide) {
  const size_t tiles = (a.s.T + mma_rows - 1) / mma_rows, bytes = half_tile<T, W>::bytes(2 * mma_rows + 2 * across<W>);
  const int error =
      launch(stream, dim3((unsigned)(tiles * a.s.B * a.s.KV)), mma_threads, bytes, mma_keys_kernel<T, W>, (T *)dk,
             (T *)dv, (const T *)dq, (const T *)dout, (const T *)q, (const T *)k, (const T *)v, lse, a, wide);
  if (error) return error;
  return launch(stream, dim3((unsigned)(tiles * a.s.B * a.s.H)), mma_threads, bytes, mma_queries_kernel<T, W>, (T *)dq,
                (const T *)dout, (const T *)q, (const T *)k, (const T *)v, lse, a, wide);
}

} /* namespace */

int mma_backward(sl_cuda_stream stream, enum sl_number type, void *dq, void *dk, void *dv, const void *dout,
                 const void *q, const void *k, const void *v, const float *lse, const sl_attention_shape *shape,
                 const sl_dropout *dropout, const int64_t *step) {
  const heads a = heads_of(shape, dropout, step);
  const bool wide = mma_wide(shape, q, k, v, dout), large = shape->D > 64;
  if (type == SL_NUMBER_BF16)
    return large ? launch_backward<bf16, 128>(stream, dq, dk, dv, dout, q, k, v, lse, a, wide)
                 : launch_backward<bf16, 64>(stream, dq, dk, dv, dout, q, k, v, lse, a, wide);
  return large ? launch_backward<f16, 128>(stream, dq, dk, dv, dout, q, k, v, lse, a, wide)
               : launch_backward<f16, 64>(stream, dq, dk, dv, dout, q, k, v, lse, a, wide);
}

} /* namespace sl */
