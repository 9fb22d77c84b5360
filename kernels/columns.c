/* Concatenates and splits columns on the host (kernels/columns.h) by copying pieces of rows. */
#include "kernels/columns.h"
#include "kernels/parallel.h"

#include <string.h>

void SL_K(sl_columns_concat)(sl_store *out, const sl_store *x, size_t rows, size_t cols, size_t members) {
#pragma omp parallel for schedule(static) if (rows * cols * members > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    for (size_t m = 0; m < members; m++)
      memcpy(out + (r * members + m) * cols, x + (m * rows + r) * cols, cols * sizeof *out);
  }
}

void SL_K(sl_columns_split)(sl_store *out, const sl_store *x, size_t rows, size_t cols, size_t members, size_t member) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) memcpy(out + r * cols, x + (r * members + member) * cols, cols * sizeof *out);
}
