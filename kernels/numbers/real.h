/* The number types of the kernels and the names of their symbols.
 *
 * A kernel computes in sl_real and keeps row statistics and scratch in it; tensors (activations, parameters, gradients,
 * probabilities, logits) are stored in memory as sl_store. Each source is compiled four times:
 *   sl_real  sl_store         suffix  switch            for
 *   float    float            none                      fp32
 *   float    uint16_t (bf16)  _bf16   -DSL_STORE_BF16   16-bit training
 *   float    uint16_t (fp16)  _f16    -DSL_STORE_F16    16-bit training
 *   double   double           _f64    -DSL_REAL=double  finite differences in the tests
 * kernels/numbers/every.h declares the three with a suffix. A kernel reads a tensor by sl_load and writes it by sl_put,
 * which rounds to nearest even; each written number is rounded once unless the kernel's header says otherwise. All
 * tensors are dense and row-major unless a stride is given. A kernel neither allocates memory nor keeps state, and its
 * result is bit-identical for any number of threads. */
#pragma once

#include "kernels/numbers/half.h"

#if defined(SL_REAL)
#define SL_K(name) name##_f64
#define SL_STORE SL_REAL
#define SL_REAL_IS_DOUBLE 1
#else
#define SL_REAL float
#define SL_REAL_IS_DOUBLE 0
#if defined(SL_STORE_BF16)
#define SL_K(name) name##_bf16
#define SL_STORE uint16_t
#elif defined(SL_STORE_F16)
#define SL_K(name) name##_f16
#define SL_STORE uint16_t
#else
#define SL_K(name) name
#define SL_STORE float
#endif
#endif
#define sl_real SL_REAL
#define sl_store SL_STORE

#if defined(SL_STORE_BF16) || defined(SL_STORE_F16)
#define SL_STORE_IS_REAL 0
#else
#define SL_STORE_IS_REAL 1
#endif

static inline sl_real sl_load(sl_store x) {
#if defined(SL_STORE_BF16)
  return sl_half_from_bf16(x);
#elif defined(SL_STORE_F16)
  return sl_half_from_f16(x);
#else
  return x;
#endif
}

static inline sl_store sl_put(sl_real x) {
#if defined(SL_STORE_BF16)
  return sl_half_to_bf16(x);
#elif defined(SL_STORE_F16)
  return sl_half_to_f16(x);
#else
  return x;
#endif
}

/* Element `i` of a tensor of sl_store or, with in_fp32, of float becomes `sum` or, with accumulate, grows by it. */
static inline void sl_put_sum(void *tensor, size_t i, int in_fp32, double sum, int accumulate) {
  if (in_fp32) {
    float *at = (float *)tensor + i;
    *at = (float)(accumulate ? (double)*at + sum : sum);
  } else {
    sl_store *at = (sl_store *)tensor + i;
    *at = sl_put((sl_real)(accumulate ? (double)sl_load(*at) + sum : sum));
  }
}

#ifdef __cplusplus
#define SL_KERNELS_BEGIN extern "C" {
#define SL_KERNELS_END }
#else
#define SL_KERNELS_BEGIN
#define SL_KERNELS_END
#endif
