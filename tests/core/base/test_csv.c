/* label: unit
 * Comma-separated text: quotes, line ends, places, and text that is no table. */
#include "core/base/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static enum sl_status parse(struct sl_csv *csv, const char *text) {
  sl_error_clear();
  return sl_csv_parse(csv, "t.csv", text, strlen(text));
}

static void expect(const struct sl_csv *csv, size_t row, const char *column, const char *text, int line, int at) {
  const struct sl_csv_cell *cell = sl_csv_at(csv, row, sl_csv_column(csv, column));
  assert_string_equal(cell->text, text);
  assert_int_equal(cell->line, line);
  assert_int_equal(cell->column, at);
}

static void cells_have_places(void **state) {
  (void)state;
  struct sl_csv csv;
  assert_int_equal(parse(&csv, "\xEF\xBB\xBF"
                               "a,bee,c\r\n1,,3\n\n\"x, \"\"y\"\"\nz\",5,\r\n,7,8"),
                   SL_OK);
  assert_int_equal(csv.columns, 3);
  assert_int_equal(csv.rows, 3);
  assert_int_equal(sl_csv_column(&csv, "be"), 3); /* none */
  expect(&csv, 0, "a", "1", 2, 1);
  expect(&csv, 0, "bee", "", 2, 3);
  expect(&csv, 0, "c", "3", 2, 4);
  expect(&csv, 1, "a", "x, \"y\"\nz", 4, 1);
  expect(&csv, 1, "bee", "5", 5, 4);
  expect(&csv, 1, "c", "", 5, 6);
  expect(&csv, 2, "a", "", 6, 1);
  expect(&csv, 2, "c", "8", 6, 4);
  sl_csv_free(&csv);
  assert_int_equal(parse(&csv, "only,names"), SL_OK);
  assert_int_equal(csv.rows, 0);
  sl_csv_free(&csv);
}

static void what_is_no_table_says_where(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"", "t.csv:1:1: is empty; expected a line with the names of the columns"},
      {"\n\r\n", "t.csv:1:1: is empty; expected a line with the names of the columns"},
      {"a,b\n1,2\n1,2,3\n", "t.csv:3:1: has 3 cells; expected 2, one a column of the first line"},
      {"a,b\n\n7\n", "t.csv:3:1: has 1 cells; expected 2, one a column of the first line"},
      {"a,b\n1,\"2\n3", "t.csv:2:3: a quote that nothing closes"},
      {"a,b\n\"1\" ,2\n", "t.csv:2:4: text behind a closing quote; expected a comma"},
  };
  struct sl_csv csv;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(parse(&csv, bad[i].text), SL_ERR_INPUT);
    assert_string_equal(sl_error_message(), bad[i].message);
    assert_null(csv.cells);
  }
  sl_error_clear();
  assert_int_equal(sl_csv_parse(&csv, "t.csv", "a\0b", 3), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "t.csv: holds a zero byte; expected comma-separated text");
  sl_error_clear();
  assert_int_equal(sl_csv_load(&csv, "no such file.csv"), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "no such file.csv"));
  sl_error_clear();
}

/* What is written is read again, whatever it has in it. */
static void a_cell_is_read_as_it_was_written(void **state) {
  (void)state;
  static const char *const cells[] = {"3,3", "say \"no\"", "two\nlines", "return\r", "", "plain 7%"};
  enum { COUNT = sizeof cells / sizeof *cells };
  char *text;
  size_t size;
  struct sl_csv csv;
  FILE *out = open_memstream(&text, &size);
  fprintf(out, "a,b,c,d,e,f\n");
  for (int i = 0; i < COUNT; i++) {
    if (i > 0) fputc(',', out);
    sl_csv_put(out, cells[i]);
  }
  fclose(out);
  assert_int_equal(parse(&csv, text), SL_OK);
  assert_int_equal(csv.rows, 1);
  for (size_t i = 0; i < COUNT; i++) assert_string_equal(sl_csv_at(&csv, 0, i)->text, cells[i]);
  assert_non_null(strstr(text, ",,plain 7%")); /* no quotes where none are needed */
  sl_csv_free(&csv);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cells_have_places),
      cmocka_unit_test(a_cell_is_read_as_it_was_written),
      cmocka_unit_test(what_is_no_table_says_where),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
