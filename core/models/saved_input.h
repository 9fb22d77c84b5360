/* What a recomputed block keeps of its input, as in DeepSpeed's activation checkpointing
 * (deepspeed/runtime/activation_checkpointing/checkpointing.py of 0.19.6, CheckpointFunction):
 *   partition_activations   each member of the tp group keeps 1 / tp of the input, which is the same on all of them
 *                           (partition_activations); they gather it before the recomputation
 *                           (gather_partitioned_activations)
 *   cpu_checkpointing       what is kept is moved to host memory, and back before the recomputation
 * Neither applies to a block that is not fully recomputed. A stage's input that was received as a message also stays in
 * its receive buffer until its backward is over, as DeepSpeed's pipeline engine holds it in pipe_buffers. */
#pragma once

#include "core/models/transformer.h"

/* Forward of block `layer`, fully recomputed, after its ops: saves what shall be kept of its input `x`. *kept: the
 * buffer; -1: `x` itself is kept. */
enum sl_status sl_saved_input_keep(struct sl_transformer *g, int layer, struct sl_operand x, int32_t *kept);
/* Backward, before the recomputation: *x becomes the whole input, on the device. */
enum sl_status sl_saved_input_fetch(struct sl_transformer *g, int layer, int32_t kept, struct sl_operand *x);
