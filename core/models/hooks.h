/* The host's time for sharding parameters in Python. */
#pragma once

#include "core/lower/build.h"

/* Adds an op of kind `pass`, without kernels, before each block of the current stage, forward and backward: the hooks in
 * which DeepSpeed's ZeRO-3 fetches the parameters of a module before its forward and its backward, and releases them
 * behind it (runtime/zero/parameter_offload.py, _register_deepspeed_module; runtime/zero/
 * partitioned_param_coordinator.py, fetch_sub_module and release_sub_module). Every module has them, with parameters of
 * its own or without, and so does every parameter, on one rank, too. FSDP's are those of a wrapped block
 * (torch/distributed/fsdp/_runtime_utils.py, _pre_forward, _post_forward, _pre_backward_hook, _post_backward_hook; those
 * of FSDP2 are taken to be as many). Only in predictions of frameworks. Errors: SL_ERR_MEMORY. */
enum sl_status sl_models_add_hooks(struct sl_lowering *lowering);
