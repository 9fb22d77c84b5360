/* Nonlinear least squares for one entry; fit.h states the model. */
#include "analysis/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef SL_HAVE_GSL

enum sl_status sl_fit_entry(struct sl_op_cost *cost, const struct sl_work *works, const double *seconds,
                            const double *spread, size_t n) {
  (void)cost, (void)works, (void)seconds, (void)spread, (void)n;
  return sl_fail(SL_ERR_ABSENT, "fitting needs GSL, which was absent when shardlab-analyze was built");
}

#else

#include "core/base/stats.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>

static const double base_spread = 0.03; /* no clock of a shared machine is more accurate than this */
static const double cauchy = 2.385;     /* gives 95 % efficiency for normal residuals */
enum { ROUNDS = 6, ITERATIONS = 100 };

struct problem {
  const struct sl_work *works;
  const double *seconds;
  size_t n;
  int term[SL_TERM_COUNT]; /* the term of each parameter */
  size_t p;
};

static double model_of(const struct problem *q, const gsl_vector *theta, size_t i) {
  double sum = 0;
  for (size_t j = 0; j < q->p; j++) sum += exp(gsl_vector_get(theta, j)) * q->works[i].terms[q->term[j]];
  return sum;
}

static int residuals(const gsl_vector *theta, void *context, gsl_vector *f) {
  const struct problem *q = context;
  for (size_t i = 0; i < q->n; i++) gsl_vector_set(f, i, log(model_of(q, theta, i) / q->seconds[i]));
  return GSL_SUCCESS;
}

static int jacobian(const gsl_vector *theta, void *context, gsl_matrix *out) {
  const struct problem *q = context;
  for (size_t i = 0; i < q->n; i++) {
    const double model = model_of(q, theta, i);
    for (size_t j = 0; j < q->p; j++)
      gsl_matrix_set(out, i, j, exp(gsl_vector_get(theta, j)) * q->works[i].terms[q->term[j]] / model);
  }
  return GSL_SUCCESS;
}

/* Starts every term with an equal share of the point where it matters most. */
static void start(const struct problem *q, gsl_vector *theta) {
  for (size_t j = 0; j < q->p; j++) {
    double least = INFINITY;
    for (size_t i = 0; i < q->n; i++)
      if (q->works[i].terms[q->term[j]] > 0) least = fmin(least, q->seconds[i] / q->works[i].terms[q->term[j]]);
    gsl_vector_set(theta, j, log(least / (double)q->p));
  }
}

struct solution {
  gsl_vector *theta, *weights;
  gsl_matrix *covariance;
  double scatter;
};

/* Multiplies the weights of the spreads by Cauchy weights. */
static void reweight(const struct problem *q, const struct solution *s, const double *spread, double scale) {
  for (size_t i = 0; i < q->n; i++) {
    const double base = 1 / (base_spread * base_spread + spread[i] * spread[i]);
    const double r = log(model_of(q, s->theta, i) / q->seconds[i]) / (cauchy * scale);
    gsl_vector_set(s->weights, i, base / (scale > 0 ? 1 + r * r : 1));
  }
}

/* A robust scale of the residuals: the median of |r| / 0.6745, corrected for the number of parameters. */
static double scale_of(const struct problem *q, const struct solution *s, double *work) {
  for (size_t i = 0; i < q->n; i++) work[i] = fabs(log(model_of(q, s->theta, i) / q->seconds[i]));
  sl_stats_sort(work, q->n);
  return fmax(sl_stats_median(work, q->n) / 0.6745 * sqrt((double)q->n / (double)(q->n - q->p)), 1e-6);
}

static int solve_once(const struct problem *q, struct solution *s) {
  gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
  gsl_multifit_nlinear_fdf fdf = {.f = residuals, .df = jacobian, .n = q->n, .p = q->p, .params = (void *)(uintptr_t)q};
  gsl_multifit_nlinear_workspace *w = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, q->n, q->p);
  int info = 0, code = GSL_ENOMEM;
  if (w == NULL) return code;
  gsl_multifit_nlinear_winit(s->theta, s->weights, &fdf, w);
  code = gsl_multifit_nlinear_driver(ITERATIONS, 1e-8, 1e-8, 0, NULL, NULL, &info, w);
  gsl_vector_memcpy(s->theta, w->x);
  gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(w), 0, s->covariance);
  gsl_multifit_nlinear_free(w);
  return code == GSL_EMAXITER || code == GSL_ENOPROG ? GSL_SUCCESS : code;
}

/* The weighted variance of the residuals in units of the weights. It scales the covariance and gives the scatter. */
static double chi_square(const struct problem *q, const struct solution *s) {
  double sum = 0;
  for (size_t i = 0; i < q->n; i++) {
    const double r = log(model_of(q, s->theta, i) / q->seconds[i]);
    sum += gsl_vector_get(s->weights, i) * r * r;
  }
  return sum / (double)(q->n - q->p);
}

static int solve(const struct problem *q, const double *spread, struct solution *s, double *work) {
  int code = GSL_SUCCESS;
  start(q, s->theta);
  reweight(q, s, spread, 0);
  for (int round = 0; round < ROUNDS && code == GSL_SUCCESS; round++) {
    code = solve_once(q, s);
    s->scatter = scale_of(q, s, work);
    if (round + 1 < ROUNDS) reweight(q, s, spread, s->scatter);
  }
  gsl_matrix_scale(s->covariance, chi_square(q, s));
  return code;
}

