/* label: cli
 * 1-bit Adam is predicted as it is measured: arenas, and calls, bytes and wire of both kinds of steps, beside what else
 * may be asked for. A prediction has a step of each kind wherever freeze_step is; a measurement that ends before it has
 * none behind it, and is compared with a prediction of as many steps. */
#include "tests/support/cli_run.h"

#include <jansson.h>

static const struct {
  const char *rest, *sl, *all_to_all; /* of rank 0, by the tensors of gpt2_narrow */
} cases[] = {
    {"", "", "after: dp all_to_all optimizer bytes"},
    {"\"bf16\": {\"enabled\": true}, ", "", "after: dp all_to_all optimizer bytes"},
    {"\"fp16\": {\"enabled\": true}, ", "\"pp\": 2, ", "after: dp all_to_all optimizer bytes"},
    {"", "\"tp\": 2, \"sequence_parallel\": true, ", "after: dp all_to_all optimizer bytes"},
};

static void write_config(int at, int freeze) {
  char path[600];
  snprintf(path, sizeof path, "%s/c.json", scratch);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f,
          "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 2, %s\"optimizer\": {\"type\": "
          "\"OneBitAdam\", \"params\": {\"freeze_step\": %d}}, \"shardlab\": {%s\"seq_len\": 16}}",
          cases[at].rest, freeze, cases[at].sl);
  assert_int_equal(fclose(f), 0);
}

static void validate(int steps) {
  const int code = shardlab(scratch,
                            "validate --model %s/tests/mpi/gpt2_narrow.json --config c.json --world 4 --steps %d "
                            "--data %s/examples/corpus.txt",
                            SL_SOURCE_DIR, steps, SL_SOURCE_DIR);
  if (code != 0) fail_msg("%d\n%s%s", code, out, err);
}

static void measured_as_predicted(void **state) {
  (void)state;
  for (size_t i = 0; has_host() && i < sizeof cases / sizeof *cases; i++) {
    write_config((int)i, 2);
    validate(4);
    assert_int_equal(lines_with(out, cases[i].all_to_all), 1);
    assert_int_equal(lines_with(out, "after: dp all_gather optimizer bytes"), 1);
    assert_int_equal(lines_with(out, "  dp all_reduce gradient bytes"), 1);
    assert_int_equal(lines_with(out, "after: dp all_reduce gradient"), 0);
  }
  if (!has_host()) return;
  write_config(0, 2);
  validate(2);
  assert_int_equal(lines_with(out, "after: "), 0);
}

static const json_t *row(const json_t *record, const char *op, const char *step) {
  size_t i;
  const json_t *r;
  json_array_foreach(json_object_get(record, "traffic"), i, r) {
    const char *of = json_string_value(json_object_get(r, "step"));
    if (strcmp(json_string_value(json_object_get(r, "op")), op) == 0 && strcmp(of != NULL ? of : "", step) == 0)
      return r;
  }
  fail_msg("no %s %s", op, step);
  return NULL;
}

/* A member's piece of a tensor is a scale and a bit a number; members are 4, so a piece has a multiple of 8 numbers. */
static int64_t closed_form(void) {
  enum { C = 64, V = 256, P = 64, L = 2 };
  const int64_t tensors[] = {V * C, P * C, C, C},
                blocks[] = {C, C, C * 3 * C, 3 * C, C * C, C, C, C, C * 4 * C, 4 * C, 4 * C * C, C};
  int64_t bytes = 0;
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) bytes += 4 * (4 + (tensors[i] / 4 + 31) / 32 * 4);
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) bytes += L * 4 * (4 + (blocks[i] / 4 + 31) / 32 * 4);
  return bytes;
}

static void a_prediction_has_both_steps(void **state) {
  (void)state;
  write_config(0, 100000);
  assert_int_equal(shardlab(scratch, "predict --model %s/tests/mpi/gpt2_narrow.json --config c.json --world 4 --json -",
                            SL_SOURCE_DIR),
                   0);
  json_t *record = json_loads(out, 0, NULL);
  assert_non_null(record);
  assert_true(json_real_value(json_object_get(record, "warmup_step_time_s")) > 0);
  assert_true(json_real_value(json_object_get(record, "compressed_step_time_s")) > 0);
  const int64_t bytes = closed_form();
  static const char *const ops[] = {"all_to_all", "all_gather"};
  for (int i = 0; i < 2; i++) {
    const json_t *r = row(record, ops[i], "compressed");
    assert_int_equal(json_integer_value(json_object_get(r, "bytes")), bytes);
    assert_int_equal(json_integer_value(json_object_get(r, "wire_bytes")), bytes / 4 * 3);
  }
  assert_true(json_integer_value(json_object_get(row(record, "all_reduce", ""), "bytes")) > 25 * bytes);
  json_decref(record);
}

static void a_comparison_is_of_the_same_steps(void **state) {
  static const char *const how[] = {"predict --json both.json", "predict --steps 2 --json early.json",
                                    "measure --steps 2 --json measured.json --data " SL_SOURCE_DIR
                                    "/examples/corpus.txt"};
  (void)state;
  if (!has_host()) skip();
  write_config(0, 2);
  for (size_t i = 0; i < sizeof how / sizeof *how; i++)
    assert_int_equal(
        shardlab(scratch, "%s --model %s/tests/mpi/gpt2_narrow.json --config c.json --world 2", how[i], SL_SOURCE_DIR),
        0);
  assert_int_equal(shardlab(scratch, "compare early.json measured.json"), 0);
  assert_int_equal(shardlab(scratch, "compare both.json measured.json"), 2);
  assert_non_null(strstr(err, "steps: is 2, none of them behind freeze_step, and both.json has one there; expected a "
                              "prediction of as many steps: predict --steps 2\n"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(measured_as_predicted),
                                     cmocka_unit_test(a_prediction_has_both_steps),
                                     cmocka_unit_test(a_comparison_is_of_the_same_steps)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
