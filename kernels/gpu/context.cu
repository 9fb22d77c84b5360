/* Copies of context parallelism on the GPU (kernels/context.h). */
#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

struct alignas(16) sixteen {
  uint64_t x[2];
};

/* Unit: what is copied in one access; all sizes are in units. Row r of the grid is one run. */
template <typename Unit> struct runs_op {
  static constexpr int width = 1;
  Unit *out;
  const Unit *x;
  size_t out_row, out_step, x_row, x_step, groups;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    const size_t row = r / groups, g = r % groups;
    out[row * out_row + g * out_step + c] = x[row * x_row + g * x_step + c];
  }
};

/* Row r of the grid is token r of whole sequences. */
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

inline size_t element(enum sl_number type) {
  return type == SL_NUMBER_F32 ? 4 : 2;
}

} /* namespace */
} /* namespace sl */

using namespace sl;

extern "C" int sl_cuda_context_runs(sl_cuda_stream stream, enum sl_number type, void *out, size_t out_row,
                                    size_t out_step, const void *x, size_t x_row, size_t x_step, size_t rows,
                                    size_t groups, size_t width) {
  const size_t bytes = element(type), sizes = out_row | out_step | x_row | x_step | width;
  const bool fast = sizes * bytes % 16 == 0 && aligned(out, x);
  const size_t u = fast ? 16 / bytes : 1, units = fast ? 1 : bytes / 2; /* elements a unit, units an element */
  if (fast)
    return launch_rows(
        stream,
        runs_op<sixteen>{(sixteen *)out, (const sixteen *)x, out_row / u, out_step / u, x_row / u, x_step / u, groups},
        rows * groups, width / u);
  return launch_rows(stream,
                     runs_op<uint16_t>{(uint16_t *)out, (const uint16_t *)x, out_row * units, out_step * units,
                                       x_row * units, x_step * units, groups},
                     rows * groups, width * units);
}

extern "C" int sl_cuda_context_order(sl_cuda_stream stream, enum sl_number type, void *out, const void *x, size_t B,
                                     size_t T, size_t C, size_t members, int direction) {
  const size_t bytes = C * element(type), rows = B * T * members;
  if (bytes % 16 == 0 && aligned(out, x))
    return launch_rows(
        stream, order_op<sixteen>{(sixteen *)out, (const sixteen *)x, B, T / 2, bytes / 16, members, direction < 0},
        rows, bytes / 16);
  return launch_rows(
      stream, order_op<uint16_t>{(uint16_t *)out, (const uint16_t *)x, B, T / 2, bytes / 2, members, direction < 0},
      rows, bytes / 2);
}
