/* Declares the double build of every kernel (suffix _f64) beside the float one, for tests that compare the two or check
 * gradients by finite differences. For programs in float, not for the kernels themselves. */
#ifndef SL_KERNELS_NUMBERS_F64_H
#define SL_KERNELS_NUMBERS_F64_H

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

#endif
