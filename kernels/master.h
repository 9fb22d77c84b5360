/* Optimizers for 16-bit training: float parameters ("master weights") and states, a gradient of any number type, and in
 * the same pass the 16-bit parameters that the model computes with.
 *
 * Results are bit-identical to those of kernels/optimizer.h on the widened gradient; param[i] is master[i] rounded
 * to nearest even. param may be NULL, and its type is then ignored; for SL_NUMBER_F32 it is a copy. To sum squares
 * or find non-finite gradients use sl_kernels_of(type)->reduce_sum_squares, whose sum is finite exactly when every
 * number is. */
#pragma once

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

void sl_master_adam(float *master, float *m, float *v, const void *grad, enum sl_number grad_type, void *param,
                    enum sl_number param_type, size_t n, const struct sl_adam *adam);

/* buf may be NULL when momentum is 0. */
void sl_master_sgd(float *master, float *buf, const void *grad, enum sl_number grad_type, void *param,
                   enum sl_number param_type, size_t n, const struct sl_sgd *sgd);

SL_KERNELS_END
