/* Normalisation of rows on the GPU, with and without a mean: LayerNorm and RMSNorm (kernels/layernorm.h,
 * kernels/llama.h). A warp has a row; sums run in float within a lane and in double across lanes.
 *
 * Backward is two passes, so that either half has the bits of the whole: the gradient of x, and that of the weights,
 * for which each of at most 128 blocks of rows leaves a partial sum in scratch. */
#pragma once

#include "kernels/gpu/device.cuh"

#include <math.h>

namespace sl {
namespace {

constexpr int norm_warps = 4; /* rows of a block */

inline size_t norm_block_rows(size_t rows) {
  return (rows + 127) / 128;
}
inline size_t norm_blocks(size_t rows) {
  return rows == 0 ? 0 : (rows + norm_block_rows(rows) - 1) / norm_block_rows(rows);
}

template <typename T, int V, bool MEAN>
__global__ void __launch_bounds__(32 * norm_warps)
    norm_forward_kernel(T *out, float *mean, float *rstd, const T *x, const T *weight, const T *bias, size_t rows,
                        size_t C, float eps, float one) {
  const size_t r = (size_t)blockIdx.x * norm_warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return; /* a whole warp */
  const T *in = x + r * C;
  float m = 0, sum = 0, v[V], w[V], b[V];
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
                   const float *rstd, size_t rows, size_t C, float one) {
  const size_t r = (size_t)blockIdx.x * norm_warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  const T *in = x + r * C, *d = dout + r * C;
  const float m = MEAN ? mean[r] : 0, s = rstd[r];
  float sum_g = 0, sum_gn = 0, v[V], g[V], w[V], before[V];
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
    put_v(dx + r * C + c, v);
  }
}

/* Block (i, b): 256 columns of the b-th block of rows, one thread a column. partial (blocks, 2 or 1, C). */
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

/* dst (C) = or += the sum over blocks of partial, `stride` apart. A block has 32 columns; thread (c, k) adds the parts
 * k, k + 8, ... and then thread (c, 0) the eight sums in order. */
template <typename T>
__global__ void __launch_bounds__(256)
    norm_total_kernel(T *dst, const float *partial, size_t blocks, size_t stride, size_t C, int accumulate) {
  __shared__ double part[8][33];
  const int lane = (int)threadIdx.x % 32, k = (int)threadIdx.x / 32;
  const size_t c = (size_t)blockIdx.x * 32 + (size_t)lane;
  double total = 0;
  for (size_t b = (size_t)k; c < C && b < blocks; b += 8) total += partial[b * stride + c];
  part[k][lane] = total;
  __syncthreads();
  if (k > 0 || c >= C) return;
  for (int i = 1; i < 8; i++) total += part[i][lane];
  dst[c] = put<T>((float)(accumulate ? load(dst[c]) + total : total));
}

template <bool MEAN>
int norm_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *mean, float *rstd, const void *x,
                 const void *weight, const void *bias, size_t rows, size_t C, float eps, int from_one = 0) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    const bool fast = C % wide<T> == 0 && aligned(out, x, weight, bias);
    return launch(stream, dim3(blocks_of(rows, norm_warps)), 32 * norm_warps, 0,
                  fast ? norm_forward_kernel<T, wide<T>, MEAN> : norm_forward_kernel<T, 1, MEAN>, (T *)out, mean, rstd,
                  (const T *)x, (const T *)weight, (const T *)bias, rows, C, eps, from_one ? 1.0F : 0.0F);
  });
}

/* The weights come first, for dx may be dout. */
template <bool MEAN>
int norm_backward(sl_cuda_stream stream, enum sl_number type, void *dx, int accumulate_dx, void *dweight, void *dbias,
                  int accumulate, const void *dout, const void *x, const void *weight, const float *mean,
                  const float *rstd, size_t rows, size_t C, void *scratch, int from_one = 0) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    float *partial = (float *)scratch;
    const size_t blocks = norm_blocks(rows), stride = (MEAN ? 2 : 1) * C;
    int error = 0;
    if (dweight) {
      error = launch(stream, dim3(blocks_of(C, 256), (unsigned)blocks), 256, 0, norm_weights_kernel<T, MEAN>, partial,
                     (const T *)dout, (const T *)x, mean, rstd, rows, C, norm_block_rows(rows));
      if (!error)
        error = launch(stream, dim3(blocks_of(C, 32)), 256, 0, norm_total_kernel<T>, (T *)dweight, partial, blocks,
                       stride, C, accumulate);
      if (!error && MEAN && dbias)
        error = launch(stream, dim3(blocks_of(C, 32)), 256, 0, norm_total_kernel<T>, (T *)dbias, partial + C, blocks,
                       stride, C, accumulate);
    }
    if (error || !dx) return error;
    const bool fast = C % wide<T> == 0 && aligned(dx, dout, x, weight);
    return launch(stream, dim3(blocks_of(rows, norm_warps)), 32 * norm_warps, 0,
                  fast ? norm_dx_kernel<T, wide<T>, MEAN> : norm_dx_kernel<T, 1, MEAN>, (T *)dx, accumulate_dx,
                  (const T *)dout, (const T *)x, (const T *)weight, mean, rstd, rows, C, from_one ? 1.0F : 0.0F);
  });
}

} /* namespace */
} /* namespace sl */
