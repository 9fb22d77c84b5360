/* Writes one CSV file for each name; see monitor.h. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sl_csv_series {
  char *folder; /* owned */
  struct sl_csv_file {
    char *name, *path; /* owned */
    FILE *stream;
  } * files; /* owned */
  size_t count, capacity;
  /* an older file has rows of this run: those after step `after` are dropped, and no new heading is written */
  bool goes_on;
  int64_t after;
};

/* Appends a value. Errors: SL_ERR_IO with the path; SL_ERR_MEMORY. */
enum sl_status sl_csv_series_write(struct sl_csv_series *series, const char *name, double value, int64_t step);
enum sl_status sl_csv_series_flush(struct sl_csv_series *series);
/* Accepts a zeroed one. */
void sl_csv_series_free(struct sl_csv_series *series);

/* `value` in the form of Python's repr(): the fewest digits that read back as the same double. `size` 32 is enough. */
void sl_python_repr(char *out, size_t size, double value);
