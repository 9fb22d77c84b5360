/* Converts tensors between fp32, bf16 and fp16. Widening is exact, narrowing rounds to nearest even
 * (kernels/numbers/half.h). A conversion between the two 16-bit types goes through float. */
#pragma once

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

#include <stddef.h>

SL_KERNELS_BEGIN

/* Bytes of one number. */
static inline size_t sl_convert_bytes(enum sl_number type) {
  return type == SL_NUMBER_F32 ? 4 : 2;
}

/* dst[i] = src[i] for n elements. dst and src must not overlap, except that dst may be src where both types have the
 * same size. */
void sl_convert(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n);

/* dst[i] += src[i] for n elements, added in float and rounded once. */
void sl_convert_add(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n);

/* sl_convert on the calling thread alone, for a few numbers. */
void sl_convert_chunk(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n);

SL_KERNELS_END
