/* How well a fit predicts what it was not fitted to: each model of the calibration is left out once, the entries of its
 * ops are fitted to the rest, and its ops and its steps are predicted from that.
 *
 *   holdout of an entry   root mean square over the models of ln(total measured / total predicted) of its ops
 *   error_scale           the factor on holdout, at least 1, that makes the models' steps most likely: it stands for
 *                         errors that entries share. ln(step measured / step predicted) of a model is taken as normal,
 *                         of variance scale^2 form^2 + noise^2, where `form` is what holdout predicts for the step and
 *                         `noise` is what run_noise leaves in the median of its rounds, so that long steps, which
 *                         differ little from run to run, have the most weight */
#include "analysis/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_POINTS = 4, LEAST_MODELS = 3 };
static const double unknown = 0.3; /* of an entry that too few models have */

/* The times of the held-out models' ops by entry; a NAN prediction means that too few points were left. */
struct sl_fit_totals {
  int model_count;
  char (*names)[16];
  double *measured, *predicted; /* [model][entry] */
};

static int model_of(const struct sl_fit_totals *t, const char *source) {
  for (int m = 0; m < t->model_count; m++)
    if (strcmp(t->names[m], source) == 0) return m;
  return -1;
}

static enum sl_status open_totals(struct sl_fit_totals *t, const struct sl_fit *fit) {
  SL_TRY(sl_calloc(&t->names, fit->merged.count, sizeof *t->names));
  for (size_t i = 0; i < fit->merged.count; i++) {
    const struct sl_point *p = &fit->merged.items[i];
    if (!sl_fit_is_program(p) && model_of(t, p->source) < 0)
      memcpy(t->names[t->model_count++], p->source, sizeof *t->names);
  }
  const size_t cells = (size_t)t->model_count * (size_t)fit->profile.op_costs.count;
  SL_TRY(sl_calloc(&t->measured, cells, sizeof *t->measured));
  return sl_calloc(&t->predicted, cells, sizeof *t->predicted);
}

static void close_totals(struct sl_fit_totals *t) {
  free(t->names);
  free(t->measured);
  free(t->predicted);
}

/* Fits entry `e` without the points of `name`, and adds up its predictions for them. */
static enum sl_status hold_out(const struct sl_fit *fit, int e, const char *name, double *measured, double *predicted) {
  struct sl_op_cost cost = fit->profile.op_costs.items[e];
  struct sl_fit_group rest = {0}, out = {0};
  enum sl_status status;
  *measured = 0;
  *predicted = NAN;
  SL_GO(sl_fit_gather(&rest, fit, &cost, name, false));
  SL_GO(sl_fit_gather(&out, fit, &cost, name, true));
  for (size_t i = 0; i < out.n; i++) *measured += out.count[i] * out.seconds[i];
  if (out.n == 0 || rest.n < LEAST_POINTS) goto done;
  SL_GO(sl_fit_entry(&cost, rest.works, rest.seconds, rest.spread, rest.n));
  *predicted = 0;
  for (size_t i = 0; i < out.n; i++) *predicted += out.count[i] * sl_op_cost_seconds(&cost, &out.works[i]);
done:
  sl_fit_group_free(&rest);
  sl_fit_group_free(&out);
  return status;
}

static void set_holdout(struct sl_op_cost *cost, const struct sl_fit_totals *t, int e, int entries) {
  double sum = 0;
  int n = 0;
  for (int m = 0; m < t->model_count; m++) {
    const double measured = t->measured[m * entries + e], predicted = t->predicted[m * entries + e];
    if (!(measured > 0) || !(predicted > 0)) continue;
    sum += pow(log(measured / predicted), 2);
    n++;
  }
  if (n > 0) cost->holdout = sqrt(sum / n);
  if (n < LEAST_MODELS) cost->holdout = fmax(fmax(cost->holdout, cost->scatter), unknown);
}

/* The step's median over its rounds, and the number of rounds. */
static double median_of_rounds(const struct sl_points *points, const struct sl_point_step *step, double *work,
                               size_t *rounds) {
  size_t n = 0;
  double unused;
  for (size_t i = 0; i < points->step_count; i++) {
    const struct sl_point_step *s = &points->steps[i];
    if (sl_fit_same_model(s, step)) work[n++] = sl_fit_undisturbed(s->low_s, s->median_s);
  }
  *rounds = n;
  return sl_fit_median(work, n, &unused);
}

