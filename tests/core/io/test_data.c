/* label: unit
 * Token sources: text and shards, sequences and targets, the permutation, and every broken file. */
#include "core/io/data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static void expect_message(enum sl_status status, const char *message) {
  assert_int_equal(status, SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), message);
  sl_error_clear();
}

/* A shard of 256 header words and `bytes` of tokens; the caller frees it. */
static unsigned char *shard(int32_t magic, int32_t version, int32_t count, const void *tokens, size_t bytes) {
  unsigned char *file = calloc(1, 1024 + bytes);
  assert_non_null(file);
  const int32_t head[3] = {magic, version, count};
  memcpy(file, head, sizeof head);
  if (bytes > 0) memcpy(file + 1024, tokens, bytes);
  return file;
}

static void text_is_bytes(void **state) {
  (void)state;
  struct sl_data data;
  const char text[] = "The quick\xff fox"; /* 14 bytes */
  assert_int_equal(sl_data_open_memory(&data, "t.txt", text, 14), SL_OK);
  assert_int_equal(data.token_count, 14);
  assert_int_equal(sl_data_sequences(&data, 3), 4);
  assert_int_equal(sl_data_sequences(&data, 13), 1);
  assert_int_equal(sl_data_sequences(&data, 14), 0);
  int32_t tokens[3], targets[3];
  assert_int_equal(sl_data_sequence(&data, 3, 3, 256, tokens, targets), SL_OK);
  const int32_t want_tokens[] = {0xff, ' ', 'f'}, want_targets[] = {' ', 'f', 'o'};
  assert_memory_equal(tokens, want_tokens, sizeof tokens);
  assert_memory_equal(targets, want_targets, sizeof targets);
  expect_message(sl_data_sequence(&data, 4, 3, 256, tokens, targets),
                 "t.txt: no sequence 4 of 3 tokens; the file has 4");
  expect_message(sl_data_sequence(&data, -1, 3, 256, tokens, targets),
                 "t.txt: no sequence -1 of 3 tokens; the file has 4");
  expect_message(sl_data_sequence(&data, 3, 3, 255, tokens, targets),
                 "t.txt: token 9 (byte offset 9) is 255; the model's vocab_size is 255");
  /* the last target of a sequence is checked too */
  expect_message(sl_data_sequence(&data, 2, 3, 255, tokens, targets),
                 "t.txt: token 9 (byte offset 9) is 255; the model's vocab_size is 255");
  expect_message(sl_data_check(&data, 14, 256),
                 "t.txt: 14 tokens; expected more than 14, one sequence and its last target");
  expect_message(sl_data_check(&data, 13, 255), "t.txt: token 9 (byte offset 9) is 255; the model's vocab_size is 255");
  assert_int_equal(sl_data_check(&data, 13, 256), SL_OK);
  sl_data_close(&data);
}

static void shards_of_llm_c(void **state) {
  (void)state;
  struct sl_data data;
  const uint16_t two[5] = {50256, 464, 7, 65535, 11};
  unsigned char *file = shard(20240520, 1, 5, two, sizeof two);
  assert_int_equal(sl_data_open_memory(&data, "a.bin", file, 1034), SL_OK);
  assert_int_equal(data.token_count, 5);
  int32_t tokens[4], targets[4];
  assert_int_equal(sl_data_sequence(&data, 0, 4, 65536, tokens, targets), SL_OK);
  assert_int_equal(tokens[0], 50256);
  assert_int_equal(tokens[3], 65535);
  assert_int_equal(targets[0], 464);
  assert_int_equal(targets[3], 11);
  expect_message(sl_data_check(&data, 4, 50257),
                 "a.bin: token 3 (byte offset 1030) is 65535; the model's vocab_size is 50257");
  sl_data_close(&data);
  /* the magic number decides, whatever the file is called */
  assert_int_equal(sl_data_open_memory(&data, "a.tokens", file, 1034), SL_OK);
  assert_int_equal(data.token_bytes, 2);
  sl_data_close(&data);
  free(file);

  const uint32_t four[3] = {128000, 9, 128255};
  file = shard(20240801, 7, 3, four, sizeof four);
  assert_int_equal(sl_data_open_memory(&data, "b.bin", file, 1036), SL_OK);
  assert_int_equal(sl_data_sequence(&data, 1, 1, 128256, tokens, targets), SL_OK);
  assert_int_equal(tokens[0], 9);
  assert_int_equal(targets[0], 128255);
  sl_data_close(&data);
  free(file);
}

