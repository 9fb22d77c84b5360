/* label: unit
 * Safetensors: what the reader accepts, converts and refuses; the writer, alone and with several processes. */
#include "core/base/new_file.h"
#include "core/io/safetensors.h"
#include "core/model/families.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned char image[4096];

/* Length, `header`, then `data_bytes` of the values 0, 1, 2 ...; returns the file's size. */
static size_t build(const char *header, size_t data_bytes) {
  const uint64_t length = strlen(header);
  assert_true(8 + length + data_bytes <= sizeof image);
  memcpy(image, &length, 8);
  memcpy(image + 8, header, length);
  for (size_t i = 0; i < data_bytes; i++) image[8 + length + i] = (unsigned char)i;
  return 8 + length + data_bytes;
}

static void expect_message(enum sl_status status, enum sl_status want, const char *message) {
  char said[512];
  snprintf(said, sizeof said, "%s", sl_error_message());
  sl_error_clear();
  assert_string_equal(said, message);
  assert_int_equal(status, want);
}

static void reads_names_shapes_and_values(void **state) {
  (void)state;
  const size_t size = build("{\"__metadata__\":{\"format\":\"pt\"},"
                            "\"ids\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[30,38]},"
                            "\"transformer.h.0.ln_1.bias\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[24,30]},"
                            "\"wte.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                            "\"none\":{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[38,38]}}   ",
                            38);
  struct sl_safetensors file;
  assert_int_equal(sl_safetensors_open_memory(&file, "m", image, size), SL_OK);
  assert_int_equal(file.count, 4);
  assert_string_equal(file.tensors[0].name, "wte.weight"); /* in the order of the bytes */
  assert_string_equal(file.tensors[2].name, "ids");
  const struct sl_safetensors_tensor *wte = sl_safetensors_find(&file, "transformer.wte.weight");
  assert_ptr_equal(wte, sl_safetensors_find(&file, "wte.weight"));
  assert_ptr_equal(wte, &file.tensors[0]);
  assert_int_equal(wte->n_dim, 2);
  assert_int_equal(wte->shape[1], 3);
  assert_int_equal(wte->numel, 6);
  float out[6], want[6];
  assert_int_equal(sl_safetensors_read(&file, wte, 1, 5, out), SL_OK);
  memcpy(want, image + file.data + wte->first, sizeof want);
  assert_memory_equal(out, want + 1, 20);
  const struct sl_safetensors_tensor *bias = sl_safetensors_find(&file, "h.0.ln_1.bias");
  assert_int_equal(sl_safetensors_read(&file, bias, 2, 1, out), SL_OK);
  const uint32_t bits = 0x1d1c0000; /* bytes 28, 29 as the upper half of a float */
  assert_memory_equal(out, &bits, 4);
  assert_null(sl_safetensors_find(&file, "h.0.ln_1"));
  assert_null(sl_safetensors_find(&file, "__metadata__"));
  expect_message(sl_safetensors_read(&file, wte, 2, 5, out), SL_ERR_INPUT,
                 "m: tensor \"wte.weight\": elements 2 to 7 wanted; it has 6");
  expect_message(sl_safetensors_read(&file, sl_safetensors_find(&file, "ids"), 0, 1, out), SL_ERR_INPUT,
                 "m: tensor \"ids\": dtype: is I64; expected F32, F16 or BF16");
  assert_int_equal(sl_safetensors_read(&file, sl_safetensors_find(&file, "none"), 0, 0, out), SL_OK);
  sl_safetensors_close(&file);
}

/* In a file of a whole model names begin with that of its base model; ours do not. */
static void knows_the_base_model_of_every_family(void **state) {
  (void)state;
#define X(type, name) &sl_model_##name,
  const struct sl_family *const families[] = {SL_FAMILY_MAP(X)};
#undef X
  int whole = 0;
  for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
    char header[128];
    struct sl_safetensors file;
    if (families[i]->base == NULL) continue;
    snprintf(header, sizeof header, "{\"%sw\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
             families[i]->base);
    assert_int_equal(sl_safetensors_open_memory(&file, "m", image, build(header, 8)), SL_OK);
    if (sl_safetensors_find(&file, "w") == NULL) fail_msg("%s: %s is not known", families[i]->name, families[i]->base);
    sl_safetensors_close(&file);
    whole++;
  }
  assert_true(whole > 10);
}

