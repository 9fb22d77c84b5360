/* The table of one number type (kernels/by_dtype.h). Each entry is a function that takes void *, because calling a
 * function of float * or uint16_t * through a pointer to a function of void * would be undefined. */
#include "kernels/by_dtype.h"
#include "kernels/all.h"

#define X(name, parameters, arguments)                                                                                 \
  static void name parameters {                                                                                        \
    SL_K(sl_##name) arguments;                                                                                         \
  }
SL_KERNELS_MAP(X)
#undef X

#if defined(SL_STORE_BF16)
#define TABLE sl_kernels_bf16
#elif defined(SL_STORE_F16)
#define TABLE sl_kernels_f16
#else
#define TABLE sl_kernels_f32
#endif

const struct sl_kernels TABLE = {
#define X(name, parameters, arguments) .name = name,
    SL_KERNELS_MAP(X)
#undef X
};