static void broken_shards(void **state) {
  (void)state;
  struct sl_data data;
  const uint16_t two[3] = {1, 2, 3};
  const struct {
    int32_t magic, version, count;
    size_t size;
    const char *message;
  } bad[] = {
      {20240521, 1, 3, 1030,
       "x.bin: header word 0: magic is 20240521; expected 20240520 (GPT-2, uint16) or 20240801 (Llama 3, uint32) in "
       "front of a header like llm.c's"},
      {20240520, 2, 3, 1030, "x.bin: header word 1: version is 2; expected 1 for a GPT-2 shard"},
      {20240801, 1, 3, 1030, "x.bin: header word 1: version is 1; expected 7 for a Llama 3 shard"},
      {20240520, 1, 4, 1030,
       "x.bin: header word 2: 4 tokens of 2 bytes, but 6 bytes follow the header; expected 3 tokens"},
      {20240520, 1, -3, 1030,
       "x.bin: header word 2: -3 tokens of 2 bytes, but 6 bytes follow the header; expected 3 tokens"},
      {20240520, 1, 0, 1024,
       "x.bin: header word 2: 0 tokens of 2 bytes, but 0 bytes follow the header; expected 0 tokens"},
      {20240520, 1, 3, 1023, "x.bin: is 1023 bytes; expected a header of 1024 bytes"},
      {20240520, 1, 3, 3,
       "x.bin: is 3 bytes, an odd number; expected uint16 tokens, as nanoGPT writes them, or a header of llm.c"},
      {20240520, 1, 3, 0, "x.bin: is empty; expected text or tokens"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    unsigned char *file = shard(bad[i].magic, bad[i].version, bad[i].count, two, sizeof two);
    expect_message(sl_data_open_memory(&data, "x.bin", file, bad[i].size), bad[i].message);
    assert_null(data.name);
    free(file);
  }
}

static void files_are_read(void **state) {
  (void)state;
  struct sl_data data;
  assert_int_equal(sl_data_open(&data, SL_SOURCE_DIR "/examples/corpus.txt"), SL_OK);
  assert_int_equal(data.token_count, 148476);
  assert_int_equal(sl_data_check(&data, 1024, 128), SL_OK); /* the demo's text is plain ASCII */
  sl_data_close(&data);
  expect_message(sl_data_open(&data, "no/such/file.txt"),
                 "no/such/file.txt: cannot be read: No such file or directory");
  expect_message(sl_data_open(&data, "/"), "/: is a folder, a pipe or a device; expected a plain file");
  char path[] = "test_data_XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(sl_data_open(&data, path), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "is empty; expected text or tokens"));
  sl_error_clear();
  unlink(path);
}

static void a_file_cut_short_is_an_error_with_its_name(void **state) {
  (void)state;
  char path[] = "test_data_XXXXXX";
  struct sl_data data;
  int32_t tokens[4];
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, "twelve bytes", 12), 12);
  assert_int_equal(sl_data_open(&data, path), SL_OK);
  assert_int_equal(ftruncate(fd, 7), 0);
  assert_int_equal(sl_data_sequence(&data, 0, 4, 256, tokens, NULL), SL_OK);
  assert_int_equal(sl_data_sequence(&data, 1, 4, 256, tokens, NULL), SL_ERR_IO);
  assert_non_null(strstr(sl_error_message(), ": was cut short while it was read: it had 12 bytes"));
  assert_int_equal(sl_data_check(&data, 4, 255), SL_ERR_IO); /* with 256 there is nothing to look for */
  sl_error_clear();
  sl_data_close(&data);
  close(fd);
  unlink(path);
}

