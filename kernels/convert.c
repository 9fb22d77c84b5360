/* Conversions on the host (kernels/convert.h). One loop per pair of types, from a macro, so that the compiler sees both
 * types and vectorises; threads share a flat range, or the rows of a strided one. */
#include "kernels/convert.h"
#include "kernels/parallel.h"

#define CHUNK ((size_t)16384) /* elements a thread takes at a time */

static inline float load_f32(float x) {
  return x;
}
#define load_bf16 sl_half_from_bf16
#define load_f16 sl_half_from_f16
#define put_f32 load_f32
#define put_bf16 sl_half_to_bf16
#define put_f16 sl_half_to_f16

typedef void (*chunk_fn)(void *dst, const void *src, size_t n);

#define DEFINE_PAIR(to, to_type, from, from_type)                                                                      \
  static void to##_from_##from(void *dst, const void *src, size_t n) {                                                 \
    to_type *d = dst;                                                                                                  \
    const from_type *s = src;                                                                                          \
    _Pragma("omp simd") for (size_t i = 0; i < n; i++) d[i] = put_##to(load_##from(s[i]));                             \
  }                                                                                                                    \
  static void to##_add_##from(void *dst, const void *src, size_t n) {                                                  \
    to_type *d = dst;                                                                                                  \
    const from_type *s = src;                                                                                          \
    _Pragma("omp simd") for (size_t i = 0; i < n; i++) d[i] = put_##to(load_##to(d[i]) + load_##from(s[i]));           \
  }
DEFINE_PAIR(f32, float, f32, float)
DEFINE_PAIR(f32, float, bf16, uint16_t)
DEFINE_PAIR(f32, float, f16, uint16_t)
DEFINE_PAIR(bf16, uint16_t, f32, float)
DEFINE_PAIR(bf16, uint16_t, bf16, uint16_t)
DEFINE_PAIR(bf16, uint16_t, f16, uint16_t)
DEFINE_PAIR(f16, uint16_t, f32, float)
DEFINE_PAIR(f16, uint16_t, bf16, uint16_t)
DEFINE_PAIR(f16, uint16_t, f16, uint16_t)

/* By destination, then source, in the order of enum sl_number. */
static const chunk_fn convert[3][3] = {{f32_from_f32, f32_from_bf16, f32_from_f16},
                                       {bf16_from_f32, bf16_from_bf16, bf16_from_f16},
                                       {f16_from_f32, f16_from_bf16, f16_from_f16}};
static const chunk_fn convert_add[3][3] = {{f32_add_f32, f32_add_bf16, f32_add_f16},
                                           {bf16_add_f32, bf16_add_bf16, bf16_add_f16},
                                           {f16_add_f32, f16_add_bf16, f16_add_f16}};

static void flat(chunk_fn run, char *dst, size_t dst_bytes, const char *src, size_t src_bytes, size_t n) {
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < n; i += CHUNK) run(dst + i * dst_bytes, src + i * src_bytes, n - i < CHUNK ? n - i : CHUNK);
}

/* Strides in bytes. */
static void strided(chunk_fn run, char *dst, size_t dst_stride, const char *src, size_t src_stride, size_t rows,
                    size_t cols) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) run(dst + r * dst_stride, src + r * src_stride, cols);
}

void sl_convert(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n) {
  flat(convert[dst_type][src_type], dst, sl_convert_bytes(dst_type), src, sl_convert_bytes(src_type), n);
}

void sl_convert_add(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n) {
  flat(convert_add[dst_type][src_type], dst, sl_convert_bytes(dst_type), src, sl_convert_bytes(src_type), n);
}

void sl_convert_rows(void *dst, enum sl_number dst_type, size_t dst_stride, const void *src, enum sl_number src_type,
                     size_t src_stride, size_t rows, size_t cols) {
  strided(convert[dst_type][src_type], dst, dst_stride * sl_convert_bytes(dst_type), src,
          src_stride * sl_convert_bytes(src_type), rows, cols);
}

void sl_convert_add_rows(void *dst, enum sl_number dst_type, size_t dst_stride, const void *src,
                         enum sl_number src_type, size_t src_stride, size_t rows, size_t cols) {
  strided(convert_add[dst_type][src_type], dst, dst_stride * sl_convert_bytes(dst_type), src,
          src_stride * sl_convert_bytes(src_type), rows, cols);
}

void sl_convert_chunk(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n) {
  convert[dst_type][src_type](dst, src, n);
}
