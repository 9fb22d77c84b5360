/* What a stage of torch's pipelines keeps beside what is in flight (torch/distributed/pipelining/stage.py): a buffer
 * for each micro-batch's input and for the gradient of its output (_prepare_forward_infra, _create_act_recv_info,
 * _create_grad_recv_info), for all steps; and until the step is over, the outputs (output_chunks, the logits of the
 * last stage among them) and the gradients of the inputs (clear_runtime_states). Only in predictions of frameworks. */
#pragma once

#include "core/lower/build.h"

/* Makes buffers for them, once all programs are lowered: less those that slots hold anyway. */
enum sl_status sl_messages_keep(struct sl_lowering *lowering);
