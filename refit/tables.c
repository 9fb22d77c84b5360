/* The tables of a fit; see tables.h. */
#include "refit/tables.h"

#include "core/base/csv.h"
#include "core/base/file.h"
#include "core/base/new_file.h"
#include "core/base/was_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const scopes[] = {"device", "cluster", "kernels"};
static const char *const places[] = {"", "innermost link", "outermost link", ""};

static const char runs_name[] = "predictions.csv", numbers_name[] = "numbers.csv";

static enum sl_status check_table(const char *folder, const char *name) {
  char *path;
  SL_TRY(sl_file_join(&path, folder, name));
  const enum sl_status status = sl_was_read_check("--out", path);
  free(path);
  return status;
}

enum sl_status sl_refit_check_tables(const char *folder) {
  SL_TRY(check_table(folder, runs_name));
  return check_table(folder, numbers_name);
}

static enum sl_status open_table(struct sl_new_file *out, const char *folder, const char *name) {
  char *path;
  SL_TRY(sl_file_join(&path, folder, name));
  const enum sl_status status = sl_new_file_open(out, path);
  free(path);
  return status;
}

static void put_run(FILE *out, const struct sl_refit_runs *runs, size_t i, const struct sl_refit_outcome *o) {
  const struct sl_refit_run *run = &runs->items[i];
  char table[80], kind[64];
  sl_refit_table_name(runs, run->table, table, sizeof table);
  sl_refit_device_owner(&run->input.cluster.device, kind, sizeof kind);
  fprintf(out, "\"%s\",%s,%s,%s,%d,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.4g,%.4g,%.4g\n", run->row->id, table,
          kind, run->input.cluster.name, run->weight > 0, run->measured_s, o->fitted_s, o->by_row_s, o->by_model_s,
          o->by_cluster_s, o->low_s, o->high_s, o->low_by_model_s, o->high_by_model_s, o->number_sd, o->scatter,
          100 * sl_refit_mfu(run));
}

static enum sl_status write_runs(const struct sl_refit_result *r, const char *folder) {
  struct sl_new_file table;
  SL_TRY(open_table(&table, folder, runs_name));
  FILE *out = table.stream;
  fputs("id,table,gpu_kind,cluster,fitted,measured_s,predicted_s,predicted_by_row_s,predicted_by_model_s,predicted_by_"
        "cluster_s,"
        "low_s,high_s,low_by_model_s,high_by_model_s,number_sd,scatter,mfu_percent\n",
        out);
  for (size_t i = 0; i < r->clocks->runs->count; i++) put_run(out, r->clocks->runs, i, &r->outcomes[i]);
  return sl_new_file_finish(&table);
}

enum sl_status sl_refit_write_tables(const struct sl_refit_result *r, const char *folder) {
  const struct sl_refit_numbers *numbers = &r->clocks->numbers;
  struct sl_new_file table;
  SL_TRY(write_runs(r, folder));
  SL_TRY(open_table(&table, folder, numbers_name));
  FILE *out = table.stream;
  fputs("scope,owner,place,key,value,relative_stderr,prior,prior_sd,low,high\n", out);
  for (size_t j = 0; j < numbers->count; j++) {
    const struct sl_refit_number *n = &numbers->items[j];
    fprintf(out, "%s,%s,%s,%s,%.4g,%.3g,%g,%g,%g,%g\n", scopes[n->key->scope], n->owner, places[n->key->place],
            n->key->key, r->solution->values[j], sqrt(r->solution->covariance[j * numbers->count + j]), n->prior.prior,
            n->prior.sd, n->prior.low, n->prior.high);
  }
  return sl_new_file_finish(&table);
}

/* ---- reading numbers.csv ---- */

static bool is_of(const struct sl_csv *csv, size_t row, const size_t *columns, const struct sl_refit_number *n) {
  const char *const want[] = {scopes[n->key->scope], n->owner, places[n->key->place], n->key->key};
  for (int i = 0; i < 4; i++)
    if (strcmp(sl_csv_at(csv, row, columns[i])->text, want[i]) != 0) return false;
  return true;
}

static enum sl_status find_columns(const struct sl_csv *csv, size_t columns[5]) {
  static const char *const names[] = {"scope", "owner", "place", "key", "value"};
  for (int i = 0; i < 5; i++) {
    columns[i] = sl_csv_column(csv, names[i]);
    if (columns[i] == csv->columns) return sl_fail(SL_ERR_INPUT, "%s: has no column %s", csv->name, names[i]);
  }
  return SL_OK;
}

enum sl_status sl_refit_read_numbers(const struct sl_refit_numbers *numbers, const char *path, double *values) {
  struct sl_csv csv;
  size_t columns[5];
  SL_TRY(sl_csv_load(&csv, path));
  enum sl_status status = find_columns(&csv, columns);
  for (size_t row = 0; status == SL_OK && row < csv.rows; row++) {
    const struct sl_csv_cell *cell = sl_csv_at(&csv, row, columns[4]);
    char *end;
    const double value = strtod(cell->text, &end);
    if (end == cell->text || *end != '\0' || !(value > 0))
      status = sl_fail(SL_ERR_INPUT, "%s:%d:%d: value: is \"%.40s\"; expected a number above 0", path, cell->line,
                       cell->column, cell->text);
    for (size_t j = 0; j < numbers->count && status == SL_OK; j++)
      if (is_of(&csv, row, columns, &numbers->items[j])) values[j] = value;
  }
  sl_csv_free(&csv);
  return status;
}
