/* label: unit
   libs: kernels_double kernels
 * Dropout with a stored mask: forward gives the bits that it gives without and leaves what it drew; backward gives the same
 * bits from the mask alone, and follows the mask where a test changes it. */
#include "tests/support/kernels_support.h"

#include "kernels/all.h"

enum { R = 37, C = 1061, N = R * C }; /* rows longer than two chunks of words */

static const struct sl_dropout drop = {.p = 0.3f, .key = {21, 2, 5, 13}, .first_element = 4099, .row_stride = 1409};

static float x[N], bias[C], residual[N], plain[N], stored[N];
static uint8_t mask[N];

static void numbers(float *to, size_t n, uint32_t name) {
  double *from = reals(n, name);
  to_float(to, from, n);
  free(from);
}

static struct sl_dropout with_mask(void) {
  struct sl_dropout d = drop;
  d.mask = mask;
  memset(mask, 7, sizeof mask);
  return d;
}

/* What `drop` keeps, element by element. */
static void assert_mask_is_drawn(void) {
  static float ones[N], kept[N];
  for (size_t i = 0; i < N; i++) ones[i] = 1;
  sl_dropout_forward(kept, ones, R, C, &drop);
  for (size_t i = 0; i < N; i++)
    if (mask[i] != (kept[i] != 0)) fail_msg("mask[%zu] is %d, drawn %g", i, mask[i], (double)kept[i]);
}

/* Turn every third byte over: a backward that drew again would not notice. */
static void turn_mask(void) {
  for (size_t i = 0; i < N; i += 3) mask[i] = !mask[i];
}

static void rows_are_dropped_by_the_stored_mask(void **state) {
  (void)state;
  struct sl_dropout d = with_mask();
  numbers(x, N, 31), numbers(residual, N, 32), numbers(bias, C, 33);
  sl_dropout_residual(plain, residual, x, bias, R, C, &drop);
  sl_dropout_residual(stored, residual, x, bias, R, C, &d);
  assert_memory_equal(plain, stored, sizeof plain);
  assert_mask_is_drawn();
  d = with_mask();
  sl_dropout_forward(plain, x, R, C, &drop);
  sl_dropout_forward(stored, x, R, C, &d);
  assert_memory_equal(plain, stored, sizeof plain);
  assert_mask_is_drawn();

  d.key.step++; /* other numbers, which a backward with a mask has no use for */
  sl_dropout_backward(plain, x, R, C, &drop);
  sl_dropout_backward(stored, x, R, C, &d);
  assert_memory_equal(plain, stored, sizeof plain);
  turn_mask();
  sl_dropout_backward(stored, x, R, C, &d);
  for (size_t i = 0; i < N; i++) assert_float_equal(stored[i], mask[i] ? x[i] * (float)(1 / 0.7) : 0, 1e-6);
}

static void the_embedding_reads_its_mask_back(void **state) {
  (void)state;
  enum { V = 11, T = 37, P = 41 };
  static float wte[V * C], wpe[P * C], dwte[2][V * C], dwpe[2][P * C];
  static int32_t tokens[T];
  const struct sl_embedding_shape shape = {.B = 1, .T = T, .C = C, .n_rows = V};
  struct sl_dropout d = with_mask();
  for (int i = 0; i < T; i++) tokens[i] = i * 5 % V;
  numbers(wte, V * C, 34), numbers(wpe, P * C, 35), numbers(x, N, 36);
  sl_embedding_forward(plain, tokens, wte, wpe, &shape, &drop);
  sl_embedding_forward(stored, tokens, wte, wpe, &shape, &d);
  assert_memory_equal(plain, stored, sizeof plain);
  assert_mask_is_drawn();
  d.key.step++;
  sl_embedding_backward(dwte[0], 0, dwpe[0], P, 0, 0, x, tokens, &shape, &drop);
  sl_embedding_backward(dwte[1], 0, dwpe[1], P, 0, 0, x, tokens, &shape, &d);
  assert_memory_equal(dwte[0], dwte[1], sizeof *dwte);
  assert_memory_equal(dwpe[0], dwpe[1], sizeof *dwpe);
  turn_mask();
  sl_embedding_backward(dwte[1], 0, dwpe[1], P, 0, 0, x, tokens, &shape, &d);
  for (size_t i = 0; i < N; i++) assert_float_equal(dwpe[1][i], mask[i] ? x[i] * (float)(1 / 0.7) : 0, 1e-6);
}

/* B T H KV D of attention, small and odd; two blocks of queries. */
enum { AB = 2, AT = 39, AH = 6, AKV = 2, AD = 5, ROW = (AH + 2 * AKV) * AD, SQUARES = AB * AH * AT * AT };
static const struct sl_attention_shape heads = {AB, AT, AH, AKV, AD, ROW, ROW, ROW, AH *AD, AH + 3, .scale = 0};

