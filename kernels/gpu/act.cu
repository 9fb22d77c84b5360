/* Activations on the GPU (kernels/act.h). */
#include "kernels/gpu/device.cuh"

#include <math.h>

namespace sl {
namespace {

constexpr float root = 0.79788456080286535588F; /* sqrt(2/pi) */
constexpr float cubic = 0.044715F;
constexpr float root_half = 0.70710678118654752440F; /* sqrt(1/2) */
constexpr float density = 0.39894228040143267794F;   /* 1 / sqrt(2 pi) */

/* An upper bound on the argument of an exponential, so that it stays finite (as in gelu.cu). */
__device__ inline float bounded(float x) {
  return x > 80 ? 80 : x;
}

/* The activation of one number, and its derivative. */
__device__ inline float act_at(float x, enum sl_act act, float cap) {
  switch (act) {
  case SL_ACT_GELU_TANH:
    return x / (1 + expf(bounded(-2 * root * (x + cubic * x * x * x))));
  case SL_ACT_GELU:
    return x * (erfcf(-x * root_half) / 2);
  case SL_ACT_SILU:
    return x / (1 + expf(bounded(-x)));
  case SL_ACT_RELU:
    return x > 0 ? x : 0;
  case SL_ACT_RELU2:
    return x > 0 ? x * x : 0;
  default:
    return cap * tanhf(x / cap);
  }
}

__device__ inline float act_slope(float x, enum sl_act act, float cap) {
  switch (act) {
  case SL_ACT_GELU_TANH: {
    const float e = expf(bounded(-2 * root * (x + cubic * x * x * x))), s = 1 / (1 + e);
    return s + x * s * (s * e) * 2 * root * (1 + 3 * cubic * x * x);
  }
  case SL_ACT_GELU:
    return (erfcf(-x * root_half) / 2) + x * density * expf(-x * x / 2);
  case SL_ACT_SILU: {
    const float e = expf(bounded(-x)), s = 1 / (1 + e);
    return s + x * s * (s * e);
  }
  case SL_ACT_RELU:
    return x > 0 ? 1 : 0;
  case SL_ACT_RELU2:
    return x > 0 ? 2 * x : 0;
  default: {
    const float t = tanhf(x / cap);
    return 1 - t * t;
  }
  }
}

/* BACKWARD: out = dout act'(x), otherwise out = act(x). */
template <typename T, int V, bool BACKWARD> struct act_op {
  static constexpr int width = V;
  T *out;
  const T *dout, *x;
  size_t cols;
  enum sl_act act;
  float cap;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    float v[V], d[V];
    load_v(v, x + r * cols + c);
    if (BACKWARD) load_v(d, dout + r * cols + c);
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = BACKWARD ? d[i] * act_slope(v[i], act, cap) : act_at(v[i], act, cap);
    put_v(out + r * cols + c, v);
  }
};

template <bool BACKWARD>
int run(sl_cuda_stream stream, enum sl_number type, void *out, const void *dout, const void *x, size_t rows,
        size_t cols, enum sl_act act, float cap) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    T *o = (T *)out;
    const T *d = (const T *)dout, *in = (const T *)x;
    if (cols % wide<T> == 0 && aligned(out, dout, x))
      return launch_rows(stream, act_op<T, wide<T>, BACKWARD>{o, d, in, cols, act, cap}, rows, cols);
    return launch_rows(stream, act_op<T, 1, BACKWARD>{o, d, in, cols, act, cap}, rows, cols);
  });
}

template <typename T> struct gated_op {
  static constexpr int width = 1;
  T *out;
  const T *gate, *up;
  size_t cols, stride;
  enum sl_act act;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    const size_t at = r * stride + c;
    out[r * cols + c] = put<T>(act_at(load(gate[at]), act, 0) * load(up[at]));
  }
};

template <typename T> struct gated_backward_op {
  static constexpr int width = 1;
  T *dgate, *dup;
  const T *dout, *gate, *up;
  size_t cols, stride;
  enum sl_act act;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    const size_t at = r * stride + c;
    const float g = load(gate[at]), u = load(up[at]), d = load(dout[r * cols + c]);
    dup[at] = put<T>(d * act_at(g, act, 0));
    dgate[at] = put<T>(d * u * act_slope(g, act, 0));
  }
};

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_act_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *x, size_t rows,
                                   size_t cols, enum sl_act act, float cap) {
  return run<false>(stream, type, out, nullptr, x, rows, cols, act, cap);
}

extern "C" int sl_cuda_act_backward(sl_cuda_stream stream, enum sl_number type, void *dx, const void *dout,
                                    const void *x, size_t rows, size_t cols, enum sl_act act, float cap) {
  return run<true>(stream, type, dx, dout, x, rows, cols, act, cap);
}

extern "C" int sl_cuda_act_gated_forward(sl_cuda_stream stream, enum sl_number type, void *out, const void *gate,
                                         const void *up, size_t rows, size_t cols, size_t stride, enum sl_act act) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch_rows(stream, gated_op<T>{(T *)out, (const T *)gate, (const T *)up, cols, stride, act}, rows, cols);
  });
}

extern "C" int sl_cuda_act_gated_backward(sl_cuda_stream stream, enum sl_number type, void *dgate, void *dup,
                                          const void *dout, const void *gate, const void *up, size_t rows, size_t cols,
                                          size_t stride, enum sl_act act) {
  return by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return launch_rows(
        stream,
        gated_backward_op<T>{(T *)dgate, (T *)dup, (const T *)dout, (const T *)gate, (const T *)up, cols, stride, act},
        rows, cols);
  });
}
