/* label: unit
 * The step state of a step: loss scaling held against DeepSpeed's loss_scaler.py, written out again here, over random
 * overflows; what a skipped step leaves alone; the factor of an update. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/program/step_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* DynamicLossScaler, its names; scale_factor 2. */
struct scaler {
  double cur_scale, min_scale;
  long cur_iter, last_overflow_iter, scale_window;
  long delayed_shift, cur_hysteresis;
  bool consecutive_hysteresis, raised;
};

static void update_scale(struct scaler *s, bool overflow) {
  if (overflow) {
    if (s->delayed_shift == 1 || s->cur_hysteresis == 1) {
      if (s->cur_scale == s->min_scale) {
        s->raised = true;
      } else {
        s->cur_scale = s->cur_scale / 2 > s->min_scale ? s->cur_scale / 2 : s->min_scale;
      }
    } else {
      s->cur_hysteresis -= 1;
    }
    s->last_overflow_iter = s->cur_iter;
  } else {
    if (s->consecutive_hysteresis) s->cur_hysteresis = s->delayed_shift;
    const long stable_interval = s->cur_iter - s->last_overflow_iter - 1;
    if (stable_interval > 0 && stable_interval % s->scale_window == 0) {
      if (!s->consecutive_hysteresis) s->cur_hysteresis = s->delayed_shift;
      s->cur_scale *= 2;
    }
  }
  s->cur_iter += 1;
}

