/* Reads the table in one pass over a copy of the text, which is split into cells in place; see csv.h. */
#include "core/base/csv.h"

#include "core/base/file.h"

#include <stdlib.h>
#include <string.h>

struct scan {
  struct sl_csv *csv;
  char *at, *end; /* text still to read; *end is a zero byte that we added */
  char *line_start;
  int line;
  size_t count, capacity; /* cells */
};

static enum sl_status fail_at(const struct scan *s, const char *at, const char *what) {
  return sl_fail(SL_ERR_INPUT, "%s:%d:%d: %s", s->csv->name, s->line, (int)(at - s->line_start) + 1, what);
}

static void new_line(struct scan *s) {
  s->line++;
  s->line_start = s->at;
}

static bool ends_line(const struct scan *s) {
  return s->at == s->end || *s->at == '\n' || (*s->at == '\r' && s->at + 1 < s->end && s->at[1] == '\n');
}

/* Reads the rest of a quoted cell and removes its quotes in place; *out is where its text ends. */
static enum sl_status read_quoted(struct scan *s, char *out) {
  const struct scan opening = *s;
  for (s->at++; s->at < s->end; s->at++) {
    if (*s->at == '"' && s->at + 1 < s->end && s->at[1] == '"')
      s->at++;
    else if (*s->at == '"')
      break;
    *out++ = *s->at;
    if (*s->at != '\n') continue;
    s->line++;
    s->line_start = s->at + 1;
  }
  if (s->at == s->end) return fail_at(&opening, opening.at, "a quote that nothing closes");
  s->at++;
  if (!ends_line(s) && *s->at != ',') return fail_at(s, s->at, "text behind a closing quote; expected a comma");
  *out = '\0'; /* at or before the closing quote */
  return SL_OK;
}

/* Reads one cell up to its comma or the line's end. The byte that ends it becomes zero after it was examined. */
static enum sl_status read_cell(struct scan *s, bool *last) {
  SL_TRY(sl_grow(&s->csv->cells, &s->capacity, s->count + 1, sizeof *s->csv->cells));
  s->csv->cells[s->count++] =
      (struct sl_csv_cell){.text = s->at, .line = s->line, .column = (int)(s->at - s->line_start) + 1};
  if (*s->at == '"')
    SL_TRY(read_quoted(s, s->at));
  else
    for (; !ends_line(s) && *s->at != ','; s->at++)
      if (*s->at == '\r') return fail_at(s, s->at, "a carriage return; expected lines that end with a line feed");
  *last = ends_line(s);
  char *const stop = s->at;
  if (s->at < s->end) s->at += *s->at == '\r' ? 2 : 1;
  *stop = '\0';
  return SL_OK;
}

static enum sl_status read_line(struct scan *s) {
  const size_t first = s->count;
  const int line = s->line;
  for (bool last = false; !last;) SL_TRY(read_cell(s, &last));
  const size_t cells = s->count - first;
  if (first == 0) s->csv->columns = cells;
  if (cells != s->csv->columns)
    return sl_fail(SL_ERR_INPUT, "%s:%d:1: has %zu cells; expected %zu, one a column of the first line", s->csv->name,
                   line, cells, s->csv->columns);
  new_line(s);
  return SL_OK;
}

static enum sl_status read_all(struct scan *s) {
  char *zero = memchr(s->at, '\0', (size_t)(s->end - s->at));
  if (zero != NULL) return sl_fail(SL_ERR_INPUT, "%s: holds a zero byte; expected comma-separated text", s->csv->name);
  while (s->at < s->end) {
    if (ends_line(s)) {
      s->at += *s->at == '\r' ? 2 : 1;
      new_line(s);
      continue;
    }
    SL_TRY(read_line(s));
  }
  if (s->csv->columns == 0)
    return sl_fail(SL_ERR_INPUT, "%s:1:1: is empty; expected a line with the names of the columns", s->csv->name);
  s->csv->rows = s->count / s->csv->columns - 1;
  return SL_OK;
}

enum sl_status sl_csv_parse(struct sl_csv *csv, const char *name, const char *bytes, size_t size) {
  enum sl_status status;
  const size_t mark = size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
  *csv = (struct sl_csv){0};
  SL_GO_FAIL(sl_calloc(&csv->name, strlen(name) + 1, 1));
  strcpy(csv->name, name);
  SL_GO_FAIL(sl_calloc(&csv->text, size - mark + 1, 1));
  if (size > mark) memcpy(csv->text, bytes + mark, size - mark);
  struct scan s = {.csv = csv, .at = csv->text, .end = csv->text + (size - mark), .line_start = csv->text, .line = 1};
  SL_GO_FAIL(read_all(&s));
  return SL_OK;
fail:
  sl_csv_free(csv);
  return status;
}

enum sl_status sl_csv_load(struct sl_csv *csv, const char *path) {
  char *text;
  size_t size;
  *csv = (struct sl_csv){0};
  SL_TRY(sl_file_load(path, &text, &size));
  const enum sl_status status = sl_csv_parse(csv, path, text, size);
  free(text);
  return status;
}

void sl_csv_free(struct sl_csv *csv) {
  free(csv->name);
  free(csv->text);
  free(csv->cells);
  *csv = (struct sl_csv){0};
}

size_t sl_csv_column(const struct sl_csv *csv, const char *name) {
  size_t i = 0;
  while (i < csv->columns && strcmp(csv->cells[i].text, name) != 0) i++;
  return i;
}

void sl_csv_put(FILE *out, const char *text) {
  if (strpbrk(text, ",\"\r\n") == NULL) {
    fputs(text, out);
    return;
  }
  fputc('"', out);
  for (; *text != '\0'; text++) fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
  fputc('"', out);
}
