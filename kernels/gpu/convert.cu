/* Converts tensors from one number type to another on the GPU (kernels/convert.h). */
#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

template <typename D, typename S, int V, bool ADD> struct convert_op {
  static constexpr int width = V;
  D *dst;
  const S *src;
  template <int W> __device__ void some(size_t i) const {
    float x[W], before[W];
    load_v(x, src + i);
    if (ADD) {
      load_v(before, dst + i);
#pragma unroll
      for (int k = 0; k < W; k++) x[k] = before[k] + x[k];
    }
    put_v(dst + i, x);
  }
  __device__ void one(size_t i) const {
    some<1>(i);
  }
  __device__ void operator()(size_t i) const {
    some<V>(i);
  }
};

/* The same type on both sides: copies bits, including those of NaNs. */
template <typename T, int V> struct convert_op<T, T, V, false> {
  static constexpr int width = V;
  T *dst;
  const T *src;
  __device__ void one(size_t i) const {
    dst[i] = src[i];
  }
  __device__ void operator()(size_t i) const {
    *reinterpret_cast<pack<T, V> *>(dst + i) = *reinterpret_cast<const pack<T, V> *>(src + i);
  }
};

template <bool ADD>
int run(sl_cuda_stream stream, void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n) {
  return by_type(dst_type, [&](auto to) {
    return by_type(src_type, [&](auto from) {
      using D = decltype(to);
      using S = decltype(from);
      if (aligned(dst, src)) return launch_flat(stream, convert_op<D, S, 4, ADD>{(D *)dst, (const S *)src}, n);
      return launch_flat(stream, convert_op<D, S, 1, ADD>{(D *)dst, (const S *)src}, n);
    });
  });
}

} /* namespace */
} /* namespace sl */

extern "C" int sl_cuda_convert(sl_cuda_stream stream, void *dst, enum sl_number dst_type, const void *src,
                               enum sl_number src_type, size_t n) {
  return sl::run<false>(stream, dst, dst_type, src, src_type, n);
}

extern "C" int sl_cuda_convert_add(sl_cuda_stream stream, void *dst, enum sl_number dst_type, const void *src,
                                   enum sl_number src_type, size_t n) {
  return sl::run<true>(stream, dst, dst_type, src, src_type, n);
}
