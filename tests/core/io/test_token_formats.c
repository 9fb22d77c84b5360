/* label: unit
 * Token files of others: NumPy's arrays, Megatron-LM's pairs, nanoGPT's bare numbers, and every broken header. */
#include "core/io/megatron.h"
#include "core/io/npy.h"
#include "core/io/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 16384 };

static void expect_message(enum sl_status status, const char *message) {
  assert_int_equal(status, SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), message);
  sl_error_clear();
}

static void put(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* ---- .npy ---- */

/* The bytes of a .npy file in out[0..MOST); returns how many they are. */
static size_t npy(unsigned char *out, int version, const char *header, const void *body, size_t bytes) {
  const size_t width = version == 1 ? 2 : 4, n = strlen(header);
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (unsigned char)version, out[7] = 0;
  for (size_t i = 0; i < width; i++) out[8 + i] = (unsigned char)(n >> (8 * i));
  memcpy(out + 8 + width, header, n);
  memcpy(out + 8 + width + n, body, bytes);
  return 8 + width + n + bytes;
}

static void arrays_of_every_width(void **state) {
  (void)state;
  static const struct {
    int version;
    const char *header;
    unsigned char body[48];
    size_t bytes;
  } good[] = {
      {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }  \n", {200, 1, 7}, 3},
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }\n", {200, 0, 1, 0, 7, 0}, 6},
      {2, "{\"shape\": (3, 1), \"descr\": \"<i4\", \"fortran_order\": False}", {200, 0, 0, 0, 1, 0, 0, 0, 7}, 12},
      {3, "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 3), }", {[0] = 200, [8] = 1, [16] = 7}, 24},
  };
  unsigned char file[MOST];
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    struct sl_data data;
    int32_t tokens[2], targets[2];
    const size_t size = npy(file, good[i].version, good[i].header, good[i].body, good[i].bytes);
    assert_int_equal(sl_data_open_memory(&data, "whatever.bin", file, size), SL_OK);
    assert_int_equal(data.token_count, 3);
    assert_int_equal(sl_data_check(&data, 2, 201), SL_OK);
    assert_int_equal(sl_data_sequence(&data, 0, 2, 201, tokens, targets), SL_OK);
    assert_int_equal(tokens[0], 200);
    assert_int_equal(tokens[1], 1);
    assert_int_equal(targets[1], 7);
    sl_data_close(&data);
  }
}

static void an_id_outside_the_vocabulary_is_named(void **state) {
  (void)state;
  static const int64_t wide[] = {1, 2, -3, INT64_MAX};
  unsigned char file[MOST];
  struct sl_data data;
  size_t size = npy(file, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (4,)}", wide, sizeof wide);
  assert_int_equal(sl_data_open_memory(&data, "a.npy", file, size), SL_OK);
  expect_message(sl_data_check(&data, 3, 100), "a.npy: token 2 (byte offset 81) is -3; the model's vocab_size is 100");
  sl_data_close(&data);
  size = npy(file, 1, "{'descr': '<u8', 'fortran_order': False, 'shape': (4,)}", wide, sizeof wide);
  assert_int_equal(sl_data_open_memory(&data, "a.npy", file, size), SL_OK);
  expect_message(sl_data_check(&data, 3, 100),
                 "a.npy: token 2 (byte offset 81) is 18446744073709551613; the model's vocab_size is 100");
  sl_data_close(&data);
  size = npy(file, 1, "{'descr': '|i1', 'fortran_order': False, 'shape': (4,)}", "\1\2\3\x80", 4);
  assert_int_equal(sl_data_open_memory(&data, "a.npy", file, size), SL_OK);
  expect_message(sl_data_check(&data, 3, 100),
                 "a.npy: token 3 (byte offset 68) is -128; the model's vocab_size is 100");
  sl_data_close(&data);
}

