/* How much the same step differs from run to run, as a function of its length.
 *
 * A model of the calibration has one median per round, minutes apart. Its deviation is the median of |ln(a / b)| over
 * pairs of its rounds, divided by 0.6745 sqrt(2), so that a round in which other processes were busy does not dominate.
 * Over the models, ln(deviation) decreases with ln(step): the slope is fitted by least squares and kept within physical
 * bounds (core/cluster/cluster.h), and then the level by the median. */
#include "analysis/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_MODELS = 4 }; /* to fit a slope */

static const double of_difference = 0.6745 * 1.41421356; /* median of |a - b| divided by the deviation of each */
static const double of_length_s = 0.1, least = 0.005;

/* ln(step / 0.1 s) and ln(deviation) of the models. */
struct noise {
  double *length, *deviation, *work;
  size_t n;
  int rounds; /* the largest number of rounds of a model */
};

static double seconds_of(const struct sl_point_step *s) {
  return sl_fit_undisturbed(s->low_s, s->median_s);
}

/* Adds the model whose first round is step `first`, unless it has only one round. */
static void add_model(struct noise *noise, const struct sl_points *points, size_t first) {
  const struct sl_point_step *model = &points->steps[first];
  size_t rounds = 0, pairs = 0;
  double unused;
  for (size_t i = 0; i < first; i++)
    if (sl_fit_same_model(&points->steps[i], model)) return;
  for (size_t i = first; i < points->step_count; i++)
    if (sl_fit_same_model(&points->steps[i], model)) noise->work[rounds++] = seconds_of(&points->steps[i]);
  if ((int)rounds > noise->rounds) noise->rounds = (int)rounds;
  if (rounds < 2) return;
  const double length = sl_fit_median(noise->work, rounds, &unused);
  for (size_t i = first; i < points->step_count; i++) {
    const struct sl_point_step *a = &points->steps[i];
    for (size_t k = i + 1; sl_fit_same_model(a, model) && k < points->step_count; k++)
      if (sl_fit_same_model(&points->steps[k], model))
        noise->work[pairs++] = fabs(log(seconds_of(a) / seconds_of(&points->steps[k])));
  }
  noise->length[noise->n] = log(length / of_length_s);
  noise->deviation[noise->n++] = log(fmax(least, sl_fit_median(noise->work, pairs, &unused) / of_difference));
}

static double mean_of(const double *values, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += values[i];
  return sum / (double)n;
}

static void fit_slope(struct sl_fit *fit, const struct noise *noise) {
  const double length = mean_of(noise->length, noise->n), deviation = mean_of(noise->deviation, noise->n);
  double squares = 0, products = 0, rest = 0;
  fit->profile.device.run_noise_slope = 0;
  fit->slope_stderr = -1;
  sl_fit_set(fit, "device.run_noise_slope", "0, since models in rounds are too few, or of a length");
  for (size_t i = 0; i < noise->n; i++) {
    squares += pow(noise->length[i] - length, 2);
    products += (noise->length[i] - length) * (noise->deviation[i] - deviation);
  }
  /* too few models, or all of the same length */
  if (noise->n < LEAST_MODELS || squares < 0.01 * (double)noise->n) return;
  const double slope = products / squares;
  for (size_t i = 0; i < noise->n; i++)
    rest += pow(noise->deviation[i] - deviation - slope * (noise->length[i] - length), 2);
  fit->profile.device.run_noise_slope = fmin(0.5, fmax(0, -slope));
  fit->slope_stderr = sqrt(rest / (double)(noise->n - 2) / squares);
  sl_fit_found(fit, "device.run_noise_slope", fit->slope_stderr);
}

static void fit_level(struct sl_fit *fit, const struct noise *noise) {
  struct sl_device *d = &fit->profile.device;
  d->run_noise = 0;
  fit->noise_stderr = -1;
  sl_fit_set(fit, "device.run_noise", "not known: one round has none to compare with");
  if (noise->n == 0) return; /* only one round: nothing to compare */
  for (size_t i = 0; i < noise->n; i++) noise->work[i] = noise->deviation[i] + d->run_noise_slope * noise->length[i];
  d->run_noise = fmax(least, exp(sl_fit_median(noise->work, noise->n, &fit->noise_stderr)));
  fit->noise_stderr *= d->run_noise;
  sl_fit_found(fit, "device.run_noise", fit->noise_stderr);
}

enum sl_status sl_fit_noise(struct sl_fit *fit, const struct sl_points *points) {
  const size_t n = points->step_count;
  struct noise noise = {0};
  enum sl_status status;
  SL_GO(sl_calloc(&noise.length, n, sizeof *noise.length));
  SL_GO(sl_calloc(&noise.deviation, n, sizeof *noise.deviation));
  SL_GO(sl_calloc(&noise.work, n * (n + 1), sizeof *noise.work));
  for (size_t i = 0; i < n; i++) add_model(&noise, points, i);
  fit->profile.device.rounds = noise.rounds;
  sl_fit_set(fit, "device.calibration_rounds", "the most that a model was measured in");
  fit_slope(fit, &noise);
  fit_level(fit, &noise);
done:
  free(noise.length);
  free(noise.deviation);
  free(noise.work);
  return status;
}
