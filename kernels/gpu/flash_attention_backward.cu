/* Flash attention on the GPU, backward (kernels/flash_attention.h; the formulas are in flash_attention_backward.c).
 * 16-bit numbers use the tensor cores (flash_mma.cuh) if these support the head size. There are three launches: dout .
 * out of every query, stored in its row of dq; dk and dv, where a block handles 32 keys of one key/value head and
 * iterates over the queries, of all query heads, that attend to them; dq, where a block handles 32 queries. Nothing is
 * added across blocks. */
#include "kernels/gpu/flash_attention.cuh"
#include "kernels/gpu/flash_mma.cuh"

namespace sl {
namespace {

/* So many lanes, a power of two, take the V numbers of a query's head that each reads at once. */
template <typename T, int V>
__global__ void __launch_bounds__(flash_threads)
    flash_dots_kernel(T *dq, const T *dout, const T *out, heads a, unsigned lanes, unsigned rows) {
  const unsigned i = blockIdx.x * (flash_threads / lanes) + threadIdx.x / lanes, lane = threadIdx.x % lanes;
  const unsigned row = i / (unsigned)a.s.H, h = i % (unsigned)a.s.H,
                 D = (unsigned)a.s.D; /* of the token's and the head */
  float sum = 0;
  if (i < rows) {
    const size_t at = row * a.s.out_stride + h * a.s.D;
    for (unsigned d = lane * V; d < D; d += lanes * V) {
      float x[V], y[V];
      load_v<V>(x, dout + at + d);
      load_v<V>(y, out + at + d);
#pragma unroll
      for (int k = 0; k < V; k++) sum += x[k] * y[k];
    }
  }
  for (unsigned n = lanes / 2; n > 0; n /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, (int)n);
  if (i < rows && lane == 0) stash(dq + row * a.s.q_stride + sl_query_head(&a.s, h), sum);
}

/* A block's shared memory: four tiles, two squares, and two numbers per query. */
struct flash_work {
  float *Q, *K, *V, *dO;
  flash_square *masked, *ds;
  float *lse, *dots;
};

inline size_t flash_work_bytes(size_t D) {
  return (4 * flash_tile * (D + 1) + 2 * flash_tile) * sizeof(float) + 2 * sizeof(flash_square);
}

__device__ inline flash_work flash_work_of(unsigned char *shared, size_t D) {
  flash_work w;
  w.Q = (float *)shared;
  w.K = w.Q + flash_tile * (D + 1);
  w.V = w.K + flash_tile * (D + 1);
  w.dO = w.V + flash_tile * (D + 1);
  w.masked = (flash_square *)(w.dO + flash_tile * (D + 1));
  w.ds = w.masked + 1;
  w.lse = (float *)(w.ds + 1);
  w.dots = w.lse + flash_tile;
  return w;
}

/* Loads the tiles and the two numbers of the queries at positions [t0, end). */
template <typename T>
__device__ void load_queries(const flash_work &w, const T *dq, const T *dout, const T *q, const float *lse,
                             const heads &a, size_t b, size_t h, size_t t0, size_t end, size_t origin) {
  const sl_attention_shape &s = a.s;
  load_tile(w.Q, q + a.q_at(b, origin, h), s.q_stride, t0, end, s.D, 1);
  load_tile(w.dO, dout + a.out_at(b, origin, h), s.out_stride, t0, end, s.D, 1);
  if (threadIdx.x < flash_tile) {
    const size_t t = t0 + threadIdx.x;
    w.lse[threadIdx.x] = t < end ? lse[(b * s.H + h) * s.T + origin + t] : 0;
    w.dots[threadIdx.x] = t < end ? stashed(dq + a.q_at(b, origin + t, h)) : 0;
  }
}

/* Computes the tile's masked probabilities and dS, which are zero where a query does not attend to the key. Rows past
 * the queries are of zeros, so that whatever they have adds nothing. */
__device__ inline void flash_squares(const flash_work &w, const heads &a, size_t b, size_t h, size_t t0, size_t j0) {
  const float scale = a.scale(), slope = a.slope(h);
  float score[2][2], dp[2][2];
  tile_dots(score, w.Q, w.K, a.s.D);
  tile_dots(dp, w.dO, w.V, a.s.D);
  each_place([&](unsigned y, unsigned x, int i, int j) {
    const size_t t = t0 + y, key = j0 + x;
    float p = 0, kept = 0, by = 1;
    if (a.sees(t, key)) {
      p = expf(a.score(score[i][j] * scale, slope, t, key, &by) - w.lse[y]);
      kept = a.kept(a.element(b, h, t), key);
    }
    (*w.masked)[y][x] = p * kept;
    (*w.ds)[y][x] = p * (dp[i][j] * kept - w.dots[y]) * scale * by;
  });
}

/* Adds to sum[i] the tile's products for the thread's elements of row r: square(r, j), or square(j, r) with ACROSS,
 * times row j of `rows`. */
template <bool ACROSS>
__device__ inline void add_products(float (&sum)[flash_each], const flash_square &square, const float *rows, int r,
                                    int lane, size_t D) {
#pragma unroll 1
  for (int j = 0; j < flash_tile; j++) {
    const float factor = ACROSS ? square[j][r] : square[r][j];
    const float *row = rows + (size_t)j * (D + 1);
#pragma unroll
    for (int i = 0; i < flash_each; i++) {
      const size_t d = (size_t)(lane + 8 * i);
      if (d < D) sum[i] += factor * row[d];
    }
  }
}

template <typename T> __device__ inline void put_row(T *row, const float (&sum)[flash_each], int lane, size_t D) {
#pragma unroll
  for (int i = 0; i < flash_each; i++) {
    const size_t d = (size_t)(lane + 8 * i);
    if (d < D) row[d] = put<T>(sum[i]);
  }
}

template <typename T>
__global__ void __launch_bounds__(flash_threads) flash_keys_kernel(T *dk, T *dv, const T *dq, const T *dout, const T *q,
                                                                   const T *k, const T *v, const float *lse, heads a) {
  SL_DYNAMIC_SHARED(shared);
  const sl_attention_shape &s = a.s;
  const flash_work w = flash_work_of(shared, s.D);
  const size_t tiles = (s.keys + flash_tile - 1) / flash_tile, j0 = blockIdx.x % tiles * flash_tile;
  const size_t g = blockIdx.x / tiles % s.KV, b = blockIdx.x / tiles / s.KV, group = s.H / s.KV;
  const int r = (int)threadIdx.x / 8, lane = (int)threadIdx.x % 8;
  float sum_k[flash_each] = {}, sum_v[flash_each] = {};
  a.drop.begin();
  load_tile(w.K, k + a.k_at(b, 0, g), s.k_stride, j0, s.keys, s.D, 1);
  load_tile(w.V, v + a.v_at(b, 0, g), s.v_stride, j0, s.keys, s.D, 1);
  for (unsigned i = a.first_run((unsigned)(g * group)); i < a.first_run((unsigned)((g + 1) * group)); i++) {
    const size_t h = a.head_of(i);
    const query_run run = a.run_seeing(i, (int)j0, flash_tile);
    for (size_t t0 = (size_t)run.first; t0 < (size_t)run.end; t0 += flash_tile) {
      __syncthreads(); /* other threads may still read the previous tiles */
      load_queries(w, dq, dout, q, lse, a, b, h, t0, (size_t)run.end, run.origin);
      __syncthreads();
      flash_squares(w, a, b, h, t0, j0);
      __syncthreads();
      add_products<true>(sum_v, *w.masked, w.dO, r, lane, s.D);
      add_products<true>(sum_k, *w.ds, w.Q, r, lane, s.D);
    }
  }
  if (j0 + (size_t)r >= s.keys) return;
  put_row(dk + a.k_at(b, j0 + (size_t)r, g), sum_k, lane, s.D);
  put_row(dv + a.v_at(b, j0 + (size_t)r, g), sum_v, lane, s.D);
}

template <typename T>
__global__ void __launch_bounds__(flash_threads)
    flash_queries_kernel(T *dq, const T *dout, const T *q, const T *k, const T *v, const float *lse, heads a) {
  SL_DYNAMIC_SHARED(shared);
  const sl_attention_shape &s = a.s;
  const flash_work w = flash_work_of(shared, s.D);
  const query_block mine(a, flash_tile, blockIdx.x);
  const size_t t0 = (size_t)mine.first, end = (size_t)mine.end, b = mine.b, h = mine.h, g = a.kv_of(h);
  const int r = (int)threadIdx.x / 8, lane = (int)threadIdx.x % 8;
  float sum[flash_each] = {};
  a.drop.begin();
  load_queries(w, dq, dout, q, lse, a, b, h, t0, end, mine.origin);
  for (size_t j0 = a.first_key(t0) / flash_tile * flash_tile; j0 < (size_t)mine.keys_end(flash_tile);
       j0 += flash_tile) {
    __syncthreads();
    load_tile(w.K, k + a.k_at(b, 0, g), s.k_stride, j0, s.keys, s.D, 1);
    load_tile(w.V, v + a.v_at(b, 0, g), s.v_stride, j0, s.keys, s.D, 1);
    __syncthreads();
    flash_squares(w, a, b, h, t0, j0);
    __syncthreads();
    add_products<false>(sum, *w.ds, w.K, r, lane, s.D);
  }
  /* the block read its dots before its first barrier, so the rows that held them may be overwritten */
  if (t0 + (size_t)r < end) put_row(dq + a.q_at(b, mine.origin + t0 + (size_t)r, h), sum, lane, s.D);
}

template <typename T, int V> int dots(sl_cuda_stream stream, T *dq, const T *dout, const T *out, const heads &a) {
  const size_t rows = a.s.B * a.s.T * a.s.H;
  unsigned lanes = 1;
  while (lanes < 32 && lanes * V < a.s.D) lanes *= 2;
  if (rows > UINT32_MAX - flash_threads) return (int)cudaErrorInvalidValue;
  return launch(stream, dim3(blocks_of(rows, flash_threads / lanes)), flash_threads, 0, flash_dots_kernel<T, V>, dq,
                dout, out, a, lanes, (unsigned)rows);
}

template <typename T> int dots(sl_cuda_stream stream, T *dq, const T *dout, const T *out, const heads &a) {
  const bool whole = (a.s.D | a.s.out_stride) % wide<T> == 0 && aligned(dout, out);
  return whole ? dots<T, wide<T>>(stream, dq, dout, out, a) : dots<T, 1>(stream, dq, dout, out, a);
}

template <typename T>
int backward(sl_cuda_stream stream, T *dq, T *dk, T *dv, const T *dout, const T *q, const T *k, const T *v,
             const float *lse, const heads &a) {
  const sl_attention_shape &s = a.s;
  const size_t tiles = (s.keys + flash_tile - 1) / flash_tile, bytes = flash_work_bytes(s.D);
  const int error = launch(stream, dim3((unsigned)(tiles * s.B * s.KV)), flash_threads, bytes, flash_keys_kernel<T>, dk,
                           dv, dq, dout, q, k, v, lse, a);
  if (error) return error;
  return launch(stream, dim3(query_blocks(s, flash_tile) * (unsigned)(s.B * s.H)), flash_threads, bytes,
                flash_queries_kernel<T>, dq, dout, q, k, v, lse, a);
}

} /* namespace */
} /* namespace sl */

extern "C" int sl_cuda_flash_attention_backward(sl_cuda_stream stream, enum sl_number type, void *dq, void *dk,
                                                void *dv, const void *dout, const void *q, const void *k, const void *v,
                                                const void *out, const float *lse,
                                                const struct sl_attention_shape *shape,
                                                const struct sl_dropout *dropout, const int64_t *step, int parts,
                                                void *scratch) {
  const sl::heads a = sl::heads_of(shape, dropout, step);
  return sl::by_type(type, [&](auto zero) {
    using T = decltype(zero);
    if (a.s.D > sl::flash_most || !sl::can_stash<T>(shape)) return (int)cudaErrorInvalidValue;
    const int error = sl::dots(stream, (T *)dq, (const T *)dout, (const T *)out, a);
    if (error) return error;
    if (sl::mma_takes(type, shape))
      return sl::mma_backward(stream, type, dq, dk, dv, dout, q, k, v, lse, shape, dropout, step, parts,
                              (float *)scratch);
    return sl::backward(stream, (T *)dq, (T *)dk, (T *)dv, (const T *)dout, (const T *)q, (const T *)k, (const T *)v,
                        lse, a);
  });
}
