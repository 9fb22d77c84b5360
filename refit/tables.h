/* The results of a fit as tables. */
#pragma once

#include "refit/write.h"

/* Writes FOLDER/predictions.csv, one line per run with its measured and predicted times, and FOLDER/numbers.csv, one
 * line per number with its prior. Units are in the column names, or are those of the key. Errors: SL_ERR_IO. */
enum sl_status sl_refit_write_tables(const struct sl_refit_result *result, const char *folder);

/* Call before the fit: refuses a folder where one of these files would replace a table that was read. Errors:
 * SL_ERR_INPUT. */
enum sl_status sl_refit_check_tables(const char *folder);

/* Reads values from such a numbers.csv; numbers that it lacks keep theirs. Errors: SL_ERR_INPUT with
 * file:line:column. */
enum sl_status sl_refit_read_numbers(const struct sl_refit_numbers *numbers, const char *path, double *values);
