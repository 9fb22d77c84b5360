/* The sum of squares, its local model and its minimum; solve.h states both. */
#include "refit/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double scale = 0.02;    /* of the soft L1 loss */
static const double widest = 0.7;    /* the first radius of a step, in the logarithms */
static const double enough = 1e-4;   /* the fit ends when a round gains less than this, relative */
static const double narrowest = .01; /* the fit ends when the radius is smaller than this */

/* ---- the local model ---- */

enum sl_status sl_refit_local_alloc(struct sl_refit_local *local, size_t rows, size_t numbers) {
  *local = (struct sl_refit_local){.rows = rows, .numbers = numbers};
  enum sl_status status;
  SL_GO_FAIL(sl_calloc(&local->at, numbers, sizeof *local->at));
  SL_GO_FAIL(sl_calloc(&local->seconds, rows, sizeof *local->seconds));
  SL_GO_FAIL(sl_calloc(&local->slope, rows * numbers, sizeof *local->slope));
  return SL_OK;
fail:
  sl_refit_local_free(local);
  return status;
}

void sl_refit_local_free(struct sl_refit_local *local) {
  free(local->at);
  free(local->seconds);
  free(local->slope);
  *local = (struct sl_refit_local){0};
}

static double share_of(double slope, double ratio) {
  return slope > 0 ? slope * (ratio - 1) : -slope * (1 / ratio - 1);
}

double sl_refit_slope(double before, double after, double step) {
  const double change = after / before - 1;
  return (change > 0) == (step > 0) ? change / expm1(step) : -change / expm1(-step);
}

double sl_refit_local_seconds(const struct sl_refit_local *local, size_t row, const double *values) {
  const double *slope = &local->slope[row * local->numbers];
  double sum = 1;
  for (size_t j = 0; j < local->numbers; j++)
    if (slope[j] != 0) sum += share_of(slope[j], values[j] / local->at[j]);
  /* the time may fall by less than the sum of the single numbers' effects */
  return local->seconds[row] * fmax(sum, 0.01);
}

/* ---- the sum ---- */

static double soft(double e) {
  return copysign(sqrt(2 * (sqrt(1 + e * e) - 1)), e);
}

static double miss(const struct sl_refit_problem *q, const double *weight, size_t i, double seconds) {
  return weight[i] * log(seconds / q->measured[i]) / scale;
}

/* The sum that is minimised, for given seconds (solve.h). */
static double cost_of(const struct sl_refit_problem *q, const double *values, const double *seconds) {
  double sum = 0;
  for (size_t i = 0; i < q->rows; i++)
    if (q->weight[i] > 0) sum += pow(soft(miss(q, q->weight, i, seconds[i])), 2);
  for (size_t j = 0; j < q->numbers; j++) sum += pow(log(values[j] / q->priors[j].prior) / q->priors[j].sd, 2);
  return sum / 2;
}

#ifndef SL_HAVE_GSL

enum sl_status sl_refit_solve_local(const struct sl_refit_problem *problem, const double *weight,
                                    const struct sl_refit_local *local, double radius, double *values) {
  (void)problem, (void)weight, (void)local, (void)radius, (void)values;
  return sl_fail(SL_ERR_ABSENT, "fitting needs GSL, which was absent when shardlab-analyze was built");
}

enum sl_status sl_refit_covariance(const struct sl_refit_problem *problem, const double *weight,
                                   const struct sl_refit_local *local, double *covariance) {
  (void)problem, (void)weight, (void)local, (void)covariance;
  return sl_fail(SL_ERR_ABSENT, "fitting needs GSL, which was absent when shardlab-analyze was built");
}

#else

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>

enum { ITERATIONS = 100 };

static double soft_slope(double e) {
  return fabs(e) < 1e-6 ? 1 : e / (sqrt(1 + e * e) * soft(e));
}

