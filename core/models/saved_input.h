/* What a block that is recomputed keeps of its input, as DeepSpeed's activation checkpointing has it
 * (deepspeed/runtime/activation_checkpointing/checkpointing.py of 0.19.6, CheckpointFunction):
 *   partition_activations   each member of the tp group, all of which have the same, keeps 1 / tp of it (partition_activations), and they
 *                           gather it before the recomputation (gather_partitioned_activations)
 *   cpu_checkpointing       what is kept is in host memory, and comes back before that
 * Neither is of a block that is not recomputed whole. A stage's input that came by a message stays where it arrived, too, until its
 * backward is over: DeepSpeed's pipeline engine holds it in pipe_buffers. */
#pragma once

#include "core/models/transformer.h"

/* In the forward of block `layer`, which is recomputed whole, behind its ops: keep what shall be kept of its input `x`. *kept: the
 * buffer; -1: `x` itself stays. */
enum sl_status sl_saved_input_keep(struct sl_transformer *g, int layer, struct sl_operand x, int32_t *kept);
/* In its backward, before the block is made again: *x becomes the input, whole and on the device. */
enum sl_status sl_saved_input_fetch(struct sl_transformer *g, int layer, int32_t kept, struct sl_operand *x);
