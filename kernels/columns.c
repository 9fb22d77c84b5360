/* Copies groups of columns on the host (kernels/columns.h). */
#include "kernels/columns.h"
#include "kernels/parallel.h"

#include <string.h>

void SL_K(sl_columns_copy)(sl_store *out, size_t out_row, size_t out_step, const sl_store *x, size_t x_row,
                           size_t x_step, size_t rows, size_t groups, size_t width) {
#pragma omp parallel for schedule(static) if (rows * groups * width > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    for (size_t g = 0; g < groups; g++)
      memcpy(out + r * out_row + g * out_step, x + r * x_row + g * x_step, width * sizeof *out);
  }
}
