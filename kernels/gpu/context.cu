/* Copies of context parallelism on the GPU (kernels/context.h). */
#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

/* Unit: what is copied in one access. Row r of the grid is token r of whole sequences. */
template <typename Unit> struct order_op {
  static constexpr int width = 1;
  Unit *out;
  const Unit *x;
  size_t B, chunk, C, members;
  bool inverse;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    const size_t chunks = 2 * members, k = r / chunk, b = k / chunks, i = k % chunks;
    const bool back = i >= members;
    const size_t member = back ? chunks - 1 - i : i, at = (2 * (member * B + b) + back) * chunk + r % chunk;
    if (inverse)
      out[at * C + c] = x[r * C + c];
    else
      out[r * C + c] = x[at * C + c];
  }
};

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_context_order(sl_cuda_stream stream, enum sl_number type, void *out, const void *x, size_t B,
                                     size_t T, size_t C, size_t members, int direction) {
  const size_t bytes = C * (type == SL_NUMBER_F32 ? 4 : 2), rows = B * T * members;
  if (bytes % 16 == 0 && aligned(out, x))
    return launch_rows(
        stream, order_op<sixteen>{(sixteen *)out, (const sixteen *)x, B, T / 2, bytes / 16, members, direction < 0},
        rows, bytes / 16);
  return launch_rows(
      stream, order_op<uint16_t>{(uint16_t *)out, (const uint16_t *)x, B, T / 2, bytes / 2, members, direction < 0},
      rows, bytes / 2);
}
