/* A mark on the GPU (backend/cuda/marks.h). */
#include "backend/cuda/mark.h"
#include "kernels/gpu/device.cuh"

static __global__ void mark_kernel(volatile uint32_t *at, uint32_t value) {
  if (threadIdx.x == 0) *at = value;
}

extern "C" int sl_cuda_mark(sl_cuda_stream stream, volatile uint32_t *at, uint32_t value) {
  return sl::launch(stream, dim3(1), 32, 0, mark_kernel, at, value);
}