static void converts_every_kind_of_half(void **state) {
  (void)state;
  const uint16_t half[] = {0x0000, 0x8000, 0x3c00, 0xc100, 0x7bff, 0x0001, 0x83ff, 0x0400, 0x7c00, 0xfc00, 0x7e01};
  const float want[] = {
      0.0f, -0.0f, 1.0f, -2.5f, 65504.0f, 0x1p-24f, -0x3ffp-24f, 0x1p-14f, (float)INFINITY, -(float)INFINITY, NAN};
  const size_t size = build("{\"x\":{\"dtype\":\"F16\",\"shape\":[11],\"data_offsets\":[0,22]}}", 22);
  memcpy(image + size - 22, half, 22);
  struct sl_safetensors file;
  float out[11];
  assert_int_equal(sl_safetensors_open_memory(&file, "m", image, size), SL_OK);
  assert_int_equal(sl_safetensors_read(&file, sl_safetensors_find(&file, "x"), 0, 11, out), SL_OK);
  assert_memory_equal(out, want, 10 * sizeof *out);
  assert_true(isnan(out[10]));
  sl_safetensors_close(&file);
}

static void refuses_broken_files(void **state) {
  (void)state;
  static const struct {
    const char *header;
    size_t data;
    const char *message;
  } bad[] = {
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}", 8,
       "m: header: line 1, column 53: '}' expected near end of file"},
      {"[1]", 0, "m: header: expected a JSON object"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"a\":{\"dtype\":\"U8\",\"shape\":[1],"
       "\"data_offsets\":[1,2]}}",
       2, "m: header: line 1, column 56: duplicate object key near '\"a\"'"},
      {"{\"a\":7}", 0, "m: tensor \"a\": expected {\"dtype\": text, \"shape\": list, \"data_offsets\": list}"},
      {"{\"a\":{\"dtype\":\"Q5\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
       "m: tensor \"a\": dtype: is \"Q5\"; expected F32, F16, BF16 or another safetensors type"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":3,\"data_offsets\":[0,1]}}", 1,
       "m: tensor \"a\": shape: expected a list of at most 8 sizes"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1,
       "m: tensor \"a\": shape: expected a list of at most 8 sizes"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2,-1],\"data_offsets\":[0,1]}}", 1,
       "m: tensor \"a\": shape[1]: expected a size >= 0"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,1]}}", 1,
       "m: tensor \"a\": shape: more than 2^63 elements"},
      {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4294967296,1073741824],\"data_offsets\":[0,0]}}", 0,
       "m: tensor \"a\": data_offsets: is 0 bytes; expected 4611686018427387904 elements of 64 bits of F64"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1,
       "m: tensor \"a\": data_offsets: expected [begin, end]"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 7,
       "m: tensor \"a\": data_offsets: is [0, 8]; expected a range within the 7 bytes after the header"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[-1,1]}}", 7,
       "m: tensor \"a\": data_offsets: is [-1, 1]; expected a range within the 7 bytes after the header"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,1]}}", 7,
       "m: tensor \"a\": data_offsets: is [3, 1]; expected a range within the 7 bytes after the header"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8,
       "m: tensor \"a\": data_offsets: is 8 bytes; expected 3 elements of 32 bits of F32"},
      {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1,
       "m: tensor \"a\": data_offsets: is 1 bytes; expected 3 elements of 4 bits of F4"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]},\"b\":{\"dtype\":\"U8\",\"shape\":[3],"
       "\"data_offsets\":[4,7]}}",
       7, "m: tensor \"b\": data_offsets: starts at 4, inside \"a\", which ends at 5"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]},\"b\":{\"dtype\":\"U8\",\"shape\":[1],"
       "\"data_offsets\":[6,7]}}",
       7, "m: tensor \"b\": data_offsets: starts at 6; expected 5, bytes between belong to none"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]}}", 7,
       "m: 7 bytes follow the header; the tensors account for 5"},
      {"{\"model.a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"transformer.a\":{\"dtype\":\"U8\","
       "\"shape\":[1],\"data_offsets\":[1,2]}}",
       2, "m: tensors \"model.a\" and \"transformer.a\" are the same without their prefix"},
  };
  struct sl_safetensors file;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const size_t size = build(bad[i].header, bad[i].data);
    expect_message(sl_safetensors_open_memory(&file, "m", image, size), SL_ERR_INPUT, bad[i].message);
    assert_null(file.name);
    assert_null(file.tensors);
  }
}

static void refuses_a_wrong_length(void **state) {
  (void)state;
  struct sl_safetensors file;
  const size_t size = build("{}", 0);
  assert_int_equal(sl_safetensors_open_memory(&file, "m", image, size), SL_OK);
  assert_int_equal(file.count, 0);
  sl_safetensors_close(&file);
  expect_message(sl_safetensors_open_memory(&file, "m", image, 5), SL_ERR_INPUT,
                 "m: is 5 bytes; expected a safetensors file, which starts with 8 bytes of header length");
  expect_message(sl_safetensors_open_memory(&file, "m", image, 9), SL_ERR_INPUT,
                 "m: header length is 2; expected at most 100000000 and the 1 bytes that follow (is this a safetensors "
                 "file?)");
  memset(image, 0xff, 8);
  expect_message(sl_safetensors_open_memory(&file, "m", image, size), SL_ERR_INPUT,
                 "m: header length is 18446744073709551615; expected at most 100000000 and the 2 bytes that follow (is "
                 "this a safetensors file?)");
  expect_message(sl_safetensors_open(&file, "no/such"), SL_ERR_INPUT,
                 "no/such: cannot be read: No such file or directory");
}

