/* Cross-validation and intervals; see folds.h. */
#include "refit/folds.h"

#include "core/base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double of_90_percent = 1.645; /* of a normal distribution */
static const double anywhere = 10;         /* a radius that restricts no number */

/* ---- folds ---- */

/* How many smaller model widths the run's table has. */
static int place_of_width(const struct sl_refit_runs *runs, size_t run) {
  const struct sl_refit_run *r = &runs->items[run];
  int below = 0;
  for (size_t i = 0; i < runs->count; i++) {
    const struct sl_refit_run *a = &runs->items[i];
    bool first = a->weight > 0 && a->table == r->table && a->input.model.n_embd < r->input.model.n_embd;
    for (size_t k = 0; k < i && first; k++) {
      const struct sl_refit_run *b = &runs->items[k];
      first = b->weight == 0 || b->table != a->table || b->input.model.n_embd != a->input.model.n_embd;
    }
    below += first;
  }
  return below;
}

enum sl_status sl_refit_folds_by_row(const struct sl_refit_runs *runs, int **out) {
  SL_TRY(sl_calloc(out, runs->count, sizeof **out));
  int table = -1, place = 0;
  for (size_t i = 0; i < runs->count; i++) {
    if (runs->items[i].table != table) place = 0;
    table = runs->items[i].table;
    (*out)[i] = runs->items[i].weight > 0 ? place++ % SL_REFIT_ROW_FOLDS : -1;
  }
  return SL_OK;
}

enum sl_status sl_refit_folds_by_model(const struct sl_refit_runs *runs, int **out) {
  SL_TRY(sl_calloc(out, runs->count, sizeof **out));
  for (size_t i = 0; i < runs->count; i++)
    (*out)[i] = runs->items[i].weight > 0 ? place_of_width(runs, i) % SL_REFIT_FOLDS : -1;
  return SL_OK;
}

enum sl_status sl_refit_folds_by_cluster(const struct sl_refit_runs *runs, int **out, int *count) {
  *count = 0;
  SL_TRY(sl_calloc(out, runs->count, sizeof **out));
  for (size_t i = 0; i < runs->count; i++) {
    (*out)[i] = -1;
    for (size_t k = 0; k < i && (*out)[i] < 0 && runs->items[i].weight > 0; k++)
      if (strcmp(runs->items[i].input.cluster.name, runs->items[k].input.cluster.name) == 0) (*out)[i] = (*out)[k];
    if ((*out)[i] < 0 && runs->items[i].weight > 0) (*out)[i] = (*count)++;
  }
  return SL_OK;
}

/* ---- one fold ---- */

struct fold {
  double *weight, *values, *seconds;
  bool *held;
};

static void fold_close(struct fold *f) {
  free(f->weight);
  free(f->values);
  free(f->seconds);
  free(f->held);
}

static enum sl_status fold_open(struct fold *f, const struct sl_refit_problem *q) {
  enum sl_status status;
  *f = (struct fold){0};
  SL_GO_FAIL(sl_calloc(&f->weight, q->rows, sizeof *f->weight));
  SL_GO_FAIL(sl_calloc(&f->values, q->numbers, sizeof *f->values));
  SL_GO_FAIL(sl_calloc(&f->seconds, q->rows, sizeof *f->seconds));
  SL_GO_FAIL(sl_calloc(&f->held, q->rows, sizeof *f->held));
  return SL_OK;
fail:
  fold_close(f);
  return status;
}

/* Resets numbers that no run of the fold depends on to their priors. */
static void forget_orphans(const struct sl_refit_clocks *c, const struct sl_refit_problem *q, struct fold *f) {
  for (size_t j = 0; j < q->numbers; j++)
    if (!sl_refit_depends(c, f->weight, j)) f->values[j] = q->priors[j].prior;
}

/* Fits without the runs of `fold`, and predicts those. */
static enum sl_status hold_out(struct sl_refit_clocks *c, const struct sl_refit_problem *q,
                               const struct sl_refit_solution *s, const int *folds, int fold, struct fold *f) {
  for (size_t i = 0; i < q->rows; i++) {
    f->held[i] = folds[i] == fold;
    f->weight[i] = f->held[i] ? 0 : q->weight[i];
  }
  memcpy(f->values, s->values, q->numbers * sizeof *f->values);
  SL_TRY(sl_refit_solve_local(q, f->weight, &s->local, anywhere, f->values));
  forget_orphans(c, q, f);
  c->only = f->held;
  const enum sl_status status = sl_refit_clocks_ask(c, f->values, f->seconds, NULL);
  c->only = NULL;
  return status;
}

static enum sl_status hold_out_all(struct sl_refit_clocks *c, const struct sl_refit_problem *q,
                                   const struct sl_refit_solution *s, const int *folds, int count, double *seconds) {
  enum sl_status status = SL_OK;
  struct fold f;
  SL_TRY(fold_open(&f, q));
  for (int fold = 0; fold < count; fold++) {
    SL_GO(hold_out(c, q, s, folds, fold, &f));
    for (size_t i = 0; i < q->rows; i++)
      if (f.held[i]) seconds[i] = f.seconds[i];
  }
done:
  fold_close(&f);
  return status;
}

