/* A fit as tables. */
#pragma once

#include "refit/write.h"

/* FOLDER/predictions.csv: a run a line, with what was measured and predicted of it; FOLDER/numbers.csv: a number a line, with its
 * prior. Units in the column names, or those of the key. Errors: SL_ERR_IO. */
enum sl_status sl_refit_write_tables(const struct sl_refit_result *result, const char *folder);

/* Refuse, before anything is fitted, a folder where one of them would take the place of a table that was read. Errors: SL_ERR_INPUT. */
enum sl_status sl_refit_check_tables(const char *folder);

/* Values of the numbers out of such a numbers.csv; those that it lacks stay. Errors: SL_ERR_INPUT with file:line:column. */
enum sl_status sl_refit_read_numbers(const struct sl_refit_numbers *numbers, const char *path, double *values);
