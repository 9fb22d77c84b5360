/* Sums and fills over flat ranges, and the bias gradient.
 *
 * Sums run over fixed blocks whose partial sums are added in order, in double, so the result is bit-identical for any
 * number of threads. */
#ifndef SL_KERNELS_REDUCE_H
#define SL_KERNELS_REDUCE_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* Bytes of scratch for a sum over n elements. */
size_t SL_K(sl_reduce_scratch_bytes)(size_t n);

/* *sum = sum of x[i]^2, or += when accumulate. */
void SL_K(sl_reduce_sum_squares)(double *sum, const sl_store *x, size_t n, int accumulate, void *scratch);

void SL_K(sl_reduce_fill)(sl_store *dst, sl_real value, size_t n); /* dst = value */

/* out (rows,cols) += bias (cols). */
void SL_K(sl_reduce_bias_add)(sl_store *out, const sl_store *bias, size_t rows, size_t cols);

/* dbias (cols) = (accumulate: +=) column sums of dout (rows,cols). */
void SL_K(sl_reduce_bias_backward)(sl_store *dbias, const sl_store *dout, size_t rows, size_t cols, int accumulate);

SL_KERNELS_END

#endif
