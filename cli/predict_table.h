/* shardlab predict --table: one prediction per row of a table, with the rows distributed over processes. */
#pragma once

#include "cli/options.h"

/* Reads --table and writes --out: id, predicted_step_time_s, predicted_mem_gb (1e9 bytes), predicted_fits,
 * step_time_low_s, step_time_high_s, compute_s, bubble_s, exposed_tp_s, exposed_dp_s, exposed_pp_s, optimizer_s, error.
 * The rows have the order of the table and do not depend on --jobs. --out is renamed into place when all rows are done,
 * or does not appear at all. Errors: SL_ERR_INPUT for flags and for a table that cannot be read. A row that cannot be
 * predicted is no error, not even if its process dies (from a bug, or lack of memory): another process continues behind
 * it. */
enum sl_status sl_predict_table(const struct sl_options *options);
