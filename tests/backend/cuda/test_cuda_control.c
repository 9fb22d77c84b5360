/* The step state's step on the GPU against core's on the host: random losses, norms and overflows under
 * configurations that use every branch of loss scaling and every schedule of the learning rate. */
#include "backend/cuda/control_step.h"
#include "core/program/step_state.h"
#include "tests/kernels/gpu/cases.h"

#include <stdio.h>

static const char *const configs[] = {
    "\"fp16\": {\"enabled\": true, \"initial_scale_power\": 5, \"loss_scale_window\": 3, \"hysteresis\": 2, "
    "\"min_loss_scale\": 4}, \"gradient_clipping\": 0.7",
    "\"fp16\": {\"enabled\": true, \"loss_scale_window\": 2, \"consecutive_hysteresis\": true}",
    "\"fp16\": {\"enabled\": true, \"loss_scale\": 128}, \"gradient_clipping\": 1.5",
    "\"bf16\": {\"enabled\": true, \"check_grad_overflow\": true}",
    "\"scheduler\": {\"type\": \"WarmupLR\", \"params\": {\"warmup_max_lr\": 0.01, \"warmup_num_steps\": 7}}",
    "\"scheduler\": {\"type\": \"WarmupDecayLR\", \"params\": {\"warmup_num_steps\": 5, \"total_num_steps\": 30, "
    "\"warmup_type\": \"linear\"}}",
    "\"scheduler\": {\"type\": \"WarmupCosineLR\", \"params\": {\"warmup_num_steps\": 5, \"total_num_steps\": 30}}",
    "\"scheduler\": {\"type\": \"OneCycle\", \"params\": {\"cycle_min_lr\": 0.001, \"cycle_max_lr\": 0.02, "
    "\"cycle_first_step_size\": 9, \"cycle_second_step_size\": 7, \"decay_step_size\": 2, \"decay_lr_rate\": 0.1, "
    "\"decay_mom_rate\": 0.01}}",
    "\"scheduler\": {\"type\": \"LRRangeTest\", \"params\": {\"lr_range_test_min_lr\": 0.001, "
    "\"lr_range_test_step_size\": 3, \"lr_range_test_step_rate\": 2, \"lr_range_test_staircase\": true}}",
};

static uint32_t draw(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* What the ops of a step leave in the block. */
static void step_sums(struct sl_step_state *c, uint32_t *state) {
  c->loss_sum = draw(state) * 1e-6;
  c->square_sum = draw(state) * 1e-6;
  if (draw(state) % 5 == 0) c->overflow = 1;
  if (draw(state) % 7 == 0) c->square_sum = draw(state) % 2 ? INFINITY : NAN;
}

static void near(double got, double expected, const char *what, int config) {
  char name[64];
  snprintf(name, sizeof name, "%s of configuration %d", what, config);
  number_check(got, expected, 1e-13, name);
}

static void same(const struct sl_step_state *got, const struct sl_step_state *expected, int config) {
  const int64_t a[] = {got->step, got->good_steps, got->skipped, got->last_overflow, got->hysteresis, got->exhausted};
  const int64_t b[] = {expected->step,          expected->good_steps, expected->skipped,
                       expected->last_overflow, expected->hysteresis, expected->exhausted};
  assert_memory_equal(a, b, sizeof a);
  for (int i = 0; i < SL_STEP_STATE_REDUCED; i++) assert_true(got->reduced[i] == 0);
  near(got->loss_scale, expected->loss_scale, "loss scale", config);
  near(got->loss, expected->loss, "loss", config);
  near(got->grad_norm, expected->grad_norm, "norm", config);
  near(got->lr, expected->lr, "learning rate", config);
  near(got->momentum, expected->momentum, "beta1", config);
  near(got->grad_factor, expected->grad_factor, "factor", config);
}

static void steps_as_the_host(enum sl_number type) {
  (void)type;
  uint32_t random = 2385;
  struct sl_step_state *device = device_new(sizeof *device);
  int skipped = 0, updated = 0;
  for (int k = 0; k < (int)(sizeof configs / sizeof *configs); k++) {
    char text[1024];
    struct sl_config config;
    snprintf(text, sizeof text,
             "{\"train_batch_size\": 6, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.25}}, %s}",
             configs[k]);
    if (sl_config_parse(&config, "test.json", text, strlen(text), false) != SL_OK) fail_msg("%s", sl_error_message());
    if (sl_config_resolve_batch(&config, 3) != SL_OK) fail_msg("%s", sl_error_message());
    const struct sl_step_rules rules = sl_step_state_rules(&config);
    struct sl_step_state here, there;
    sl_step_state_init(&here, &config);
    for (int step = 0; step < 60; step++) {
      step_sums(&here, &random);
      device_write(device, &here, sizeof here);
      assert_int_equal(sl_cuda_control_step(NULL, device, &rules), 0);
      device_read(&there, device, sizeof there);
      sl_step_state_advance(&here, &config);
      same(&there, &here, k);
      double beta1, beta2;
      sl_config_betas(&config, here.good_steps - 1, &beta1, &beta2);
      if (here.good_steps > 0) assert_true(here.momentum == beta1);
    }
    skipped += here.skipped > 0;
    updated += here.good_steps > 0;
    sl_config_free(&config);
  }
  assert_int_equal(skipped, 4); /* the first four look for overflows */
  assert_int_equal(updated, 9);
  device_delete(device);
}

int main(int argc, char **argv) {
  static const struct cuda_case cases[] = {{"control", steps_as_the_host, UNTYPED}};
  return cases_main("test_cuda_control", cases, 1, argc, argv);
}