/* Whether some point depends on this parameter alone, so that without it the point would take no time. */
static bool needed(const struct problem *q, size_t j) {
  for (size_t i = 0; i < q->n; i++) {
    double others = 0;
    for (size_t k = 0; k < q->p; k++) others += k == j ? 0 : q->works[i].terms[q->term[k]];
    if (!(others > 0)) return true;
  }
  return false;
}

static void leave_out(struct problem *q, size_t j) {
  for (; j + 1 < q->p; j++) q->term[j] = q->term[j + 1];
  q->p--;
}

/* The parameter to drop: the one whose largest share of any point is smallest, if that is negligible or the data do not
 * determine it. -1: none. */
static int superfluous(const struct problem *q, const struct solution *s) {
  int worst = -1;
  double least = 0.02;
  for (size_t j = 0; j < q->p && q->p > 1; j++) {
    double most = 0;
    if (needed(q, j)) continue;
    for (size_t i = 0; i < q->n; i++)
      most = fmax(most, exp(gsl_vector_get(s->theta, j)) * q->works[i].terms[q->term[j]] / model_of(q, s->theta, i));
    const double error = sqrt(gsl_matrix_get(s->covariance, j, j));
    if (!(error < 1.5)) most = fmin(most, 0.01 / fmax(error, 1.5));
    if (most < least) least = most, worst = (int)j;
  }
  return worst;
}

static void store(struct sl_op_cost *cost, const struct problem *q, const struct solution *s) {
  memset(cost->seconds, 0, sizeof cost->seconds);
  memset(cost->correlation, 0, sizeof cost->correlation);
  for (int t = 0; t < SL_TERM_COUNT; t++) cost->correlation[t][t] = 1;
  for (size_t j = 0; j < q->p; j++) {
    const int a = q->term[j];
    const double error = sqrt(gsl_matrix_get(s->covariance, j, j));
    cost->seconds[a] = exp(gsl_vector_get(s->theta, j));
    cost->relative_stderr[a] = error;
    for (size_t k = 0; k < q->p && error > 0; k++) {
      const double other = sqrt(gsl_matrix_get(s->covariance, k, k));
      if (other > 0)
        cost->correlation[a][q->term[k]] = fmax(-1, fmin(1, gsl_matrix_get(s->covariance, j, k) / error / other));
    }
  }
  cost->scatter = s->scatter;
}

/* Fits the terms of `q`; *drop is the parameter to leave out in the next attempt, -1 if there is none. */
static enum sl_status attempt(struct sl_op_cost *cost, const struct problem *q, const double *spread, int *drop) {
  struct solution s = {
      .theta = gsl_vector_alloc(q->p), .weights = gsl_vector_alloc(q->n), .covariance = gsl_matrix_alloc(q->p, q->p)};
  double *work = calloc(q->n, sizeof *work);
  enum sl_status status = SL_OK;
  if (s.theta == NULL || s.weights == NULL || s.covariance == NULL || work == NULL) {
    status = sl_fail(SL_ERR_MEMORY, "out of memory: a fit of %zu points", q->n);
  } else if (solve(q, spread, &s, work) != GSL_SUCCESS) {
    status = sl_fail(SL_ERR_INPUT, "a fit of %zu points does not converge; are they all sound?", q->n);
  } else {
    *drop = superfluous(q, &s);
    store(cost, q, &s);
    if (*drop < 0 && !isfinite(s.scatter)) /* otherwise a term has diverged, and the next attempt is without it */
      status = sl_fail(SL_ERR_INPUT, "a fit of %zu points has one of which no term says anything", q->n);
  }
  gsl_vector_free(s.theta);
  gsl_vector_free(s.weights);
  gsl_matrix_free(s.covariance);
  free(work);
  return status;
}

/* More parameters than half of the points would fit noise. The constant is dropped first, and then any term that every
 * point can do without. If there are as many parameters as points, only the constant is kept. */
static void choose_terms(struct problem *q) {
  for (int t = 0; t < SL_TERM_COUNT; t++) {
    bool seen = false;
    for (size_t i = 0; i < q->n; i++) seen |= q->works[i].terms[t] > 0;
    if (seen) q->term[q->p++] = t;
  }
  const int first = q->term[0];
  for (size_t j = 0; j < q->p && q->p > 1 && 2 * q->p > q->n;) {
    if (needed(q, j))
      j++;
    else
      leave_out(q, j);
  }
  if (q->p >= q->n) q->p = 1, q->term[0] = first;
}

enum sl_status sl_fit_entry(struct sl_op_cost *cost, const struct sl_work *works, const double *seconds,
                            const double *spread, size_t n) {
  struct problem q = {.works = works, .seconds = seconds, .n = n};
  gsl_error_handler_t *old = gsl_set_error_handler_off();
  enum sl_status status = n < 2 ? sl_fail(SL_ERR_INPUT, "a fit needs 2 points or more, got %zu", n) : SL_OK;
  choose_terms(&q);
  for (int drop = 0; status == SL_OK && drop >= 0;) {
    status = attempt(cost, &q, spread, &drop);
    if (status != SL_OK || drop < 0) break;
    leave_out(&q, (size_t)drop);
  }
  gsl_set_error_handler(old);
  return status;
}

#endif
