/* Pairs of run records: one row per plan, model, configuration and cluster, with its predicted and its measured
 * record. */
#pragma once

#include "core/base/json.h"
#include "core/base/status.h"

#include <jansson.h>
#include <stdio.h>

struct sl_row {
  const json_t *plan;
  const json_t *predicted, *measured; /* records; NULL if absent */
};

struct sl_rows {
  struct sl_json *docs; /* owned */
  size_t doc_count;
  struct sl_row *rows; /* in the order in which their plans first appear; owned */
  size_t count, capacity;
};

/* Reads `n` records. Errors: SL_ERR_INPUT, also if a plan has two records of the same kind. */
enum sl_status sl_rows_load(struct sl_rows *rows, char **paths, int n);
void sl_rows_free(struct sl_rows *rows);

/* The number at a dotted path of `record`; NAN if the record or the key is absent. */
double sl_row_number(const json_t *record, const char *path);
/* Writes a further cell of a line of CSV; NAN: an empty one. */
void sl_row_put(double value, FILE *out);
/* Sum of `key` over the record's traffic rows, NAN without a record. */
double sl_row_traffic(const json_t *record, const char *key);
