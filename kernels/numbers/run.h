/* Tensors as runs of sl_real, for the host kernels. A loop over 16-bit numbers that converts one by one costs more than the
 * arithmetic; so a kernel takes runs that stay in the first-level cache, widened at once into room on its stack, and
 * narrows its results at once:
 *
 *   sl_room x_room, y_room;
 *   for (size_t i = 0, m; i < n; i += m) {
 *     m = sl_run(n - i);
 *     const sl_real *a = sl_open(x_room, x + i, m);
 *     sl_real *b = sl_begin(y_room, y + i);
 *     for (size_t k = 0; k < m; k++) b[k] = f(a[k]);
 *     sl_finish(y + i, b, m);
 *   }
 * Where sl_store is sl_real, a run is the whole tensor, opened and written in place: the same loop, no copy. x may be y. */
#pragma once

#include "kernels/numbers/half_run.h"
#include "kernels/numbers/real.h"

#if SL_STORE_IS_REAL
#define SL_ROOM 1
#else
#define SL_ROOM 1024
#endif

/* Whole cache lines: vectors that straddle two of them take twice the time. */
typedef sl_real sl_room[SL_ROOM] __attribute__((aligned(64)));

/* Elements of the next run, when `left` are left. */
static inline size_t sl_run(size_t left) {
  return SL_STORE_IS_REAL || left < SL_ROOM ? left : SL_ROOM;
}

/* Is a row of n numbers a single run? */
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

/* The n <= SL_ROOM numbers at x to read: x itself, or `room` after widening. NULL stays NULL. */
static inline const sl_real *sl_open(sl_real *room, const sl_store *x, size_t n) {
#if SL_STORE_IS_REAL
  (void)room, (void)n;
  return x;
#else
  if (x) sl_widen(room, x, n);
  return x ? room : NULL;
#endif
}

/* The same for a row that goes by several times: once it is `held` in `room`, because the row is a single run, it is not
 * widened again. */
static inline const sl_real *sl_reopen(sl_real *room, const sl_store *x, size_t n, int held) {
#if SL_STORE_IS_REAL
  (void)held;
  return sl_open(room, x, n);
#else
  return held ? room : sl_open(room, x, n);
#endif
}

/* Where to write what shall stand at x: x itself, or `room`, from where sl_finish takes it. */
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
