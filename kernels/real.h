/* The number type of the kernels and the names of their symbols.
 *
 * sl_real is float. The tests also build every kernel in double (-DSL_REAL=double), where each symbol ends in _f64, to
 * check analytic gradients by finite differences; kernels/f64.h declares those beside the float ones.
 * All tensors are dense and row-major unless a stride is given. A kernel neither allocates nor keeps state; its result
 * does not depend on the number of threads, to the bit. */
#ifndef SL_KERNELS_REAL_H
#define SL_KERNELS_REAL_H

#ifdef SL_REAL
#define SL_K(name) name##_f64
#define SL_REAL_IS_DOUBLE 1
#else
#define SL_REAL float
#define SL_K(name) name
#define SL_REAL_IS_DOUBLE 0
#endif
#define sl_real SL_REAL

#ifdef __cplusplus
#define SL_KERNELS_BEGIN extern "C" {
#define SL_KERNELS_END }
#else
#define SL_KERNELS_BEGIN
#define SL_KERNELS_END
#endif

#endif
