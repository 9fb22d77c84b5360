/* Dropout and its fusions on the GPU (kernels/dropout.h). */
#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

/* out = residual + dropout(x + bias); residual and bias may be NULL. */
template <typename T, int V> struct dropout_op {
  static constexpr int width = V;
  T *out;
  const T *residual, *in, *bias;
  size_t cols;
  mask drop;
  __device__ void begin() {
    drop.begin();
  }
  __device__ void operator()(size_t r, size_t c) const {
    const size_t at = r * cols + c;
    float x[V], other[V];
    load_v(x, in + at);
    if (bias) {
      load_v(other, bias + c);
#pragma unroll
      for (int i = 0; i < V; i++) x[i] += other[i];
    }
    if (drop.on) drop.apply(x, drop.first + r * drop.row_stride + c);
    if (residual) {
      load_v(other, residual + at);
#pragma unroll
      for (int i = 0; i < V; i++) x[i] = other[i] + x[i];
    }
    put_v(out + at, x);
  }
};

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_dropout_residual(sl_cuda_stream stream, enum sl_number type, void *out, const void *residual,
                                        const void *x, const void *bias, size_t rows, size_t cols,
                                        const struct sl_dropout *dropout, const int64_t *step) {
  const mask drop = mask_of(dropout, step);
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    T *o = (T *)out;
    const T *res = (const T *)residual, *in = (const T *)x, *b = (const T *)bias;
    if (cols % wide<T> == 0 && aligned(out, residual, x, bias))
      return launch_rows(stream, dropout_op<T, wide<T>>{o, res, in, b, cols, drop}, rows, cols);
    return launch_rows(stream, dropout_op<T, 1>{o, res, in, b, cols, drop}, rows, cols);
  });
}

extern "C" int sl_cuda_dropout_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *x,
                                       size_t rows, size_t cols, const struct sl_dropout *dropout,
                                       const int64_t *step) {
  return sl_cuda_dropout_residual(stream, type, out, nullptr, x, nullptr, rows, cols, dropout, step);
}
