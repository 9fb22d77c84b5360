/* label: unit
   libs: kernels
 * Block quantisation: the layout of a packed piece, the bounds of its error, the order of pieces, sums, blocks that have no scale,
 * and the same bytes from any number of threads. Pieces are taken apart here by the header's words alone. */
#include "kernels/numbers/every.h"

#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t blocks_of(const struct sl_quantized *s) {
  return (s->n + s->block - 1) / s->block;
}

static struct sl_quantized shape_of(size_t n, size_t block, int bits) {
  struct sl_quantized s = {n, block, 0, bits};
  const size_t codes = (n * (size_t)bits + 7) / 8;
  s.stride = 4 * blocks_of(&s) + (codes + 3) / 4 * 4;
  return s;
}

static int code_at(const struct sl_quantized *s, const void *packed, size_t piece, size_t i) {
  const uint8_t *codes = (const uint8_t *)packed + piece * s->stride + 4 * blocks_of(s);
  if (s->bits == 8) return (int8_t)codes[i];
  const int code = i % 2 == 0 ? codes[i / 2] & 15 : codes[i / 2] >> 4;
  return code > 7 ? code - 16 : code;
}

static float scale_at(const struct sl_quantized *s, const void *packed, size_t piece, size_t i) {
  float scale;
  memcpy(&scale, (const char *)packed + piece * s->stride + 4 * (i / s->block), sizeof scale);
  return scale;
}

static double value_at(const struct sl_quantized *s, const void *packed, size_t piece, size_t i) {
  return (double)code_at(s, packed, piece, i) * (double)scale_at(s, packed, piece, i);
}

/* Bytes behind the last code. */
static void check_end(const struct sl_quantized *s, const uint8_t *packed, size_t pieces) {
  const size_t used = 4 * blocks_of(s) + (s->n * (size_t)s->bits + 7) / 8;
  for (size_t p = 0; p < pieces; p++)
    for (size_t k = used; k < s->stride; k++) assert_int_equal(packed[p * s->stride + k], 0);
  for (size_t k = 0; k < 16; k++) assert_int_equal(packed[pieces * s->stride + k], 0x5a); /* nothing beyond */
}

static float *random_floats(size_t n, uint32_t name) {
  float *x = malloc((n + 1) * sizeof *x);
  assert_non_null(x);
  sl_philox_normal(x, &(struct sl_philox_key){23, 5, 1, name}, 0, n, 0.1f, 2.385f);
  return x;
}

static uint8_t *bytes(size_t n) {
  uint8_t *x = malloc(n + 16);
  assert_non_null(x);
  memset(x, 0x5a, n + 16);
  return x;
}

