/* Normalisation of rows on the GPU, with and without a mean: LayerNorm and RMSNorm (kernels/layernorm.h,
 * kernels/llama.h). A warp handles a row; sums are float within a lane and double across lanes.
 *
 * Backward has two halves, and each has the same bits whether computed alone or with the other: the gradient of x, and
 * that of the weights, for which each of at most 128 blocks of rows writes a partial sum to scratch. Rows that fit into
 * a warp's registers are read once for both halves; longer rows, and those whose addresses do not allow vectors, are
 * handled by one kernel per half. */
#pragma once

#include "kernels/gpu/norm_taken_in.cuh"

#include <math.h>

namespace sl {
namespace {

constexpr int norm_warps = 4; /* rows per block */

inline size_t norm_block_rows(size_t rows) {
  return (rows + 127) / 128;
}
inline size_t norm_blocks(size_t rows) {
  return rows == 0 ? 0 : (rows + norm_block_rows(rows) - 1) / norm_block_rows(rows);
}

/* Rows of any length: a lane writes its elements of x before it reads them again. */
template <typename T, int V, bool MEAN>
__global__ void __launch_bounds__(32 * norm_warps)
    norm_forward_kernel(T *out, float *mean, float *rstd, T *x, const T *weight, const T *bias, size_t rows, size_t C,
                        float eps, float one, norm_taken_in<T> from) {
  const size_t r = (size_t)blockIdx.x * norm_warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return; /* a whole warp */
  T *in = x + r * C;
  float m = 0, sum = 0, v[V], w[V], b[V];
  from.drop.begin();
  for (size_t c = lane * V; from.residual && c < C; c += 32 * V) {
    from.sum(v, r, c, C);
    put_v(in + c, v);
  }
  if (MEAN) {
    for (size_t c = lane * V; c < C; c += 32 * V) {
      load_v(v, in + c);
#pragma unroll
      for (int i = 0; i < V; i++) sum += v[i];
    }
    m = (float)(warp_sum((double)sum) / (double)C);
    sum = 0;
  }
  for (size_t c = lane * V; c < C; c += 32 * V) {
    load_v(v, in + c);
#pragma unroll
    for (int i = 0; i < V; i++) sum += (v[i] - m) * (v[i] - m);
  }
  const float s = (float)(1 / sqrt(warp_sum((double)sum) / (double)C + (double)eps));
  for (size_t c = lane * V; c < C; c += 32 * V) {
    load_v(v, in + c);
    load_v(w, weight + c);
    if (MEAN && bias) load_v(b, bias + c);
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = (v[i] - m) * s * (w[i] + one) + (MEAN && bias ? b[i] : 0);
    put_v(out + r * C + c, v);
  }
  if (lane > 0) return;
  if (MEAN) mean[r] = m;
  rstd[r] = s;
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
    const pack<T, V> rounded = norm_rounded<T>(v);
    *reinterpret_cast<pack<T, V> *>(dx + r * C + c) = rounded;
    if (from.dbranch) from.mask_dx(rounded, r, c, C);
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

constexpr int norm_once_warps = 8;
/* The longest rows that are read once; with a mean there is a second sum to hold. */
template <bool MEAN> constexpr int norm_once_columns = MEAN ? 1024 : 2048;

/* A row in a warp's registers, in its memory layout: lane l has vectors l, l + 32, ... */
template <typename T> struct norm_row {
  static constexpr int V = wide<T>;
  template <int K> static __device__ void read(pack<T, V> (&x)[K], const T *row, size_t C) {
#pragma unroll
    for (int k = 0; k < K; k++) {
      const size_t c = (size_t)(32 * k) * V + threadIdx.x % 32 * V;
      if (c < C) x[k] = *reinterpret_cast<const pack<T, V> *>(row + c);
    }
  }
};

/* The sum over a row of f(x), x being in its registers. */
template <typename T, int K, int V, typename F>
__device__ inline float norm_row_sum(const pack<T, V> (&row)[K], size_t C, F f) {
  float sum = 0;
#pragma unroll
  for (int k = 0; k < K; k++) {
    const size_t c = (size_t)(32 * k) * V + threadIdx.x % 32 * V;
    if (c >= C) continue;
#pragma unroll
    for (int i = 0; i < V; i++) sum += f(load(row[k].x[i]));
  }
  return sum;
}

/* Rows of at most COLUMNS, read once. SUM: they are made here. */
template <typename T, bool MEAN, bool SUM, int COLUMNS>
__global__ void __launch_bounds__(32 * norm_warps, COLUMNS > 1024 ? 2 : 6)
    norm_forward_once_kernel(T *out, float *mean, float *rstd, T *x, const T *weight, const T *bias, size_t rows,
                             size_t C, float eps, float one, norm_taken_in<T> from) {
  constexpr int V = wide<T>, K = COLUMNS / (32 * V);
  const size_t r = (size_t)blockIdx.x * norm_warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return; /* a whole warp */
  pack<T, V> in[K];
  if (SUM) from.drop.begin();
#pragma unroll
  for (int k = 0; k < K && SUM; k++) {
    const size_t c = ((size_t)(32 * k) + lane) * V;
    float v[V];
    if (c >= C) continue;
    from.sum(v, r, c, C);
    in[k] = norm_rounded<T>(v);
    *reinterpret_cast<pack<T, V> *>(x + r * C + c) = in[k];
  }
  if (!SUM) norm_row<T>::read(in, x + r * C, C);
  const float sum = MEAN ? norm_row_sum(in, C, [](float v) { return v; }) : 0;
  const float m = MEAN ? (float)(warp_sum((double)sum) / (double)C) : 0;
  const float squares = norm_row_sum(in, C, [m](float v) { return (v - m) * (v - m); });
  const float s = (float)(1 / sqrt(warp_sum((double)squares) / (double)C + (double)eps));
#pragma unroll
  for (int k = 0; k < K; k++) {
    const size_t c = ((size_t)(32 * k) + lane) * V;
    float v[V], w[V], b[V];
    if (c >= C) continue;
    load_v(w, weight + c);
    if (MEAN && bias) load_v(b, bias + c);
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = (load(in[k].x[i]) - m) * s * (w[i] + one) + (MEAN && bias ? b[i] : 0);
    put_v(out + r * C + c, v);
  }
  if (lane > 0) return;
  if (MEAN) mean[r] = m;
  rstd[r] = s;
}

/* Adds the sums of a block's warps, one warp after the other, so that the order is fixed; complete for all threads
 * after the last barrier. */
template <bool MEAN, int K, int V>
__device__ inline void norm_add_warps(float *total, const float (&dw)[K][V], const float (&db)[MEAN ? K : 1][V]) {
  for (unsigned turn = 0; turn < norm_once_warps; turn++) {
#pragma unroll
    for (int k = 0; k < K; k++) {
      if (threadIdx.x / 32 != turn) break;
#pragma unroll
      for (int i = 0; i < V; i++) {
        const unsigned c = ((unsigned)(32 * k) + threadIdx.x % 32) * V + (unsigned)i;
        total[c] = (turn ? total[c] : 0) + dw[k][i];
        if (MEAN) total[32 * K * V + c] = (turn ? total[32 * K * V + c] : 0) + db[k][i];
      }
    }
    __syncthreads();
  }
}

/* Both halves for the rows of block b: dx unless it is NULL, and partial (blocks, 2 or 1, C) unless it is NULL. dx may
 * be dout. DROP: also dbranch. */
template <typename T, bool MEAN, bool DROP>
__global__ void __launch_bounds__(32 * norm_once_warps)
    norm_once_kernel(T *dx, int accumulate, float *partial, const T *dout, const T *x, const T *weight,
                     const float *mean, const float *rstd, size_t rows, size_t C, size_t block_rows, float one,
                     norm_taken_in<T> from) {
  constexpr int V = wide<T>, columns = norm_once_columns<MEAN>, K = columns / (32 * V), sums = MEAN ? 2 : 1;
  __shared__ float total[sums * columns];
  const size_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, b = blockIdx.x;
  const size_t end = (b + 1) * block_rows < rows ? (b + 1) * block_rows : rows;
  float dw[K][V] = {}, db[MEAN ? K : 1][V] = {};
  if (DROP) from.drop.begin();
  for (size_t r = b * block_rows + warp; r < end; r += norm_once_warps) {
    const float m = MEAN ? mean[r] : 0, s = rstd[r];
    pack<T, V> in[K], grad[K];
    float sum_g = 0, sum_gn = 0, w[V];
    norm_row<T>::read(in, x + r * C, C), norm_row<T>::read(grad, dout + r * C, C);
#pragma unroll
    for (int k = 0; k < K; k++) {
      const size_t c = ((size_t)(32 * k) + lane) * V;
      if (c >= C) continue;
      if (dx) load_v(w, weight + c);
#pragma unroll
      for (int i = 0; i < V; i++) {
        const float g = load(grad[k].x[i]), norm = (load(in[k].x[i]) - m) * s;
        dw[k][i] += g * norm;
        if (MEAN) db[k][i] += g;
        if (dx) sum_g += g * (w[i] + one), sum_gn += g * (w[i] + one) * norm;
      }
    }
    if (!dx) continue;
    const float mean_g = MEAN ? (float)(warp_sum((double)sum_g) / (double)C) : 0;
    const float mean_gn = (float)(warp_sum((double)sum_gn) / (double)C);
#pragma unroll
    for (int k = 0; k < K; k++) {
      const size_t c = ((size_t)(32 * k) + lane) * V;
      if (c >= C) continue;
      float before[V] = {}, v[V];
      load_v(w, weight + c);
      if (accumulate) load_v(before, dx + r * C + c);
#pragma unroll
      for (int i = 0; i < V; i++) {
        const float norm = (load(in[k].x[i]) - m) * s;
        v[i] = before[i] + s * (load(grad[k].x[i]) * (w[i] + one) - mean_g - norm * mean_gn);
      }
      grad[k] = norm_rounded<T>(v); /* for dropout: its registers are free now */
      *reinterpret_cast<pack<T, V> *>(dx + r * C + c) = grad[k];
    }
#pragma unroll
    for (int k = 0; k < K && DROP; k++) {
      const size_t c = ((size_t)(32 * k) + lane) * V;
      if (c < C) from.mask_dx(grad[k], r, c, C);
    }
  }
  if (!partial) return;
  norm_add_warps<MEAN, K>(total, dw, db);
  for (size_t c = threadIdx.x; c < C; c += 32 * norm_once_warps) {
    partial[b * sums * C + c] = total[c];
    if (MEAN) partial[(b * sums + 1) * C + c] = total[columns + c];
  }
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
  double total = 0;
  for (size_t b = (size_t)k; c < columns && b < blocks; b += 8) total += partial[b * stride + c];
  part[k][lane] = total;
  __syncthreads();
  if (k > 0 || c >= columns) return;
  for (int i = 1; i < 8; i++) total += part[i][lane];
  T *const dst = c < C ? dweight + c : dbias + (c - C);
  *dst = put<T>((float)(accumulate ? load(*dst) + total : total));
}

/* The arguments of a forward. */
template <typename T> struct norm_input {
  T *out;
  float *mean, *rstd;
  T *x;
  const T *weight, *bias;
  size_t rows, C;
  float eps, one;
  norm_taken_in<T> from;
};

template <typename T, typename F> int launch_forward(sl_cuda_stream stream, F kernel, const norm_input<T> &n) {
  return launch(stream, dim3(blocks_of(n.rows, norm_warps)), 32 * norm_warps, 0, kernel, n.out, n.mean, n.rstd, n.x,
                n.weight, n.bias, n.rows, n.C, n.eps, n.one, n.from);
}

template <bool MEAN, int COLUMNS, typename T> int norm_forward_once(sl_cuda_stream stream, const norm_input<T> &n) {
  return launch_forward(stream,
                        n.from.residual ? norm_forward_once_kernel<T, MEAN, true, COLUMNS>
                                        : norm_forward_once_kernel<T, MEAN, false, COLUMNS>,
                        n);
}

template <bool MEAN>
int norm_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *mean, float *rstd, void *x,
                 const void *weight, const void *bias, size_t rows, size_t C, float eps, int from_one,
                 const struct sl_cuda_taken_in *taken_in) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    const norm_input<T> n = {(T *)out,
                             mean,
                             rstd,
                             (T *)x,
                             (const T *)weight,
                             (const T *)bias,
                             rows,
                             C,
                             eps,
                             from_one ? 1.0F : 0.0F,
                             taken_in_of<T>(taken_in)};
    const bool fast =
        C % wide<T> == 0 && aligned(out, x, weight, bias) && aligned(n.from.residual, n.from.branch, n.from.bias);
    if (!fast) return launch_forward(stream, norm_forward_kernel<T, 1, MEAN>, n);
    if (C <= 1024) return norm_forward_once<MEAN, 1024>(stream, n);
    if (C <= 4096) return norm_forward_once<MEAN, 4096>(stream, n);
    return launch_forward(stream, norm_forward_kernel<T, wide<T>, MEAN>, n);
  });
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

template <bool MEAN, typename T> int norm_backward_of(sl_cuda_stream stream, const norm_work<T> &w) {
  /* weight is only read for dx; a half alone must be computed in the same way as both together, to give the same
   * bits */
  const bool once = w.C <= norm_once_columns<MEAN> && w.C % wide<T> == 0 && aligned(w.dout, w.x) &&
                    (!w.dx || aligned(w.dx, w.weight, w.from.dbranch));
  const size_t blocks = norm_blocks(w.rows), stride = (MEAN ? 2 : 1) * w.C;
  const int error = once ? launch(stream, dim3((unsigned)blocks), 32 * norm_once_warps, 0,
                                  w.from.dbranch ? norm_once_kernel<T, MEAN, true> : norm_once_kernel<T, MEAN, false>,
                                  w.dx, w.accumulate_dx, w.dweight ? w.partial : nullptr, w.dout, w.x, w.weight, w.mean,
                                  w.rstd, w.rows, w.C, norm_block_rows(w.rows), w.one, w.from)
                         : norm_halves<MEAN>(stream, w);
  if (error || !w.dweight) return error;
  const size_t columns = MEAN && w.dbias ? 2 * w.C : w.C;
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