static uint32_t draw(uint32_t *state) { /* a linear congruential generator, good enough for coins */
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static void parse(struct sl_config *config, const char *fp16) {
  char text[512];
  snprintf(text, sizeof text,
           "{\"train_batch_size\": 6, \"gradient_clipping\": 0, \"optimizer\": {\"type\": \"AdamW\", \"params\": "
           "{\"lr\": 0.25}}, %s}",
           fp16);
  if (sl_config_parse(config, "test.json", text, strlen(text), false) != SL_OK) fail_msg("%s", sl_error_message());
}

/* One run of a few hundred steps; overflows come in bursts. Returns how many steps overflowed. */
static int follow(uint32_t seed, int power, long window, long hysteresis, bool consecutive, long minimum) {
  struct sl_config config;
  struct sl_step_state control;
  uint32_t random = seed;
  char fp16[256];
  int overflows = 0;
  bool burst = false;
  snprintf(
      fp16, sizeof fp16,
      "\"fp16\": {\"enabled\": true, \"initial_scale_power\": %d, \"loss_scale_window\": %ld, \"hysteresis\": %ld, "
      "\"consecutive_hysteresis\": %s, \"min_loss_scale\": %ld}",
      power, window, hysteresis, consecutive ? "true" : "false", minimum);
  parse(&config, fp16);
  sl_step_state_init(&control, &config);
  struct scaler s = {.cur_scale = ldexp(1, power),
                     .min_scale = (double)minimum,
                     .last_overflow_iter = -1,
                     .scale_window = window,
                     .delayed_shift = hysteresis,
                     .cur_hysteresis = hysteresis,
                     .consecutive_hysteresis = consecutive};
  for (int step = 0; step < 300 && !s.raised; step++) {
    if (draw(&random) % 7 == 0) burst = !burst;
    const bool overflow = draw(&random) % 10 < (burst ? 6u : 1u);
    overflows += overflow;
    control.loss_sum = 2.5;
    control.square_sum = 9 * s.cur_scale * s.cur_scale;
    if (overflow && step % 2 == 0) control.square_sum = INFINITY; /* the flag and the sum each suffice */
    control.overflow = overflow && step % 2 == 1 ? 3 : 0;
    const double scale = s.cur_scale;
    sl_step_state_advance(&control, &config);
    update_scale(&s, overflow);
    if (control.loss_scale != s.cur_scale || control.exhausted != s.raised)
      fail_msg("%s, seed %u, step %d: scale %g (exhausted %d), DeepSpeed's %g (raised %d)", fp16, seed, step,
               control.loss_scale, (int)control.exhausted, s.cur_scale, s.raised);
    assert_int_equal(control.skipped, overflows);
    assert_int_equal(control.good_steps, step + 1 - overflows);
    assert_int_equal(control.step, step + 1);
    assert_true(overflow ? control.grad_factor < 0 : control.grad_factor * scale == 1);
    if (!overflow) assert_true(control.grad_norm == 3);
    assert_true(control.loss == 2.5 && control.overflow == 0 && control.square_sum == 0 && control.loss_sum == 0);
  }
  sl_config_free(&config);
  return overflows;
}

static void scale_follows_deepspeed(void **state) {
  (void)state;
  int overflows = 0;
  for (uint32_t seed = 1; seed <= 40; seed++) {
    for (long hysteresis = 1; hysteresis <= 3; hysteresis++) {
      for (int consecutive = 0; consecutive < 2; consecutive++) {
        overflows += follow(seed, 160, 1 + (long)seed % 7, hysteresis, consecutive, 1);
        overflows += follow(seed, 11, 5, hysteresis, consecutive, 3 + (long)seed % 50); /* comes to its minimum */
      }
    }
  }
  assert_in_range(overflows, 5000, 100000);
}

static void a_static_scale_stays(void **state) {
  struct sl_config config;
  struct sl_step_state control;
  (void)state;
  parse(&config, "\"fp16\": {\"enabled\": true, \"loss_scale\": 384}");
  sl_step_state_init(&control, &config);
  for (int step = 0; step < 9; step++) {
    control.overflow = step % 3 == 1;
    sl_step_state_advance(&control, &config);
    assert_true(control.loss_scale == 384 && control.exhausted == 0);
    assert_true(step % 3 == 1 ? control.grad_factor < 0 : control.grad_factor == 1.0 / 384);
  }
  assert_int_equal(control.skipped, 3);
  assert_int_equal(control.good_steps, 6);
  sl_config_free(&config);
}

/* bf16 has the range of fp32: no scale; an overflow is skipped only where the configuration asks for the check. */
static void bf16_checks_when_asked(void **state) {
  struct sl_config config;
  struct sl_step_state control;
  (void)state;
  for (int check = 0; check < 2; check++) {
    parse(&config, check ? "\"bf16\": {\"enabled\": true, \"check_grad_overflow\": true}"
                         : "\"bf16\": {\"enabled\": true, \"check_grad_overflow\": false}");
    sl_step_state_init(&control, &config);
    control.square_sum = NAN;
    sl_step_state_advance(&control, &config);
    assert_true(control.loss_scale == 1);
    assert_int_equal(control.skipped, check);
    assert_int_equal(control.grad_factor < 0, check);
    sl_config_free(&config);
  }
}

/* torch.autocast to fp16 has torch.amp.GradScaler's scale, whatever the section fp16 says; to bf16 none. */
static void autocast_scales_as_grad_scaler_does(void **state) {
  (void)state;
  struct sl_config config;
  struct sl_step_state control;
  parse(&config, "\"torch_autocast\": {\"enabled\": true, \"dtype\": \"fp16\"}, \"fp16\": {\"hysteresis\": 5}");
  sl_step_state_init(&control, &config);
  assert_true(control.loss_scale == 65536);
  for (int step = 0; step < 40; step++) { /* below any other minimum */
    control.square_sum = INFINITY;
    sl_step_state_advance(&control, &config);
    assert_true(control.loss_scale == ldexp(65536, -1 - step) && !control.exhausted);
  }
  for (int step = 0; step <= 2000; step++) {
    assert_true(control.loss_scale == ldexp(65536, -40));
    control.square_sum = 1;
    sl_step_state_advance(&control, &config);
  }
  assert_true(control.loss_scale == ldexp(65536, -39));
  sl_config_free(&config);
  parse(&config, "\"torch_autocast\": {\"enabled\": true, \"dtype\": \"bf16\"}");
  sl_step_state_init(&control, &config);
  assert_true(control.loss_scale == 1 && !sl_step_state_rules(&config).checked);
  sl_config_free(&config);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(autocast_scales_as_grad_scaler_does),
      cmocka_unit_test(scale_follows_deepspeed),
      cmocka_unit_test(a_static_scale_stays),
      cmocka_unit_test(bf16_checks_when_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
