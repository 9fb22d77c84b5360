/* Normal numbers from Philox on the GPU (kernels/philox.h). */
#include "kernels/gpu/device.cuh"

#include <math.h>

namespace sl {
namespace {

/* A thread writes the four elements of one Philox block, beginning with the block of the first element. */
template <typename T>
__global__ void normal_kernel(T *dst, sl_philox_key key, uint64_t first, size_t n, float mean, float std) {
  const uint64_t block = first / 4 + (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t w[4];
  sl_philox_four(w, &key, block);
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const double radius = sqrt(-2.0 * log((w[i] + 1.0) * 0x1p-32)), angle = 2 * (w[i + 1] * 0x1p-32);
    const double z[2] = {radius * cos(angle * 3.14159265358979323846), radius * sin(angle * 3.14159265358979323846)};
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const uint64_t e = block * 4 + (uint64_t)(i + k);
      if (e >= first && e - first < n) dst[e - first] = put<T>((float)(mean + std * z[k]));
    }
  }
}

} /* namespace */
} /* namespace sl */

extern "C" int sl_cuda_philox_normal(sl_cuda_stream stream, enum sl_number type, void *dst,
                                     const struct sl_philox_key *key, uint64_t first_element, size_t n, float mean,
                                     float std) {
  const size_t blocks = n == 0 ? 0 : (size_t)((first_element + n - 1) / 4 - first_element / 4 + 1);
  return sl::by_type(type, [&](auto zero) {
    using T = decltype(zero);
    return sl::launch(stream, dim3(sl::blocks_of(blocks, 256)), 256, 0, sl::normal_kernel<T>, (T *)dst, *key,
                      first_element, n, mean, std);
  });
}