static void broken_arrays(void **state) {
  (void)state;
  static const struct {
    const char *header, *message;
  } bad[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
       "x: descr: is '<f4'; expected little-endian integers: |u1, <u2, <u4, <u8, |i1, <i2, <i4 or <i8"},
      {"{'descr': '>u2', 'fortran_order': False, 'shape': (2,)}",
       "x: descr: is '>u2'; expected little-endian integers: |u1, <u2, <u4, <u8, |i1, <i2, <i4 or <i8"},
      {"{'descr': '<u3', 'fortran_order': False, 'shape': (2,)}",
       "x: descr: is '<u3'; expected little-endian integers: |u1, <u2, <u4, <u8, |i1, <i2, <i4 or <i8"},
      {"{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (2,)}",
       "x: descr: is a structured type; expected integers"},
      {"{'descr': '<u2', 'fortran_order': True, 'shape': (2, 1)}",
       "x: fortran_order: is True; expected False, a row behind the other"},
      {"{'descr': '', 'fortran_order': False, 'shape': (2,)}",
       "x: descr: is ''; expected little-endian integers: |u1, <u2, <u4, <u8, |i1, <i2, <i4 or <i8"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': ()}",
       "x: shape: has 0 dimensions; expected one, or two: a row of tokens behind the other"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2, 1)}",
       "x: shape: has 3 dimensions; expected one, or two: a row of tokens behind the other"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (3,)}",
       "x: shape: 3 elements of 2 bytes, but 4 bytes follow the header"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999, 99999999999999999999)}",
       "x: shape: 2^63 or more elements of 2 bytes, but 4 bytes follow the header"},
      {"{'descr': '<u2', 'fortran_order': False}", "x: header: has no shape"},
      {"{'descr': '<u2', 'shape': (2,)}", "x: header: has no fortran_order"},
      {"{}", "x: header: has no descr"},
      {"{'descr': '<u2', 'order': 3}", "x: header: unknown key 'order'; expected descr, fortran_order and shape"},
      {"{'descr': '<u2', 'fortran_order': Falsch, 'shape': (2,)}",
       "x: header: expected True or False, found 'Falsch, 'shape': (2,)}'"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (-2,)}",
       "x: header: expected a number of elements, found '-2,)}'"},
      {"{'descr': '<u2' 'fortran_order': False}", "x: header: expected ',' or '}', found ''fortran_order': False}'"},
      {"[1]", "x: header: expected a dictionary {...}, found '[1]'"},
      {"{'descr': '<u2", "x: header: expected a word in quotes, found ''<u2'"},
  };
  unsigned char file[MOST];
  struct sl_data data;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const size_t size = npy(file, 1, bad[i].header, "four", 4) - (strcmp(bad[i].header, "{'descr': '<u2") == 0 ? 4 : 0);
    expect_message(sl_data_open_memory(&data, "x", file, size), bad[i].message);
    assert_null(data.name);
  }
  npy(file, 4, "{}", "", 0);
  expect_message(sl_data_open_memory(&data, "x", file, 14), "x: version of the .npy format is 4; expected 1, 2 or 3");
  npy(file, 1, "{}", "", 0);
  expect_message(sl_data_open_memory(&data, "x", file, 11),
                 "x: its header has 2 bytes; expected at most 65536, and no more than the file has");
  expect_message(sl_data_open_memory(&data, "x", file, 8), "x: is 8 bytes; expected the header of a .npy file");
}

/* ---- nanoGPT ---- */

static void bare_numbers_have_two_bytes(void **state) {
  (void)state;
  static const uint16_t tokens[] = {50256, 198, 11, 13};
  struct sl_data data;
  assert_int_equal(sl_data_open_memory(&data, "train.bin", tokens, sizeof tokens), SL_OK);
  assert_int_equal(data.token_count, 4);
  assert_int_equal(sl_data_check(&data, 3, 50257), SL_OK);
  expect_message(sl_data_check(&data, 3, 50256),
                 "train.bin: token 0 (byte offset 0) is 50256; the model's vocab_size is 50256");
  sl_data_close(&data);
  expect_message(
      sl_data_open_memory(&data, "train.bin", tokens, 7),
      "train.bin: is 7 bytes, an odd number; expected uint16 tokens, as nanoGPT writes them, or a header of llm.c");
  expect_message(sl_data_open_memory(&data, "train.bin", "To be, or not to be\n", 20),
                 "train.bin: is text; expected uint16 tokens. A text file must not be named .bin");
}

/* ---- Megatron-LM ---- */

/* An index in pieces. */
struct index {
  const char *magic;
  uint64_t version;
  unsigned char type;
  uint64_t sequences, documents;
  int32_t lengths[8];
  int64_t offsets[8], boundaries[8];
  size_t more; /* bytes behind it, or fewer */
};

static size_t index_bytes(unsigned char *out, const struct index *i) {
  const size_t s = (size_t)i->sequences % 8, d = (size_t)i->documents % 8;
  size_t at = 9;
  memcpy(out, i->magic, 9);
  memcpy(out + at, &i->version, 8), at += 8;
  out[at++] = i->type;
  memcpy(out + at, &i->sequences, 8), at += 8;
  memcpy(out + at, &i->documents, 8), at += 8;
  memcpy(out + at, i->lengths, 4 * s), at += 4 * s;
  memcpy(out + at, i->offsets, 8 * s), at += 8 * s;
  memcpy(out + at, i->boundaries, 8 * d), at += 8 * d;
  memset(out + at, 0, 8);
  return at + i->more;
}