/* The context of GSL's functions. */
struct inner {
  const struct sl_refit_problem *q;
  const double *weight;
  const struct sl_refit_local *local;
  size_t *row; /* the row of each residual before those of the priors */
  size_t fitted;
  double *low, *high; /* (numbers) bounds of the logarithms, within the radius */
  double *values;     /* (numbers) scratch */
};

static double logarithm(const struct inner *in, const gsl_vector *u, size_t j) {
  return in->low[j] + (in->high[j] - in->low[j]) / (1 + exp(-gsl_vector_get(u, j)));
}

static void put_values(const struct inner *in, const gsl_vector *u) {
  for (size_t j = 0; j < in->q->numbers; j++) in->values[j] = exp(logarithm(in, u, j));
}

static int residuals(const gsl_vector *u, void *context, gsl_vector *f) {
  const struct inner *in = context;
  put_values(in, u);
  for (size_t k = 0; k < in->fitted; k++) {
    const double seconds = sl_refit_local_seconds(in->local, in->row[k], in->values);
    gsl_vector_set(f, k, soft(miss(in->q, in->weight, in->row[k], seconds)));
  }
  for (size_t j = 0; j < in->q->numbers; j++)
    gsl_vector_set(f, in->fitted + j, log(in->values[j] / in->q->priors[j].prior) / in->q->priors[j].sd);
  return GSL_SUCCESS;
}

/* d (residual of row i) / d (logarithm of number j), at in->values */
static void put_row(const struct inner *in, size_t k, gsl_matrix *out) {
  const struct sl_refit_local *local = in->local;
  const size_t i = in->row[k];
  const double seconds = sl_refit_local_seconds(local, i, in->values);
  const double factor = soft_slope(miss(in->q, in->weight, i, seconds)) * in->weight[i] / scale;
  for (size_t j = 0; j < local->numbers; j++) {
    const double slope = local->slope[i * local->numbers + j], ratio = in->values[j] / local->at[j];
    const double part = slope > 0 ? slope * ratio : slope / ratio;
    gsl_matrix_set(out, k, j, slope != 0 ? factor * part * local->seconds[i] / seconds : 0);
  }
}

static void put_jacobian(const struct inner *in, gsl_matrix *out) {
  gsl_matrix_set_zero(out);
  for (size_t k = 0; k < in->fitted; k++) put_row(in, k, out);
  for (size_t j = 0; j < in->q->numbers; j++) gsl_matrix_set(out, in->fitted + j, j, 1 / in->q->priors[j].sd);
}

static int jacobian(const gsl_vector *u, void *context, gsl_matrix *out) {
  const struct inner *in = context;
  put_values(in, u);
  put_jacobian(in, out);
  for (size_t j = 0; j < in->q->numbers; j++) {
    const double part = 1 / (1 + exp(-gsl_vector_get(u, j)));
    gsl_vector_view column = gsl_matrix_column(out, j);
    gsl_vector_scale(&column.vector, (in->high[j] - in->low[j]) * part * (1 - part));
  }
  return GSL_SUCCESS;
}

static void inner_close(struct inner *in) {
  free(in->row);
  free(in->low);
  free(in->high);
  free(in->values);
}

static enum sl_status inner_open(struct inner *in, const struct sl_refit_problem *q, const double *weight,
                                 const struct sl_refit_local *local, double radius) {
  enum sl_status status;
  *in = (struct inner){.q = q, .weight = weight, .local = local};
  SL_GO_FAIL(sl_calloc(&in->row, q->rows, sizeof *in->row));
  SL_GO_FAIL(sl_calloc(&in->low, q->numbers, sizeof *in->low));
  SL_GO_FAIL(sl_calloc(&in->high, q->numbers, sizeof *in->high));
  SL_GO_FAIL(sl_calloc(&in->values, q->numbers, sizeof *in->values));
  for (size_t i = 0; i < q->rows; i++)
    if (weight[i] > 0) in->row[in->fitted++] = i;
  for (size_t j = 0; j < q->numbers; j++) {
    in->low[j] = fmax(log(q->priors[j].low), log(local->at[j]) - radius);
    in->high[j] = fmin(log(q->priors[j].high), log(local->at[j]) + radius);
  }
  return SL_OK;
fail:
  inner_close(in);
  return status;
}

