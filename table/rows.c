/* Makes typed rows of a table's cells, by the list of columns; see rows.h. */
#include "table/rows.h"

#include "core/base/nearest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, MONTH, NUMBER };

static const struct column {
  enum kind kind;
  const char *name;
  size_t offset;
  int64_t least, most;
  const char *what;
  bool optional;
} columns[] = {
#define X(type, field, low, high, text) {type, #field, offsetof(struct sl_table_row, field), low, high, text, false},
    SL_TABLE_MAP(X)
#undef X
#define X(type, field, low, high, text) {type, #field, offsetof(struct sl_table_row, field), low, high, text, true},
        SL_TABLE_OPTIONAL_MAP(X)
#undef X
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static enum sl_status find_column(const struct sl_csv *csv, const struct column *column, size_t *at) {
  *at = sl_csv_column(csv, column->name);
  if (*at == csv->columns && column->optional) return SL_OK;
  if (*at == csv->columns)
    return sl_fail(
        SL_ERR_INPUT,
        "%s:1:1: column %s is missing; expected it in the first line: %s ('shardlab show columns' lists all)",
        csv->name, column->name, column->what);
  for (size_t i = *at + 1; i < csv->columns; i++)
    if (strcmp(csv->cells[i].text, column->name) == 0)
      return sl_fail(SL_ERR_INPUT, "%s:%d:%d: column %s is there twice; expected it once", csv->name,
                     csv->cells[i].line, csv->cells[i].column, column->name);
  return SL_OK;
}

/* Reads a whole number, also written as 128.0 or 1e3, as programs that write tables do. */
static bool whole(const char *text, int64_t *out) {
  char *end;
  const double value = strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= -0x1p53 && value <= 0x1p53)) return false;
  *out = (int64_t)value;
  return (double)*out == value;
}

static enum sl_status read_number(const struct sl_csv *csv, const struct column *column, const struct sl_csv_cell *cell,
                                  int64_t *out) {
  *out = SL_TABLE_UNKNOWN;
  if (cell->text[0] == '\0') return SL_OK;
  if (whole(cell->text, out) && *out >= column->least && *out <= column->most) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s:%d:%d: %s: is \"%.40s\"; expected a whole number from %lld to %lld, or nothing",
                 csv->name, cell->line, cell->column, column->name, cell->text, (long long)column->least,
                 (long long)column->most);
}

/* "YYYY-MM", or nothing. */
static bool is_month(const char *text) {
  static const char digits[] = "0123456789";
  if (text[0] == '\0') return true;
  const bool formed = strlen(text) == 7 && strspn(text, digits) == 4 && text[4] == '-' && strspn(text + 5, digits) == 2;
  return formed && strcmp(text + 5, "01") >= 0 && strcmp(text + 5, "12") <= 0;
}

static enum sl_status read_text(const struct sl_csv *csv, const struct column *column, const struct sl_csv_cell *cell,
                                const char **out) {
  *out = cell->text;
  if (column->kind != MONTH || is_month(cell->text)) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s:%d:%d: %s: is \"%.40s\"; expected a month as YYYY-MM, or nothing", csv->name,
                 cell->line, cell->column, column->name, cell->text);
}

static enum sl_status read_rows(struct sl_table *table) {
  static const struct sl_csv_cell empty = {.text = ""};
  const struct sl_csv *csv = &table->csv;
  for (size_t c = 0; c < COLUMNS; c++) {
    size_t at;
    SL_TRY(find_column(csv, &columns[c], &at));
    for (size_t r = 0; r < table->count; r++) {
      const struct sl_csv_cell *cell = at < csv->columns ? sl_csv_at(csv, r, at) : &empty;
      void *field = (char *)&table->rows[r] + columns[c].offset;
      if (columns[c].kind == NUMBER)
        SL_TRY(read_number(csv, &columns[c], cell, field));
      else
        SL_TRY(read_text(csv, &columns[c], cell, field));
    }
  }
  return SL_OK;
}

/* A column of another name is the reader's own, unless its name misspells an optional one that is not there. */
static enum sl_status check_names(const struct sl_csv *csv) {
  const char *absent[COLUMNS];
  size_t count = 0;
  for (size_t c = 0; c < COLUMNS; c++)
    if (sl_csv_column(csv, columns[c].name) == csv->columns) absent[count++] = columns[c].name;
  for (size_t i = 0; i < csv->columns; i++) {
    const struct sl_csv_cell *cell = &csv->cells[i];
    bool known = false;
    for (size_t c = 0; c < COLUMNS; c++) known |= strcmp(cell->text, columns[c].name) == 0;
    const char *meant = known ? NULL : sl_misspelt(cell->text, absent, count);
    if (meant != NULL)
      return sl_fail(SL_ERR_INPUT, "%s:%d:%d: column %.100s: is not known; did you mean %s?", csv->name, cell->line,
                     cell->column, cell->text, meant);
  }
  return SL_OK;
}

static int by_id(const void *a, const void *b) {
  const struct sl_csv_cell *x = *(const struct sl_csv_cell *const *)a, *y = *(const struct sl_csv_cell *const *)b;
  const int order = strcmp(x->text, y->text);
  return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

static enum sl_status check_ids(const struct sl_table *table) {
  const struct sl_csv *csv = &table->csv;
  const struct sl_csv_cell **cells;
  const size_t at = sl_csv_column(csv, "id");
  enum sl_status status = SL_OK;
  SL_TRY(sl_calloc(&cells, table->count, sizeof *cells));
  for (size_t r = 0; r < table->count; r++) cells[r] = sl_csv_at(csv, r, at);
  qsort(cells, table->count, sizeof *cells, by_id);
  if (table->count > 0 && cells[0]->text[0] == '\0')
    SL_GO(sl_fail(SL_ERR_INPUT, "%s:%d:%d: id: is empty; expected a name for each row", csv->name, cells[0]->line,
                  cells[0]->column));
  for (size_t r = 1; r < table->count; r++) {
    if (strcmp(cells[r]->text, cells[r - 1]->text) != 0) continue;
    SL_GO(sl_fail(SL_ERR_INPUT, "%s:%d:%d: id: is \"%.100s\", as in line %d; expected a name of its own", csv->name,
                  cells[r]->line, cells[r]->column, cells[r]->text, cells[r - 1]->line));
  }
done:
  free(cells);
  return status;
}

/* Takes over table->csv, in which the cells of the rows are. */
static enum sl_status finish(struct sl_table *table, enum sl_status status) {
  SL_GO_FAIL(status);
  table->count = table->csv.rows;
  SL_GO_FAIL(sl_calloc(&table->rows, table->count, sizeof *table->rows));
  SL_GO_FAIL(read_rows(table));
  SL_GO_FAIL(check_names(&table->csv));
  SL_GO_FAIL(check_ids(table));
  return SL_OK;
fail:
  sl_table_free(table);
  return status;
}

enum sl_status sl_table_load(struct sl_table *table, const char *path) {
  *table = (struct sl_table){0};
  return finish(table, sl_csv_load(&table->csv, path));
}

enum sl_status sl_table_parse(struct sl_table *table, const char *name, const char *text, size_t size) {
  *table = (struct sl_table){0};
  return finish(table, sl_csv_parse(&table->csv, name, text, size));
}

void sl_table_free(struct sl_table *table) {
  sl_csv_free(&table->csv);
  free(table->rows);
  *table = (struct sl_table){0};
}
