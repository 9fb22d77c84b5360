/* Any text as a table: what is read has as many cells in every line, and written again, all cells quoted, it is the
 * same. */
#include "core/base/csv.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* All cells in quotes; the caller frees it. */
static char *print(const struct sl_csv *csv, size_t *length) {
  const size_t cells = (csv->rows + 1) * csv->columns;
  size_t n = 0;
  for (size_t i = 0; i < cells; i++) n += 2 * strlen(csv->cells[i].text) + 3;
  char *text = malloc(n), *at = text;
  if (text == NULL) abort();
  for (size_t i = 0; i < cells; i++) {
    *at++ = '"';
    for (const char *c = csv->cells[i].text; *c != '\0'; c++) {
      if (*c == '"') *at++ = '"';
      *at++ = *c;
    }
    *at++ = '"';
    *at++ = (i + 1) % csv->columns == 0 ? '\n' : ',';
  }
  *length = (size_t)(at - text);
  return text;
}

static void check(const struct sl_csv *csv) {
  struct sl_csv again;
  size_t length;
  char *text = print(csv, &length);
  if (sl_csv_parse(&again, "again", text, length) != SL_OK) abort();
  if (again.columns != csv->columns || again.rows != csv->rows) abort();
  for (size_t i = 0; i < (csv->rows + 1) * csv->columns; i++) {
    if (strcmp(again.cells[i].text, csv->cells[i].text) != 0) abort();
    if (csv->cells[i].line < 1 || csv->cells[i].column < 1) abort();
  }
  sl_csv_free(&again);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct sl_csv csv;
  if (sl_csv_parse(&csv, "fuzz", (const char *)bytes, size) == SL_OK) {
    check(&csv);
    sl_csv_free(&csv);
  }
  sl_error_clear();
  return 0;
}
