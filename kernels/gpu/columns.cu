/* Copies groups of columns on the GPU (kernels/columns.h). */
#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

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

/* All but `rows` and `groups` in bytes. */
template <typename Unit>
int copy(sl_cuda_stream stream, void *out, size_t out_row, size_t out_step, const void *x, size_t x_row, size_t x_step,
         size_t rows, size_t groups, size_t width) {
  constexpr size_t u = sizeof(Unit);
  return launch_rows(
      stream, runs_op<Unit>{(Unit *)out, (const Unit *)x, out_row / u, out_step / u, x_row / u, x_step / u, groups},
      rows * groups, width / u);
}

} /* namespace */
} /* namespace sl */

extern "C" int sl_cuda_columns_copy(sl_cuda_stream stream, enum sl_number type, void *out, size_t out_row,
                                    size_t out_step, const void *x, size_t x_row, size_t x_step, size_t rows,
                                    size_t groups, size_t width) {
  const size_t b = type == SL_NUMBER_F32 ? 4 : 2, sizes = b * (out_row | out_step | x_row | x_step | width);
  const auto copy = sizes % 16 == 0 && sl::aligned(out, x) ? sl::copy<sl::sixteen> : sl::copy<uint16_t>;
  return copy(stream, out, b * out_row, b * out_step, x, b * x_row, b * x_step, rows, groups, b * width);
}
