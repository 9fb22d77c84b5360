/* Casts to 8 bits on the host; see fp8.h. Threads share tiles of rows and columns. */
#include "kernels/fp8.h"
#include "kernels/convert.h"
#include "kernels/fp8_code.h"
#include "kernels/parallel.h"

#include <math.h>
#include <string.h>

enum { TILE_ROWS = 16, TILE_COLUMNS = 256 };

struct tile {
  size_t row, column, rows, columns;
};

static size_t tiles_in(size_t n, size_t each) {
  return (n + each - 1) / each;
}

static struct tile tile_of(size_t i, size_t R, size_t C) {
  const size_t across = tiles_in(C, TILE_COLUMNS), row = i / across * TILE_ROWS, column = i % across * TILE_COLUMNS;
  return (struct tile){row, column, R - row < TILE_ROWS ? R - row : TILE_ROWS,
                       C - column < TILE_COLUMNS ? C - column : TILE_COLUMNS};
}

static float largest_of(float largest, const float *x, size_t n) {
#pragma omp simd reduction(max : largest)
  for (size_t i = 0; i < n; i++) {
    const float a = fabsf(x[i]);
    largest = a > largest ? a : largest;
  }
  return largest;
}

/* One format at a time, so that the compiler knows its numbers of bits. */
static void encode(uint8_t *codes, const float *x, size_t n, float scale, enum sl_fp8 format) {
  if (format == SL_FP8_E4M3)
    for (size_t i = 0; i < n; i++) codes[i] = sl_fp8_code(x[i] * scale, SL_FP8_E4M3);
  else
    for (size_t i = 0; i < n; i++) codes[i] = sl_fp8_code(x[i] * scale, SL_FP8_E5M2);
}

void sl_fp8_cast(uint8_t *out, uint8_t *transposed, const void *x, enum sl_number type, size_t R, size_t C,
                 enum sl_fp8 format, const float *scale, float *amax) {
  const size_t tiles = tiles_in(R, TILE_ROWS) * tiles_in(C, TILE_COLUMNS), each = sl_convert_bytes(type);
  float largest = *amax;
#pragma omp parallel for schedule(static) reduction(max : largest) if (R * C > SL_PARALLEL_MIN)
  for (size_t i = 0; i < tiles; i++) {
    const struct tile t = tile_of(i, R, C);
    uint8_t codes[TILE_ROWS][TILE_COLUMNS];
    float row[TILE_COLUMNS];
    for (size_t r = 0; r < t.rows; r++) {
      const size_t at = (t.row + r) * C + t.column;
      sl_convert_chunk(row, SL_NUMBER_F32, (const char *)x + at * each, type, t.columns);
      largest = largest_of(largest, row, t.columns);
      encode(codes[r], row, t.columns, *scale, format);
      if (out) memcpy(out + at, codes[r], t.columns);
    }
    for (size_t c = 0; transposed && c < t.columns; c++)
      for (size_t r = 0; r < t.rows; r++) transposed[(t.column + c) * R + t.row + r] = codes[r][c];
  }
  *amax = largest;
}

void sl_fp8_decode(float *out, const uint8_t *codes, size_t n, enum sl_fp8 format) {
  float numbers[256];
  for (int i = 0; i < 256; i++) numbers[i] = sl_fp8_number((uint8_t)i, format);
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < n; i++) out[i] = numbers[codes[i]];
}

void sl_fp8_scale(float *scale, float *amax, float *history, size_t n, size_t H, struct sl_fp8_rule rule) {
  for (size_t i = 0; i < n; i++) {
    float *of = history + i * H, *pair = scale + 2 * i;
    if (amax[i] == 0) continue;
    memmove(of + 1, of, (H - 1) * sizeof *of);
    of[0] = amax[i];
    amax[i] = 0;
    pair[0] = sl_fp8_next_scale(rule.most_recent ? of[0] : largest_of(0, of, H), pair[0], rule, i);
    pair[1] = 1 / pair[0];
  }
}
