/* The command line of refit/; see refit_command.h, and refit/solve.h and refit/folds.h for the method. */
#include "analysis/refit_command.h"

#include "refit/clock.h"
#include "refit/folds.h"
#include "refit/runs.h"
#include "refit/tables.h"
#include "refit/write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
  struct sl_refit_request request;
  char **only; /* (n_only) "OWNER:KEY" */
  int n_only;
  const char *out, *profiles, *source, *start;
  int jobs, rounds, starts;
};

/* ---- options ---- */

static enum sl_status number_of(const char *name, const char *text, double least, double most, double *out) {
  char *end;
  *out = strtod(text, &end);
  if (end != text && *end == '\0' && *out >= least && *out <= most) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: is \"%s\"; expected %g to %g", name, text, least, most);
}

static enum sl_status whole(const char *name, const char *text, double most, int *out) {
  double x;
  SL_TRY(number_of(name, text, 0, most, &x));
  *out = (int)x;
  return SL_OK;
}

static enum sl_status option(struct options *o, const char *name, char *value) {
  double x;
  if (strcmp(name, "--out") == 0) return o->out = value, SL_OK;
  if (strcmp(name, "--write") == 0) return o->profiles = value, SL_OK;
  if (strcmp(name, "--source") == 0) return o->source = value, SL_OK;
  if (strcmp(name, "--start") == 0) return o->start = value, SL_OK;
  if (strcmp(name, "--only") == 0) return o->only[o->n_only++] = value, SL_OK;
  if (strcmp(name, "--exclude") == 0) return o->request.exclude = value, SL_OK;
  if (strcmp(name, "--jobs") == 0) return whole(name, value, 64, &o->jobs);
  if (strcmp(name, "--rounds") == 0) return whole(name, value, 1000, &o->rounds);
  if (strcmp(name, "--starts") == 0) return whole(name, value, 100, &o->starts);
  if (strcmp(name, "--min-mfu") != 0) return sl_fail(SL_ERR_INPUT, "%s: is no option of refit", name);
  SL_TRY(number_of(name, value, 0, 100, &x));
  o->request.least_mfu = x / 100;
  return SL_OK;
}

/* A fit takes minutes, so missing folders are reported before it. */
static enum sl_status check_folder(const char *name, const char *folder) {
  struct stat info;
  if (stat(folder, &info) == 0 && S_ISDIR(info.st_mode)) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: %s: is no folder; expected one that exists", name, folder);
}

/* Sorts argv: tables to fit first, then those held out. */
static enum sl_status read_options(struct options *o, int argc, char **argv) {
  *o = (struct options){.source = "fit to measured runs", .jobs = 2, .rounds = 12, .starts = 1};
  SL_TRY(sl_calloc(&o->request.paths, (size_t)argc, sizeof *o->request.paths));
  SL_TRY(sl_calloc(&o->only, (size_t)argc, sizeof *o->only));
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < argc; i++) {
      const bool named = strncmp(argv[i], "--", 2) == 0, held = strcmp(argv[i], "--held-out") == 0;
      if (named && i + 1 == argc) return sl_fail(SL_ERR_INPUT, "%s: expected a value behind it", argv[i]);
      if (held == (pass == 1) && (held || !named)) o->request.paths[o->request.n_path++] = argv[i + held];
      if (held && pass == 1) o->request.n_held++;
      if (named && !held && pass == 0) SL_TRY(option(o, argv[i], argv[i + 1]));
      i += named;
    }
  }
  if (o->out == NULL) return sl_fail(SL_ERR_INPUT, "--out: is missing; expected the folder to write tables to");
  SL_TRY(check_folder("--out", o->out));
  if (o->profiles != NULL) SL_TRY(check_folder("--write", o->profiles));
  if (o->jobs < 1) o->jobs = 1;
  return SL_OK;
}

/* ---- the fit ---- */

struct fit {
  struct sl_refit_runs runs;
  struct sl_refit_clocks clocks;
  struct sl_refit_problem problem;
  double *measured, *weight, *start;
  struct sl_refit_prior *priors;
  struct sl_refit_solution solution;
  struct sl_refit_outcome *outcomes;
};

static void fit_close(struct fit *f) {
  free(f->outcomes);
  sl_refit_solution_free(&f->solution);
  free(f->priors);
  free(f->start);
  free(f->weight);
  free(f->measured);
  if (f->clocks.runs != NULL) sl_refit_clocks_close(&f->clocks);
  sl_refit_runs_free(&f->runs);
}

static void say_progress(void *context, int round, double cost, const double *values) {
  (void)context, (void)values;
  printf("  round %d: cost %.2f\n", round, cost);
}

static enum sl_status pose(struct fit *f) {
  const size_t rows = f->runs.count, numbers = f->clocks.numbers.count;
  SL_TRY(sl_calloc(&f->measured, rows, sizeof *f->measured));
  SL_TRY(sl_calloc(&f->weight, rows, sizeof *f->weight));
  SL_TRY(sl_calloc(&f->priors, numbers, sizeof *f->priors));
  SL_TRY(sl_calloc(&f->start, numbers, sizeof *f->start));
  for (size_t i = 0; i < rows; i++)
    f->measured[i] = f->runs.items[i].measured_s, f->weight[i] = f->runs.items[i].weight;
  sl_refit_given(&f->clocks, f->start);
  sl_refit_keep_unfitted(&f->clocks, f->weight, f->start);
  for (size_t j = 0; j < numbers; j++) f->priors[j] = f->clocks.numbers.items[j].prior;
  f->problem = (struct sl_refit_problem){.rows = rows,
                                         .numbers = numbers,
                                         .measured = f->measured,
                                         .weight = f->weight,
                                         .priors = f->priors,
                                         .clock = sl_refit_clocks_ask,
                                         .context = &f->clocks,
                                         .progress = say_progress};
  return SL_OK;
}

