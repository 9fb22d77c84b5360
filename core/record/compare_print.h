/* Prints a comparison as a table or as JSON. */
#pragma once

#include "core/record/compare.h"

#include <stdio.h>

/* Prints the table; `colour`: with verdicts in colour, for a terminal. */
void sl_comparison_print(const struct sl_comparison *comparison, bool colour, FILE *out);
/* {functional, time_tolerance, failed, rows: [...]}; a new reference. */
json_t *sl_comparison_json(const struct sl_comparison *comparison);
