/* label: unit
   libs: refit
 * Measured runs as a fit takes them: weights, what is left out, folds; and that the fit's clock is the exact one. */
#include "refit/clock.h"
#include "refit/folds.h"
#include "refit/runs.h"
#include "table/predict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TABLES SL_SOURCE_DIR "/experiments/published/training/tables/"
static char foundry[] = TABLES "llmfoundry.csv", vtrain[] = TABLES "vtrain_multi_node.csv";
enum { FOUNDRY = 140, VTRAIN = 42, EVERY = 10 * SL_EVERY, SOME = (VTRAIN + EVERY - 1) / EVERY };

static void forget(void *context, const char *message) {
  (void)context, (void)message;
}

static int quiet(void **unused) {
  (void)unused;
  sl_warn_set_sink(forget, NULL); /* of configurations that nobody wrote */
  return 0;
}

static void load(struct sl_refit_runs *runs, char **paths, int n, int held) {
  const struct sl_refit_request request = {.paths = paths, .n_path = n, .n_held = held};
  assert_int_equal(sl_refit_runs_load(runs, &request), SL_OK);
}

/* Runs of a table of n count for n^(-1/4), on average for 1. */
static void a_long_table_counts_for_less_a_run(void **unused) {
  (void)unused;
  struct sl_refit_runs runs;
  load(&runs, (char *[]){foundry, vtrain}, 2, 0);
  double sum = 0;
  for (size_t i = 0; i < runs.count; i++) sum += runs.items[i].weight;
  assert_int_equal(runs.count, FOUNDRY + VTRAIN);
  assert_true(fabs(sum / (FOUNDRY + VTRAIN) - 1) < 1e-12);
  assert_true(fabs(runs.items[FOUNDRY].weight / runs.items[0].weight - pow((double)FOUNDRY / VTRAIN, 0.25)) < 1e-12);
  sl_refit_runs_free(&runs);
}

static void a_table_held_out_has_no_weight(void **unused) {
  (void)unused;
  struct sl_refit_runs runs;
  load(&runs, (char *[]){foundry, vtrain}, 2, 1);
  for (size_t i = 0; i < runs.count; i++) assert_true((runs.items[i].weight > 0) == (i < FOUNDRY));
  sl_refit_runs_free(&runs);
}

/* The numbers of experiments/published/training/score.py. */
static void model_flops_over_the_peak(void **unused) {
  (void)unused;
  struct sl_refit_runs runs;
  load(&runs, (char *[]){foundry, vtrain}, 2, 0);
  assert_true(fabs(100 * sl_refit_mfu(&runs.items[0]) - 39.9486) < 0.05);
  assert_true(fabs(100 * sl_refit_mfu(&runs.items[FOUNDRY]) - 32.4180) < 0.05);
  const double least = sl_refit_mfu(&runs.items[FOUNDRY]);
  sl_refit_runs_free(&runs);
  const struct sl_refit_request request = {.paths = (char *[]){vtrain}, .n_path = 1, .least_mfu = least * 1.0001};
  assert_int_equal(sl_refit_runs_load(&runs, &request), SL_OK);
  assert_true(runs.count < VTRAIN);
  for (size_t i = 0; i < runs.count; i++) assert_true(sl_refit_mfu(&runs.items[i]) > least);
  sl_refit_runs_free(&runs);
}

static enum sl_status exclude(struct sl_refit_runs *runs, const char *id) {
  char path[] = "/tmp/refit_XXXXXX";
  FILE *out = fdopen(mkstemp(path), "w");
  fprintf(out, "id,reason\n%s,broken\n", id);
  fclose(out);
  const struct sl_refit_request request = {.paths = (char *[]){vtrain}, .n_path = 1, .exclude = path};
  const enum sl_status status = sl_refit_runs_load(runs, &request);
  remove(path);
  return status;
}

static void excluded_runs_have_no_weight(void **unused) {
  (void)unused;
  struct sl_refit_runs runs;
  load(&runs, (char *[]){vtrain}, 1, 0);
  char id[200];
  snprintf(id, sizeof id, "%s", runs.items[5].row->id);
  sl_refit_runs_free(&runs);
  assert_int_equal(exclude(&runs, id), SL_OK);
  for (size_t i = 0; i < runs.count; i++) assert_true((runs.items[i].weight == 0) == (i == 5));
  sl_refit_runs_free(&runs);
  assert_int_equal(exclude(&runs, "nobody"), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "no run is called \"nobody\""));
  sl_error_clear();
}