static const struct sl_safetensors_spec table[] = {
    {.name = "wte.weight", .type = SL_F32, .n_dim = 2, .shape = {7, 3}},
    {.name = "ln.bias", .type = SL_BF16, .n_dim = 1, .shape = {5}},
    {.name = "scale", .type = SL_F32, .n_dim = 0},
};

static char folder[] = "test_safetensors_XXXXXX";
static char path[64];

static int make_folder(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) return -1;
  snprintf(path, sizeof path, "%s/out.safetensors", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder); /* fails, and the group with it, when a partial file was left behind */
}

static bool partial_exists(void) {
  char *hidden = sl_new_file_hidden(path, 0);
  const bool exists = access(hidden, F_OK) == 0;
  free(hidden);
  return exists;
}

/* Three processes write thirds of the rows; process 0 creates and finishes. */
static void processes_write_together(void **state) {
  (void)state;
  struct sl_safetensors_writer writer;
  json_t *metadata = json_pack("{s:s}", "step", "17");
  assert_int_equal(sl_safetensors_create(&writer, path, table, 3, metadata), SL_OK);
  for (int rank = 1; rank < 3; rank++) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      struct sl_safetensors_writer mine;
      const float rows[6] = {(float)rank, 2.5f, -3, 4, 5, 6.125f};
      const int64_t first = rank == 1 ? 6 : 12;
      bool good = sl_safetensors_join(&mine, path, table, 3, metadata) == SL_OK;
      good = good && sl_safetensors_write(&mine, 0, first, 6, rows) == SL_OK;
      good = good && sl_safetensors_finish(&mine) == SL_OK;
      _exit(good ? 0 : 1);
    }
    int exit_status;
    assert_int_equal(waitpid(child, &exit_status, 0), child);
    assert_int_equal(exit_status, 0);
    assert_true(partial_exists()); /* only the creator renames */
  }
  const float head[6] = {-1, -2, -3, -4, -5, -6.5f}, scale = 0.75f;
  const uint16_t bias[5] = {0x3f80, 0x4000, 0xc000, 0, 0x4040};
  assert_int_equal(sl_safetensors_write(&writer, 0, 0, 6, head), SL_OK);
  assert_int_equal(sl_safetensors_write(&writer, 1, 0, 5, bias), SL_OK);
  assert_int_equal(sl_safetensors_write(&writer, 2, 0, 1, &scale), SL_OK);
  assert_int_not_equal(access(path, F_OK), 0); /* not there before finish */
  assert_int_equal(sl_safetensors_finish(&writer), SL_OK);
  assert_false(partial_exists());
  json_decref(metadata);

  struct sl_safetensors file;
  float out[21];
  assert_int_equal(sl_safetensors_open(&file, path), SL_OK);
  assert_string_equal(json_string_value(json_object_get(json_object_get(file.header, "__metadata__"), "step")), "17");
  assert_int_equal((file.data + (uint64_t)file.tensors[0].first) % 8, 0);
  assert_int_equal(sl_safetensors_read(&file, sl_safetensors_find(&file, "wte.weight"), 0, 21, out), SL_OK);
  assert_memory_equal(out, head, sizeof head);
  assert_true(out[6] == 1.0f && out[11] == 6.125f && out[12] == 2.0f && out[17] == 6.125f);
  assert_true(out[18] == 0.0f && out[20] == 0.0f); /* nobody wrote these */
  assert_int_equal(sl_safetensors_read(&file, sl_safetensors_find(&file, "ln.bias"), 0, 5, out), SL_OK);
  assert_true(out[0] == 1.0f && out[2] == -2.0f && out[4] == 3.0f);
  assert_int_equal(sl_safetensors_read(&file, sl_safetensors_find(&file, "scale"), 0, 1, out), SL_OK);
  assert_true(out[0] == 0.75f);
  sl_safetensors_close(&file);
  unlink(path);
}

