/* Tables of paired records: Markdown for people, and CSV with units in the column names for plots. */
#pragma once

#include "analysis/rows.h"

#include <stdio.h>

/* One line per plan: memory, traffic, step time and losses, predicted next to measured. */
void sl_table_markdown(const struct sl_rows *rows, FILE *out);
/* Writes FOLDER/runs.csv (one line per plan) and FOLDER/losses.csv (one line per step, one column per measured plan,
 * each with a name of its own). Errors: SL_ERR_IO. */
enum sl_status sl_table_csv(const struct sl_rows *rows, const char *folder);