/* Three documents, of two, none and one sequences; seven tokens. */
static const struct index good_index = {.magic = "MMIDIDX\0",
                                        .version = 1,
                                        .type = 8,
                                        .sequences = 3,
                                        .documents = 4,
                                        .lengths = {2, 4, 1},
                                        .offsets = {0, 4, 12},
                                        .boundaries = {0, 2, 2, 3}};

static void documents_stand_end_to_end(void **state) {
  (void)state;
  static const uint16_t tokens[] = {10, 11, 20, 21, 22, 23, 30};
  static const char *const names[] = {"test_megatron_pair", "test_megatron_pair.bin", "test_megatron_pair.idx"};
  unsigned char file[MOST];
  put("test_megatron_pair.bin", tokens, sizeof tokens);
  put("test_megatron_pair.idx", file, index_bytes(file, &good_index));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct sl_data data;
    int32_t in[3], out[3];
    assert_int_equal(sl_data_open(&data, names[i]), SL_OK);
    assert_string_equal(data.name, "test_megatron_pair.bin");
    assert_int_equal(sl_data_sequences(&data, 3), 2);
    assert_int_equal(sl_data_sequence(&data, 1, 3, 31, in, out), SL_OK);
    const int32_t want_in[] = {21, 22, 23}, want_out[] = {22, 23, 30}; /* GPTDataset's second sample: tokens 3 to 6 */
    assert_memory_equal(in, want_in, sizeof in);
    assert_memory_equal(out, want_out, sizeof out);
    sl_data_close(&data);
  }
  struct sl_data data;
  put("test_megatron_pair.bin", tokens, sizeof tokens - 2);
  expect_message(sl_data_open(&data, "test_megatron_pair"),
                 "test_megatron_pair.bin: is 12 bytes; expected 7 tokens of 2 bytes, as test_megatron_pair.idx says");
  unlink("test_megatron_pair.bin");
  expect_message(sl_data_open(&data, "test_megatron_pair.idx"),
                 "test_megatron_pair.bin: cannot be read: No such file or directory");
  unlink("test_megatron_pair.idx");
  expect_message(sl_data_open(&data, "test_megatron_pair.idx"),
                 "test_megatron_pair.idx: cannot be read: No such file or directory");
}

/* Sequences of the index, rounded half to even as Python rounds; of other data tokens. */
static void a_split_divides_documents(void **state) {
  (void)state;
  static const uint16_t tokens[] = {10, 11, 20, 21, 22, 23, 30};
  static const struct {
    const char *data, *split;
    enum sl_data_part part;
    int first, count;
  } cases[] = {
      {"test_split", "1,1,1", SL_DATA_TRAINING, 10, 2},   {"test_split", "1,1,1", SL_DATA_VALIDATION, 20, 4},
      {"test_split", "50,50", SL_DATA_TRAINING, 10, 6},   {"test_split", "0.1,0.9", SL_DATA_TRAINING, 0, 0},
      {"test_split", "50,50", SL_DATA_VALIDATION, 30, 1}, {"test_split", "8", SL_DATA_TRAINING, 10, 7},
      {"test_flat.bin", "3,4", SL_DATA_TRAINING, 10, 3},  {"test_flat.bin", "3,2,2", SL_DATA_VALIDATION, 21, 2},
      {"test_flat.bin", NULL, SL_DATA_VALIDATION, 10, 7}};
  unsigned char file[MOST];
  put("test_split.bin", tokens, sizeof tokens);
  put("test_split.idx", file, index_bytes(file, &good_index));
  put("test_flat.bin", tokens, sizeof tokens);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_data data;
    int32_t in[1], out[1];
    const enum sl_status status = sl_data_open_part(&data, cases[i].data, NULL, cases[i].split, cases[i].part);
    if (cases[i].count == 0) {
      assert_int_equal(status, SL_ERR_INPUT);
      sl_error_clear();
      continue;
    }
    assert_int_equal(status, SL_OK);
    assert_int_equal(data.token_count, cases[i].count);
    if (data.token_count > 1) assert_int_equal(sl_data_sequence(&data, 0, 1, 31, in, out), SL_OK);
    if (data.token_count > 1) assert_int_equal(in[0], cases[i].first);
    sl_data_close(&data);
  }
  struct sl_data data;
  expect_message(sl_data_open_part(&data, "test_split", NULL, "1,0,1", SL_DATA_VALIDATION),
                 "--split: '1,0,1' leaves nothing of test_split.bin for validation");
  static const char *const bad[] = {"", "a", "1,", "1,2,3,4", "-1,2", "0,0", "1;2", "nan", "1e309", "1 ,2"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(sl_data_open_part(&data, "test_split", NULL, bad[i], SL_DATA_TRAINING), SL_ERR_INPUT);
    assert_non_null(strstr(sl_error_message(), "; expected shares of training, validation and test, such as 969,30,1"));
    sl_error_clear();
  }
  unlink("test_split.bin");
  unlink("test_split.idx");
  unlink("test_flat.bin");
}

