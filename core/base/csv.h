/* A table as comma-separated text (RFC 4180), whose first line names the columns, with the place of every cell.
 *
 * A cell in double quotes may hold commas, line ends and, doubled, quotes. Lines end in LF or CRLF; empty lines and a UTF-8
 * byte order mark at the start are skipped. Lines and columns of places count from 1; a column is a byte. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct sl_csv_cell {
  const char *text; /* without its quotes */
  int line, column;
};

struct sl_csv {
  char *name; /* of the file, for messages; owned */
  char *text; /* what the cells point into; owned */
  size_t columns, rows;
  struct sl_csv_cell *cells; /* (1 + rows, columns), the names first; owned */
};

/* Read the file `path`, or the text `bytes` called `name`. Errors: SL_ERR_INPUT with file:line:column and what was expected, also
 * where a line has more or fewer cells than the first. On failure nothing is held. */
enum sl_status sl_csv_load(struct sl_csv *csv, const char *path);
enum sl_status sl_csv_parse(struct sl_csv *csv, const char *name, const char *bytes, size_t size);
void sl_csv_free(struct sl_csv *csv);

/* The index of the column called `name`; csv->columns where there is none. */
size_t sl_csv_column(const struct sl_csv *csv, const char *name);
/* The cell of a row, from 0, the names not counted. */
static inline const struct sl_csv_cell *sl_csv_at(const struct sl_csv *csv, size_t row, size_t column) {
  return &csv->cells[(row + 1) * csv->columns + column];
}
