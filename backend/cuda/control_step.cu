/* The CONTROL op on the GPU (backend/cuda/control_step.h). */
#include "backend/cuda/control_step.h"
#include "kernels/gpu/device.cuh"

static __global__ void control_kernel(struct sl_step_state *control, struct sl_step_rules rules) {
  if (threadIdx.x == 0) sl_loss_scale_step(control, &rules);
}

extern "C" int sl_cuda_control_step(sl_cuda_stream stream, struct sl_step_state *control,
                                    const struct sl_step_rules *rules) {
  return sl::launch(stream, dim3(1), 32, 0, control_kernel, control, *rules);
}
