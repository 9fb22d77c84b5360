/* A table in comma-separated text (RFC 4180) whose first line names the columns; the place of every cell is known.
 *
 * A cell in double quotes may contain commas, line ends and doubled quotes. Lines end in LF or CRLF; empty lines and a
 * UTF-8 byte order mark at the start are skipped. Lines and columns of places count from 1; a column is a byte. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct sl_csv_cell {
  const char *text; /* without its quotes */
  int line, column;
};

struct sl_csv {
  char *name; /* of the file, for messages; owned */
  char *text; /* the memory that the cells point into; owned */
  size_t columns, rows;
  struct sl_csv_cell *cells; /* (1 + rows, columns), the names first; owned */
};

/* Reads the file `path`, or the text `bytes` called `name`. Errors: SL_ERR_INPUT with file:line:column and what was
 * expected, also for a line with more or fewer cells than the first. On failure nothing is allocated. */
enum sl_status sl_csv_load(struct sl_csv *csv, const char *path);
enum sl_status sl_csv_parse(struct sl_csv *csv, const char *name, const char *bytes, size_t size);
void sl_csv_free(struct sl_csv *csv);

/* The index of the column called `name`; csv->columns if there is none. */
size_t sl_csv_column(const struct sl_csv *csv, const char *name);
/* A cell; rows count from 0, without the line of names. */
static inline const struct sl_csv_cell *sl_csv_at(const struct sl_csv *csv, size_t row, size_t column) {
  return &csv->cells[(row + 1) * csv->columns + column];
}
/* Writes a cell, in quotes if it has a comma, a quote or the end of a line: sl_csv_parse reads the same text. Errors
 * stay in `out` (ferror). */
void sl_csv_put(FILE *out, const char *text);