static void models_and_clusters_are_held_out_whole(void **unused) {
  (void)unused;
  struct sl_refit_runs runs;
  int *model, *cluster, clusters, of_fold[SL_REFIT_FOLDS] = {0};
  load(&runs, (char *[]){foundry, vtrain}, 2, 0);
  assert_int_equal(sl_refit_folds_by_model(&runs, &model), SL_OK);
  assert_int_equal(sl_refit_folds_by_cluster(&runs, &cluster, &clusters), SL_OK);
  assert_int_equal(clusters, 4);
  for (size_t i = 0; i < runs.count; i++) {
    of_fold[model[i]]++;
    for (size_t k = 0; k < i; k++) {
      const struct sl_refit_run *a = &runs.items[i], *b = &runs.items[k];
      if (a->table == b->table && a->input.model.n_embd == b->input.model.n_embd) assert_int_equal(model[i], model[k]);
      assert_true((cluster[i] == cluster[k]) == (strcmp(a->input.cluster.name, b->input.cluster.name) == 0));
    }
  }
  for (int f = 0; f < SL_REFIT_FOLDS; f++) assert_true(of_fold[f] > 0);
  free(model), free(cluster);
  sl_refit_runs_free(&runs);
}

/* Every fold holds out a tenth of each table, and nothing of one that is never fitted. */
static void rows_are_held_out_in_turn(void **unused) {
  (void)unused;
  static const int least[2] = {FOUNDRY / SL_REFIT_ROW_FOLDS, VTRAIN / SL_REFIT_ROW_FOLDS};
  for (int held = 0; held < 2; held++) {
    struct sl_refit_runs runs;
    int *fold, of_fold[2][SL_REFIT_ROW_FOLDS] = {{0}};
    load(&runs, (char *[]){foundry, vtrain}, 2, held);
    assert_int_equal(sl_refit_folds_by_row(&runs, &fold), SL_OK);
    for (size_t i = 0; i < runs.count; i++) {
      assert_true((fold[i] < 0) == (runs.items[i].weight == 0));
      if (fold[i] >= 0) of_fold[runs.items[i].table][fold[i]]++;
    }
    for (int f = 0; f < SL_REFIT_ROW_FOLDS; f++) {
      assert_in_range(of_fold[0][f], least[0], least[0] + 1);
      assert_in_range(of_fold[1][f], held ? 0 : least[1], held ? 0 : least[1] + 1);
    }
    free(fold);
    sl_refit_runs_free(&runs);
  }
}

/* With a table held out, its cluster's numbers stay what its profile says; those that another table's runs share with
 * it, and those that are fitted, keep their priors. */
static void numbers_of_no_fitted_run_stay(void **unused) {
  (void)unused;
  static char unseen[] = TABLES "unseen.csv";
  struct sl_refit_runs runs;
  struct sl_refit_clocks clocks;
  int kept = 0, fitted = 0;
  load(&runs, (char *[]){foundry, unseen}, 2, 1);
  assert_int_equal(sl_refit_clocks_open(&clocks, &runs, 1), SL_OK);
  double *weight = calloc(runs.count, sizeof *weight), *given = calloc(clocks.numbers.count, sizeof *given),
         *was = calloc(clocks.numbers.count, sizeof *was);
  assert_true(weight != NULL && given != NULL && was != NULL);
  for (size_t i = 0; i < runs.count; i++) weight[i] = runs.items[i].weight;
  for (size_t j = 0; j < clocks.numbers.count; j++) was[j] = clocks.numbers.items[j].prior.prior;
  sl_refit_given(&clocks, given);
  sl_refit_keep_unfitted(&clocks, weight, given);
  for (size_t j = 0; j < clocks.numbers.count; j++) {
    const struct sl_refit_number *n = &clocks.numbers.items[j];
    const bool foundry_has = strncmp(n->owner, "mosaic-", 7) == 0, unseen_has = strncmp(n->owner, "dgx", 3) == 0;
    if (foundry_has) assert_true(n->prior.prior == was[j]);
    if (unseen_has) assert_true(n->prior.prior == given[j]);
    fitted += foundry_has && given[j] != was[j];
    kept += unseen_has && given[j] != was[j];
  }
  assert_true(fitted > 0 && kept > 0);
  free(weight), free(given), free(was);
  sl_refit_clocks_close(&clocks);
  sl_refit_runs_free(&runs);
}

