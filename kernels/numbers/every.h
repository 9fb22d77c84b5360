/* Declares every kernel for every number type beside the float one: _bf16 and _f16 (uint16_t in memory; optimizers have no
 * such build, see kernels/master.h), and _f64, for tests that compare the two or check gradients by finite differences. For
 * programs in float, not for the kernels themselves; a program that chooses the type at run time is better served by
 * kernels/by_dtype.h. */
#pragma once

#include "kernels/all.h"

#include "kernels/numbers/forget.h"
#define SL_K(name) name##_bf16
#define SL_REAL float
#define SL_STORE uint16_t
#include "kernels/all.h"

#include "kernels/numbers/forget.h"
#define SL_K(name) name##_f16
#define SL_REAL float
#define SL_STORE uint16_t
#include "kernels/all.h"

#include "kernels/numbers/forget.h"
#undef SL_KERNELS_OPTIMIZER_H
#define SL_K(name) name##_f64
#define SL_REAL double
#define SL_STORE double
#include "kernels/all.h"

#undef SL_K
#undef SL_REAL
#undef SL_STORE
#define SL_K(name) name
#define SL_REAL float
#define SL_STORE float
