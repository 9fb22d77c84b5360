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

/* A block sums 32 columns. Thread (c, k) adds the rows k, k + 32, ... of column c, in float over 128 of them and in
 * double beyond that; then thread (c, 0) adds the 32 parts in order. */
constexpr int bias_lanes = 32;

template <typename T>
__global__ void __launch_bounds__(1024)
    bias_backward_kernel(T *dbias, const T *dout, size_t rows, size_t cols, int accumulate) {
  __shared__ double part[bias_lanes][33];
  const int lane = (int)threadIdx.x % 32, k = (int)threadIdx.x / 32;
  const size_t c = (size_t)blockIdx.x * 32 + (size_t)lane;
  double total = 0;
  for (size_t r0 = (size_t)k; c < cols && r0 < rows; r0 += 128 * bias_lanes) {
    float sum = 0;
    for (size_t r = r0; r < rows && r < r0 + 128 * bias_lanes; r += bias_lanes) sum += load(dout[r * cols + c]);
    total += sum;
  }
  part[k][lane] = total;
  __syncthreads();
  if (k > 0 || c >= cols) return;
  for (int i = 1; i < bias_lanes; i++) total += part[i][lane];
  dbias[c] = put<T>((float)(accumulate ? load(dbias[c]) + total : total));
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

extern "C" int sl_cuda_reduce_bias_backward(sl_cuda_stream stream, enum sl_number type, void *dbias, const void *dout,
                                            size_t rows, size_t cols, int accumulate) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch(stream, dim3(blocks_of(cols, 32)), 1024, 0, bias_backward_kernel<T>, (T *)dbias, (const T *)dout,
                  rows, cols, accumulate);
  });
}
