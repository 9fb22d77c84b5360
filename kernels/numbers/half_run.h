/* Converts runs of 16-bit numbers to and from float, with the machine's instructions where the compiler may use them
 * (AVX-512, or AVX2 with F16C) and else with the loops of kernels/numbers/half.h. Both give the same bits, also for
 * NaNs. */
#pragma once

#include "kernels/numbers/half.h"

#include <stddef.h>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define SL_HALF_RUN_AVX512 1
#include <immintrin.h>
#elif defined(__AVX2__) && defined(__F16C__)
#define SL_HALF_RUN_F16C 1
#include <immintrin.h>
#endif

/* The last, partial vector goes through a mask: lanes beyond n are neither read nor written. */
#if defined(SL_HALF_RUN_AVX512)

static inline __m512 sl_half_vec_from_bf16(__m256i h) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}

static inline __m256i sl_half_vec_to_bf16_in_integers(__m512 x) {
  const __m512i bits = _mm512_castps_si512(x), upper = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  const __m512i quiet = _mm512_or_si512(upper, _mm512_set1_epi32(0x40));
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(_mm512_srli_epi32(sum, 16), nan, quiet));
}

/* The instruction of AVX512_BF16 takes subnormal numbers for zero, so it serves the vectors without any. */
static inline __m256i sl_half_vec_to_bf16(__m512 x) {
#if defined(__AVX512BF16__)
  const __m512i bits = _mm512_castps_si512(x);
  const __mmask16 normal = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x7f800000));
  const __mmask16 fraction = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x007fffff));
  if (__builtin_expect((fraction & (__mmask16)~normal) == 0, 1)) return (__m256i)_mm512_cvtneps_pbh(x);
#endif
  return sl_half_vec_to_bf16_in_integers(x);
}

#define sl_half_vec_from_f16 _mm512_cvtph_ps
#define sl_half_vec_to_f16(x) _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

