/* label: unit
   libs: fit
 * The goodput of trainings that fail: what is drawn meets Daly's closed form where that holds, the best interval is the best of all whole
 * numbers of steps, and more failures never help. */
#include "analysis/goodput.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct sl_goodput_model models[] = {
    {.mtbf_s = 3600, .save_s = 5.3, .restart_s = 71, .shape = 1},
    {.mtbf_s = 900, .save_s = 0.41, .restart_s = 8.5, .shape = 1},
    {.mtbf_s = 120, .save_s = 33, .restart_s = 97, .shape = 1}, /* hardly anything gets done */
    {.mtbf_s = 1e6, .save_s = 210, .restart_s = 1300, .shape = 1},
};
enum { MODELS = sizeof models / sizeof *models };

static struct sl_goodput_drawn drawn(const struct sl_goodput_model *model, double interval_s, int saves,
                                     uint64_t seed) {
  struct sl_goodput_drawn out;
  const enum sl_status status = sl_goodput_draw(model, interval_s, saves, 400, seed, &out);
  if (status == SL_ERR_ABSENT) skip();
  assert_int_equal(status, SL_OK);
  return out;
}

/* Deviations in standard errors are those of a normal distribution: their squares have the mean 1. */
static void drawn_is_what_daly_says(void **state) {
  (void)state;
  double squares = 0;
  int n = 0;
  for (int i = 0; i < MODELS; i++)
    for (int octave = -2; octave <= 2; octave++) {
      const double interval = ldexp(sl_goodput_young_s(&models[i]), octave);
      const struct sl_goodput_drawn d = drawn(&models[i], interval, 40, 4711 + (uint64_t)n);
      if (isnan(d.mean)) continue;
      const double off = (d.mean - sl_goodput_daly(&models[i], interval)) / d.error;
      if (fabs(off) > 4) fail_msg("model %d, interval %g s: %g off by %.1f standard errors", i, interval, d.mean, off);
      squares += off * off;
      n++;
    }
  assert_true(n >= 16);
  assert_true(squares / n > 0.3 && squares / n < 2.2);
}

static void best_interval_is_the_best(void **state) {
  (void)state;
  for (int i = 0; i < MODELS; i++)
    for (double step_s = 0.37; step_s < 300; step_s *= 7) {
      const int64_t best = sl_goodput_best_steps(&models[i], step_s);
      int64_t found = 1;
      const int64_t most =
          (int64_t)(4 * models[i].mtbf_s / step_s) < 60000 ? (int64_t)(4 * models[i].mtbf_s / step_s) : 60000;
      for (int64_t steps = 2; steps <= most; steps++)
        if (sl_goodput_daly(&models[i], (double)steps * step_s) > sl_goodput_daly(&models[i], (double)found * step_s))
          found = steps;
      if (best < found - 1 || best > found + 1)
        fail_msg("model %d, steps of %g s: %lld, expected %lld", i, step_s, (long long)best, (long long)found);
    }
}

/* While a checkpoint is being written the next save waits. */
static void no_interval_is_shorter_than_a_write(void **state) {
  (void)state;
  struct sl_goodput_model model = models[0];
  const int64_t at_once = sl_goodput_best_steps(&model, 0.7);
  model.write_s = 0.5 * (double)at_once * 0.7;
  assert_int_equal(sl_goodput_best_steps(&model, 0.7), at_once);
  model.write_s = 1000;
  assert_int_equal(sl_goodput_best_steps(&model, 0.7), 1429);
}

/* Of the estimates the better is nearer: Young's, then Daly's. */
static void estimates_are_near(void **state) {
  (void)state;
  if (isnan(sl_goodput_best_s(&models[0]))) skip();
  for (int i = 0; i < MODELS; i++) {
    const double best = sl_goodput_best_s(&models[i]), young = sl_goodput_young_s(&models[i]) - best,
                 daly = sl_goodput_daly_s(&models[i]) - best;
    assert_true(fabs(daly) < 0.01 * best);
    assert_true(fabs(daly) <= fabs(young));
  }
}

static void more_failures_never_help(void **state) {
  (void)state;
  for (int i = 0; i < MODELS; i++) {
    struct sl_goodput_model m = models[i];
    const double interval = sl_goodput_young_s(&m);
    double before = 1, drawn_before = 1;
    for (int k = 0; k < 6; k++, m.mtbf_s /= 2) {
      const double now = sl_goodput_daly(&m, interval);
      const struct sl_goodput_drawn d = drawn(&m, interval, 40, 7);
      assert_true(now > 0 && now < before);
      before = now;
      if (isnan(d.mean)) break;
      assert_true(d.mean > 0 && d.mean < drawn_before);
      drawn_before = d.mean;
    }
  }
}

/* A checkpoint that is complete later loses more: a failure meets its write with probability write / cycle, and then
 * another cycle is lost, the write's length in the mean. One that comes while the last is being written waits for
 * it. */
static void late_checkpoints_cost(void **state) {
  (void)state;
  struct sl_goodput_model m = models[0];
  const double interval = sl_goodput_young_s(&m);
  const struct sl_goodput_drawn at_once = drawn(&m, interval, 400, 3);
  m.write_s = interval / 2;
  const struct sl_goodput_drawn later = drawn(&m, interval, 400, 3);
  const double loss = 1 - later.mean / at_once.mean, expected = m.write_s / m.mtbf_s;
  if (fabs(loss - expected) > 0.2 * expected) fail_msg("a late checkpoint costs %g, expected %g", loss, expected);
  m.mtbf_s = 1e12;
  m.write_s = 3 * interval; /* nothing fails: each interval takes as long as a write and a save */
  assert_true(fabs(drawn(&m, interval, 1000, 3).mean - interval / (3 * interval + m.save_s)) < 1e-3);
}

/* Lives between failures of any distribution: a life holds a restart and as many whole intervals as fit behind it, so
 * in the long run the share is tau (P(life > R + L) + P(life > R + 2 L) + ..) / M, with L = tau + delta. */
static void any_distribution_is_a_renewal(void **state) {
  (void)state;
  static const double shapes[] = {0.5, 0.7, 1, 2, 10};
  struct sl_goodput_model m = models[1];
  const double interval = sl_goodput_young_s(&m), cycle = interval + m.save_s;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    double intervals = 0;
    m.shape = shapes[i];
    const double scale = m.mtbf_s / tgamma(1 + 1 / m.shape);
    for (double t = m.restart_s + cycle; t < 400 * m.mtbf_s; t += cycle) intervals += exp(-pow(t / scale, m.shape));
    const struct sl_goodput_drawn d = drawn(&m, interval, 1000, 11);
    const double expected = interval * intervals / m.mtbf_s;
    if (fabs(d.mean - expected) > 4 * d.error + 5e-4) /* the first life has no restart */
      fail_msg("shape %g: %g, expected %g, standard error %g", m.shape, d.mean, expected, d.error);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(drawn_is_what_daly_says),
      cmocka_unit_test(best_interval_is_the_best),
      cmocka_unit_test(no_interval_is_shorter_than_a_write),
      cmocka_unit_test(estimates_are_near),
      cmocka_unit_test(more_failures_never_help),
      cmocka_unit_test(late_checkpoints_cost),
      cmocka_unit_test(any_distribution_is_a_renewal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
