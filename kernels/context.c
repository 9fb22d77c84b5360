/* Copies of context parallelism on the host (kernels/context.h). */
#include "kernels/context.h"
#include "kernels/parallel.h"

#include <string.h>

void SL_K(sl_context_order)(sl_store *out, const sl_store *x, size_t B, size_t T, size_t C, size_t members,
                            int direction) {
  const size_t chunks = 2 * members, n = T / 2 * C;
#pragma omp parallel for schedule(static) if (B * chunks * n > SL_PARALLEL_MIN)
  for (size_t k = 0; k < B * chunks; k++) {
    const size_t b = k / chunks, chunk = k % chunks, back = chunk >= members;
    const size_t member = back ? chunks - 1 - chunk : chunk, at = (2 * (member * B + b) + back) * n;
    if (direction > 0)
      memcpy(out + k * n, x + at, n * sizeof *out);
    else
      memcpy(out + at, x + k * n, n * sizeof *out);
  }
}
