/* Reads and pairs records; see rows.h. */
#include "analysis/rows.h"

#include "core/base/json_get.h"
#include "core/record/record.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a record has the plan, model, configuration and cluster of a row. */
static bool is_alike(const struct sl_row *row, const json_t *record) {
  static const char *const keys[] = {"plan", "model", "config", "cluster"};
  const json_t *other = row->predicted != NULL ? row->predicted : row->measured;
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
    if (!json_equal(json_object_get(record, keys[k]), json_object_get(other, keys[k]))) return false;
  return true;
}

static enum sl_status add(struct sl_rows *rows, const struct sl_json *doc) {
  const json_t *plan = json_object_get(doc->root, "plan");
  const bool measured = strcmp(json_string_value(json_object_get(doc->root, "kind")), "measured") == 0;
  struct sl_row *row = NULL;
  for (size_t i = 0; i < rows->count && row == NULL; i++)
    if (is_alike(&rows->rows[i], doc->root)) row = &rows->rows[i];
  if (row == NULL) {
    SL_TRY(sl_grow(&rows->rows, &rows->capacity, rows->count + 1, sizeof *rows->rows));
    row = &rows->rows[rows->count++];
    *row = (struct sl_row){.plan = plan};
  }
  const json_t **slot = measured ? &row->measured : &row->predicted;
  if (*slot != NULL)
    return sl_json_fail(doc, "plan", "is that of an earlier %s record; expected one of each kind per plan",
                        measured ? "measured" : "predicted");
  *slot = doc->root;
  return SL_OK;
}

enum sl_status sl_rows_load(struct sl_rows *rows, char **paths, int n) {
  enum sl_status status;
  memset(rows, 0, sizeof *rows);
  SL_TRY(sl_calloc(&rows->docs, (size_t)n, sizeof *rows->docs));
  for (int i = 0; i < n; i++) {
    SL_GO_FAIL(sl_record_load(&rows->docs[i], paths[i]));
    rows->doc_count++;
    SL_GO_FAIL(add(rows, &rows->docs[i]));
  }
  return SL_OK;
fail:
  sl_rows_free(rows);
  return status;
}

void sl_rows_free(struct sl_rows *rows) {
  for (size_t i = 0; i < rows->doc_count; i++) sl_json_free(&rows->docs[i]);
  free(rows->docs);
  free(rows->rows);
  memset(rows, 0, sizeof *rows);
}

double sl_row_number(const json_t *record, const char *path) {
  const json_t *value = sl_json_at(record, path);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

double sl_row_traffic(const json_t *record, const char *key) {
  const json_t *row;
  size_t i;
  double sum = 0;
  if (record == NULL) return NAN;
  json_array_foreach(json_object_get(record, "traffic"), i, row) sum += sl_row_number(row, key);
  return sum;
}

void sl_row_put(double value, FILE *out) {
  if (isnan(value))
    fputc(',', out);
  else if (fabs(value) < 0x1p53 && value == floor(value)) /* bytes are exact */
    fprintf(out, ",%.0f", value);
  else
    fprintf(out, ",%.9g", value);
}
