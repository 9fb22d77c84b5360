/* A row of a table with changes, and the inputs made from it, for tests. */
#pragma once

#include "table/inputs.h"
#include "tests/table_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char text[1 << 14];
static struct sl_table table;

/* Ends the line with another cell. */
static void append(const char *cell) {
  sprintf(text + strlen(text) - 1, ",%s\n", cell);
}

/* A table of the usual row with changes, also of three columns that may be missing. */
static enum sl_status read_row(const char *const *changes) {
  static const char *const optional[] = {"framework_version", "shard_size", "node_gbps"};
  text[0] = '\0';
  put_names(text, NULL);
  for (int i = 0; i < 3; i++) append(optional[i]);
  put_cells(text, changes);
  for (int i = 0; i < 3; i++) {
    const char *value = "";
    for (const char *const *c = changes; *c != NULL; c += 2)
      if (strcmp(c[0], optional[i]) == 0) value = c[1];
    append(value);
  }
  sl_error_clear();
  return sl_table_parse(&table, "t.csv", text, strlen(text));
}

static void drop(void *context, const char *message) {
  (void)context, (void)message;
}

/* Names of columns, each followed by its changed value. */
#define CHANGES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define USUAL ((const char *const[]){NULL})

/* The inputs made from the row; the caller frees both. */
static struct sl_table_inputs inputs_of(const char *const *changes) {
  struct sl_table_inputs in = {0};
  sl_warn_set_sink(drop, NULL);
  if (read_row(changes) != SL_OK || sl_table_inputs(&in, &table.rows[0], NULL) != SL_OK)
    fail_msg("%s", sl_error_message());
  return in;
}

static void done(struct sl_table_inputs *in) {
  sl_table_inputs_free(in);
  sl_table_free(&table);
}

static inline void refuse(const char *const *changes, const char *message) {
  struct sl_table_inputs in;
  assert_int_equal(read_row(changes), SL_OK);
  assert_int_equal(sl_table_inputs(&in, &table.rows[0], NULL), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), message);
  sl_table_free(&table);
}