static bool first_round(const struct sl_points *points, size_t index) {
  for (size_t i = 0; i < index; i++)
    if (sl_fit_same_model(&points->steps[i], &points->steps[index])) return false;
  return true;
}

/* The error of a held-out model's step, ln(measured / predicted), and its expected variances. */
struct miss {
  double error, form, noise;
};

/* Entries that too few other models have are taken as measured. */
static struct miss miss_of(const struct sl_fit *fit, const struct sl_fit_totals *t, int m,
                           const struct sl_point_step *step, double measured_s, size_t rounds) {
  const struct sl_op_costs *costs = &fit->profile.op_costs;
  const struct sl_device *d = &fit->profile.device;
  double predicted = 0, variance = 0;
  for (int e = 0; e < costs->count; e++) {
    const double measured = t->measured[m * costs->count + e], held_out = t->predicted[m * costs->count + e];
    if (costs->items[e].ranks != step->ranks || measured == 0) continue;
    const double seconds = held_out > 0 ? held_out : measured;
    predicted += seconds;
    variance += pow(costs->items[e].holdout * seconds, 2);
  }
  predicted += d->launch_latency * step->ops + d->comm_cpu_share * sl_fit_communication(fit, step);
  return (struct miss){.error = log(measured_s / predicted),
                       .form = variance / (predicted * predicted),
                       .noise = pow(sl_device_median_noise(d, predicted, (int64_t)rounds), 2)};
}

/* The derivative of the log-likelihood of the errors with respect to the square of the scale, times 2; *information:
 * the information on the scale. */
static double slope_of_likelihood(const struct miss *misses, int n, double scale, double *information) {
  double slope = 0;
  *information = 0;
  for (int i = 0; i < n; i++) {
    const double form = misses[i].form, variance = scale * scale * form + misses[i].noise;
    if (!(variance > 0)) continue;
    slope += form * (misses[i].error * misses[i].error - variance) / (variance * variance);
    *information += 2 * pow(scale * form / variance, 2);
  }
  return slope;
}

/* The scale of greatest likelihood, by bisection. */
static double most_likely_scale(const struct miss *misses, int n, double *error) {
  const double largest = 1e6; /* the largest value that a profile may have */
  double low = 1, high = largest, information;
  if (slope_of_likelihood(misses, n, low, &information) <= 0) high = low;
  while (high - low > 1e-6 * high) {
    const double middle = (low + high) / 2;
    if (slope_of_likelihood(misses, n, middle, &information) > 0)
      low = middle;
    else
      high = middle;
  }
  slope_of_likelihood(misses, n, low, &information);
  *error = information > 0 ? 1 / sqrt(information) : 0;
  return low;
}

static enum sl_status set_scale(struct sl_fit *fit, const struct sl_points *points, const struct sl_fit_totals *t) {
  struct miss *misses = NULL;
  double *work = NULL;
  enum sl_status status;
  int n = 0;
  SL_GO(sl_calloc(&work, points->step_count, sizeof *work));
  SL_GO(sl_calloc(&misses, points->step_count, sizeof *misses));
  for (size_t i = 0; i < points->step_count; i++) {
    const struct sl_point_step *s = &points->steps[i];
    const int m = model_of(t, s->name);
    if (m < 0 || !first_round(points, i)) continue;
    size_t rounds;
    const double measured_s = median_of_rounds(points, s, work, &rounds);
    misses[n++] = miss_of(fit, t, m, s, measured_s, rounds);
  }
  fit->profile.device.error_scale = 1;
  fit->scale_stderr = 0;
  if (n >= LEAST_MODELS) fit->profile.device.error_scale = most_likely_scale(misses, n, &fit->scale_stderr);
done:
  free(misses);
  free(work);
  return status;
}

enum sl_status sl_fit_hold_out(struct sl_fit *fit, const struct sl_points *points) {
  struct sl_op_costs *costs = &fit->profile.op_costs;
  struct sl_fit_totals t = {0};
  enum sl_status status;
  SL_GO(open_totals(&t, fit));
  for (int m = 0; m < t.model_count; m++)
    for (int e = 0; e < costs->count; e++)
      SL_GO(hold_out(fit, e, t.names[m], &t.measured[m * costs->count + e], &t.predicted[m * costs->count + e]));
  for (int e = 0; e < costs->count; e++) set_holdout(&costs->items[e], &t, e, costs->count);
  SL_GO(set_scale(fit, points, &t));
done:
  close_totals(&t);
  return status;
}
