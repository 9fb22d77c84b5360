/* shardlab predict --table: a prediction for each row of a table; the rows are shared out over processes. */
#pragma once

#include "cli/options.h"

/* Read --table, write --out: id, predicted_step_time_s, predicted_mem_gb (1e9 bytes), predicted_fits, step_time_low_s,
 * step_time_high_s, compute_s, bubble_s, exposed_tp_s, exposed_dp_s, exposed_pp_s, optimizer_s, error; a row in the order of
 * the table, the same whatever --jobs is. --out appears by one rename when all rows are done, or not at all.
 * Errors: SL_ERR_INPUT for flags and for a table that cannot be read; a row that cannot be predicted is no error, nor is
 * one whose process dies over it (a bug, the lack of memory): another process goes on behind it. */
enum sl_status sl_predict_table(const struct sl_options *options);
