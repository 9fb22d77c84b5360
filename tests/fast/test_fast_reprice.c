/* label: property
   libs: fast sim
 * Numbers that change under an open fast clock: what it then predicts equals, to the last bit, what one says that is opened with them. */
#include "tests/fast/against.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char config_text[] =
    "{\"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, "
    "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true}, \"shardlab\": {\"seq_len\": 512}}";

static double between(uint64_t *state, double low, double high) {
  return low + (high - low) * (double)(drawn(state) % 10007) / 10007;
}

static void draw_numbers(uint64_t *state, struct sl_cluster *c) {
  c->device.gemm_efficiency *= between(state, 0.7, 1.2);
  c->device.attention_efficiency *= between(state, 0.7, 1.2);
  c->device.elementwise_efficiency *= between(state, 0.7, 1.2);
  c->device.launch_latency *= between(state, 0.5, 3);
  c->device.step_overhead += between(state, 0, 1e-3);
  for (int i = 0; i < c->n_link; i++) {
    c->link[i].bandwidth *= between(state, 0.5, 2);
    c->link[i].latency *= between(state, 0.5, 2);
  }
}

static struct sl_fast_choice draw_choice(uint64_t *state) {
  struct sl_fast_choice c = {.tp = 1 << drawn(state) % 3,
                             .pp = 1 << drawn(state) % 3,
                             .micro_batch = 1 + (int64_t)(drawn(state) % 2),
                             .n_micro = 1 + (int64_t)(drawn(state) % 9),
                             .zero_stage = drawn(state) % 8 == 0 ? 3 : (int)(drawn(state) % 2),
                             .recompute = (enum sl_recompute)(drawn(state) % 3),
                             .schedule = (enum sl_fast_schedule)(drawn(state) % 2)};
  c.world = c.tp * c.pp * (1 << drawn(state) % 4);
  return c;
}

static void assert_same(const struct sl_fast_prediction *a, const struct sl_fast_prediction *b) {
  assert_true(a->step_time_s == b->step_time_s);
  assert_true(a->compute_s == b->compute_s);
  assert_true(a->bubble_s == b->bubble_s);
  assert_true(a->exposed_tp_s == b->exposed_tp_s);
  assert_true(a->exposed_pp_s == b->exposed_pp_s);
  assert_true(a->exposed_dp_s == b->exposed_dp_s);
  assert_true(a->optimizer_s == b->optimizer_s);
  assert_true(a->memory_bytes == b->memory_bytes);
}

/* `costs` NULL: the kernel set's own numbers, which a fresh clock has. */
static void compare(struct against *a, const struct sl_fast_choice *choice, const struct sl_kernel_costs *costs) {
  struct sl_fast *fresh = NULL;
  struct sl_fast_prediction kept, anew;
  if (sl_fast_reprice(a->fast, costs) != SL_OK) fail_msg("%s", sl_error_message());
  if (sl_fast_predict(a->fast, choice, &kept) != SL_OK) fail_msg("%s", sl_error_message());
  if (sl_fast_open(&fresh, &a->model, &a->config, &a->cluster) != SL_OK) fail_msg("%s", sl_error_message());
  if (sl_fast_reprice(fresh, costs) != SL_OK) fail_msg("%s", sl_error_message());
  if (sl_fast_predict(fresh, choice, &anew) != SL_OK) fail_msg("%s", sl_error_message());
  assert_same(&kept, &anew);
  sl_fast_close(fresh);
}

static void repriced_is_as_opened(void **unused) {
  (void)unused;
  struct against a;
  uint64_t random = 77;
  double seconds = 0;
  if (against_open(&a, "llama3-8b", config_text, "dgx-a100-80g") != SL_OK) fail_msg("%s", sl_error_message());
  for (int i = 0; i < 60; i++) {
    const struct sl_fast_choice choice = draw_choice(&random);
    struct sl_fast_prediction before, after;
    struct sl_kernel_costs costs = sl_kernel_costs_neutral();
    costs.elementwise_factor = between(&random, 1.1, 2);
    if (sl_fast_predict(a.fast, &choice, &before) != SL_OK) fail_msg("%s", sl_error_message());
    draw_numbers(&random, &a.cluster);
    compare(&a, &choice, i % 2 ? &costs : NULL);
    if (sl_fast_predict(a.fast, &choice, &after) != SL_OK) fail_msg("%s", sl_error_message());
    assert_true(after.step_time_s != before.step_time_s);
    seconds += after.step_time_s;
  }
  assert_true(seconds > 0);
  against_close(&a);
}

/* With a factor of the kernel set, the element-wise kernels of a step take longer and nothing is done in less time. */
static void costs_of_the_kernel_set_count(void **unused) {
  (void)unused;
  struct against a;
  const struct sl_fast_choice choice = {.world = 8, .tp = 2, .pp = 2, .micro_batch = 1, .n_micro = 4};
  struct sl_fast_prediction plain, slower, again;
  struct sl_kernel_costs costs = sl_kernel_costs_neutral();
  if (against_open(&a, "llama3-8b", config_text, "dgx-a100-80g") != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(sl_fast_predict(a.fast, &choice, &plain), SL_OK);
  costs.elementwise_factor = 1.7;
  assert_int_equal(sl_fast_reprice(a.fast, &costs), SL_OK);
  assert_int_equal(sl_fast_predict(a.fast, &choice, &slower), SL_OK);
  assert_true(slower.compute_s > plain.compute_s);
  assert_int_equal(sl_fast_reprice(a.fast, NULL), SL_OK);
  assert_int_equal(sl_fast_predict(a.fast, &choice, &again), SL_OK);
  assert_same(&plain, &again);
  against_close(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(repriced_is_as_opened),
      cmocka_unit_test(costs_of_the_kernel_set_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
