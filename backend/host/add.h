/* dst = a + b for the data types that collectives reduce. One thread does it, because a block fits into a cache. */
#pragma once

#include "core/base/dtype.h"

#include <stddef.h>

/* dst[i] = a[i] + b[i] for n elements; dst may be a or b. 16-bit types are added in fp32 and rounded to nearest even.
 */
typedef void (*sl_add_fn)(void *dst, const void *a, const void *b, size_t n);

/* NULL where the type cannot be added. */
sl_add_fn sl_add_of(enum sl_dtype type);
/* The same for the larger of both in place of the sum; fp32 only. */
sl_add_fn sl_most_of(enum sl_dtype type);
