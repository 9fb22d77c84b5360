/* Concatenates and splits columns on the GPU (kernels/columns.h) by copying pieces of rows. */
#include "kernels/gpu/device.cuh"

namespace sl {
namespace {

/* Unit: what is copied in one access. Row r of the grid is row r of `out`, which consists of `members` pieces when
 * columns are concatenated. */
template <typename Unit, bool CONCAT> struct columns_op {
  static constexpr int width = 1;
  Unit *out;
  const Unit *x;
  size_t rows, cols, members, member;
  __device__ void begin() {}
  __device__ void operator()(size_t r, size_t c) const {
    if (CONCAT)
      out[r * cols + c] = x[(r % members * rows + r / members) * cols + c];
    else
      out[r * cols + c] = x[(r * members + member) * cols + c];
  }
};

struct alignas(16) sixteen {
  uint64_t x[2];
};

template <bool CONCAT>
int run(sl_cuda_stream stream, enum sl_number type, void *out, const void *x, size_t rows, size_t cols, size_t members,
        size_t member) {
  const size_t bytes = cols * (type == SL_NUMBER_F32 ? 4 : 2), pieces = CONCAT ? rows * members : rows;
  if (bytes % 16 == 0 && aligned(out, x))
    return launch_rows(
        stream, columns_op<sixteen, CONCAT>{(sixteen *)out, (const sixteen *)x, rows, bytes / 16, members, member},
        pieces, bytes / 16);
  return launch_rows(
      stream, columns_op<uint16_t, CONCAT>{(uint16_t *)out, (const uint16_t *)x, rows, bytes / 2, members, member},
      pieces, bytes / 2);
}

} /* namespace */
} /* namespace sl */

extern "C" int sl_cuda_columns_concat(sl_cuda_stream stream, enum sl_number type, void *out, const void *x, size_t rows,
                                      size_t cols, size_t members) {
  return sl::run<true>(stream, type, out, x, rows, cols, members, 0);
}

extern "C" int sl_cuda_columns_split(sl_cuda_stream stream, enum sl_number type, void *out, const void *x, size_t rows,
                                     size_t cols, size_t members, size_t member) {
  return sl::run<false>(stream, type, out, x, rows, cols, members, member);
}
