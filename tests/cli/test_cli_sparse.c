/* label: cli
 * Sparse gradients of an embedding train as dense ones do, and what they send is predicted as it is measured: a token's
 * number and its row, of every token of every micro-batch, whatever the data. */
#include "tests/support/cli_run.h"

#include <jansson.h>
#include <math.h>

enum { MICRO = 2, ACCUMULATE = 2, STEPS = 3, C = 16, V = 64, SEQ = 11, WORLD = 2 };
#define GPT2 "\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_head\": 2, \"n_embd\": 16, \"n_positions\": 16, "
#define LLAMA                                                                                                          \
  "\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"hidden_size\": 16, "             \
  "\"intermediate_size\": 24, \"max_position_embeddings\": 16, "

static const struct {
  const char *model, *config, *sl;
  double bytes, tolerance; /* of a number of a row on the wire; of losses */
} cases[] = {
    {GPT2 "\"attn_pdrop\": 0, \"resid_pdrop\": 0, \"embd_pdrop\": 0.25", "", "", 4, 1e-6},
    {GPT2 "\"attn_pdrop\": 0, \"resid_pdrop\": 0, \"embd_pdrop\": 0.25", "", "\"store_dropout_masks\": true, ", 4,
     1e-6},
    {LLAMA "\"rms_norm_eps\": 1e-5", "\"bf16\": {\"enabled\": true}, \"communication_data_type\": \"fp32\", ", "", 4,
     5e-3},
};

static void write_text(const char *name, const char *format, ...) {
  char path[600];
  va_list args;
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  va_start(args, format);
  vfprintf(f, format, args);
  va_end(args);
  assert_int_equal(fclose(f), 0);
}

static void write_case(size_t at, const char *sparse) {
  write_text("m.json", "{%s, \"vocab_size\": %d, \"tie_word_embeddings\": false}", cases[at].model, V);
  write_text("c.json",
             "{\"train_micro_batch_size_per_gpu\": %d, \"gradient_accumulation_steps\": %d, %s%s\"optimizer\": "
             "{\"type\": \"SGD\", \"params\": {\"lr\": 0.5}}, \"shardlab\": {%s\"seq_len\": %d}}",
             MICRO, ACCUMULATE, cases[at].config, sparse, cases[at].sl, SEQ);
}

/* A small vocabulary, of which each token comes often. */
static void write_data(void) {
  char text[4096];
  for (size_t i = 0; i + 1 < sizeof text; i++) text[i] = (char)(33 + (i * i + i / 7) % 29);
  text[sizeof text - 1] = '\0';
  write_text("d.txt", "%s", text);
}

static json_t *measured(size_t at, const char *sparse) {
  write_case(at, sparse);
  const int code = shardlab(
      scratch, "measure --model m.json --config c.json --world %d --steps %d --data d.txt --json -", WORLD, STEPS);
  if (code != 0) fail_msg("case %zu: %d\n%s", at, code, err);
  return json_loads(out, 0, NULL);
}

static int64_t bytes_of(const json_t *record, const char *op, const char *dtype) {
  size_t i;
  const json_t *row;
  json_array_foreach(json_object_get(record, "traffic"), i,
                     row) if (strcmp(json_string_value(json_object_get(row, "op")), op) == 0 &&
                              strcmp(json_string_value(json_object_get(row, "payload")), "gradient") == 0 &&
                              strcmp(json_string_value(json_object_get(row, "dtype")), dtype) ==
                                  0) return json_integer_value(json_object_get(row, "bytes"));
  return 0;
}

static void train_as_dense_ones(void **state) {
  (void)state;
  write_data();
  for (size_t at = 0; has_host() && at < sizeof cases / sizeof *cases; at++) {
    json_t *dense = measured(at, ""), *sparse = measured(at, "\"sparse_gradients\": true, ");
    for (size_t s = 0; s < STEPS; s++) {
      const double a = json_number_value(json_array_get(json_object_get(dense, "losses"), s));
      const double b = json_number_value(json_array_get(json_object_get(sparse, "losses"), s));
      if (!(fabs(b / a - 1) <= cases[at].tolerance)) fail_msg("case %zu, step %zu: %.9g, dense %.9g", at, s, b, a);
    }
    const char *dtype = cases[at].bytes < 4 ? "bf16" : "fp32";
    const int64_t tokens = WORLD * MICRO * ACCUMULATE * SEQ, positions = cases[at].model[15] == 'g' ? 16 : 0;
    assert_int_equal(bytes_of(sparse, "all_gather", "int32"), 4 * tokens);
    assert_int_equal(bytes_of(sparse, "all_gather", dtype), (int64_t)cases[at].bytes * C * tokens);
    /* the tables are missing in what is reduced */
    assert_int_equal(bytes_of(dense, "all_reduce", dtype) - bytes_of(sparse, "all_reduce", dtype),
                     (int64_t)cases[at].bytes * C * (V + positions));
    json_decref(dense), json_decref(sparse);
  }
}

static void measured_as_predicted(void **state) {
  (void)state;
  write_data();
  write_case(0, "\"sparse_gradients\": true, ");
  if (!has_host()) return;
  const int code = shardlab(scratch, "validate --model m.json --config c.json --world 4 --pp 2 --steps 1 --data d.txt");
  if (code != 0) fail_msg("%d\n%s%s", code, out, err);
  assert_true(lines_with(out, "dp all_gather gradient int32 bytes") == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(train_as_dense_ones), cmocka_unit_test(measured_as_predicted)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
