/* label: unit
   libs: kernels_double kernels
 * Random numbers: Philox against Random123's, whatever piece of a tensor they are drawn for. */
#include "tests/support/kernels_support.h"

static void philox_known_answers(void **state) {
  (void)state;
  /* Random123's kat_vectors, philox4x32 10 rounds. */
  static const struct {
    uint32_t counter[4], key[2], expected[4];
  } known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint32_t out[4];
    sl_philox_block(out, known[i].counter, known[i].key);
    assert_memory_equal(out, known[i].expected, sizeof out);
  }
}

static void philox_words_are_indexed_by_global_element(void **state) {
  (void)state;
  enum { N = 1237 };
  const struct sl_philox_key key = {17, 5, 3, 23};
  const uint64_t first = ((uint64_t)1 << 34) - 601; /* the 64-bit block index carries inside the range */
  static uint32_t whole[N], part[N];
  sl_philox_words(whole, &key, first, N);
  for (size_t i = 0; i < N; i += 97) {
    uint64_t e = first + i;
    uint32_t block[4], counter[4] = {(uint32_t)(e / 4), (uint32_t)(e / 4 >> 32), 3, 23}, k[2] = {17, 5};
    sl_philox_block(block, counter, k);
    assert_int_equal(whole[i], block[e % 4]);
  }
  sl_philox_words(part, &key, first + 713, N - 713);
  assert_memory_equal(part, whole + 713, (N - 713) * sizeof *part);
}

static void random_numbers_do_not_depend_on_the_partition(void **state) {
  (void)state;
  enum { N = 40001, CUT = 13337 };
  const struct sl_philox_key key = {3, 1, 0, 8};
  static float whole[N], parts[N];
  for (int kind = 0; kind < 2; kind++) {
    void (*draw)(float *, const struct sl_philox_key *, uint64_t, size_t, float, float) =
        kind == 0 ? sl_philox_normal : sl_philox_uniform;
    draw(whole, &key, 3, N, 0.5f, 2.0f);
    draw(parts, &key, 3, CUT, 0.5f, 2.0f);
    draw(parts + CUT, &key, 3 + CUT, N - CUT, 0.5f, 2.0f);
    assert_memory_equal(whole, parts, sizeof whole);
    double mean = 0, square = 0;
    for (size_t i = 0; i < N; i++) mean += whole[i] / (double)N;
    for (size_t i = 0; i < N; i++) square += (whole[i] - mean) * (whole[i] - mean) / (double)N;
    /* Four standard errors of the mean; the variance of U(0.5,2) is 1.5^2/12. */
    assert_true(fabs(mean - (kind == 0 ? 0.5 : 1.25)) < 4 * sqrt(square / N));
    assert_true(fabs(square / (kind == 0 ? 4.0 : 0.1875) - 1) < 0.04);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_known_answers),
      cmocka_unit_test(philox_words_are_indexed_by_global_element),
      cmocka_unit_test(random_numbers_do_not_depend_on_the_partition),
  };
  return cmocka_run_group_tests_name("philox", tests, NULL, NULL);
}
