/* Measured training runs: rows of tables (table/rows.h) that have what was measured beside them, as a fit takes them.
 *
 * Columns read beside those of table/rows.h: `status` (only rows that say "ok") and `step_time_s` (not empty). A run counts for
 * n^(-1/4) of a table of n runs, so that a long table does not outweigh the short ones in proportion to its length. */
#pragma once

#include "table/inputs.h"
#include "table/rows.h"

#include <stdbool.h>

struct sl_refit_run {
  const struct sl_table_row *row; /* borrowed of its table */
  int table;                      /* index */
  double measured_s;
  double weight;                /* in the fit; 0: predicted alone */
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
  int n_held;          /* how many of them, from the last on, are predicted and never fitted */
  const char *exclude; /* a table with a column `id`: rows that are predicted and never fitted; NULL: none */
  double least_mfu;    /* rows below that share of the peak are left out altogether */
};

/* Rows that cannot be expressed are left out, with a warning. Errors: SL_ERR_INPUT for a table that cannot be read, for one without
 * the measured columns, and for an excluded id that no table has. On failure nothing is held. */
enum sl_status sl_refit_runs_load(struct sl_refit_runs *runs, const struct sl_refit_request *request);
void sl_refit_runs_free(struct sl_refit_runs *runs);

/* Model flops of a row's step over what its devices could do meanwhile: 6 for each weight of a product and token, and attention's,
 * nothing for what is computed again (PaLM, arXiv:2204.02311, appendix B). */
double sl_refit_mfu(const struct sl_refit_run *run);

/* The file name of a table, without folder and ending. */
void sl_refit_table_name(const struct sl_refit_runs *runs, int table, char *out, size_t size);