static enum sl_status cross_validate(struct sl_refit_clocks *c, const struct sl_refit_problem *q,
                                     const struct sl_refit_solution *s, struct sl_refit_outcome *out) {
  enum sl_status status;
  int *by_row = NULL, *by_model = NULL, *by_cluster = NULL, clusters;
  double *seconds = NULL;
  SL_GO(sl_calloc(&seconds, q->rows, sizeof *seconds));
  SL_GO(sl_refit_folds_by_row(c->runs, &by_row));
  SL_GO(sl_refit_folds_by_model(c->runs, &by_model));
  SL_GO(sl_refit_folds_by_cluster(c->runs, &by_cluster, &clusters));
  memcpy(seconds, s->local.seconds, q->rows * sizeof *seconds);
  SL_GO(hold_out_all(c, q, s, by_row, SL_REFIT_ROW_FOLDS, seconds));
  for (size_t i = 0; i < q->rows; i++) out[i].by_row_s = seconds[i];
  SL_GO(hold_out_all(c, q, s, by_model, SL_REFIT_FOLDS, seconds));
  for (size_t i = 0; i < q->rows; i++) out[i].by_model_s = seconds[i];
  SL_GO(hold_out_all(c, q, s, by_cluster, clusters, seconds));
  for (size_t i = 0; i < q->rows; i++) out[i].by_cluster_s = seconds[i];
done:
  free(by_row);
  free(by_model);
  free(by_cluster);
  free(seconds);
  return status;
}

/* ---- intervals ---- */

/* The variance of ln T due to the numbers, by the delta method: g' C g. */
static double number_variance(const struct sl_refit_problem *q, const struct sl_refit_solution *s, size_t run) {
  const double *g = &s->local.slope[run * q->numbers];
  double sum = 0;
  for (size_t a = 0; a < q->numbers; a++)
    for (size_t b = 0; b < q->numbers && g[a] != 0; b++) sum += g[a] * s->covariance[a * q->numbers + b] * g[b];
  return fmax(sum, 0);
}

static bool same_kind(const struct sl_refit_run *a, const struct sl_refit_run *b) {
  char x[64], y[64];
  sl_refit_device_owner(&a->input.cluster.device, x, sizeof x);
  sl_refit_device_owner(&b->input.cluster.device, y, sizeof y);
  return strcmp(x, y) == 0;
}

/* The scatter of the kind of GPU of `run`. `misses` is scratch memory (count). */
static double scatter_of(const struct sl_refit_runs *runs, const struct sl_refit_outcome *o, size_t run,
                         double *misses) {
  size_t n = 0;
  double numbers = 0;
  for (size_t i = 0; i < runs->count; i++) {
    if (runs->items[i].weight == 0 || !same_kind(&runs->items[i], &runs->items[run])) continue;
    misses[n++] = fabs(log(runs->items[i].measured_s / o[i].by_model_s));
    numbers += o[i].number_sd * o[i].number_sd;
  }
  if (n == 0) return 0;
  sl_stats_sort(misses, n);
  const double all = sl_stats_quantile(misses, n, 0.9) / of_90_percent;
  return sqrt(fmax(all * all - numbers / (double)n, 0));
}

enum sl_status sl_refit_away_scatter(const struct sl_refit_runs *runs, const struct sl_refit_outcome *o,
                                     double *scatter) {
  enum sl_status status;
  int *folds = NULL, count;
  double *misses = NULL, squares = 0;
  SL_GO(sl_refit_folds_by_cluster(runs, &folds, &count));
  SL_GO(sl_calloc(&misses, runs->count, sizeof *misses));
  for (int fold = 0; fold < count; fold++) {
    size_t n = 0;
    for (size_t i = 0; i < runs->count; i++)
      if (folds[i] == fold) misses[n++] = fabs(log(runs->items[i].measured_s / o[i].by_cluster_s));
    sl_stats_sort(misses, n);
    squares += pow(sl_stats_quantile(misses, n, 0.9) / of_90_percent, 2);
  }
  *scatter = count > 0 ? sqrt(squares / count) : 0;
done:
  free(folds);
  free(misses);
  return status;
}

static void put_interval(double seconds, double sd, double *low, double *high) {
  *low = seconds * exp(-of_90_percent * sd);
  *high = seconds * exp(of_90_percent * sd);
}

static enum sl_status put_intervals(const struct sl_refit_runs *runs, struct sl_refit_outcome *o) {
  double *misses, away;
  SL_TRY(sl_refit_away_scatter(runs, o, &away));
  SL_TRY(sl_calloc(&misses, runs->count, sizeof *misses));
  for (size_t i = 0; i < runs->count; i++) {
    o[i].away_scatter = away;
    o[i].scatter = scatter_of(runs, o, i, misses);
    const double sd = hypot(o[i].scatter, o[i].number_sd);
    put_interval(o[i].fitted_s, sd, &o[i].low_s, &o[i].high_s);
    put_interval(o[i].by_model_s, sd, &o[i].low_by_model_s, &o[i].high_by_model_s);
  }
  free(misses);
  return SL_OK;
}

enum sl_status sl_refit_outcomes(struct sl_refit_clocks *clocks, const struct sl_refit_problem *q,
                                 const struct sl_refit_solution *s, struct sl_refit_outcome **out) {
  SL_TRY(sl_calloc(out, q->rows, sizeof **out));
  enum sl_status status = cross_validate(clocks, q, s, *out);
  for (size_t i = 0; i < q->rows && status == SL_OK; i++) {
    (*out)[i].fitted_s = s->local.seconds[i];
    (*out)[i].number_sd = sqrt(number_variance(q, s, i));
  }
  if (status == SL_OK) status = put_intervals(clocks->runs, *out);
  if (status == SL_OK) return SL_OK;
  free(*out);
  *out = NULL;
  return status;
}
