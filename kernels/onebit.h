/* The momentum of 1-bit Adam, compressed to one bit per number with error feedback (arXiv:2102.02888, algorithm 1;
 * DeepSpeed's runtime/fp16/onebit/adam.py and runtime/comm/nccl.py, compressed_allreduce).
 *
 * A packed piece is `stride` bytes: a float scale s, then one bit for each of `chunk` numbers, the lowest bit of a byte
 * first; 1 means s, 0 means -s. All pieces packed by one call share one scale, the root mean square of the numbers. */
#pragma once

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* error[i] += m[i] + (1 - beta1) (scale grad[i] - m[i]) for i < n: adds the new momentum to the error of the last
 * transfer. */
void sl_onebit_blend(float *error, const float *m, const void *grad, enum sl_number grad_type, size_t n, double scale,
                     double beta1);
/* error[i] += the mean of number i over the packed pieces, one from each member. */
void sl_onebit_average(float *error, const void *packed, const struct sl_signs *shape);
/* Packs error (pieces, chunk), whose sum of squares is `squares`, into `out` and leaves the compression error in
 * `error`. */
void sl_onebit_pack(void *out, float *error, double squares, const struct sl_signs *shape);
/* AdamW on the first n numbers, with the momentum in the packed pieces, one from each member, and the frozen variance
 * v. m receives the momentum, or zero where v is zero: one bit cannot express zero, and such a number has never had a
 * gradient (DeepSpeed's exp_avg_mask). param may be NULL. */
void sl_onebit_adam(float *master, float *m, const float *v, const void *packed, const struct sl_signs *shape,
                    void *param, enum sl_number param_type, size_t n, const struct sl_adam *adam);

SL_KERNELS_END
