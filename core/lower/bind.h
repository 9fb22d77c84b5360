/* Where the kernels of a backward write gradients: in place, which is a run of the flat buffer or of a bucket, where they can make
 * them as they are kept; else into memory from which reduce.c converts or adds them. */
#pragma once

#include "core/lower/build.h"

/* Where the gradient of a placed tensor is kept: a run of the flat buffer or of its bucket. */
struct sl_operand sl_bind_target(const struct sl_lowering *lowering, int placed, enum sl_access access);
/* Is something there to add to: an earlier contribution, or an earlier micro-batch in the whole gradient? */
bool sl_bind_adds(const struct sl_lowering *lowering, int placed);
/* Bind the gradients among a draft's operands; what is not written in place stands in the reduction's `temporary`. */
enum sl_status sl_bind_gradients(struct sl_lowering *lowering, struct sl_draft *draft);
