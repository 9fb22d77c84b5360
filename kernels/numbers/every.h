/* Declares every kernel for the number types other than float: _bf16 and _f16 (uint16_t in memory; the optimizers
 * have no 16-bit build, see kernels/master.h) and _f64. Tests include it to compare types or to check gradients by
 * finite differences; kernels do not include it. A program that chooses the type at run time uses kernels/by_dtype.h
 * instead. */
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
