/* Declares every kernel on fp16 tensors (suffix _f16, uint16_t in memory) beside the float one; optimizers have no such
 * build (see kernels/master.h). For programs in float, not for the kernels themselves; a program that chooses the type
 * at run time is better served by kernels/by_dtype.h. */
#ifndef SL_KERNELS_NUMBERS_F16_H
#define SL_KERNELS_NUMBERS_F16_H

#include "kernels/all.h"

#include "kernels/numbers/forget.h"
#define SL_K(name) name##_f16
#define SL_REAL float
#define SL_STORE uint16_t

#include "kernels/all.h"

#undef SL_K
#undef SL_REAL
#undef SL_STORE
#define SL_K(name) name
#define SL_REAL float
#define SL_STORE float

#endif
