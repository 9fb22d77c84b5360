/* What a stage takes from its neighbours in the pipeline and what it gives them, where messages are scattered and gathered.
 *
 * Under tensor parallelism every member of a tp group holds the same residual stream, so each would send the same message.
 * With plan->scatter_gather a member sends its own 1 / tp of it, and the members of the next stage put the message together
 * by an all_gather inside their group, which usually has faster links: Megatron-LM up to 2022 by default
 * (megatron/p2p_communication.py, scatter_gather_tensors_in_pipeline; its core of 2023 has it no more), and DeepSpeed's
 * PipelineEngine (runtime/pipe/engine.py, pipe_partitioned and grad_partitioned, true in runtime/config.py). Without it a
 * message is the stream itself, and nothing here adds an op. */
#pragma once

#include "core/models/transformer.h"

/* Forward: *x is what the stage before sent, as whole as the blocks need it. */
enum sl_status sl_boundary_take(struct sl_transformer *g, struct sl_operand *x);
/* Where the last block writes: the message itself, or where it is scattered a buffer that sl_boundary_give reads. */
enum sl_status sl_boundary_output(struct sl_transformer *g, int layer, struct sl_operand *out);
/* Forward, of a stage without the head: x goes to the next stage, where the last block has not written it there. */
enum sl_status sl_boundary_give(struct sl_transformer *g, struct sl_operand x);
/* Backward: g->dx is the gradient that the next stage sent, or room for it where this stage has the loss. */
enum sl_status sl_boundary_take_gradient(struct sl_transformer *g);
/* Backward: g->dx goes to the stage before. */
enum sl_status sl_boundary_give_gradient(struct sl_transformer *g);
