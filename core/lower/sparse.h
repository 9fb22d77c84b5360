/* Sparse gradients of an embedding (DeepSpeed's sparse_gradients): what is sent are the rows that tokens touched. */
#pragma once

#include "core/lower/build.h"

/* Is the gradient of placed tensor `placed` made of everybody's rows, so that nothing reduces it? */
bool sl_sparse_holds(const struct sl_lowering *lowering, int placed);
/* The backward of an embedding, bound already: append the gathers of all ranks' tokens and rows, and let the op read those. Other
 * drafts stay as they are. */
enum sl_status sl_sparse_gather(struct sl_lowering *lowering, struct sl_program *program, struct sl_draft *draft);
