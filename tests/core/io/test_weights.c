/* label: unit
 * Weights in one file, in several with Hugging Face's index, and in folders of either. */
#include "core/io/weights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/shardlab-weights-XXXXXX", path[256];

static const char *in(const char *name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_file(const char *name, const char *tensor, float value) {
  struct sl_safetensors_writer writer;
  const struct sl_safetensors_spec spec = {tensor, SL_F32, 1, {3}};
  const float values[3] = {value, value + 1, value + 2};
  assert_int_equal(sl_safetensors_create(&writer, in(name), &spec, 1, NULL), SL_OK);
  assert_int_equal(sl_safetensors_write(&writer, 0, 0, 3, values), SL_OK);
  assert_int_equal(sl_safetensors_finish(&writer), SL_OK);
}

static void write_text(const char *name, const char *text) {
  FILE *file = fopen(in(name), "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static int make_folder(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) return -1;
  return mkdir(in("split"), 0777) + mkdir(in("single"), 0777) + mkdir(in("none"), 0777);
}

static int remove_folder(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static void has(const struct sl_weights *weights, const char *tensor, float value) {
  const struct sl_safetensors *file;
  const struct sl_safetensors_tensor *t = sl_weights_find(weights, tensor, &file);
  float values[2];
  assert_non_null(t);
  assert_int_equal(sl_safetensors_read(file, t, 1, 2, values), SL_OK);
  assert_true(values[0] == value + 1 && values[1] == value + 2);
}

static void opens(const char *name) {
  struct sl_weights weights;
  const struct sl_safetensors *file;
  if (sl_weights_open(&weights, in(name)) != SL_OK) fail_msg("%s", sl_error_message());
  has(&weights, "wte.weight", 5);
  has(&weights, "transformer.ln_f.bias", 9); /* a prefix that some writers have */
  assert_null(sl_weights_find(&weights, "wpe.weight", &file));
  sl_weights_close(&weights);
}

static void refuses(const char *name, const char *word) {
  struct sl_weights weights;
  assert_int_equal(sl_weights_open(&weights, in(name)), SL_ERR_INPUT);
  if (strstr(sl_error_message(), word) == NULL) fail_msg("%s", sl_error_message());
  sl_error_clear();
  sl_weights_close(&weights);
}

static void several_files_and_their_index(void **state) {
  (void)state;
  write_file("split/a.safetensors", "wte.weight", 5);
  write_file("split/b.safetensors", "ln_f.bias", 9);
  write_text("split/model.safetensors.index.json",
             "{\"weight_map\": {\"wte.weight\": \"a.safetensors\", \"ln_f.bias\": \"b.safetensors\"}}");
  opens("split");
  opens("split/model.safetensors.index.json");
}

static void one_file(void **state) {
  (void)state;
  struct sl_weights weights;
  write_file("single/model.safetensors", "wte.weight", 5);
  assert_int_equal(sl_weights_open(&weights, in("single")), SL_OK);
  has(&weights, "wte.weight", 5);
  assert_int_equal(weights.file_count, 1);
  sl_weights_close(&weights);
  assert_int_equal(sl_weights_open(&weights, in("single/model.safetensors")), SL_OK);
  has(&weights, "wte.weight", 5);
  sl_weights_close(&weights);
}

static void what_is_no_weights(void **state) {
  (void)state;
  refuses("none", "a folder without weights");
  refuses("nowhere", "cannot be read");
  write_text("split/far.json", "{\"weight_map\": {\"wte.weight\": \"../single/model.safetensors\"}}");
  refuses("split/far.json", "is in no file beside the index");
  write_text("split/empty.json", "{\"weight_map\": {}}");
  refuses("split/empty.json", "weight_map: is missing or empty");
  write_text("split/lost.json", "{\"weight_map\": {\"wte.weight\": \"a.safetensors\", \"b\": \"lost.safetensors\"}}");
  refuses("split/lost.json", "lost.safetensors: cannot be read");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(several_files_and_their_index),
      cmocka_unit_test(one_file),
      cmocka_unit_test(what_is_no_weights),
  };
  return cmocka_run_group_tests_name("weights", tests, make_folder, remove_folder);
}
