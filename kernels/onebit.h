/* Momentum of one bit a number, with what was lost kept for the next time: 1-bit Adam (arXiv:2102.02888, algorithm 1; DeepSpeed's
 * runtime/fp16/onebit/adam.py and runtime/comm/nccl.py, compressed_allreduce).
 *
 * A packed piece is `stride` bytes: a float scale s, then a bit for each of `chunk` numbers, 8 a byte from the lowest bit on: 1
 * stands for s, 0 for -s. All pieces that are packed at once have one scale, the root of the mean square of what they stand for. */
#pragma once

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* error[i] += m[i] + (1 - beta1) (scale grad[i] - m[i]) for i < n: the new momentum, and what its last transfer lost. */
void sl_onebit_blend(float *error, const float *m, const void *grad, enum sl_number grad_type, size_t n, double scale,
                     double beta1);
/* error[i] += the mean of number i of packed pieces, one from each member. */
void sl_onebit_average(float *error, const void *packed, const struct sl_signs *shape);
/* `out`, packed pieces, from error (pieces, chunk), whose squares add up to `squares`; error becomes what that loses. */
void sl_onebit_pack(void *out, float *error, double squares, const struct sl_signs *shape);
/* AdamW with the momentum that packed pieces, one from each member, stand for, and a variance that stays. n numbers of them count;
 * m gets the momentum: zero where the variance is, for a bit has no zero, and such a number has never had a gradient (DeepSpeed's
 * exp_avg_mask). param may be NULL. */
void sl_onebit_adam(float *master, float *m, const float *v, const void *packed, const struct sl_signs *shape,
                    void *param, enum sl_number param_type, size_t n, const struct sl_adam *adam);

SL_KERNELS_END