static void attention_reads_its_mask_and_what_it_left_back(void **state) {
  (void)state;
  static float qkv[AB * AT * ROW], out[2][AB * AT * AH * AD], dout[AB * AT * AH * AD], dqkv[2][AB * AT * ROW];
  static float probs[2][SQUARES], dropped[SQUARES];
  static uint8_t squares[SQUARES];
  const size_t bytes = sl_attention_backward_scratch_bytes(&heads, 2);
  void *scratch = malloc(bytes);
  struct sl_dropout d = drop;
  d.mask = squares;
  memset(squares, 7, sizeof squares);
  numbers(qkv, AB * AT * ROW, 37), numbers(dout, AB * AT * AH * AD, 38);
  const float *k = qkv + AH * AD, *v = k + AKV * AD;
  sl_attention_forward(out[0], probs[0], NULL, qkv, k, v, &heads, &drop, scratch, bytes);
  sl_attention_forward(out[1], probs[1], dropped, qkv, k, v, &heads, &d, scratch, bytes);
  assert_memory_equal(out[0], out[1], sizeof *out);
  assert_memory_equal(probs[0], probs[1], sizeof *probs);
  for (size_t i = 0; i < SQUARES; i++) {
    const size_t above = i % AT > i / AT % AT;
    assert_true(squares[i] <= !above);
    assert_float_equal(dropped[i], squares[i] ? probs[1][i] * (float)(1 / 0.7) : 0, 1e-6);
  }
  d.key.step++;
  for (int i = 0; i < 2; i++) {
    float *dk = dqkv[i] + AH * AD;
    sl_attention_backward(dqkv[i], dk, dk + AKV * AD, dout, qkv, k, v, probs[0], i ? dropped : NULL, &heads,
                          i ? &d : &drop, scratch, bytes);
  }
  assert_memory_equal(dqkv[0], dqkv[1], sizeof *dqkv);
  /* each of the two is really read: without the mask the gradients of scores vanish, without the dropped those of v */
  float *dk = dqkv[1] + AH * AD, *dv = dk + AKV * AD;
  memset(squares, 0, sizeof squares);
  sl_attention_backward(dqkv[1], dk, dv, dout, qkv, k, v, probs[0], dropped, &heads, &d, scratch, bytes);
  for (size_t i = 0; i < AB * AT; i++) {
    for (size_t c = 0; c < (AH + AKV) * AD; c++) assert_true(dqkv[1][i * ROW + c] == 0);
    assert_memory_equal(dv + i * ROW, dqkv[0] + i * ROW + (AH + AKV) * AD, AKV * AD * sizeof *dv);
  }
  free(scratch);
}

/* 16 bits: the mask is as exact, the dropped probabilities are rounded once more than those made from P in backward. */
static void half_attention_is_as_near_as_its_numbers(void **state) {
  (void)state;
  const struct sl_kernels *kernels = sl_kernels_of(SL_NUMBER_BF16);
  enum { ROWS = AB * AT };
  static float from[ROWS * ROW], wide[2][ROWS * ROW];
  static uint16_t qkv[ROWS * ROW], out[2][ROWS * AH * AD], probs[SQUARES], dropped[SQUARES], dqkv[2][ROWS * ROW];
  static uint8_t squares[SQUARES];
  const size_t bytes = sl_attention_backward_scratch_bytes(&heads, 1);
  void *scratch = malloc(bytes);
  struct sl_dropout d = drop;
  double reference[ROWS * ROW];
  d.mask = squares;
  numbers(from, ROWS * ROW, 39);
  sl_convert(qkv, SL_NUMBER_BF16, from, SL_NUMBER_F32, ROWS * ROW);
  uint16_t *k = qkv + AH * AD, *v = k + AKV * AD;
  for (int i = 0; i < 2; i++) {
    uint16_t *dk = dqkv[i] + AH * AD;
    kernels->attention_forward(out[i], probs, i ? dropped : NULL, qkv, k, v, &heads, i ? &d : &drop, scratch, bytes);
    kernels->attention_backward(dqkv[i], dk, dk + AKV * AD, out[0], qkv, k, v, probs, i ? dropped : NULL, &heads,
                                i ? &d : &drop, scratch, bytes);
    sl_convert(wide[i], SL_NUMBER_F32, dqkv[i], SL_NUMBER_BF16, ROWS * ROW);
  }
  assert_memory_equal(out[0], out[1], sizeof *out);
  for (size_t i = 0; i < ROWS * ROW; i++) reference[i] = (double)wide[0][i];
  assert_true(distance(wide[1], reference, ROWS * ROW) < 0x1p-8);
  free(scratch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_dropped_by_the_stored_mask),
      cmocka_unit_test(the_embedding_reads_its_mask_back),
      cmocka_unit_test(attention_reads_its_mask_and_what_it_left_back),
      cmocka_unit_test(half_attention_is_as_near_as_its_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
