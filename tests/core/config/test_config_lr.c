/* label: unit
 * Learning-rate schedules against numbers worked out by hand from DeepSpeed's lr_schedules.py, at odd values. */
#include "core/config/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void swallow(void *context, const char *message) {
  (void)context;
  (void)message;
}

static void parse(struct sl_config *config, const char *scheduler) {
  char text[1024];
  snprintf(text, sizeof text, "{\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.02}}, \"scheduler\": %s}",
           scheduler);
  sl_error_clear();
  if (sl_config_parse(config, "ds.json", text, strlen(text), true) != SL_OK) fail_msg("%s", sl_error_message());
}

static void near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-12 * fmax(1, fabs(expected)))) fail_msg("%.17g is not %.17g", value, expected);
}

/* lr(0), lr(1), ... of the scheduler */
static void follows(const char *scheduler, const double *expected, int n) {
  struct sl_config config;
  parse(&config, scheduler);
  for (int i = 0; i < n; i++) near(sl_config_lr(&config, i), expected[i]);
  sl_config_free(&config);
}

#define FOLLOWS(scheduler, ...)                                                                                        \
  follows(scheduler, (const double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))

static void constant(void **state) {
  (void)state;
  struct sl_config config;
  const char *text = "{\"optimizer\": {\"type\": \"SGD\", \"params\": {\"lr\": 0.37}}}";
  assert_int_equal(sl_config_parse(&config, "ds.json", text, strlen(text), true), SL_OK);
  near(sl_config_lr(&config, 0), 0.37);
  near(sl_config_lr(&config, INT64_MAX), 0.37);
  sl_config_free(&config);
}

static void warmup(void **state) {
  (void)state;
  /* i = s - 1: log(1)/log(4) = 0, log(2)/log(4) = 1/2, log(3)/log(4), log(4)/log(4) = 1, then 1 */
  FOLLOWS("{\"type\": \"WarmupLR\", \"params\": {\"warmup_min_lr\": 0.003, \"warmup_max_lr\": 0.011, "
          "\"warmup_num_steps\": 4}}",
          0.003, 0.003, 0.007, 0.003 + 0.008 * 0.79248125036057809, 0.011, 0.011, 0.011);
  /* linear: 0/4, 1/4, 2/4, 3/4, 1; no maximum: the optimizer's 0.02 */
  FOLLOWS("{\"type\": \"WarmupLR\", \"params\": {\"warmup_num_steps\": 4, \"warmup_type\": \"linear\"}}", 0, 0, 0.005,
          0.010, 0.015, 0.02, 0.02);
  /* a single warm-up step counts as two: log(1)/log(2), log(2)/log(2) */
  FOLLOWS("{\"type\": \"WarmupLR\", \"params\": {\"warmup_max_lr\": 0.7, \"warmup_num_steps\": 1}}", 0, 0, 0.7, 0.7);
}

static void warmup_decay(void **state) {
  (void)state;
  /* warm-up 2, then (7 - i)/5 for i = 2..6, 0 from i = 7 on */
  FOLLOWS("{\"type\": \"WarmupDecayLR\", \"params\": {\"total_num_steps\": 7, \"warmup_max_lr\": 0.5, "
          "\"warmup_num_steps\": 2}}",
          0, 0, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1, 0, 0, 0);
  /* the default maximum is 0.001, not the optimizer's; a decay ends at the minimum */
  FOLLOWS("{\"type\": \"WarmupDecayLR\", \"params\": {\"total_num_steps\": 3, \"warmup_min_lr\": 0.0002, "
          "\"warmup_num_steps\": 2, \"warmup_type\": \"linear\"}}",
          0.0002, 0.0002, 0.0006, 0.001, 0.0002, 0.0002);
  /* total below the warm-up: max(1, total - warmup) */
  FOLLOWS("{\"type\": \"WarmupDecayLR\", \"params\": {\"total_num_steps\": 1, \"warmup_max_lr\": 0.5, "
          "\"warmup_num_steps\": 2}}",
          0, 0, 0.5, 0, 0);
}

static void warmup_cosine(void **state) {
  (void)state;
  /* warm-up 2 from 0.1; then p = 1/4, 2/4, 3/4, 1, 1: cos(pi p) = sqrt(1/2), 0, -sqrt(1/2), -1 */
  const double half = 0.70710678118654752;
  FOLLOWS("{\"type\": \"WarmupCosineLR\", \"params\": {\"total_num_steps\": 6, \"warmup_num_steps\": 2, "
          "\"warmup_min_ratio\": 0.1, \"cos_min_ratio\": 0.2, \"warmup_type\": \"linear\"}}",
          0, 0.02 * 0.1, 0.02 * 0.55, 0.02 * (0.2 + 0.8 * (1 + half) / 2), 0.02 * 0.6,
          0.02 * (0.2 + 0.8 * (1 - half) / 2), 0.02 * 0.2, 0.02 * 0.2, 0.02 * 0.2);
  FOLLOWS("{\"type\": \"WarmupCosineLR\", \"params\": {\"total_num_steps\": 4, \"warmup_num_steps\": 4}}", 0, 0,
          0.02 * 0.5, 0.02 * 0.79248125036057809, 0.02, 0.02 * 1e-4, 0.02 * 1e-4);
}