static const struct {
  size_t n, block;
} sizes[] = {{1, 8}, {7, 8}, {8, 8}, {9, 8}, {1001, 24}, {4099, 2048}, {2053, 4096}, {70001, 8000}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static double largest_in_block(const struct sl_quantized *s, const float *x, size_t i) {
  const size_t first = i / s->block * s->block, end = first + s->block < s->n ? first + s->block : s->n;
  double largest = 0;
  for (size_t k = first; k < end; k++) largest = fmax(largest, fabs((double)x[k]));
  return largest;
}

/* The scale is the largest number's over half the codes; every number is the nearest code, the largest positive one the
 * last. */
static void numbers_are_the_nearest_codes(void **state) {
  (void)state;
  for (int k = 0; k < 2 * SIZES; k++) {
    const struct sl_quantized s = shape_of(sizes[k / 2].n, sizes[k / 2].block, k % 2 ? 4 : 8);
    const double half = k % 2 ? 8 : 128;
    float *x = random_floats(s.n, (uint32_t)k), *back = malloc(s.n * sizeof *back);
    uint8_t *packed = bytes(s.stride);
    sl_quantize(packed, x, &s, 1, 1);
    check_end(&s, packed, 1);
    sl_quantize_back(back, packed, &s, 1);
    for (size_t i = 0; i < s.n; i++) {
      const double scale = (double)scale_at(&s, packed, 0, i), off = fabs(value_at(&s, packed, 0, i) - (double)x[i]);
      const bool top = code_at(&s, packed, 0, i) == (int)half - 1;
      if (i % s.block == 0) assert_true(fabs(scale * half / largest_in_block(&s, x, i) - 1) < 1e-6);
      assert_true(off <= scale * (top ? 1.001 : 0.501));
      assert_true(fabs((double)back[i] - value_at(&s, packed, 0, i)) <= 1e-6 * fabs((double)back[i]));
    }
    free(x), free(back), free(packed);
  }
}

/* Piece k (pieces / turn) + j goes to place j turn + k. */
static void pieces_take_turns(void **state) {
  (void)state;
  const struct sl_quantized s = shape_of(37, 16, 4);
  for (size_t turn = 1; turn <= 6; turn++) {
    if (6 % turn != 0) continue;
    float *x = random_floats(6 * s.n, 99);
    uint8_t *packed = bytes(6 * s.stride), *alone = bytes(s.stride);
    sl_quantize(packed, x, &s, 6, turn);
    check_end(&s, packed, 6);
    for (size_t k = 0; k < turn; k++)
      for (size_t j = 0; j < 6 / turn; j++) {
        sl_quantize(alone, x + (k * (6 / turn) + j) * s.n, &s, 1, 1);
        assert_memory_equal(packed + (j * turn + k) * s.stride, alone, s.stride);
      }
    free(x), free(packed), free(alone);
  }
}

static void several_pieces_come_back_side_by_side(void **state) {
  (void)state;
  const struct sl_quantized s = shape_of(1003, 336, 8);
  float *x = random_floats(5 * s.n, 4), *back = malloc(5 * s.n * sizeof *back);
  uint8_t *packed = bytes(5 * s.stride);
  sl_quantize(packed, x, &s, 5, 1);
  sl_quantize_back(back, packed, &s, 5);
  for (size_t i = 0; i < 5 * s.n; i++)
    assert_true(fabs((double)back[i] - value_at(&s, packed, i / s.n, i % s.n)) <= 1e-6 * fabs((double)back[i]));
  free(x), free(back), free(packed);
}

/* x (4, 3) pieces of 4 and 8 bits: what the four stand for is added, piece by piece. */
static void sums_are_of_what_is_packed(void **state) {
  (void)state;
  enum { SOURCES = 4, PIECES = 3 };
  for (int bits = 4; bits <= 8; bits += 4) {
    const struct sl_quantized s = shape_of(2051, 88, bits);
    float *x = random_floats(SOURCES * PIECES * s.n, 7), *sum = malloc(s.n * sizeof *sum);
    uint8_t *packed = bytes(SOURCES * PIECES * s.stride), *again = bytes(PIECES * s.stride);
    sl_quantize(packed, x, &s, SOURCES * PIECES, 1);
    sl_quantize_again(again, packed, &s, SOURCES, PIECES);
    check_end(&s, again, PIECES);
    for (size_t p = 0; p < PIECES; p++)
      for (size_t i = 0; i < s.n; i++) {
        double exact = 0;
        for (size_t k = 0; k < SOURCES; k++) exact += value_at(&s, packed, k * PIECES + p, i);
        assert_true(fabs(value_at(&s, again, p, i) - exact) <= 1.001 * (double)scale_at(&s, again, p, i));
      }
    for (int add = 0; add < 2; add++) {
      for (size_t i = 0; i < s.n; i++) sum[i] = 1000;
      sl_quantize_sum(sum, packed, &s, SOURCES, add);
      for (size_t i = 0; i < s.n; i++) {
        double exact = add ? 1000 : 0;
        for (size_t k = 0; k < SOURCES; k++) exact += value_at(&s, packed, k, i);
        assert_true(fabs((double)sum[i] - exact) <= 1e-6 * (fabs(exact) + 10));
      }
    }
    free(x), free(sum), free(packed), free(again);
  }
}

/* Zeros, and numbers too small for a scale, become zeros; what is not finite makes its block NaN, and no other. */
static void blocks_without_a_scale(void **state) {
  (void)state;
  const float odd[] = {NAN, INFINITY, -INFINITY};
  const struct sl_quantized s = shape_of(64, 16, 4);
  for (size_t k = 0; k < 3; k++) {
    float *x = random_floats(s.n, 3), back[64];
    uint8_t *packed = bytes(s.stride);
    for (size_t i = 0; i < 16; i++) x[i] = 0, x[16 + i] = 1e-42f;
    x[37] = odd[k];
    sl_quantize(packed, x, &s, 1, 1);
    sl_quantize_back(back, packed, &s, 1);
    for (size_t i = 0; i < 64; i++) assert_true(i < 32 ? back[i] == 0 : i < 48 ? isnan(back[i]) : isfinite(back[i]));
    sl_quantize_again(packed, packed, &s, 1, 1); /* a block that is NaN stays so */
    sl_quantize_back(back, packed, &s, 1);
    for (size_t i = 0; i < 64; i++) assert_true(i < 32 ? back[i] == 0 : i < 48 ? isnan(back[i]) : isfinite(back[i]));
    free(x), free(packed);
  }
}

/* 16-bit tensors: the codes of what they hold, and back, rounded once. */
static void halves_are_their_numbers(void **state) {
  (void)state;
  const struct sl_quantized s = shape_of(5003, 720, 8);
  float *x = random_floats(s.n, 11), *wide = malloc(s.n * sizeof *wide);
  uint16_t *half = malloc(s.n * sizeof *half), *rounded = malloc(s.n * sizeof *rounded);
  uint8_t *a = bytes(s.stride), *b = bytes(s.stride);
  for (int type = SL_NUMBER_BF16; type <= SL_NUMBER_F16; type++) {
    const struct sl_kernels *k = sl_kernels_of((enum sl_number)type);
    sl_convert(half, (enum sl_number)type, x, SL_NUMBER_F32, s.n);
    sl_convert(wide, SL_NUMBER_F32, half, (enum sl_number)type, s.n);
    sl_quantize(a, wide, &s, 1, 1);
    k->quantize(b, half, &s, 1, 1);
    assert_memory_equal(a, b, s.stride);
    sl_quantize_back(wide, a, &s, 1);
    sl_convert(rounded, (enum sl_number)type, wide, SL_NUMBER_F32, s.n);
    k->quantize_back(half, b, &s, 1);
    assert_memory_equal(half, rounded, s.n * sizeof *half);
    k->quantize_sum(half, b, &s, 1, 0);
    assert_memory_equal(half, rounded, s.n * sizeof *half);
  }
  free(x), free(wide), free(half), free(rounded), free(a), free(b);
}

static void any_number_of_threads_gives_the_same_bytes(void **state) {
  (void)state;
  const struct sl_quantized s = shape_of(70001, 4096, 4);
  float *x = random_floats(4 * s.n, 21);
  uint8_t *packed[2] = {bytes(4 * s.stride), bytes(4 * s.stride)},
          *again[2] = {bytes(2 * s.stride), bytes(2 * s.stride)};
  for (int k = 0; k < 2; k++) {
    omp_set_num_threads(k == 0 ? 1 : 3);
    sl_quantize(packed[k], x, &s, 4, 2);
    sl_quantize_again(again[k], packed[k], &s, 2, 2);
  }
  assert_memory_equal(packed[0], packed[1], 4 * s.stride);
  assert_memory_equal(again[0], again[1], 2 * s.stride);
  for (int k = 0; k < 2; k++) free(packed[k]), free(again[k]);
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_the_nearest_codes),
      cmocka_unit_test(pieces_take_turns),
      cmocka_unit_test(several_pieces_come_back_side_by_side),
      cmocka_unit_test(sums_are_of_what_is_packed),
      cmocka_unit_test(blocks_without_a_scale),
      cmocka_unit_test(halves_are_their_numbers),
      cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
