/* Measured training runs: rows of tables (table/rows.h) that also have measurements, in the form that a fit needs.
 *
 * Columns read in addition to those of table/rows.h: `status` (only rows with "ok") and `step_time_s` (not empty). Each
 * run of a table of n runs has weight n^(-1/4), so that a long table does not outweigh the short ones in proportion to
 * its length. */
#pragma once

#include "table/inputs.h"
#include "table/rows.h"

#include <stdbool.h>

struct sl_refit_run {
  const struct sl_table_row *row; /* borrowed from its table */
  int table;                      /* index */
  double measured_s;
  double weight;                /* in the fit; 0: only predicted */
  struct sl_table_inputs input; /* owned */
};

struct sl_refit_runs {
  struct sl_table *tables; /* owned */
  int n_table;
  struct sl_refit_run *items; /* owned */
  size_t count;
};

struct sl_refit_request {
  char **paths; /* of tables; borrowed */
  int n_path;
  int n_held;          /* how many of them, counted from the last, are predicted and never fitted */
  const char *exclude; /* a table with a column `id`: rows that are predicted and never fitted; NULL: none */
  double least_mfu;    /* rows whose share of the peak is below this are omitted */
};

/* Rows that cannot be expressed as a configuration are omitted, with a warning. Errors: SL_ERR_INPUT for a table that
 * cannot be read, for one without the measured columns, and for an excluded id that no table has. On failure nothing
 * needs to be freed. */
enum sl_status sl_refit_runs_load(struct sl_refit_runs *runs, const struct sl_refit_request *request);
void sl_refit_runs_free(struct sl_refit_runs *runs);

/* The model flops of a row's step divided by what its devices could do in that time: 6 per weight of a product and
 * token, and those of attention, without recomputation (PaLM, arXiv:2204.02311, appendix B). */
double sl_refit_mfu(const struct sl_refit_run *run);

/* The file name of a table, without folder and extension. */
void sl_refit_table_name(const struct sl_refit_runs *runs, int table, char *out, size_t size);