/* The next start: first the profiles' own numbers or those of --start, then the priors' centres moved by up to a
 * standard deviation; the same in every run. */
static void next_start(struct fit *f, int start) {
  static unsigned long long state = 20221205;
  for (size_t j = 0; start > 0 && j < f->problem.numbers; j++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    f->start[j] = f->priors[j].prior * exp(f->priors[j].sd * (2 * (double)(state >> 33) / 2147483648.0 - 1));
  }
}

static enum sl_status solve(struct fit *f, const struct options *o) {
  for (int start = 0; start < o->starts || start == 0; start++) {
    struct sl_refit_solution s;
    next_start(f, start);
    SL_TRY(sl_refit_solve(&f->problem, f->start, o->rounds, &s));
    printf("start %d: cost %.2f after %d rounds\n", start + 1, s.cost, s.rounds);
    if (start == 0 || s.cost < f->solution.cost) {
      sl_refit_solution_free(&f->solution);
      f->solution = s;
    } else {
      sl_refit_solution_free(&s);
    }
  }
  return SL_OK;
}

/* ---- output ---- */

struct errors {
  double sum, most, bias, inside;
  int n;
};

static void count(struct errors *e, double predicted, double measured, double low, double high) {
  const double off = predicted / measured - 1;
  e->sum += fabs(off), e->bias += off, e->n++;
  e->most = fmax(e->most, fabs(off));
  e->inside += measured >= low && measured <= high;
}

static void print_table(const struct fit *f, int table) {
  struct errors fitted = {0}, row = {0}, model = {0}, cluster = {0};
  char name[80];
  for (size_t i = 0; i < f->runs.count; i++) {
    const struct sl_refit_outcome *o = &f->outcomes[i];
    const double t = f->measured[i];
    if (f->runs.items[i].table != table) continue;
    count(&fitted, o->fitted_s, t, o->low_s, o->high_s);
    count(&row, o->by_row_s, t, 0, 0);
    count(&model, o->by_model_s, t, o->low_by_model_s, o->high_by_model_s);
    count(&cluster, o->by_cluster_s, t, 0, 0);
  }
  if (fitted.n == 0) return;
  sl_refit_table_name(&f->runs, table, name, sizeof name);
  printf("%-20s %5d rows; mean error %6.2f %% (bias %+6.2f, largest %6.1f); row held out %6.2f %%, model held out "
         "%6.2f %%, cluster held out "
         "%6.2f %%; in the 90 %% interval %5.1f %%, model held out %5.1f %%\n",
         name, fitted.n, 100 * fitted.sum / fitted.n, 100 * fitted.bias / fitted.n, 100 * fitted.most,
         100 * row.sum / fitted.n, 100 * model.sum / fitted.n, 100 * cluster.sum / fitted.n,
         100 * fitted.inside / fitted.n, 100 * model.inside / fitted.n);
}

static enum sl_status fit(struct fit *f, const struct options *o) {
  SL_TRY(sl_refit_runs_load(&f->runs, &o->request));
  SL_TRY(sl_refit_check_tables(o->out));
  SL_TRY(sl_refit_clocks_open(&f->clocks, &f->runs, o->jobs));
  SL_TRY(pose(f));
  if (o->start != NULL) SL_TRY(sl_refit_read_numbers(&f->clocks.numbers, o->start, f->start));
  if (o->n_only > 0) SL_TRY(sl_refit_numbers_pin(&f->clocks.numbers, o->only, o->n_only, f->start, f->priors));
  printf("%zu runs, %zu numbers\n", f->problem.rows, f->problem.numbers);
  SL_TRY(solve(f, o));
  SL_TRY(sl_refit_outcomes(&f->clocks, &f->problem, &f->solution, &f->outcomes));
  const struct sl_refit_result result = {&f->clocks, &f->solution, f->outcomes, f->priors};
  for (int table = 0; table < f->runs.n_table; table++) print_table(f, table);
  SL_TRY(sl_refit_write_tables(&result, o->out));
  return o->profiles != NULL ? sl_refit_write_profiles(&result, o->profiles, o->source) : SL_OK;
}

enum sl_status sl_refit_command(int argc, char **argv) {
  struct options o;
  struct fit f = {.runs = {0}};
  setvbuf(stdout, NULL, _IOLBF, 0);
  enum sl_status status = read_options(&o, argc, argv);
  sl_warn_set_sink(sl_warn_drop, NULL); /* warnings about configurations that no user wrote */
  if (status == SL_OK) status = fit(&f, &o);
  sl_warn_set_sink(NULL, NULL);
  fit_close(&f);
  free(o.request.paths);
  free(o.only);
  return status;
}
