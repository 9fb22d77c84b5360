/* Sparse gradients of an embedding (DeepSpeed's sparse_gradients): only the rows of tokens that occur are sent. */
#pragma once

#include "core/lower/build.h"

/* Is the gradient of placed tensor `placed` computed from the rows of all ranks, so that no call reduces it? */
bool sl_sparse_holds(const struct sl_lowering *lowering, int placed);
/* For the backward of an embedding, already bound: appends the gathers of all ranks' tokens and rows, and makes the op
 * read those. Other drafts are unchanged. */
enum sl_status sl_sparse_gather(struct sl_lowering *lowering, struct sl_program *program, struct sl_draft *draft);