#define BUT(...)                                                                                                       \
  (struct index) {                                                                                                     \
    .magic = "MMIDIDX\0", .version = 1, .type = 8, .sequences = 3, .documents = 4, .lengths = {2, 4, 1},               \
    .offsets = {0, 4, 12}, .boundaries = {0, 2, 2, 3}, __VA_ARGS__                                                     \
  }

static void broken_indices(void **state) {
  (void)state;
#pragma GCC diagnostic push
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif
  const struct {
    struct index index;
    const char *message;
  } bad[] = {
      {BUT(.magic = "MMIDIDY\0"), "x.idx: does not begin with MMIDIDX; expected an index of Megatron-LM"},
      {BUT(.magic = "TNTIDX\0\0"), "x.idx: is an index of the old format TNTIDX; expected MMIDIDX, as Megatron-LM's "
                                   "tools/preprocess_data.py writes it"},
      {BUT(.version = 2), "x.idx: version is 2; expected 1"},
      {BUT(.type = 7), "x.idx: type of tokens is 7, float32; expected 1, 2, 3, 4, 5 or 8, an integer type"},
      {BUT(.type = 9), "x.idx: type of tokens is 9; expected 1, 2, 3, 4, 5 or 8, an integer type"},
      {BUT(.sequences = UINT64_MAX),
       "x.idx: is 150 bytes; too few for 18446744073709551615 sequences and 4 document boundaries"},
      {BUT(.more = 1), "x.idx: is 103 bytes; expected 102 for its 3 sequences and 4 document boundaries"},
      {BUT(.more = 3), "x.idx: is 105 bytes, 3 more than its lists: the modes of multimodal data; expected text"},
      {BUT(.lengths = {2, -4, 1}), "x.idx: length of sequence 1 is -4; expected 0 or more"},
      {BUT(.offsets = {0, 6, 12}), "x.idx: sequence 1 begins at byte 6; expected 4, where the one before it ends"},
      {BUT(.boundaries = {0, 2, 1, 3}), "x.idx: document boundary 2 is 1; expected one from 2 to 3"},
      {BUT(.boundaries = {1, 2, 2, 3}), "x.idx: document boundary 0 is 1; expected one from 0 to 0"},
      {BUT(.boundaries = {0, 2, 2, 4}), "x.idx: document boundary 3 is 4; expected one from 2 to 3"},
      {BUT(.boundaries = {0, 1, 1, 2}), "x.idx: the last document ends at sequence 2; expected 3, all of them"},
  };
#pragma GCC diagnostic pop
  unsigned char bytes[MOST];
  struct sl_megatron_index out;
  struct sl_file file = {0};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    sl_file_borrow(&file, "x.idx", bytes, index_bytes(bytes, &bad[i].index));
    expect_message(sl_megatron_index_read(&file, &out), bad[i].message);
  }
  index_bytes(bytes, &good_index);
  sl_file_borrow(&file, "x.idx", bytes, 33);
  expect_message(sl_megatron_index_read(&file, &out),
                 "x.idx: is 33 bytes; expected an index of Megatron-LM, 34 bytes or more");
  struct sl_data data;
  expect_message(sl_data_open_memory(&data, "x.txt", bytes, 102),
                 "x.txt: is an index of Megatron-LM; expected its name to end in .idx, beside the .bin");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_of_every_width),
      cmocka_unit_test(an_id_outside_the_vocabulary_is_named),
      cmocka_unit_test(broken_arrays),
      cmocka_unit_test(bare_numbers_have_two_bytes),
      cmocka_unit_test(documents_stand_end_to_end),
      cmocka_unit_test(a_split_divides_documents),
      cmocka_unit_test(broken_indices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