static void a_file_cut_short_is_an_error_with_its_name(void **state) {
  (void)state;
  const size_t size = build("{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                            "\"h\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[8,12]}}",
                            12);
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  assert_int_equal(fwrite(image, 1, size, out), size);
  assert_int_equal(fclose(out), 0);
  struct sl_safetensors file;
  float values[2];
  assert_int_equal(sl_safetensors_open(&file, path), SL_OK);
  assert_int_equal(truncate(path, (off_t)size - 8), 0);
  assert_int_equal(sl_safetensors_read(&file, sl_safetensors_find(&file, "w"), 0, 1, values), SL_OK);
  assert_int_equal(sl_safetensors_read(&file, sl_safetensors_find(&file, "w"), 0, 2, values), SL_ERR_IO);
  assert_non_null(strstr(sl_error_message(), path));
  assert_non_null(strstr(sl_error_message(), "was cut short while it was read"));
  assert_int_equal(sl_safetensors_read(&file, sl_safetensors_find(&file, "h"), 0, 2, values), SL_ERR_IO);
  sl_error_clear();
  sl_safetensors_close(&file);
  unlink(path);
}

static void abort_leaves_nothing(void **state) {
  (void)state;
  struct sl_safetensors_writer writer = {0};
  sl_safetensors_abort(&writer); /* zeroed: must not close descriptor 0 */
  assert_int_equal(sl_safetensors_create(&writer, path, table, 3, NULL), SL_OK);
  assert_true(partial_exists());
  const float value = 1;
  assert_int_equal(sl_safetensors_write(&writer, 0, 20, 2, &value), SL_ERR_INTERNAL);
  assert_non_null(strstr(sl_error_message(), "tensor 0: elements 20 to 22 of 21"));
  sl_error_clear();
  assert_int_equal(sl_safetensors_write(&writer, 3, 0, 0, &value), SL_ERR_INTERNAL);
  sl_error_clear();
  sl_safetensors_abort(&writer);
  assert_false(partial_exists());
  assert_int_not_equal(access(path, F_OK), 0);
}

static void join_wants_the_same_table(void **state) {
  (void)state;
  struct sl_safetensors_writer writer, other;
  assert_int_equal(sl_safetensors_join(&other, path, table, 3, NULL), SL_ERR_IO);
  assert_non_null(strstr(sl_error_message(), "cannot be opened: No such file"));
  sl_error_clear();
  assert_int_equal(sl_safetensors_create(&writer, path, table, 3, NULL), SL_OK);
  assert_int_equal(sl_safetensors_join(&other, path, table, 2, NULL), SL_ERR_PEER);
  sl_error_clear();
  struct sl_safetensors_spec changed[3];
  memcpy(changed, table, sizeof changed);
  changed[0].shape[0] = 3, changed[0].shape[1] = 7; /* the same bytes, another shape */
  assert_int_equal(sl_safetensors_join(&other, path, changed, 3, NULL), SL_ERR_PEER);
  sl_error_clear();
  assert_true(partial_exists()); /* the creator's file is not the joiner's to remove */
  sl_safetensors_abort(&writer);
}

static void create_refuses_bad_tables(void **state) {
  (void)state;
  struct sl_safetensors_writer writer;
  struct sl_safetensors_spec bad[3];
  memcpy(bad, table, sizeof bad);
  bad[2].name = "ln.bias";
  assert_int_equal(sl_safetensors_create(&writer, path, bad, 3, NULL), SL_ERR_INTERNAL);
  assert_non_null(strstr(sl_error_message(), "tensor \"ln.bias\": is given twice"));
  sl_error_clear();
  bad[2] = (struct sl_safetensors_spec){.name = "x", .type = SL_I32};
  assert_int_equal(sl_safetensors_create(&writer, path, bad, 3, NULL), SL_ERR_INTERNAL);
  sl_error_clear();
  bad[2] = (struct sl_safetensors_spec){.name = "x", .n_dim = 2, .shape = {INT64_MAX, 2}};
  assert_int_equal(sl_safetensors_create(&writer, path, bad, 3, NULL), SL_ERR_INTERNAL);
  assert_non_null(strstr(sl_error_message(), "its size overflows"));
  sl_error_clear();
  assert_int_equal(sl_safetensors_create(&writer, "no/such/folder/x", table, 3, NULL), SL_ERR_IO);
  assert_string_equal(sl_error_message(), "no/such/folder/x: cannot be created: No such file or directory");
  sl_error_clear();
  assert_false(partial_exists());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_names_shapes_and_values), cmocka_unit_test(knows_the_base_model_of_every_family),
      cmocka_unit_test(converts_every_kind_of_half),   cmocka_unit_test(refuses_broken_files),
      cmocka_unit_test(refuses_a_wrong_length),        cmocka_unit_test(processes_write_together),
      cmocka_unit_test(abort_leaves_nothing),          cmocka_unit_test(join_wants_the_same_table),
      cmocka_unit_test(create_refuses_bad_tables),     cmocka_unit_test(a_file_cut_short_is_an_error_with_its_name),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
