/* Turns tables with measurements into runs; see runs.h. */
#include "refit/runs.h"

#include "core/base/csv.h"
#include "core/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double sl_refit_mfu(const struct sl_refit_run *run) {
  const struct sl_model *m = &run->input.model;
  const struct sl_config *c = &run->input.config;
  const struct sl_table_row *r = run->row;
  const double width = (double)m->n_embd, tokens = (double)r->seq_len;
  const double kept = (double)m->n_kv_head / (double)m->n_head, inner = (double)m->n_inner;
  const double block = 2 * width * width * (1 + kept) + width * inner * (strcmp(r->arch, "llama") == 0 ? 3 : 2);
  const double weights = (double)m->n_layer * block + (double)r->vocab_size * width;
  const double sequences = (double)(run->row->micro_batch * c->gradient_accumulation_steps) * (double)run->input.world /
                           (double)(r->tp * r->pp);
  const double flops = sequences * tokens * (6 * weights + 6 * (double)m->n_layer * width * tokens);
  return flops / (run->measured_s * run->input.world * run->input.cluster.device.peak[SL_BF16]);
}

void sl_refit_table_name(const struct sl_refit_runs *runs, int table, char *out, size_t size) {
  const char *path = runs->tables[table].csv.name, *slash = strrchr(path, '/');
  snprintf(out, size, "%s", slash != NULL ? slash + 1 : path);
  char *dot = strrchr(out, '.');
  if (dot != NULL) *dot = '\0';
}

/* ---- a table ---- */

static enum sl_status measured_columns(const struct sl_csv *csv, size_t *status, size_t *seconds) {
  *status = sl_csv_column(csv, "status"), *seconds = sl_csv_column(csv, "step_time_s");
  if (*status < csv->columns && *seconds < csv->columns) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: has no column %s; a fit needs status and step_time_s", csv->name,
                 *status < csv->columns ? "step_time_s" : "status");
}

/* *out is 0 if the row has no usable time. */
static enum sl_status measured(const struct sl_csv *csv, size_t row, double *out) {
  size_t status, seconds;
  char *end;
  *out = 0;
  SL_TRY(measured_columns(csv, &status, &seconds));
  const struct sl_csv_cell *cell = sl_csv_at(csv, row, seconds);
  if (strcmp(sl_csv_at(csv, row, status)->text, "ok") != 0 || cell->text[0] == '\0') return SL_OK;
  *out = strtod(cell->text, &end);
  if (*end == '\0' && *out > 0 && isfinite(*out)) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s:%d:%d: step_time_s: is \"%.40s\"; expected seconds above 0, or nothing", csv->name,
                 cell->line, cell->column, cell->text);
}

/* On failure nothing needs to be freed. */
static enum sl_status express(struct sl_table_inputs *in, const struct sl_table_row *row) {
  struct sl_plan plan;
  SL_TRY(sl_table_inputs(in, row, NULL));
  const enum sl_status status = sl_plan_build(&plan, &in->model, &in->config, &in->cluster, in->world);
  if (status == SL_OK) sl_plan_free(&plan);
  if (status != SL_OK) sl_table_inputs_free(in);
  return status;
}

static enum sl_status add_row(struct sl_refit_runs *runs, int table, size_t row, double least_mfu) {
  const struct sl_table *t = &runs->tables[table];
  struct sl_refit_run *run = &runs->items[runs->count];
  *run = (struct sl_refit_run){.row = &t->rows[row], .table = table};
  SL_TRY(measured(&t->csv, row, &run->measured_s));
  if (run->measured_s == 0) return SL_OK;
  if (express(&run->input, run->row) != SL_OK) {
    sl_warn("row %s is left out: %s", run->row->id, sl_error_message());
    sl_error_clear();
  } else if (sl_refit_mfu(run) < least_mfu) {
    sl_table_inputs_free(&run->input);
  } else {
    runs->count++;
  }
  return SL_OK;
}

static enum sl_status load_tables(struct sl_refit_runs *runs, const struct sl_refit_request *request) {
  size_t rows = 0;
  SL_TRY(sl_calloc(&runs->tables, (size_t)request->n_path, sizeof *runs->tables));
  for (; runs->n_table < request->n_path; runs->n_table++) {
    SL_TRY(sl_table_load(&runs->tables[runs->n_table], request->paths[runs->n_table]));
    rows += runs->tables[runs->n_table].count;
  }
  SL_TRY(sl_calloc(&runs->items, rows, sizeof *runs->items));
  for (int i = 0; i < runs->n_table; i++)
    for (size_t row = 0; row < runs->tables[i].count; row++) SL_TRY(add_row(runs, i, row, request->least_mfu));
  return runs->count > 0 ? SL_OK : sl_fail(SL_ERR_INPUT, "no row of these tables has a usable step_time_s");
}

/* ---- weights ---- */

static enum sl_status exclude_id(struct sl_refit_runs *runs, const struct sl_csv *csv, const struct sl_csv_cell *id) {
  for (size_t i = 0; i < runs->count; i++) {
    if (strcmp(runs->items[i].row->id, id->text) != 0) continue;
    runs->items[i].weight = 0;
    return SL_OK;
  }
  return sl_fail(SL_ERR_INPUT, "%s:%d:%d: id: no run is called \"%.80s\"", csv->name, id->line, id->column, id->text);
}

static enum sl_status exclude(struct sl_refit_runs *runs, const char *path) {
  enum sl_status status = SL_OK;
  struct sl_csv csv;
  SL_TRY(sl_csv_load(&csv, path));
  const size_t column = sl_csv_column(&csv, "id");
  if (column == csv.columns) status = sl_fail(SL_ERR_INPUT, "%s: has no column id", path);
  for (size_t row = 0; status == SL_OK && row < csv.rows; row++)
    status = exclude_id(runs, &csv, sl_csv_at(&csv, row, column));
  sl_csv_free(&csv);
  return status;
}

static enum sl_status weigh(struct sl_refit_runs *runs, const struct sl_refit_request *request) {
  for (size_t i = 0; i < runs->count; i++)
    runs->items[i].weight = runs->items[i].table < runs->n_table - request->n_held;
  if (request->exclude != NULL) SL_TRY(exclude(runs, request->exclude));
  double mean = 0, all = 0;
  for (int table = 0; table < runs->n_table; table++) {
    double n = 0;
    for (size_t i = 0; i < runs->count; i++) n += runs->items[i].table == table;
    for (size_t i = 0; i < runs->count; i++)
      if (runs->items[i].table == table) runs->items[i].weight *= pow(n, -0.25);
  }
  for (size_t i = 0; i < runs->count; i++) mean += runs->items[i].weight, all += runs->items[i].weight > 0;
  for (size_t i = 0; i < runs->count; i++) runs->items[i].weight *= all / mean;
  return all > 0 ? SL_OK : sl_fail(SL_ERR_INPUT, "no row is left to be fitted");
}

enum sl_status sl_refit_runs_load(struct sl_refit_runs *runs, const struct sl_refit_request *request) {
  enum sl_status status;
  *runs = (struct sl_refit_runs){0};
  SL_GO_FAIL(load_tables(runs, request));
  SL_GO_FAIL(weigh(runs, request));
  return SL_OK;
fail:
  sl_refit_runs_free(runs);
  return status;
}

void sl_refit_runs_free(struct sl_refit_runs *runs) {
  for (size_t i = 0; i < runs->count; i++) sl_table_inputs_free(&runs->items[i].input);
  for (int i = 0; i < runs->n_table; i++) sl_table_free(&runs->tables[i]);
  free(runs->items);
  free(runs->tables);
  *runs = (struct sl_refit_runs){0};
}
