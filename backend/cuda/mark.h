/* The kernel behind backend/cuda/marks.h. */
#pragma once

#include "kernels/gpu/cuda.h" /* sl_cuda_stream */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues *at = value on `stream`, after all earlier work; `at` is pinned host memory. Returns the launch's
 * cudaError_t. */
int sl_cuda_mark(sl_cuda_stream stream, volatile uint32_t *at, uint32_t value);

#ifdef __cplusplus
}
#endif
