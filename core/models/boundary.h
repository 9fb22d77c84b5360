/* Receives a stage's input from its neighbours in the pipeline and sends its output to them, sharding the messages over
 * the tp group where plan->scatter_gather says so.
 *
 * Under tensor parallelism every member of a tp group holds the same residual stream, so each would send the same
 * message. With plan->scatter_gather a member sends its own 1 / tp of it, and the members of the next stage all-gather
 * the message within their group, which usually has faster links. Megatron-LM did so by default up to 2022
 * (megatron/p2p_communication.py, scatter_gather_tensors_in_pipeline; its core of 2023 no longer has it), as does
 * DeepSpeed's PipelineEngine (runtime/pipe/engine.py, pipe_partitioned and grad_partitioned, true in
 * runtime/config.py). Without it a message is the stream itself, and these functions add no ops. */
#pragma once

#include "core/models/transformer.h"

/* Forward: turns *x, the message from the preceding stage, into what the blocks need. */
enum sl_status sl_boundary_take(struct sl_transformer *g, struct sl_operand *x);
/* The buffer that the last block writes to: the message itself, or, if it is sharded, a buffer that sl_boundary_give
 * reads. */
enum sl_status sl_boundary_output(struct sl_transformer *g, int layer, struct sl_operand *out);
/* Forward, for a stage without the LM head: sends x to the next stage, unless the last block has written it to the
 * message. */
enum sl_status sl_boundary_give(struct sl_transformer *g, struct sl_operand x);
/* Backward: makes g->dx the gradient that the next stage sent, or allocates it if this stage has the loss. */
enum sl_status sl_boundary_take_gradient(struct sl_transformer *g);
/* Backward: sends g->dx to the preceding stage. */
enum sl_status sl_boundary_give_gradient(struct sl_transformer *g);
