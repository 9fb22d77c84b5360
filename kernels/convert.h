/* Tensors from one number type to another: fp32, bf16, fp16. Widening is exact, narrowing rounds to nearest even
 * (kernels/numbers/half.h); from one 16-bit type to the other, through float. */
#pragma once

#include "kernels/numbers/real.h"
#include "kernels/numbers/types.h"

#include <stddef.h>

SL_KERNELS_BEGIN

/* Bytes of one number. */
static inline size_t sl_convert_bytes(enum sl_number type) {
  return type == SL_NUMBER_F32 ? 4 : 2;
}

/* dst[i] = src[i] for n elements. They do not overlap, unless they are the same memory and types of the same size. */
void sl_convert(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n);

/* dst[i] += src[i], the sum in float and rounded once. */
void sl_convert_add(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n);

/* The same as sl_convert for a few numbers, on the calling thread. */
void sl_convert_chunk(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n);

SL_KERNELS_END