static void put_start(const struct inner *in, const double *values, gsl_vector *u) {
  for (size_t j = 0; j < in->q->numbers; j++) {
    const double part = (log(values[j]) - in->low[j]) / (in->high[j] - in->low[j]);
    const double inside = fmin(fmax(part, 0.005), 0.995);
    gsl_vector_set(u, j, log(inside / (1 - inside)));
  }
}

static int minimise(struct inner *in, gsl_vector *u) {
  const size_t n = in->fitted + in->q->numbers;
  gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
  parameters.solver = gsl_multifit_nlinear_solver_cholesky;
  gsl_multifit_nlinear_fdf fdf = {.f = residuals, .df = jacobian, .n = n, .p = in->q->numbers, .params = in};
  gsl_multifit_nlinear_workspace *w = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, n, fdf.p);
  int info = 0, code = GSL_ENOMEM;
  if (w == NULL) return code;
  gsl_multifit_nlinear_init(u, &fdf, w);
  code = gsl_multifit_nlinear_driver(ITERATIONS, 1e-6, 1e-6, 0, NULL, NULL, &info, w);
  gsl_vector_memcpy(u, w->x);
  gsl_multifit_nlinear_free(w);
  return code == GSL_EMAXITER || code == GSL_ENOPROG ? GSL_SUCCESS : code;
}

enum sl_status sl_refit_solve_local(const struct sl_refit_problem *q, const double *weight,
                                    const struct sl_refit_local *local, double radius, double *values) {
  struct inner in;
  SL_TRY(inner_open(&in, q, weight, local, radius));
  gsl_error_handler_t *old = gsl_set_error_handler_off();
  gsl_vector *u = gsl_vector_alloc(q->numbers);
  enum sl_status status = u == NULL ? sl_fail(SL_ERR_MEMORY, "out of memory: a fit of %zu numbers", q->numbers) : SL_OK;
  if (status == SL_OK) {
    put_start(&in, values, u);
    const int code = minimise(&in, u);
    if (code != GSL_SUCCESS) status = sl_fail(SL_ERR_INPUT, "the fit does not converge: %s", gsl_strerror(code));
    put_values(&in, u);
    memcpy(values, in.values, q->numbers * sizeof *values);
  }
  gsl_vector_free(u);
  gsl_set_error_handler(old);
  inner_close(&in);
  return status;
}

/* The root mean square residual of fitted rows if that exceeds the 1 that the loss expects; rows then carry that much
 * less information. */
static double spread_of(const struct inner *in) {
  double sum = 0;
  for (size_t k = 0; k < in->fitted; k++)
    sum += pow(soft(miss(in->q, in->weight, in->row[k], in->local->seconds[in->row[k]])), 2);
  return in->fitted > 0 ? fmax(1, sqrt(sum / (double)in->fitted)) : 1;
}

static enum sl_status invert(const gsl_matrix *jacobian, gsl_matrix *out) {
  gsl_blas_dsyrk(CblasLower, CblasTrans, 1, jacobian, 0, out);
  if (gsl_linalg_cholesky_decomp1(out) != GSL_SUCCESS || gsl_linalg_cholesky_invert(out) != GSL_SUCCESS)
    return sl_fail(SL_ERR_INPUT, "the fit's numbers cannot be told apart, and no prior tells them");
  return SL_OK;
}

