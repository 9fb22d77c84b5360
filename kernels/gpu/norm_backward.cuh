/* Backward of the norms of rows on the GPU (kernels/gpu/norm.cuh). It has two halves, and each has the same bits
 * whether computed alone or with the other: the gradient of x, and that of the weights, for which each of at most 128
 * blocks of rows writes a partial sum to scratch. Rows that fit into the registers of a block are read once for both
 * halves; longer rows, and those whose addresses do not allow vectors, are handled by one kernel per half. */
#pragma once

#include "kernels/gpu/norm_forward.cuh"

#include <math.h>

namespace sl {
namespace {

inline size_t norm_block_rows(size_t rows) {
  return (rows + 127) / 128;
}
inline size_t norm_blocks(size_t rows) {
  return rows == 0 ? 0 : (rows + norm_block_rows(rows) - 1) / norm_block_rows(rows);
}

/* dx may be dout: a lane reads its elements before it writes them. */
template <typename T, int V, bool MEAN>
__global__ void __launch_bounds__(32 * norm_warps)
    norm_dx_kernel(T *dx, int accumulate, const T *dout, const T *x, const T *weight, const float *mean,
                   const float *rstd, size_t rows, size_t C, float one, norm_taken_in<T> from) {
  const size_t r = (size_t)blockIdx.x * norm_warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  const T *in = x + r * C, *d = dout + r * C;
  const float m = MEAN ? mean[r] : 0, s = rstd[r];
  float sum_g = 0, sum_gn = 0, v[V], g[V], w[V], before[V];
  from.drop.begin();
  for (size_t c = lane * V; c < C; c += 32 * V) {
    load_v(v, in + c);
    load_v(g, d + c);
    load_v(w, weight + c);
#pragma unroll
    for (int i = 0; i < V; i++) {
      w[i] += one;
      sum_g += g[i] * w[i];
      sum_gn += g[i] * w[i] * ((v[i] - m) * s);
    }
  }
  const float mean_g = MEAN ? (float)(warp_sum((double)sum_g) / (double)C) : 0;
  const float mean_gn = (float)(warp_sum((double)sum_gn) / (double)C);
  for (size_t c = lane * V; c < C; c += 32 * V) {
    load_v(v, in + c);
    load_v(g, d + c);
    load_v(w, weight + c);
    if (accumulate) load_v(before, dx + r * C + c);
#pragma unroll
    for (int i = 0; i < V; i++) {
      const float norm = (v[i] - m) * s;
      v[i] = (accumulate ? before[i] : 0) + s * (g[i] * (w[i] + one) - mean_g - norm * mean_gn);
    }
    pack<T, V> rounded;
#pragma unroll
    for (int i = 0; i < V; i++) rounded.x[i] = put<T>(v[i]), v[i] = load(rounded.x[i]);
    *reinterpret_cast<pack<T, V> *>(dx + r * C + c) = rounded;
    if (!from.dbranch) continue;
    from.mask_dx(v, r, c);
    put_v(from.dbranch + r * C + c, v);
  }
}

/* Block (i, b): 256 columns of the b-th block of rows, one thread per column. partial (blocks, 2 or 1, C). */
template <typename T, bool MEAN>
__global__ void __launch_bounds__(256)
    norm_weights_kernel(float *partial, const T *dout, const T *x, const float *mean, const float *rstd, size_t rows,
                        size_t C, size_t block_rows) {
  const size_t c = (size_t)blockIdx.x * 256 + threadIdx.x, b = blockIdx.y;
  if (c >= C) return;
  const size_t end = (b + 1) * block_rows < rows ? (b + 1) * block_rows : rows;
  float dw = 0, db = 0;
  for (size_t r = b * block_rows; r < end; r++) {
    const float d = load(dout[r * C + c]);
    dw += d * ((load(x[r * C + c]) - (MEAN ? mean[r] : 0)) * rstd[r]);
    if (MEAN) db += d;
  }
  partial[b * (MEAN ? 2 : 1) * C + c] = dw;
  if (MEAN) partial[(b * 2 + 1) * C + c] = db;
}

constexpr int norm_once_threads = 512; /* of a block, at most */
/* The longest rows that are read once. */
template <typename T> constexpr int norm_once_columns = sizeof(T) == 4 ? 4096 : 8192;

/* A block's rows are read once by `threads` threads each, whole warps, a multiple of which the block has: thread t has
 * the vectors t, t + threads, ... of all rows of its group, so that it keeps their sums over rows in registers. */
template <typename T> struct norm_once {
  T *dx;          /* may be dout, or NULL */
  float *partial; /* (blocks, 2 or 1, C), or NULL */
  const T *dout, *x, *weight;
  const float *mean, *rstd;
  size_t rows, C, block_rows;
  int accumulate; /* to dx */
  float one;
  double each; /* 1 / C */
  unsigned threads, groups;
  unsigned thread; /* which of its group this one is: for the kernel itself */

  __device__ size_t column(int k) const {
    return (size_t)((unsigned)k * threads + thread) * wide<T>;
  }
};

/* What a thread has of R rows, one of each `groups` rows. */
template <int R, int K> struct norm_tile {
  norm_vector x[R][K], dout[R][K], before[R][K];
  float mean[R], rstd[R];
};

template <bool MEAN, int R, int K, typename T>
__device__ inline void norm_tile_read(norm_tile<R, K> &to, const norm_once<T> &n, size_t row, size_t end) {
#pragma unroll
  for (int i = 0; i < R; i++, row += n.groups) {
    if (row >= end) break;
    to.mean[i] = MEAN ? n.mean[row] : 0, to.rstd[i] = n.rstd[row];
#pragma unroll
    for (int k = 0; k < K; k++) {
      const size_t c = n.column(k), at = row * n.C + c;
      if (c >= n.C) continue;
      to.x[i][k] = norm_load(n.x + at), to.dout[i][k] = norm_load(n.dout + at);
      if (n.accumulate) to.before[i][k] = norm_load(n.dx + at);
    }
  }
}

/* Adds row i to the sums over rows, and returns this thread's part of those over its columns. */
struct norm_sums {
  double g, gn;
};
template <typename T, bool MEAN, int R, int K, int V>
__device__ inline norm_sums norm_add_row(float (&dw)[K][V], float (&db)[MEAN ? K : 1][V], const norm_tile<R, K> &of,
                                         int i, const norm_vector (&weight)[K], const norm_once<T> &n) {
  float sum_g = 0, sum_gn = 0;
#pragma unroll
  for (int k = 0; k < K; k++) {
    if (n.column(k) >= n.C) continue;
#pragma unroll
    for (int e = 0; e < V; e++) {
      const float g = norm_get<T>(of.dout[i][k], e);
      const float norm = (norm_get<T>(of.x[i][k], e) - of.mean[i]) * of.rstd[i];
      dw[k][e] += g * norm;
      if (MEAN) db[k][e] += g;
      const float scaled = g * (norm_get<T>(weight[k], e) + n.one);
      sum_g += scaled, sum_gn += scaled * norm;
    }
  }
  return {(double)sum_g, (double)sum_gn};
}

/* Writes a warp's sums to `total`. The two are added up side by side, g in the lower lanes and gn in the upper ones. */
template <bool MEAN> __device__ inline void norm_warp_sums(norm_sums &total, const norm_sums &mine) {
  const unsigned lane = threadIdx.x % 32;
  if (!MEAN) {
    const double gn = warp_sum(mine.gn);
    if (lane == 0) total = {0, gn};
    return;
  }
  double sum = lane < 16 ? mine.g : mine.gn;
  sum += __shfl_xor_sync(0xffffffffu, lane < 16 ? mine.gn : mine.g, 16);
#pragma unroll
  for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (lane == 0) total.g = sum;
  if (lane == 16) total.gn = sum;
}

/* Writes row r of dx, the i-th of a tile; sums are means. */
template <bool DROP, int R, int K, typename T>
__device__ inline void norm_put_row(const norm_once<T> &n, const norm_taken_in<T> &from, const norm_tile<R, K> &of,
                                    int i, const norm_vector (&weight)[K], size_t r, float mean_g, float mean_gn) {
  constexpr int V = wide<T>;
#pragma unroll
  for (int k = 0; k < K; k++) {
    const size_t c = n.column(k);
    float v[V];
    if (c >= n.C) continue;
#pragma unroll
    for (int e = 0; e < V; e++) {
      const float norm = (norm_get<T>(of.x[i][k], e) - of.mean[i]) * of.rstd[i];
      const float scaled = norm_get<T>(of.dout[i][k], e) * (norm_get<T>(weight[k], e) + n.one);
      v[e] = (n.accumulate ? norm_get<T>(of.before[i][k], e) : 0) + of.rstd[i] * (scaled - mean_g - norm * mean_gn);
    }
    const norm_vector rounded = norm_rounded<T>(v);
    norm_store(n.dx + r * n.C + c, rounded);
    if constexpr (DROP) {
#pragma unroll
      for (int e = 0; e < V; e++) v[e] = norm_get<T>(rounded, e);
      from.mask_dx(v, r, c);
      norm_store(from.dbranch + r * n.C + c, norm_rounded<T>(v));
    }
  }
}

/* The floats between those that a thread leaves to norm_put_partial: chosen so that lanes write to different banks of
 * shared memory, and read from different ones. */
__host__ __device__ inline unsigned norm_pitch(unsigned threads) {
  return threads + 4;
}

/* Writes the block's part of sum `which` over rows: that of its groups, added one after the other. */
template <typename T, int K, int V>
__device__ inline void norm_put_partial(float *out, float *shared, const float (&sum)[K][V], const norm_once<T> &n) {
  const unsigned pitch = norm_pitch(blockDim.x);
#pragma unroll
  for (int k = 0; k < K; k++)
#pragma unroll
    for (int e = 0; e < V; e++) shared[(unsigned)(k * V + e) * pitch + threadIdx.x] = sum[k][e];
  __syncthreads();
  for (unsigned c = threadIdx.x; c < n.C; c += blockDim.x) {
    const unsigned vector = c / V, k = vector / n.threads, t = vector % n.threads;
    const float *from = shared + (k * V + c % V) * pitch + t;
    float total = from[0];
    for (unsigned g = n.threads; g < blockDim.x; g += n.threads) total += from[g];
    out[c] = total;
  }
}

/* Both halves for the rows of a block; DROP: also dbranch. The next rows are on their way while these are computed: a
 * block has a multiprocessor for itself, and nothing else would keep memory busy. */
template <typename T, bool MEAN, bool DROP, int COLUMNS>
__global__ void __launch_bounds__(norm_once_threads) norm_once_kernel(norm_once<T> n, norm_taken_in<T> from) {
  constexpr int V = wide<T>, K = COLUMNS / (norm_once_threads * V), R = K == 1 ? 2 : 1, sums = MEAN ? 2 : 1;
  SL_DYNAMIC_SHARED(shared);
  __shared__ norm_sums part[2][R][norm_once_threads / 32];
  const unsigned groups = n.groups, group = threadIdx.x / n.threads, warps = n.threads / 32;
  const size_t first = blockIdx.x * n.block_rows + group, last = (blockIdx.x + 1) * n.block_rows;
  const size_t end = last < n.rows ? last : n.rows;
  norm_vector weight[K] = {};
  float dw[K][V] = {}, db[MEAN ? K : 1][V] = {};
  norm_tile<R, K> next;
  n.thread = threadIdx.x % n.threads;
  if (DROP) from.drop.begin();
#pragma unroll
  for (int k = 0; k < K; k++)
    if (n.dx && n.column(k) < n.C) weight[k] = norm_load(n.weight + n.column(k));
  norm_tile_read<MEAN>(next, n, first, end);
  unsigned turn = 0;
  for (size_t r = first; r - group < end; r += R * groups, turn = 1 - turn) { /* the same for all groups */
    norm_tile<R, K> now = next;
    norm_tile_read<MEAN>(next, n, r + R * groups, end);
    if (K > 1) norm_forget(weight);
    norm_sums mine[R] = {};
#pragma unroll
    for (int i = 0; i < R; i++) {
      if (r + i * groups < end) mine[i] = norm_add_row<T, MEAN>(dw, db, now, i, weight, n);
      norm_forget(now.x[i]), norm_forget(now.dout[i]);
    }
    if (!n.dx) continue;
#pragma unroll
    for (int i = 0; i < R; i++) norm_warp_sums<MEAN>(part[turn][i][threadIdx.x / 32], mine[i]);
    __syncthreads(); /* the other half of `part` may still be read */
#pragma unroll
    for (int i = 0; i < R; i++) {
      norm_sums total = {};
      for (unsigned w = 0; w < warps; w++)
        total.g += part[turn][i][group * warps + w].g, total.gn += part[turn][i][group * warps + w].gn;
      if (r + i * groups < end)
        norm_put_row<DROP>(n, from, now, i, weight, r + i * groups, MEAN ? (float)(total.g * n.each) : 0,
                           (float)(total.gn * n.each));
    }
  }
  if (!n.partial) return;
  float *out = n.partial + blockIdx.x * sums * n.C, *room = (float *)shared;
  norm_put_partial(out, room, dw, n);
  if (MEAN) norm_put_partial(out + n.C, room + K * V * norm_pitch(blockDim.x), db, n);
}

/* dweight (C), followed by dbias (C) if `columns` is 2 C, = or += the sum of partial over blocks, which are `stride`
 * apart. A block has 32 columns; thread (c, k) adds the parts k, k + 8, ..., and then thread (c, 0) adds the eight sums
 * in order. */
template <typename T>
__global__ void __launch_bounds__(256) norm_total_kernel(T *dweight, T *dbias, const float *partial, size_t blocks,
                                                         size_t stride, size_t columns, size_t C, int accumulate) {
  __shared__ double part[8][33];
  const int lane = (int)threadIdx.x % 32, k = (int)threadIdx.x / 32;
  const size_t c = (size_t)blockIdx.x * 32 + (size_t)lane;
  float read[16];
#pragma unroll
  for (int i = 0; i < 16; i++) { /* together: at most 128 blocks */
    const size_t b = (size_t)(k + 8 * i);
    read[i] = c < columns && b < blocks ? partial[b * stride + c] : 0;
  }
  double total = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) total += read[i];
  part[k][lane] = total;
  __syncthreads();
  if (k > 0 || c >= columns) return;
  for (int i = 1; i < 8; i++) total += part[i][lane];
  T *const dst = c < C ? dweight + c : dbias + (c - C);
  *dst = put<T>((float)(accumulate ? load(*dst) + total : total));
}

/* The arguments of a backward. */
template <typename T> struct norm_work {
  T *dx;
  void *dweight, *dbias;
  int in_fp32, accumulate_dx, accumulate;
  const T *dout, *x, *weight;
  const float *mean, *rstd;
  size_t rows, C;
  float *partial, one;
  norm_taken_in<T> from;
};

/* One kernel per half; the weights come first, because dx may be dout. */
template <bool MEAN, typename T> int norm_halves(sl_cuda_stream stream, const norm_work<T> &w) {
  if (w.dweight) {
    const int error =
        launch(stream, dim3(blocks_of(w.C, 256), (unsigned)norm_blocks(w.rows)), 256, 0, norm_weights_kernel<T, MEAN>,
               w.partial, w.dout, w.x, w.mean, w.rstd, w.rows, w.C, norm_block_rows(w.rows));
    if (error) return error;
  }
  if (!w.dx) return 0;
  const bool fast = w.C % wide<T> == 0 && aligned(w.dx, w.dout, w.x, w.weight, w.from.dbranch);
  return launch(stream, dim3(blocks_of(w.rows, norm_warps)), 32 * norm_warps, 0,
                fast ? norm_dx_kernel<T, wide<T>, MEAN> : norm_dx_kernel<T, 1, MEAN>, w.dx, w.accumulate_dx, w.dout,
                w.x, w.weight, w.mean, w.rstd, w.rows, w.C, w.one, w.from);
}

/* Both halves at once. */
template <bool MEAN, int COLUMNS, typename T> int norm_both(sl_cuda_stream stream, const norm_work<T> &w) {
  constexpr int V = wide<T>, K = COLUMNS / (norm_once_threads * V);
  const unsigned threads = 32 * blocks_of(w.C, (size_t)32 * K * V);
  const unsigned groups = norm_once_threads / threads, block = groups * threads;
  const norm_once<T> n = {w.dx,
                          w.dweight ? w.partial : nullptr,
                          w.dout,
                          w.x,
                          w.weight,
                          w.mean,
                          w.rstd,
                          w.rows,
                          w.C,
                          norm_block_rows(w.rows),
                          w.dx && w.accumulate_dx,
                          w.one,
                          1 / (double)w.C,
                          threads,
                          groups,
                          0};
  return launch(stream, dim3((unsigned)norm_blocks(w.rows)), block,
                (size_t)((MEAN ? 2 : 1) * K * V) * norm_pitch(block) * sizeof(float),
                w.from.dbranch ? norm_once_kernel<T, MEAN, true, COLUMNS> : norm_once_kernel<T, MEAN, false, COLUMNS>,
                n, w.from);
}

template <bool MEAN, typename T> int norm_backward_of(sl_cuda_stream stream, const norm_work<T> &w) {
  /* weight is only read for dx; a half alone must be computed in the same way as both together, to give the same
   * bits */
  const bool once = w.C <= norm_once_columns<T> && w.C % wide<T> == 0 && aligned(w.dout, w.x) &&
                    (!w.dx || aligned(w.dx, w.weight, w.from.dbranch));
  const int error = !once         ? norm_halves<MEAN>(stream, w)
                    : w.C <= 4096 ? norm_both<MEAN, 4096>(stream, w)
                                  : norm_both<MEAN, norm_once_columns<T>>(stream, w);
  if (error || !w.dweight) return error;
  const size_t columns = MEAN && w.dbias ? 2 * w.C : w.C, blocks = norm_blocks(w.rows), stride = (MEAN ? 2 : 1) * w.C;
  const dim3 grid(blocks_of(columns, 32));
  return w.in_fp32 ? launch(stream, grid, 256, 0, norm_total_kernel<float>, (float *)w.dweight, (float *)w.dbias,
                            w.partial, blocks, stride, columns, w.C, w.accumulate)
                   : launch(stream, grid, 256, 0, norm_total_kernel<T>, (T *)w.dweight, (T *)w.dbias, w.partial, blocks,
                            stride, columns, w.C, w.accumulate);
}

template <bool MEAN>
int norm_backward(sl_cuda_stream stream, enum sl_number type, void *dx, int accumulate_dx, void *dweight, void *dbias,
                  int in_fp32, int accumulate, const void *dout, const void *x, const void *weight, const float *mean,
                  const float *rstd, size_t rows, size_t C, void *scratch, int from_one,
                  const struct sl_cuda_taken_in *taken_in) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return norm_backward_of<MEAN>(stream,
                                  norm_work<T>{(T *)dx, dweight, dbias, in_fp32, accumulate_dx, accumulate,
                                               (const T *)dout, (const T *)x, (const T *)weight, mean, rstd, rows, C,
                                               (float *)scratch, from_one ? 1.0F : 0.0F, taken_in_of<T>(taken_in)});
  });
}

} /* namespace */
} /* namespace sl */
