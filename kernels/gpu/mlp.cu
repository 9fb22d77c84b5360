/* ReLU and mean squared error on the GPU (kernels/mlp.h). */
#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

template <typename T, int V> struct relu_op {
  static constexpr int width = V;
  T *out;
  const T *in, *bias;
  size_t cols;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    float x[V], b[V];
    load_v(x, in + r * cols + c);
    if (bias) load_v(b, bias + c);
#pragma unroll
    for (int i = 0; i < V; i++) {
      if (bias) x[i] += b[i];
      x[i] = x[i] < 0 ? 0 : x[i]; /* a NaN stays NaN */
    }
    put_v(out + r * cols + c, x);
  }
};

template <typename T, int V> struct relu_backward_op {
  static constexpr int width = V;
  T *dx;
  const T *dout, *out;
  size_t cols;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    float d[V], y[V];
    load_v(d, dout + r * cols + c);
    load_v(y, out + r * cols + c);
#pragma unroll
    for (int i = 0; i < V; i++) d[i] = y[i] > 0 ? d[i] : 0;
    put_v(dx + r * cols + c, d);
  }
};

constexpr size_t sum_block = 4096; /* elements of one partial sum, as in reduce.cu */

template <typename T>
__global__ void mse_kernel(double *partial, T *dprediction, const T *prediction, const T *target, size_t n,
                           double scale, const double *loss_scale) {
  const size_t first = (size_t)blockIdx.x * sum_block, end = first + sum_block < n ? first + sum_block : n;
  const float factor = (float)(loss_scale ? scale * *loss_scale : scale);
  double sum = 0;
  for (size_t i = first + threadIdx.x; i < end; i += blockDim.x) {
    const float p = load(prediction[i]), t = load(target[i]);
    const double d = (double)p - (double)t;
    sum += d * d;
    if (dprediction) dprediction[i] = put<T>(2 * (p - t) * factor);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void mse_total_kernel(double *total, const double *partial, size_t blocks, double scale) {
  double sum = 0;
  for (size_t i = threadIdx.x; i < blocks; i += blockDim.x) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *total += scale * sum;
}

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_mlp_relu_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *x,
                                        const void *bias, size_t rows, size_t cols) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    if (cols % wide<T> == 0 && aligned(out, x, bias))
      return launch_rows(stream, relu_op<T, wide<T>>{(T *)out, (const T *)x, (const T *)bias, cols}, rows, cols);
    return launch_rows(stream, relu_op<T, 1>{(T *)out, (const T *)x, (const T *)bias, cols}, rows, cols);
  });
}

extern "C" int sl_cuda_mlp_relu_backward(sl_cuda_stream stream, enum sl_number type, void *dx, const void *dout,
                                         const void *out, size_t rows, size_t cols) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T *d = (const T *)dout, *y = (const T *)out;
    if (cols % wide<T> == 0 && aligned(dx, dout, out))
      return launch_rows(stream, relu_backward_op<T, wide<T>>{(T *)dx, d, y, cols}, rows, cols);
    return launch_rows(stream, relu_backward_op<T, 1>{(T *)dx, d, y, cols}, rows, cols);
  });
}

extern "C" int sl_cuda_mlp_mse(sl_cuda_stream stream, enum sl_number type, double *loss_sum, void *dprediction,
                               const void *prediction, const void *target, size_t n, double scale,
                               const double *loss_scale, void *scratch) {
  double *partial = (double *)scratch;
  const unsigned blocks = blocks_of(n, sum_block);
  const int error = by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch(stream, dim3(blocks), 256, 0, mse_kernel<T>, partial, (T *)dprediction, (const T *)prediction,
                  (const T *)target, n, scale, loss_scale);
  });
  if (error || !loss_sum) return error;
  return launch(stream, dim3(1), 256, 0, mse_total_kernel, loss_sum, partial, (size_t)blocks, scale);
}
