/* Conversions on the host (kernels/convert.h). All numbers pass through float, one run at a time
 * (kernels/numbers/half_run.h); threads share the range. */
#include "kernels/convert.h"
#include "kernels/numbers/half_run.h"
#include "kernels/parallel.h"

#define CHUNK ((size_t)16384) /* elements that a thread takes at a time */
#define RUN ((size_t)1024)    /* the part of these that stays in the first-level cache */

static void widen(float *dst, const void *src, enum sl_number type, size_t at, size_t n) {
  if (type == SL_NUMBER_BF16) {
    sl_half_run_from_bf16(dst, (const uint16_t *)src + at, n);
  } else if (type == SL_NUMBER_F16) {
    sl_half_run_from_f16(dst, (const uint16_t *)src + at, n);
  } else if (dst != (const float *)src + at) {
    memcpy(dst, (const float *)src + at, n * sizeof *dst);
  }
}

static void narrow(void *dst, enum sl_number type, size_t at, const float *src, size_t n) {
  if (type == SL_NUMBER_BF16) {
    sl_half_run_to_bf16((uint16_t *)dst + at, src, n);
  } else if (type == SL_NUMBER_F16) {
    sl_half_run_to_f16((uint16_t *)dst + at, src, n);
  }
}

/* Converts n numbers on this thread. Float numbers are read and written in place. */
static void convert(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n) {
  _Alignas(64) float room[RUN];
  for (size_t i = 0; i < n; i += RUN) {
    const size_t m = n - i < RUN ? n - i : RUN;
    const int in_place = src_type == SL_NUMBER_F32;
    if (dst_type == SL_NUMBER_F32) {
      widen((float *)dst + i, src, src_type, i, m);
      continue;
    }
    if (!in_place) widen(room, src, src_type, i, m);
    narrow(dst, dst_type, i, in_place ? (const float *)src + i : room, m);
  }
}

static void convert_add(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n) {
  _Alignas(64) float src_room[RUN], dst_room[RUN];
  for (size_t i = 0; i < n; i += RUN) {
    const size_t m = n - i < RUN ? n - i : RUN;
    const float *x = src_type == SL_NUMBER_F32 ? (const float *)src + i : src_room;
    float *sum = dst_type == SL_NUMBER_F32 ? (float *)dst + i : dst_room;
    if (x == src_room) widen(src_room, src, src_type, i, m);
    if (sum == dst_room) widen(dst_room, dst, dst_type, i, m);
#pragma omp simd
    for (size_t k = 0; k < m; k++) sum[k] += x[k];
    narrow(dst, dst_type, i, sum, m);
  }
}

typedef void chunk_fn(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n);

static void flat(chunk_fn *run, char *dst, enum sl_number dst_type, const char *src, enum sl_number src_type,
                 size_t n) {
  const size_t dst_bytes = sl_convert_bytes(dst_type), src_bytes = sl_convert_bytes(src_type);
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < n; i += CHUNK)
    run(dst + i * dst_bytes, dst_type, src + i * src_bytes, src_type, n - i < CHUNK ? n - i : CHUNK);
}

void sl_convert(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n) {
  flat(convert, dst, dst_type, src, src_type, n);
}

void sl_convert_add(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n) {
  flat(convert_add, dst, dst_type, src, src_type, n);
}

void sl_convert_chunk(void *dst, enum sl_number dst_type, const void *src, enum sl_number src_type, size_t n) {
  convert(dst, dst_type, src, src_type, n);
}
