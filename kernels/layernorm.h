/* Layer normalisation over the last dimension (Ba et al., arXiv:1607.06450; biased variance, as torch).
 *
 *   out = (x - mean) * rstd * weight + bias,   rstd = 1 / sqrt(var + eps)
 * rows = B*T, C columns. from_one: scale by 1 + weight instead of weight, as Megatron's --apply-layernorm-1p does. */
#ifndef SL_KERNELS_LAYERNORM_H
#define SL_KERNELS_LAYERNORM_H

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

SL_KERNELS_BEGIN

/* out (rows,C); mean and rstd (rows) are kept for backward. */
void SL_K(sl_layernorm_forward)(sl_store *out, sl_real *mean, sl_real *rstd, const sl_store *x, const sl_store *weight,
                                const sl_store *bias, size_t rows, size_t C, float eps, int from_one);

/* Bytes of scratch for backward, which holds partial sums of dweight and dbias over fixed blocks of rows. */
size_t SL_K(sl_layernorm_scratch_bytes)(size_t rows, size_t C);

/* dx (rows,C) is overwritten or, with accumulate_dx, added to, as where it already holds the residual stream's
 * gradient. `accumulate` does the same for dweight and dbias (C), which are tensors of sl_store or, with in_fp32, of
 * float. dx may be dout when accumulate_dx is 0. Either half can be left out without changing a bit of the other: with
 * dx NULL, weight is not read; with dweight NULL, dbias and scratch are not used. */
void SL_K(sl_layernorm_backward)(sl_store *dx, int accumulate_dx, void *dweight, void *dbias, int in_fp32,
                                 int accumulate, const sl_store *dout, const sl_store *x, const sl_store *weight,
                                 const sl_real *mean, const sl_real *rstd, size_t rows, size_t C, int from_one,
                                 void *scratch);

SL_KERNELS_END

#endif
