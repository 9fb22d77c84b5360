/* The CONTROL op on the GPU: a kernel of one thread, so that no step waits for the host and a captured step gets its
 * scalars on the device. */
#pragma once

#include "core/config/loss_scale.h"
#include "kernels/gpu/cuda.h" /* sl_cuda_stream */

#ifdef __cplusplus
extern "C" {
#endif

/* sl_step_state_advance on `control`, which is device memory; `rules` (sl_step_state_rules) is host memory, read before
 * the call returns. control->momentum becomes Adam's beta1. Returns the launch's cudaError_t. */
int sl_cuda_control_step(sl_cuda_stream stream, struct sl_step_state *control, const struct sl_step_rules *rules);

#ifdef __cplusplus
}
#endif
