/* Decides where the kernels of a backward write gradients: in place, that is to the flat buffer or a bucket, if they
 * can produce the type that is kept there; otherwise to temporary memory, from which reduce.c converts or adds them. */
#pragma once

#include "core/lower/build.h"

/* Where the gradient of a placed tensor is kept: a range of the flat buffer or of its bucket. */
struct sl_operand sl_bind_target(const struct sl_lowering *lowering, int placed, enum sl_access access);
/* Is there something to add to: an earlier contribution, or an earlier micro-batch in the whole gradient? */
bool sl_bind_adds(const struct sl_lowering *lowering, int placed);
/* Binds the gradients among a draft's operands; those not written in place are in the reduction's `temporary`. */
enum sl_status sl_bind_gradients(struct sl_lowering *lowering, struct sl_draft *draft);