#define SL_HALF_DEFINE_RUNS(type)                                                                                      \
  static inline void sl_half_run_from_##type(float *dst, const uint16_t *src, size_t n) {                              \
    size_t i = 0;                                                                                                      \
    for (; i + 16 <= n; i += 16)                                                                                       \
      _mm512_storeu_ps(dst + i, sl_half_vec_from_##type(_mm256_loadu_si256((const void *)(src + i))));                 \
    if (i == n) return;                                                                                                \
    const __mmask16 left = (__mmask16)((1u << (n - i)) - 1);                                                           \
    _mm512_mask_storeu_ps(dst + i, left, sl_half_vec_from_##type(_mm256_maskz_loadu_epi16(left, src + i)));            \
  }                                                                                                                    \
  static inline void sl_half_run_to_##type(uint16_t *dst, const float *src, size_t n) {                                \
    size_t i = 0;                                                                                                      \
    for (; i + 16 <= n; i += 16)                                                                                       \
      _mm256_storeu_si256((void *)(dst + i), sl_half_vec_to_##type(_mm512_loadu_ps(src + i)));                         \
    if (i == n) return;                                                                                                \
    const __mmask16 left = (__mmask16)((1u << (n - i)) - 1);                                                           \
    _mm256_mask_storeu_epi16(dst + i, left, sl_half_vec_to_##type(_mm512_maskz_loadu_ps(left, src + i)));              \
  }

#define SL_HALF_LANES ((size_t)16)
typedef __m512 sl_half_vec;
#define sl_half_vec_load_bf16(p) sl_half_vec_from_bf16(_mm256_loadu_si256((const void *)(p)))
#define sl_half_vec_load_f16(p) sl_half_vec_from_f16(_mm256_loadu_si256((const void *)(p)))
#define sl_half_vec_store_bf16(p, x) _mm256_storeu_si256((void *)(p), sl_half_vec_to_bf16(x))
#define sl_half_vec_store_f16(p, x) _mm256_storeu_si256((void *)(p), sl_half_vec_to_f16(x))
#define sl_half_vec_load(p) _mm512_loadu_ps(p)
#define sl_half_vec_store(p, x) _mm512_storeu_ps(p, x)

#elif defined(SL_HALF_RUN_F16C)

static inline __m256 sl_half_vec_from_bf16(__m128i h) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

static inline __m128i sl_half_vec_to_bf16(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x), upper = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i half = _mm256_blendv_epi8(_mm256_srli_epi32(sum, 16), quiet, nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

#define sl_half_vec_from_f16 _mm256_cvtph_ps
#define sl_half_vec_to_f16(x) _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

#define SL_HALF_DEFINE_RUNS(type)                                                                                      \
  static inline void sl_half_run_from_##type(float *dst, const uint16_t *src, size_t n) {                              \
    size_t i = 0;                                                                                                      \
    for (; i + 8 <= n; i += 8)                                                                                         \
      _mm256_storeu_ps(dst + i, sl_half_vec_from_##type(_mm_loadu_si128((const void *)(src + i))));                    \
    for (; i < n; i++) dst[i] = sl_half_from_##type(src[i]);                                                           \
  }                                                                                                                    \
  static inline void sl_half_run_to_##type(uint16_t *dst, const float *src, size_t n) {                                \
    size_t i = 0;                                                                                                      \
    for (; i + 8 <= n; i += 8) _mm_storeu_si128((void *)(dst + i), sl_half_vec_to_##type(_mm256_loadu_ps(src + i)));   \
    for (; i < n; i++) dst[i] = sl_half_to_##type(src[i]);                                                             \
  }

#define SL_HALF_LANES ((size_t)8)
typedef __m256 sl_half_vec;
#define sl_half_vec_load_bf16(p) sl_half_vec_from_bf16(_mm_loadu_si128((const void *)(p)))
#define sl_half_vec_load_f16(p) sl_half_vec_from_f16(_mm_loadu_si128((const void *)(p)))
#define sl_half_vec_store_bf16(p, x) _mm_storeu_si128((void *)(p), sl_half_vec_to_bf16(x))
#define sl_half_vec_store_f16(p, x) _mm_storeu_si128((void *)(p), sl_half_vec_to_f16(x))
#define sl_half_vec_load(p) _mm256_loadu_ps(p)
#define sl_half_vec_store(p, x) _mm256_storeu_ps(p, x)

#else

#define SL_HALF_DEFINE_RUNS(type)                                                                                      \
  static inline void sl_half_run_from_##type(float *dst, const uint16_t *src, size_t n) {                              \
    _Pragma("omp simd") for (size_t i = 0; i < n; i++) dst[i] = sl_half_from_##type(src[i]);                           \
  }                                                                                                                    \
  static inline void sl_half_run_to_##type(uint16_t *dst, const float *src, size_t n) {                                \
    _Pragma("omp simd") for (size_t i = 0; i < n; i++) dst[i] = sl_half_to_##type(src[i]);                             \
  }

#endif

/* void sl_half_run_from_TYPE(float *dst, const uint16_t *src, size_t n), void sl_half_run_to_TYPE(uint16_t *dst, const
 * float *src, size_t n): n numbers; dst and src do not overlap. */
SL_HALF_DEFINE_RUNS(bf16)
SL_HALF_DEFINE_RUNS(f16)

/* Sums stay in registers, because they are so cheap that storing the widened numbers would double their cost.
 *   sl_half_run_sum_TYPE         dst = a + b, rounded once; dst may be a or b
 *   sl_half_run_sum3_TYPE        dst = a + (b + c), rounded once; dst may be any of them
 *   sl_half_run_accumulate_TYPE  float sum += x */
#if defined(SL_HALF_LANES)
#define SL_HALF_VECTORS(statement)                                                                                     \
  for (; i + SL_HALF_LANES <= n; i += SL_HALF_LANES) {                                                                 \
    statement;                                                                                                         \
  }
#else
#define SL_HALF_VECTORS(statement)
#endif
#define SL_HALF_DEFINE_SUMS(type)                                                                                      \
  static inline void sl_half_run_sum_##type(uint16_t *dst, const uint16_t *a, const uint16_t *b, size_t n) {           \
    size_t i = 0;                                                                                                      \
    SL_HALF_VECTORS(                                                                                                   \
        sl_half_vec_store_##type(dst + i, sl_half_vec_load_##type(a + i) + sl_half_vec_load_##type(b + i)))            \
    for (; i < n; i++) dst[i] = sl_half_to_##type(sl_half_from_##type(a[i]) + sl_half_from_##type(b[i]));              \
  }                                                                                                                    \
  static inline void sl_half_run_sum3_##type(uint16_t *dst, const uint16_t *a, const uint16_t *b, const uint16_t *c,   \
                                             size_t n) {                                                               \
    size_t i = 0;                                                                                                      \
    SL_HALF_VECTORS(sl_half_vec_store_##type(                                                                          \
        dst + i, sl_half_vec_load_##type(a + i) + (sl_half_vec_load_##type(b + i) + sl_half_vec_load_##type(c + i))))  \
    for (; i < n; i++)                                                                                                 \
      dst[i] = sl_half_to_##type(sl_half_from_##type(a[i]) + (sl_half_from_##type(b[i]) + sl_half_from_##type(c[i]))); \
  }                                                                                                                    \
  static inline void sl_half_run_accumulate_##type(float *sum, const uint16_t *x, size_t n) {                          \
    size_t i = 0;                                                                                                      \
    SL_HALF_VECTORS(sl_half_vec_store(sum + i, sl_half_vec_load(sum + i) + sl_half_vec_load_##type(x + i)))            \
    for (; i < n; i++) sum[i] += sl_half_from_##type(x[i]);                                                            \
  }
SL_HALF_DEFINE_SUMS(bf16)
SL_HALF_DEFINE_SUMS(f16)
