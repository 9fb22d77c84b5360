/* Sums, fills and the bias gradient on the GPU (kernels/reduce.h). */
#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

constexpr size_t sum_block = 4096; /* elements of one partial sum */

constexpr int sum_threads = 256;

/* Thread t of a block adds its vectors of 16 bytes, t, t + 256, ... of the block, in order and in double. FAST: loads
 * them as vectors, all of them before it adds the first. */
template <typename T, bool FAST>
__global__ void __launch_bounds__(sum_threads) squares_kernel(double *partial, const T *__restrict__ x, size_t n) {
  constexpr int V = wide<T>, loads = (int)sum_block / (sum_threads * V);
  const size_t first = (size_t)blockIdx.x * sum_block, own = first + (size_t)threadIdx.x * V;
  float v[loads][V];
  if (FAST && first + sum_block <= n) {
#pragma unroll
    for (int k = 0; k < loads; k++) load_v(v[k], x + own + (size_t)k * sum_threads * V);
  } else {
#pragma unroll
    for (int k = 0; k < loads; k++) {
#pragma unroll
      for (int i = 0; i < V; i++) {
        const size_t at = own + (size_t)k * sum_threads * V + (size_t)i;
        v[k][i] = at < n ? load(x[at]) : 0;
      }
    }
  }
  double sum = 0;
#pragma unroll
  for (int k = 0; k < loads; k++) {
#pragma unroll
    for (int i = 0; i < V; i++) sum += (double)v[k][i] * (double)v[k][i];
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void squares_total_kernel(double *total, double *overflow, const double *partial, size_t blocks,
                                     double factor) {
  double sum = 0;
  for (size_t i = threadIdx.x; i < blocks; i += blockDim.x) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x > 0) return;
  *total += factor * sum;
  if (overflow && !(sum - sum == 0)) *overflow += 1; /* inf - inf and nan - nan are nan */
}

template <typename T> struct fill_op {
  static constexpr int width = 1;
  T *x;
  float value;
  __device__ void one(size_t i) const {
    x[i] = put<T>(value);
  }
  __device__ void operator()(size_t i) const {
    one(i);
  }
};

template <typename T, int V> struct bias_op {
  static constexpr int width = V;
  T *out;
  const T *bias;
  size_t cols;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    float x[V], b[V];
    load_v(x, out + r * cols + c);
    load_v(b, bias + c);
#pragma unroll
    for (int i = 0; i < V; i++) x[i] += b[i];
    put_v(out + r * cols + c, x);
  }
};

/* A block adds SL_CUDA_SUMMED_ROWS rows of 32 V columns, of which `wides` are as wide as the rows: thread (lane, k) rows k, k + 8, ... of V columns, in float and
 * in order, eight loaded before the first is added; then thread (lane, 0) adds the eight parts in order. */
constexpr int sums_threads = 256, sums_ways = sums_threads / 32, sums_at_once = 8;

template <typename T, int V>
__global__ void __launch_bounds__(sums_threads, 4)
    column_parts_kernel(float *parts, const T *__restrict__ x, size_t rows, size_t cols, unsigned wides) {
  __shared__ float part[sums_ways][V][32];
  const unsigned lane = threadIdx.x % 32, way = threadIdx.x / 32;
  const size_t block = blockIdx.x / wides, c = ((size_t)(blockIdx.x % wides) * 32 + lane) * V;
  const size_t first = block * SL_CUDA_SUMMED_ROWS;
  const size_t end = c >= cols ? 0 : rows - first < SL_CUDA_SUMMED_ROWS ? rows : first + SL_CUDA_SUMMED_ROWS;
  float sum[V] = {};
#pragma unroll 1
  for (size_t row = first + way; row < end; row += sums_at_once * sums_ways) {
    pack<T, V> v[sums_at_once] = {};
#pragma unroll
    for (int i = 0; i < sums_at_once; i++) {
      const size_t r = row + (size_t)i * sums_ways;
      if (r < end) v[i] = *reinterpret_cast<const pack<T, V> *>(x + r * cols + c);
    }
#pragma unroll
    for (int i = 0; i < sums_at_once; i++) {
#pragma unroll
      for (int k = 0; k < V; k++) sum[k] += load(v[i].x[k]);
    }
  }
#pragma unroll
  for (int k = 0; k < V; k++) part[way][k][lane] = sum[k];
  __syncthreads();
  if (way > 0 || c >= cols) return;
#pragma unroll
  for (int k = 0; k < V; k++) {
    for (int i = 1; i < sums_ways; i++) sum[k] += part[i][k][lane];
  }
  put_v<V>(parts + block * cols + c, sum);
}

