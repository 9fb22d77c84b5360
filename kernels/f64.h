/* Declares the double build of every kernel (suffix _f64) beside the float one, for tests that compare the two or check
 * gradients by finite differences. Include it after nothing else of kernels/: it includes the float headers itself. */
#ifndef SL_KERNELS_F64_H
#define SL_KERNELS_F64_H

#include "kernels/all.h"

#undef SL_KERNELS_ATTENTION_H
#undef SL_KERNELS_CLASSIFIER_H
#undef SL_KERNELS_DROPOUT_H
#undef SL_KERNELS_EMBEDDING_H
#undef SL_KERNELS_GELU_H
#undef SL_KERNELS_LAYERNORM_H
#undef SL_KERNELS_LLAMA_H
#undef SL_KERNELS_MLP_H
#undef SL_KERNELS_OPTIMIZER_H
#undef SL_KERNELS_REDUCE_H
#undef SL_KERNELS_ALL_H
#undef SL_K
#undef SL_REAL
#define SL_K(name) name##_f64
#define SL_REAL double

#include "kernels/all.h"

#undef SL_K
#undef SL_REAL
#define SL_K(name) name
#define SL_REAL float

#endif