/* A named number keeps its prior; all others get one at their value, with no room. */
static void pinned_numbers_have_no_room(void **unused) {
  (void)unused;
  struct sl_refit_runs runs;
  struct sl_refit_clocks clocks;
  char gemm[] = "sm80x108:gemm_efficiency", share[] = "mosaic-h100:bandwidth_share", none[] = "sm80x108:gemm",
       *names[] = {gemm, share};
  load(&runs, (char *[]){foundry}, 1, 0);
  assert_int_equal(sl_refit_clocks_open(&clocks, &runs, 1), SL_OK);
  const size_t count = clocks.numbers.count;
  double *values = calloc(count, sizeof *values);
  struct sl_refit_prior *priors = calloc(count, sizeof *priors);
  assert_true(values != NULL && priors != NULL);
  for (size_t j = 0; j < count; j++) priors[j] = clocks.numbers.items[j].prior;
  sl_refit_given(&clocks, values);
  assert_int_equal(sl_refit_numbers_pin(&clocks.numbers, names, 2, values, priors), SL_OK);
  int free_ones = 0;
  for (size_t j = 0; j < count; j++) {
    const struct sl_refit_number *n = &clocks.numbers.items[j];
    const bool named = (strcmp(n->owner, "sm80x108") == 0 && strcmp(n->key->key, "gemm_efficiency") == 0) ||
                       (strcmp(n->owner, "mosaic-h100") == 0 && strcmp(n->key->key, "bandwidth_share") == 0);
    free_ones += named;
    assert_true(named ? priors[j].high == n->prior.high : priors[j].high / priors[j].low < 1.00001);
    if (!named) assert_true(priors[j].prior == values[j]);
  }
  assert_int_equal(free_ones, 3); /* both links of a cluster have a share */
  assert_int_equal(sl_refit_numbers_pin(&clocks.numbers, &(char *){none}, 1, values, priors), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "sm80x108:gemm"));
  sl_error_clear();
  free(values), free(priors);
  sl_refit_clocks_close(&clocks);
  sl_refit_runs_free(&runs);
}

/* Each installation counts alike: one that is 20 % off in all its runs and one that is right make 0.182 / 1.645 /
 * sqrt(2). */
static void an_installation_is_one_of_many(void **unused) {
  (void)unused;
  struct sl_refit_run runs[4] = {{.weight = 1, .measured_s = 12},
                                 {.weight = 1, .measured_s = 1},
                                 {.weight = 1, .measured_s = 2},
                                 {.weight = 0, .measured_s = 9}};
  const struct sl_refit_outcome outcomes[4] = {
      {.by_cluster_s = 10}, {.by_cluster_s = 1}, {.by_cluster_s = 2}, {.by_cluster_s = 1}};
  double scatter;
  snprintf(runs[0].input.cluster.name, sizeof runs[0].input.cluster.name, "far");
  assert_int_equal(sl_refit_away_scatter(&(struct sl_refit_runs){.items = runs, .count = 4}, outcomes, &scatter),
                   SL_OK);
  assert_true(fabs(scatter - log(1.2) / 1.645 / sqrt(2)) < 1e-12);
}

/* The head of a table and one of EVERY of its rows, in a file whose name goes to `path`. */
static void some_of(const char *table, char *path) {
  char line[4096];
  FILE *in = fopen(table, "r"), *out = fdopen(mkstemp(path), "w");
  assert_true(in && out);
  for (int i = -1; fgets(line, sizeof line, in) != NULL; i++)
    if (i < 0 || i % EVERY == 0) fputs(line, out);
  fclose(in), fclose(out);
}

/* With the numbers of the profiles, the fit's clock predicts runs of a table as `shardlab predict` does (long steps by
 * two short ones) within 0.1 %; and two processes give the same times as one. */
static void the_fits_clock_is_the_exact_one(void **unused) {
  (void)unused;
  struct sl_refit_runs runs;
  struct sl_refit_clocks clocks;
  double want[SOME], one[SOME], two[SOME];
  char path[] = "/tmp/refit_XXXXXX";
  some_of(vtrain, path);
  load(&runs, (char *[]){path}, 1, 0);
  remove(path);
  assert_int_equal(runs.count, SOME);
  assert_int_equal(sl_refit_clocks_open(&clocks, &runs, 1), SL_OK);
  double *values = calloc(clocks.numbers.count, sizeof *values);
  sl_refit_given(&clocks, values);
  for (size_t i = 0; i < runs.count; i++) {
    struct sl_prediction p;
    const struct sl_table_inputs *in = &runs.items[i].input;
    assert_int_equal(sl_predict_step(&p, &in->model, &in->config, &in->cluster, in->world), SL_OK);
    want[i] = p.step_s;
  }
  assert_int_equal(sl_refit_clocks_ask(&clocks, values, one, NULL), SL_OK);
  clocks.jobs = 2;
  assert_int_equal(sl_refit_clocks_ask(&clocks, values, two, NULL), SL_OK);
  for (size_t i = 0; i < runs.count; i++) {
    assert_true(fabs(one[i] / want[i] - 1) < 1e-3);
    assert_true(one[i] == two[i]);
  }
  free(values);
  sl_refit_clocks_close(&clocks);
  sl_refit_runs_free(&runs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_long_table_counts_for_less_a_run), cmocka_unit_test(a_table_held_out_has_no_weight),
      cmocka_unit_test(model_flops_over_the_peak),          cmocka_unit_test(excluded_runs_have_no_weight),
      cmocka_unit_test(rows_are_held_out_in_turn),          cmocka_unit_test(models_and_clusters_are_held_out_whole),
      cmocka_unit_test(numbers_of_no_fitted_run_stay),      cmocka_unit_test(pinned_numbers_have_no_room),
      cmocka_unit_test(an_installation_is_one_of_many),     cmocka_unit_test(the_fits_clock_is_the_exact_one),
  };
  return cmocka_run_group_tests(tests, quiet, NULL);
}
