/* label: unit
 * The costs of kernel sets: units, defaults, strict keys, and a file for every word of shardlab.kernels. */
#include "core/cluster/kernel_costs.h"
#include "core/plan/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void near(double got, double want) {
  if (!(fabs(got - want) <= 1e-12 * fabs(want))) fail_msg("%.17g, expected %.17g", got, want);
}

static enum sl_status parse(struct sl_kernel_costs *costs, const char *text) {
  struct sl_json doc;
  assert_int_equal(sl_json_parse(&doc, "set.json", text, strlen(text)), SL_OK);
  const enum sl_status status = sl_kernel_costs_from_json(costs, &doc, NULL);
  sl_json_free(&doc);
  return status;
}

static void numbers_become_SI(void **state) {
  (void)state;
  struct sl_kernel_costs c;
  assert_int_equal(
      parse(&c,
            "{\"name\": \"a\", \"host_launch_us\": 5.5, \"host_launch_us_source\": \"fit\","
            "\"host_launch_us_stderr\": 0.3, \"host_piece_us\": 4, \"host_hook_us\": 80, \"host_collective_us\": 60, "
            "\"elementwise_factor\": 1.3, \"score_passes\": 3,"
            "\"comm_compute_share\": 0.25, \"unaligned_batches_on_cuda_cores\": 1, \"pads_unaligned_products\": 1}"),
      SL_OK);
  near(c.host_launch, 5.5e-6);
  near(c.host_piece, 4e-6);
  near(c.host_hook, 80e-6);
  near(c.host_collective, 60e-6);
  near(c.elementwise_factor, 1.3);
  near(c.score_passes, 3);
  near(c.comm_compute_share, 0.25);
  assert_int_equal(c.unaligned_batches_on_cuda_cores, 1);
  assert_int_equal(c.pads_unaligned_products, 1);
}

/* All fields; behind the last one there may be bytes of no field. */
static void same(const struct sl_kernel_costs *a, const struct sl_kernel_costs *b) {
  assert_memory_equal(a, b, offsetof(struct sl_kernel_costs, launch_blocking) + sizeof a->launch_blocking);
}

static void what_is_not_given_is_neutral(void **state) {
  (void)state;
  struct sl_kernel_costs c, none;
  assert_int_equal(parse(&c, "{\"name\": \"a\"}"), SL_OK);
  assert_int_equal(sl_kernel_costs_load(&none, "no-such-set"), SL_OK);
  same(&c, &none);
  near(c.host_launch + c.host_collective + c.comm_compute_share, 0);
  near(c.elementwise_factor, 1);
}

static void a_wrong_file_is_refused_with_its_place(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } bad[] = {
      {"{\"host_lunch_us\": 5}", "set.json:1:2: host_lunch_us: unknown key; did you mean \"host_launch_us\"?"},
      {"{\"elementwise_factor\": 0}", "elementwise_factor: is 0; expected a number from 0.01 to 100"},
      {"{\"comm_compute_share\": 1}", "comm_compute_share: is 1; expected a number from 0 to 0.99"},
      {"{\"host_launch_us\": -1}", "host_launch_us: is -1"},
      {"{\"host_launch_us\": 1, \"host_launch_us_source\": 2}", "expected text"},
      {"[]", "expected a JSON object"},
  };
  struct sl_kernel_costs c;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    sl_error_clear();
    assert_int_equal(parse(&c, bad[i].text), SL_ERR_INPUT);
    if (strstr(sl_error_message(), bad[i].says) == NULL) fail_msg("%s: %s", bad[i].text, sl_error_message());
  }
}

/* Each number of each set says where it comes from; our own kernels' host costs nothing beside launch_us. */
static void every_set_has_a_file_with_sources(void **state) {
  (void)state;
  static const char *const keys[] = {"host_launch_us", "host_collective_us", "elementwise_factor",
                                     "comm_compute_share"};
  for (int set = 0; set < SL_KERNELS_COUNT; set++) {
    const char *name = sl_kernel_set((enum sl_kernel_choice)set)->name;
    json_t *shown;
    assert_int_equal(sl_kernel_costs_json(&shown, name), SL_OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
      char key[64];
      snprintf(key, sizeof key, "%s_source", keys[i]);
      const char *source = json_string_value(json_object_get(shown, key));
      if (source == NULL || strcmp(source, "not given") == 0 || strcmp(source, "no source given") == 0)
        fail_msg("%s: %s", name, key);
    }
    json_decref(shown);
  }
  struct sl_kernel_costs own, neutral = sl_kernel_costs_neutral();
  assert_int_equal(sl_kernel_costs_load(&own, "shardlab"), SL_OK);
  near(own.score_passes, 2); /* no set's passes move its scores */
  neutral.score_passes = own.score_passes;
  same(&own, &neutral);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_become_SI),
      cmocka_unit_test(what_is_not_given_is_neutral),
      cmocka_unit_test(a_wrong_file_is_refused_with_its_place),
      cmocka_unit_test(every_set_has_a_file_with_sources),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