static void range_test(void **state) {
  (void)state;
  FOLLOWS("{\"type\": \"LRRangeTest\", \"params\": {\"lr_range_test_min_lr\": 0.04, \"lr_range_test_step_size\": 4, "
          "\"lr_range_test_step_rate\": 3}}",
          0.04, 0.07, 0.10, 0.13, 0.16, 0.19, 0.22);
  FOLLOWS("{\"type\": \"LRRangeTest\", \"params\": {\"lr_range_test_min_lr\": 0.04, \"lr_range_test_step_size\": 3, "
          "\"lr_range_test_step_rate\": 2, \"lr_range_test_staircase\": true}}",
          0.04, 0.04, 0.04, 0.12, 0.12, 0.12, 0.20, 0.20);
}

static void one_cycle(void **state) {
  (void)state;
  /* up over 2 steps, down over 4, then 0.1 / (1 + 0.5 k / 2) for k = 1, 2, 3 steps after the cycle */
  FOLLOWS(
      "{\"type\": \"OneCycle\", \"params\": {\"cycle_min_lr\": 0.1, \"cycle_max_lr\": 0.5, "
      "\"cycle_first_step_size\": 2, \"cycle_second_step_size\": 4, \"decay_lr_rate\": 0.5, \"decay_step_size\": 2}}",
      0.1, 0.3, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1 / 1.25, 0.1 / 1.5, 0.1 / 1.75);
  /* two stairs up over 4 steps, and, by default, as many steps and stairs down; no decay: stays at the minimum */
  FOLLOWS("{\"type\": \"OneCycle\", \"params\": {\"cycle_min_lr\": 0.1, \"cycle_max_lr\": 0.5, "
          "\"cycle_first_step_size\": 4, \"cycle_first_stair_count\": 2}}",
          0.1, 0.1, 0.3, 0.3, 0.5, 0.3, 0.3, 0.1, 0.1, 0.1, 0.1);
}

static void cycled_betas(void **state) {
  (void)state;
  struct sl_config config;
  double beta1, beta2;
  parse(&config, "{\"type\": \"OneCycle\", \"params\": {\"cycle_min_lr\": 0.1, \"cycle_max_lr\": 0.5, "
                 "\"cycle_first_step_size\": 2, \"cycle_second_step_size\": 4, \"cycle_min_mom\": 0.7, "
                 "\"cycle_max_mom\": 0.9, \"decay_mom_rate\": 0.04, \"decay_step_size\": 2}}");
  const double expected[] = {0.7, 0.8, 0.7, 0.75, 0.8, 0.85, 0.9, 0.9 * 1.02, 0.9 * 1.04};
  for (int s = 0; s < 9; s++) {
    sl_config_betas(&config, s, &beta1, &beta2);
    near(beta1, expected[s]);
    near(beta2, 0.99);
  }
  config.scheduler.cycle_momentum = false;
  sl_config_betas(&config, 3, &beta1, &beta2);
  near(beta1, 0.9);
  near(beta2, 0.999);
  sl_config_free(&config);
}

/* No step, however far, gives anything but a finite number. */
static void far_steps(void **state) {
  (void)state;
  static const char *const schedulers[] = {
      "{\"type\": \"WarmupLR\"}",
      "{\"type\": \"WarmupDecayLR\", \"params\": {\"total_num_steps\": 0}}",
      "{\"type\": \"WarmupCosineLR\", \"params\": {\"total_num_steps\": 9e18, \"warmup_num_steps\": 1}}",
      "{\"type\": \"LRRangeTest\"}",
      "{\"type\": \"OneCycle\", \"params\": {\"cycle_min_lr\": 0, \"cycle_max_lr\": 1, \"cycle_second_step_size\": 0}}",
  };
  static const int64_t steps[] = {-1, 0, 1, 999, 2000, 2001, INT64_MAX};
  for (int i = 0; i < 5; i++) {
    struct sl_config config;
    parse(&config, schedulers[i]);
    for (int s = 0; s < 7; s++) assert_true(isfinite(sl_config_lr(&config, steps[s])));
    sl_config_free(&config);
  }
}

int main(void) {
  sl_warn_set_sink(swallow, NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constant),      cmocka_unit_test(warmup),     cmocka_unit_test(warmup_decay),
      cmocka_unit_test(warmup_cosine), cmocka_unit_test(range_test), cmocka_unit_test(one_cycle),
      cmocka_unit_test(cycled_betas),  cmocka_unit_test(far_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
