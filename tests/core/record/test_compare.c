/* label: cli
 * Records of one plan side by side: every planted difference is found, times are judged where they mean something, and
 * a record that contradicts itself is refused. */
#include "core/record/compare.h"
#include "core/record/record.h"
#include "tests/support/cli_run.h"

static const char job[] = "--model gpt2-tiny --config " SL_SOURCE_DIR "/examples/ds_zero1.json --world 3 --seq 37";

/* A predicted record, and a measured one like it. */
static void make_pair(struct sl_json *predicted, struct sl_json *measured) {
  assert_int_equal(shardlab(scratch, "predict %s --no-fold --json -", job), 0);
  assert_int_equal(sl_json_parse(predicted, "p.json", out, strlen(out)), SL_OK);
  json_t *copy = json_loads(out, 0, NULL);
  assert_non_null(copy);
  json_object_set_new(copy, "kind", json_string("measured"));
  json_object_set_new(copy, "step_time_low_s", json_real(0.1));
  json_object_set_new(copy, "step_time_high_s", json_real(0.3));
  json_object_set_new(copy, "losses", json_pack("[f, f]", 5.5, 4.25));
  json_object_set_new(copy, "grad_norms", json_pack("[f, f]", 1.5, 1.25));
  json_object_set_new(copy, "skipped_steps", json_integer(0));
  char *text = json_dumps(copy, 0);
  assert_int_equal(sl_json_parse(measured, "m.json", text, strlen(text)), SL_OK);
  free(text);
  json_decref(copy);
  assert_int_equal(sl_record_check(predicted), SL_OK);
  assert_int_equal(sl_record_check(measured), SL_OK);
}

static json_t *deep(json_t *root, const char *a, const char *b) {
  return json_object_get(json_object_get(root, a), b);
}

/* How many rows fail when `measured` is as it is now. */
static int failed(const struct sl_json *predicted, const struct sl_json *measured, double time_tolerance) {
  struct sl_comparison comparison;
  assert_int_equal(sl_compare_records(&comparison, predicted, measured, time_tolerance), SL_OK);
  const int n = comparison.failed;
  char says[80];
  snprintf(says, sizeof says,
           n == 1 ? "%d judged value is out of tolerance: '" : "%d judged values are out of tolerance; the first is '",
           n);
  sl_error_clear();
  assert_int_equal(sl_comparison_judge(&comparison), n == 0 ? SL_OK : SL_ERR_CHECK);
  if (n > 0 && strncmp(sl_error_message(), says, strlen(says)) != 0) fail_msg("%s", sl_error_message());
  sl_comparison_free(&comparison);
  return n;
}

static void add_to(json_t *object, const char *key, json_int_t more) {
  json_object_set_new(object, key, json_integer(json_integer_value(json_object_get(object, key)) + more));
}

static void planted_differences(void **state) {
  (void)state;
  struct sl_json p, m;
  make_pair(&p, &m);
  assert_int_equal(failed(&p, &m, 0.5), 0);
  json_t *device = deep(m.root, "memory", "device"), *row = json_array_get(json_object_get(m.root, "traffic"), 0);
  json_t *rank = json_array_get(json_object_get(m.root, "ranks"), 2);
  add_to(device, "peak_bytes", 256); /* one alignment unit of the arena */
  assert_int_equal(failed(&p, &m, 0.5), 1);
  assert_non_null(strstr(sl_error_message(), "'memory: device peak'"));
  add_to(device, "peak_bytes", -256);
  add_to(json_object_get(device, "by_phase"), "backward", 1);
  assert_int_equal(failed(&p, &m, 0.5), 1);
  add_to(json_object_get(device, "by_phase"), "backward", -1);
  add_to(device, "process_bytes", 47000000);
  assert_int_equal(failed(&p, &m, 0.5), 0);
  add_to(device, "process_bytes", 2000000); /* beyond 48 MB, and beyond 2 % of so small a run */
  assert_int_equal(failed(&p, &m, 0.5), 1);
  add_to(device, "process_bytes", -49000000);
  add_to(row, "calls", 1);
  assert_int_equal(failed(&p, &m, 0.5), 1);
  add_to(row, "calls", -1);
  json_object_set_new(rank, "call_hash", json_string("0123456789abcdef"));
  assert_int_equal(failed(&p, &m, 0.5), 1);
  json_object_set(rank, "call_hash", json_object_get(json_array_get(json_object_get(p.root, "ranks"), 2), "call_hash"));
  json_array_append_new(json_object_get(m.root, "traffic"),
                        json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i}", "group", "dp", "op", "broadcast", "payload",
                                  "scalar", "dtype", "fp32", "calls", 1, "bytes", 4, "wire_bytes", 4));
  assert_int_equal(failed(&p, &m, 0.5), 3); /* calls, bytes and wire of a call that was not predicted */
  sl_json_free(&p);
  sl_json_free(&m);
}

static void times_are_judged_only_where_they_mean_something(void **state) {
  (void)state;
  struct sl_json p, m;
  make_pair(&p, &m);
  const double predicted = json_real_value(json_object_get(p.root, "step_time_s"));
  json_object_set_new(m.root, "step_time_s", json_real(predicted / 1.3));
  assert_int_equal(failed(&p, &m, 0.31), 0);
  assert_int_equal(failed(&p, &m, 0.29), 1);
  assert_int_equal(failed(&p, &m, -1), 0);
  json_object_set_new(m.root, "functional", json_true());
  assert_int_equal(failed(&p, &m, 0.29), 0);
  sl_json_free(&p);
  sl_json_free(&m);
}

static void records_of_different_plans(void **state) {
  (void)state;
  struct sl_json p, m;
  struct sl_comparison comparison;
  make_pair(&p, &m);
  json_object_set_new(json_object_get(m.root, "plan"), "zero_stage", json_integer(2));
  assert_int_equal(sl_compare_records(&comparison, &p, &m, -1), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "plan.zero_stage: is 2, but 1 in p.json"));
  sl_error_clear();
  json_object_set_new(json_object_get(m.root, "plan"), "zero_stage", json_integer(1));
  json_object_set_new(json_object_get(m.root, "plan"), "rank_order", json_string("pp-dp-tp"));
  assert_int_equal(sl_compare_records(&comparison, &p, &m, -1), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "plan.rank_order: is pp-dp-tp, but tp-dp-pp in p.json"));
  sl_error_clear();
  json_object_del(json_object_get(m.root, "plan"), "rank_order"); /* of a version that had one order */
  assert_int_equal(failed(&p, &m, -1), 0);
  sl_json_free(&p);
  sl_json_free(&m);
}

static void records_are_validated(void **state) {
  (void)state;
  struct sl_json p, m;
  make_pair(&p, &m);
  add_to(json_object_get(deep(m.root, "memory", "device"), "by_category"), "gradient", 8);
  assert_int_equal(sl_record_check(&m), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "memory.device.by_category: sums to"));
  sl_error_clear();
  json_object_del(m.root, "losses");
  assert_int_equal(sl_record_check(&m), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "losses: is absent; expected a list"));
  sl_error_clear();
  json_object_set_new(json_array_get(json_object_get(p.root, "traffic"), 1), "calls", json_string("three"));
  assert_int_equal(sl_record_check(&p), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "traffic[1].calls: is absent or of another type"));
  sl_error_clear();
  sl_json_free(&p);
  sl_json_free(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planted_differences),
      cmocka_unit_test(times_are_judged_only_where_they_mean_something),
      cmocka_unit_test(records_of_different_plans),
      cmocka_unit_test(records_are_validated),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
