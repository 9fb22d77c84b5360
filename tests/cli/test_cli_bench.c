/* label: cli
 * `shardlab bench sim`: both clocks are timed, agree, and what is said is in the JSON. */
#include <jansson.h>

#include "tests/support/cli_run.h"

static double number(const json_t *root, const char *section, const char *key) {
  const json_t *value = json_object_get(json_object_get(root, section), key);
  if (!json_is_number(value)) fail_msg("%s.%s: is no number", section, key);
  return json_number_value(value);
}

static void check_bench(const char *preset, bool whole) {
  const int code = shardlab(
      scratch, "bench sim --model gpt2-tiny --preset %s --cluster dgx-a100-80g --world 4 --quick --json -", preset);
  if (code != 0) fail_msg("%s", err);
  assert_non_null(strstr(err, "configurations/s"));
  json_t *root = json_loads(out, 0, NULL);
  assert_non_null(root);
  assert_int_equal(json_integer_value(json_object_get(root, "world")), 4);
  assert_true(number(root, "exact", "configurations") > 0 && number(root, "exact", "per_s") > 0);
  assert_true(number(root, "fast", "known_per_s") > number(root, "exact", "per_s"));
  assert_true(number(root, "fast", "configurations") >= number(root, "exact", "configurations"));
  assert_true((number(root, "fast", "whole") > 0) == whole);
  assert_true(number(root, "exact", "memory_MB") < 1e4 && number(root, "fast", "memory_MB") < 1e4);
  assert_true(number(root, "apart", "time") < 0.01 && number(root, "apart", "memory") < 0.01);
  json_decref(root);
}

/* The formulas cover DeepSpeed without ZeRO, and not FSDP. */
static void both_clocks_are_timed(void **state) {
  (void)state;
  check_bench("deepspeed-0", false);
  check_bench("fsdp", true);
}

static void quiet_says_nothing(void **state) {
  (void)state;
  assert_int_equal(
      shardlab(scratch, "bench sim --model gpt2-tiny --preset ddp --cluster dgx-a100-80g --world 2 --quick --quiet"),
      0);
  assert_string_equal(out, "");
  assert_string_equal(err, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_clocks_are_timed),
      cmocka_unit_test(quiet_says_nothing),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
