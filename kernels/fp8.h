/* Numbers of 8 bits for matrix products, and their scales.
 *
 * Formats (arXiv:2209.05433, table 1; OCP OFP8): E4M3 has 4 bits of exponent with bias 7 and 3 of fraction, no infinity,
 * NaN where all bits below the sign are ones, largest 448, smallest 2^-9. E5M2 is the upper half of fp16: bias 15,
 * infinities and NaNs, largest 57344, smallest 2^-16. A cast multiplies by a scale in float, rounds to nearest, ties to
 * even, and saturates: what is larger becomes the largest number, infinities too; a NaN stays one.
 *
 * Delayed scaling (Transformer Engine 2.20, common/recipe/delayed_scaling.cu, kernel_bulk): a scale is the format's
 * largest number, times 2^-margin, divided by the largest magnitude of the step before and of H - 1 earlier ones
 * (amax_compute_algo "max"), or of the step before alone ("most_recent"), so it is known before a cast. */
#ifndef SL_KERNELS_FP8_H
#define SL_KERNELS_FP8_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

#include <stddef.h>
#include <stdint.h>

SL_KERNELS_BEGIN

/* out (R,C) = the codes of x (R,C) scale[0], and transposed (C,R) likewise; either may be NULL. *amax becomes the
 * largest of itself and all |x|, NaNs apart. */
void sl_fp8_cast(uint8_t *out, uint8_t *transposed, const void *x, enum sl_number type, size_t R, size_t C,
                 enum sl_fp8 format, const float *scale, float *amax);

/* out[i] = the number of code i, without a scale. */
void sl_fp8_decode(float *out, const uint8_t *codes, size_t n, enum sl_fp8 format);

/* The scales of n factors, each (scale, 1 / scale), from the amax of the step, which becomes 0, and the history (n,H),
 * newest first, which amax enters and whose oldest leaves it. Every third factor, from the third on, is a gradient. A
 * factor of which nothing but zeros was cast keeps scale and history; one whose largest magnitude is not finite keeps
 * its scale; one without a finite scale gets the largest float. */
void sl_fp8_scale(float *scale, float *amax, float *history, size_t n, size_t H, struct sl_fp8_rule rule);

SL_KERNELS_END

#endif