/* sums = the parts' sums, in double: a block adds 32 columns, thread (lane, k) the parts k, k + 8, ... of one. */
template <typename S>
__global__ void __launch_bounds__(sums_threads)
    column_sums_kernel(S *sums, const float *__restrict__ parts, size_t count, size_t cols, int accumulate) {
  __shared__ double part[sums_ways][32];
  const unsigned lane = threadIdx.x % 32, way = threadIdx.x / 32;
  const size_t c = (size_t)blockIdx.x * 32 + lane;
  double sum = 0;
  if (c < cols) {
#pragma unroll 8
    for (size_t i = way; i < count; i += sums_ways) sum += (double)parts[i * cols + c];
  }
  part[way][lane] = sum;
  __syncthreads();
  if (way > 0 || c >= cols) return;
  for (int i = 1; i < sums_ways; i++) sum += part[i][lane];
  sums[c] = put<S>((float)(accumulate ? load(sums[c]) + sum : sum));
}

inline size_t parts_of(size_t rows) {
  return (rows + SL_CUDA_SUMMED_ROWS - 1) / SL_CUDA_SUMMED_ROWS;
}

template <typename T, int V>
int column_parts(sl_cuda_stream stream, float *parts, const T *x, size_t rows, size_t cols) {
  const unsigned wides = blocks_of(cols, 32 * V); /* a grid is no higher than 65535 blocks, but 2^31 - 1 wide */
  return launch(stream, dim3(wides * (unsigned)parts_of(rows)), sums_threads, 0, column_parts_kernel<T, V>, parts, x,
                rows, cols, wides);
}

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" size_t sl_cuda_reduce_scratch_bytes(size_t n) {
  return (n + sum_block - 1) / sum_block * sizeof(double);
}

extern "C" int sl_cuda_reduce_sum_squares(sl_cuda_stream stream, enum sl_number type, double *sum, double *overflow,
                                          const void *x, size_t n, double factor, void *scratch) {
  double *partial = (double *)scratch;
  const unsigned blocks = blocks_of(n, sum_block);
  const int error = by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch(stream, dim3(blocks), sum_threads, 0, aligned(x) ? squares_kernel<T, true> : squares_kernel<T, false>,
                  partial, (const T *)x, n);
  });
  if (error) return error;
  return launch(stream, dim3(1), 256, 0, squares_total_kernel, sum, overflow, partial, (size_t)blocks, factor);
}

extern "C" int sl_cuda_reduce_fill(sl_cuda_stream stream, enum sl_number type, void *dst, float value, size_t n) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch_flat(stream, fill_op<T>{(T *)dst, value}, n);
  });
}

extern "C" int sl_cuda_reduce_bias_add(sl_cuda_stream stream, enum sl_number type, void *out, const void *bias,
                                       size_t rows, size_t cols) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    if (cols % wide<T> == 0 && aligned(out, bias))
      return launch_rows(stream, bias_op<T, wide<T>>{(T *)out, (const T *)bias, cols}, rows, cols);
    return launch_rows(stream, bias_op<T, 1>{(T *)out, (const T *)bias, cols}, rows, cols);
  });
}

extern "C" int sl_cuda_reduce_bias_backward(sl_cuda_stream stream, enum sl_number type, void *dbias,
                                            enum sl_number dbias_type, int accumulate, const void *dout, size_t rows,
                                            size_t cols, void *scratch) {
  float *parts = (float *)scratch;
  const int error = by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return cols % wide<T> == 0 && aligned(dout) ? column_parts<T, wide<T>>(stream, parts, (const T *)dout, rows, cols)
                                                : column_parts<T, 1>(stream, parts, (const T *)dout, rows, cols);
  });
  if (error) return error;
  return by_type(dbias_type, [&](auto zero) {
    using S = decltype(zero);
    return launch(stream, dim3(blocks_of(cols, 32)), sums_threads, 0, column_sums_kernel<S>, (S *)dbias, parts,
                  parts_of(rows), cols, accumulate);
  });
}
