/* label: cli
 * All bits of --seed count, also those above 32: of initial weights, of dropout, of random samples. Nothing is shuffled,
 * whose order has the whole seed by itself. */
#include "core/record/record.h"
#include "tests/support/cli_run.h"

#define ADAM "{\"optimizer\": {\"type\": \"Adam\"}, \"shardlab\": {\"shuffle\": false}}"
#define WIDTHS "\"n_layer\": 1, \"n_embd\": 16, \"n_head\": 2, \"vocab_size\": 257, \"n_positions\": 16"
#define TEXT "--data " SL_SOURCE_DIR "/examples/corpus.txt"

/* The loss of a first step. */
static double loss_of(const char *more, const char *seed) {
  char path[600];
  struct sl_json doc;
  if (shardlab(scratch, "measure --model m.json --config c.json --micro-batch 2 --steps 1 --json r.json %s --seed %s",
               more, seed) != 0)
    fail_msg("%s", err);
  snprintf(path, sizeof path, "%s/r.json", scratch);
  assert_int_equal(sl_record_load(&doc, path), SL_OK);
  const double loss = json_real_value(json_array_get(json_object_get(doc.root, "losses"), 0));
  sl_json_free(&doc);
  unlink(path);
  return loss;
}

/* 1 and 2^32 + 1 differ, and 1 is itself. */
static void differs(const char *more) {
  const double first = loss_of(more, "1");
  assert_true(loss_of(more, "1") == first);
  if (loss_of(more, "4294967297") == first) fail_msg("%s: 2^32 + 1 is as 1", more);
}

static void all_bits_of_a_seed_count(void **state) {
  (void)state;
  static const char *const files[] = {"m.json", "c.json", "w.safetensors"};
  if (!has_host()) skip();
  write_file("c.json", ADAM);
  write_file("m.json",
             "{\"model_type\": \"gpt2\", " WIDTHS ", \"resid_pdrop\": 0, \"embd_pdrop\": 0, \"attn_pdrop\": 0}");
  differs(TEXT); /* the weights */
  loss_of(TEXT " --save w.safetensors", "1");
  assert_true(loss_of(TEXT " --init w.safetensors", "1") == loss_of(TEXT " --init w.safetensors", "4294967297"));
  write_file("m.json", "{\"model_type\": \"gpt2\", " WIDTHS ", \"resid_pdrop\": 0.5}");
  differs(TEXT " --init w.safetensors"); /* what is dropped */
  write_file("m.json", "{\"model_type\": \"mlp\", \"dims\": [5, 7, 3]}");
  loss_of("--data random:8 --save w.safetensors", "1");
  differs("--data random:8 --init w.safetensors"); /* the samples */
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", scratch, files[i]);
    assert_int_equal(unlink(path), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_bits_of_a_seed_count)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