enum sl_status sl_refit_covariance(const struct sl_refit_problem *q, const double *weight,
                                   const struct sl_refit_local *local, double *covariance) {
  struct inner in;
  SL_TRY(inner_open(&in, q, weight, local, 1));
  gsl_error_handler_t *old = gsl_set_error_handler_off();
  gsl_matrix *rows = gsl_matrix_alloc(in.fitted + q->numbers, q->numbers);
  gsl_matrix_view out = gsl_matrix_view_array(covariance, q->numbers, q->numbers);
  enum sl_status status = rows == NULL ? sl_fail(SL_ERR_MEMORY, "out of memory: a covariance") : SL_OK;
  if (status == SL_OK) {
    memcpy(in.values, local->at, q->numbers * sizeof *in.values);
    put_jacobian(&in, rows);
    const double spread = spread_of(&in);
    for (size_t k = 0; k < in.fitted; k++) {
      gsl_vector_view row = gsl_matrix_row(rows, k);
      gsl_vector_scale(&row.vector, 1 / spread);
    }
    status = invert(rows, &out.matrix);
  }
  gsl_matrix_free(rows);
  gsl_set_error_handler(old);
  inner_close(&in);
  return status;
}

#endif

/* ---- over the clock ---- */

static enum sl_status ask(const struct sl_refit_problem *q, struct sl_refit_local *local, const double *values) {
  memcpy(local->at, values, q->numbers * sizeof *values);
  return q->clock(q->context, values, local->seconds, local->slope);
}

/* One step from local->at: halves *radius until the clock confirms that the sum is lower. *gain: by how much, relative
 * to the sum. */
static enum sl_status step(const struct sl_refit_problem *q, struct sl_refit_solution *s, double *radius, double *trial,
                           double *seconds, double *gain) {
  for (*gain = 0; *radius > narrowest; *radius /= 2) {
    memcpy(trial, s->values, q->numbers * sizeof *trial);
    SL_TRY(sl_refit_solve_local(q, q->weight, &s->local, *radius, trial));
    SL_TRY(q->clock(q->context, trial, seconds, NULL));
    const double cost = cost_of(q, trial, seconds);
    if (!(cost < s->cost)) continue;
    *gain = 1 - cost / s->cost;
    s->cost = cost;
    memcpy(s->values, trial, q->numbers * sizeof *trial);
    return SL_OK;
  }
  return SL_OK;
}

static enum sl_status improve(const struct sl_refit_problem *q, struct sl_refit_solution *s, int rounds) {
  enum sl_status status;
  double *trial = NULL, *seconds = NULL, radius = widest, gain = 1;
  SL_GO(sl_calloc(&trial, q->numbers, sizeof *trial));
  SL_GO(sl_calloc(&seconds, q->rows, sizeof *seconds));
  SL_GO(ask(q, &s->local, s->values));
  s->cost = cost_of(q, s->values, s->local.seconds);
  for (s->rounds = 0; s->rounds < rounds && gain > enough && radius > narrowest; s->rounds++) {
    SL_GO(step(q, s, &radius, trial, seconds, &gain));
    if (q->progress != NULL) q->progress(q->context, s->rounds + 1, s->cost, s->values);
    if (gain > 0) SL_GO(ask(q, &s->local, s->values));
  }
  status = sl_refit_covariance(q, q->weight, &s->local, s->covariance);
done:
  free(trial);
  free(seconds);
  return status;
}

enum sl_status sl_refit_solve(const struct sl_refit_problem *q, const double *start, int rounds,
                              struct sl_refit_solution *out) {
  enum sl_status status;
  *out = (struct sl_refit_solution){0};
  SL_GO_FAIL(sl_refit_local_alloc(&out->local, q->rows, q->numbers));
  SL_GO_FAIL(sl_calloc(&out->values, q->numbers, sizeof *out->values));
  SL_GO_FAIL(sl_calloc(&out->covariance, q->numbers * q->numbers, sizeof *out->covariance));
  for (size_t j = 0; j < q->numbers; j++)
    out->values[j] = fmin(fmax(start[j], q->priors[j].low * 1.001), q->priors[j].high / 1.001);
  SL_GO_FAIL(improve(q, out, rounds));
  return SL_OK;
fail:
  sl_refit_solution_free(out);
  return status;
}

void sl_refit_solution_free(struct sl_refit_solution *s) {
  free(s->values);
  free(s->covariance);
  sl_refit_local_free(&s->local);
  *s = (struct sl_refit_solution){0};
}