/* Text of gigabytes is not read before training begins where each byte is a token: the end of this one cannot be. */
static void what_can_be_nothing_but_tokens_is_not_read(void **state) {
  (void)state;
  const size_t size = 1 << 20;
  struct sl_data data;
  char *text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(text != MAP_FAILED);
  memset(text, 'a', size / 2);
  assert_int_equal(mprotect(text + size / 2, size / 2, PROT_NONE), 0);
  assert_int_equal(sl_data_open_memory(&data, "t.txt", text, size), SL_OK);
  assert_int_equal(sl_data_check(&data, 8, 256), SL_OK);
  sl_data_close(&data);
  munmap(text, size);
}

static void permutation_is_a_bijection(void **state) {
  (void)state;
  const int64_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 63, 257, 1000, 4097};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const int64_t n = sizes[s];
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
      unsigned char *seen = calloc(1, (size_t)n);
      assert_non_null(seen);
      for (int64_t i = 0; i < n; i++) {
        const int64_t p = sl_data_permute(n, 42, epoch, i);
        assert_in_range(p, 0, n - 1);
        assert_int_equal(seen[p]++, 0);
      }
      free(seen);
    }
  }
  const int64_t huge = ((int64_t)1 << 62) + 12345;
  const int64_t p = sl_data_permute(huge, 7, 0, huge - 1);
  assert_true(p >= 0 && p < huge);
}

/* Over many epochs every position takes every value equally often: chi-square of n x n cells. With (n-1)^2 = 100
 * degrees of freedom the sum lies below 160 in all but about 1 in 10^4 cases; the keys are fixed, so the test cannot
 * flicker. */
static void permutation_is_even(void **state) {
  (void)state;
  enum { N = 11, EPOCHS = 11000 };
  static int count[N][N];
  for (uint64_t epoch = 0; epoch < EPOCHS; epoch++)
    for (int i = 0; i < N; i++) count[i][sl_data_permute(N, 3, epoch, i)]++;
  double chi2 = 0;
  const double expected = (double)EPOCHS / N;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) chi2 += (count[i][j] - expected) * (count[i][j] - expected) / expected;
  assert_true(chi2 < 160.0);
}

/* Neighbours do not stay neighbours, and seeds and epochs differ. */
static void permutation_mixes(void **state) {
  (void)state;
  const int64_t n = 1009;
  int neighbours = 0, same_seed = 0, same_epoch = 0;
  for (int64_t i = 1; i < n; i++) {
    const int64_t p = sl_data_permute(n, 5, 0, i);
    neighbours += llabs(p - sl_data_permute(n, 5, 0, i - 1)) == 1;
    same_seed += p == sl_data_permute(n, 6, 0, i);
    same_epoch += p == sl_data_permute(n, 5, 1, i);
  }
  assert_true(neighbours < 12); /* 2 are expected, 1 for the others */
  assert_true(same_seed < 9);
  assert_true(same_epoch < 9);
}

static void order_wraps_into_the_next_epoch(void **state) {
  (void)state;
  const int64_t n = 13;
  assert_int_equal(sl_data_order(n, 9, 12), sl_data_permute(n, 9, 0, 12));
  assert_int_equal(sl_data_order(n, 9, 13), sl_data_permute(n, 9, 1, 0));
  assert_int_equal(sl_data_order(n, 9, 31), sl_data_permute(n, 9, 2, 5));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_bytes),
      cmocka_unit_test(shards_of_llm_c),
      cmocka_unit_test(broken_shards),
      cmocka_unit_test(files_are_read),
      cmocka_unit_test(a_file_cut_short_is_an_error_with_its_name),
      cmocka_unit_test(what_can_be_nothing_but_tokens_is_not_read),
      cmocka_unit_test(permutation_is_a_bijection),
      cmocka_unit_test(permutation_is_even),
      cmocka_unit_test(permutation_mixes),
      cmocka_unit_test(order_wraps_into_the_next_epoch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
