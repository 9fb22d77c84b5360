/* Lets a host kernel walk over a tensor in runs of sl_real. Converting 16-bit numbers one by one would cost more than
 * the arithmetic, so a kernel takes a run that fits into the first-level cache, widens it as a whole into a buffer
 * ("room") on its stack, computes, and narrows the results as a whole:
 *
 *   sl_room x_room, y_room;
 *   for (size_t i = 0, m; i < n; i += m) {
 *     m = sl_run(n - i);
 *     const sl_real *a = sl_open(x_room, x + i, m);
 *     sl_real *b = sl_begin(y_room, y + i);
 *     for (size_t k = 0; k < m; k++) b[k] = f(a[k]);
 *     sl_finish(y + i, b, m);
 *   }
 * Where sl_store is sl_real, a run is the whole tensor, read and written in place: the same loop, without a copy. x may
 * be y. */
#pragma once

#include "kernels/numbers/half_run.h"
#include "kernels/numbers/real.h"

#if SL_STORE_IS_REAL
#define SL_ROOM 1
#else
#define SL_ROOM 1024
#endif

/* Aligned to cache lines, because a vector that straddles two of them takes twice the time. */
typedef sl_real sl_room[SL_ROOM] __attribute__((aligned(64)));

/* How many elements the next run has when `left` are left. */
static inline size_t sl_run(size_t left) {
  return SL_STORE_IS_REAL || left < SL_ROOM ? left : SL_ROOM;
}

/* Whether a row of n numbers is a single run. */
static inline int sl_one_run(size_t n) {
  return SL_STORE_IS_REAL || n <= SL_ROOM;
}

/* dst = src, n numbers. */
static inline void sl_widen(sl_real *dst, const sl_store *src, size_t n) {
#if defined(SL_STORE_BF16)
  sl_half_run_from_bf16(dst, src, n);
#elif defined(SL_STORE_F16)
  sl_half_run_from_f16(dst, src, n);
#else
  memcpy(dst, src, n * sizeof *dst);
#endif
}

static inline void sl_narrow(sl_store *dst, const sl_real *src, size_t n) {
#if defined(SL_STORE_BF16)
  sl_half_run_to_bf16(dst, src, n);
#elif defined(SL_STORE_F16)
  sl_half_run_to_f16(dst, src, n);
#else
  memcpy(dst, src, n * sizeof *dst);
#endif
}

/* Returns the n <= SL_ROOM numbers at x for reading: x itself, or `room` after widening into it. NULL stays NULL. */
static inline const sl_real *sl_open(sl_real *room, const sl_store *x, size_t n) {
#if SL_STORE_IS_REAL
  (void)room, (void)n;
  return x;
#else
  if (x) sl_widen(room, x, n);
  return x ? room : NULL;
#endif
}

/* sl_open for a row that is read several times. `held` says that `room` still holds it, because the row is a single
 * run; it is then not widened again. */
static inline const sl_real *sl_reopen(sl_real *room, const sl_store *x, size_t n, int held) {
#if SL_STORE_IS_REAL
  (void)held;
  return sl_open(room, x, n);
#else
  return held ? room : sl_open(room, x, n);
#endif
}

/* Where to write the new values of x: x itself, or `room`, from which sl_finish narrows them into x. */
static inline sl_real *sl_begin(sl_real *room, sl_store *x) {
#if SL_STORE_IS_REAL
  (void)room;
  return x;
#else
  (void)x;
  return room;
#endif
}

static inline void sl_finish(sl_store *x, const sl_real *written, size_t n) {
#if SL_STORE_IS_REAL
  (void)x, (void)written, (void)n;
#else
  sl_narrow(x, written, n);
#endif
}

/* To change n numbers in place: sl_change, then sl_finish. */
static inline sl_real *sl_change(sl_real *room, sl_store *x, size_t n) {
#if SL_STORE_IS_REAL
  (void)room, (void)n;
  return x;
#else
  sl_widen(room, x, n);
  return room;
#endif
}

/* dst = a + b, rounded once; dst may be a or b. */
static inline void sl_sum(sl_store *dst, const sl_store *a, const sl_store *b, size_t n) {
#if defined(SL_STORE_BF16)
  sl_half_run_sum_bf16(dst, a, b, n);
#elif defined(SL_STORE_F16)
  sl_half_run_sum_f16(dst, a, b, n);
#else
#pragma omp simd
  for (size_t i = 0; i < n; i++) dst[i] = a[i] + b[i];
#endif
}

/* dst = a + (b + c), rounded once; dst may be any of them. */
static inline void sl_sum3(sl_store *dst, const sl_store *a, const sl_store *b, const sl_store *c, size_t n) {
#if defined(SL_STORE_BF16)
  sl_half_run_sum3_bf16(dst, a, b, c, n);
#elif defined(SL_STORE_F16)
  sl_half_run_sum3_f16(dst, a, b, c, n);
#else
#pragma omp simd
  for (size_t i = 0; i < n; i++) dst[i] = a[i] + (b[i] + c[i]);
#endif
}

/* sum += x */
static inline void sl_accumulate(sl_real *sum, const sl_store *x, size_t n) {
#if defined(SL_STORE_BF16)
  sl_half_run_accumulate_bf16(sum, x, n);
#elif defined(SL_STORE_F16)
  sl_half_run_accumulate_f16(sum, x, n);
#else
#pragma omp simd
  for (size_t i = 0; i < n; i++) sum[i] += x[i];
#endif
}
