/* GELU on the GPU (kernels/gelu.h). */
#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

constexpr float minus_two_k = -1.59576912160573071176f; /* -2 sqrt(2/pi) */
constexpr float cubic = 0.044715f;

/* exp(-2u), bounded: beyond the bound, s is 0 to the precision of x s, and an infinite exponential would give 0 *
 * inf. */
__device__ inline float exp_minus_two_u(float x) {
  const float a = minus_two_k * (x + cubic * x * x * x);
  return expf(a > 80 ? 80 : a);
}

/* BACKWARD: out = dout * gelu'(x + bias), otherwise out = gelu(x + bias). */
template <typename T, int V, bool BACKWARD> struct gelu_op {
  static constexpr int width = V;
  T *out;
  const T *dout, *in, *bias;
  size_t cols;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    float x[V], b[V], d[V];
    load_v(x, in + r * cols + c);
    if (BACKWARD) load_v(d, dout + r * cols + c);
    if (bias) load_v(b, bias + c);
#pragma unroll
    for (int i = 0; i < V; i++) {
      if (bias) x[i] += b[i];
      const float e = exp_minus_two_u(x[i]), s = 1 / (1 + e);
      if (BACKWARD) {
        x[i] = d[i] * (s - x[i] * s * (s * e) * (minus_two_k * (1 + 3 * cubic * x[i] * x[i])));
      } else {
        x[i] = x[i] / (1 + e);
      }
    }
    put_v(out + r * cols + c, x);
  }
};

template <bool BACKWARD>
int run(sl_cuda_stream stream, enum sl_number type, void *out, const void *dout, const void *x, const void *bias,
        size_t rows, size_t cols) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    T *o = (T *)out;
    const T *d = (const T *)dout, *in = (const T *)x, *b = (const T *)bias;
    if (cols % wide<T> == 0 && aligned(out, dout, x, bias))
      return launch_rows(stream, gelu_op<T, wide<T>, BACKWARD>{o, d, in, b, cols}, rows, cols);
    return launch_rows(stream, gelu_op<T, 1, BACKWARD>{o, d, in, b, cols}, rows, cols);
  });
}

} /* namespace */
} /* namespace sl */

extern "C" int sl_cuda_gelu_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *x,
                                    const void *bias, size_t rows, size_t cols) {
  return sl::run<false>(stream, type, out, nullptr, x, bias, rows, cols);
}

extern "C" int sl_cuda_gelu_backward(sl_cuda_stream stream, enum sl_number type, void *dx, const void *dout,
                                     const void *x, const void *bias, size_t rows, size_t cols) {
  return sl::run<true>(stream, type, dx, dout, x, bias, rows, cols);
}
