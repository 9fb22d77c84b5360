/* Schedules for tests: made by name, lowered as programs are, and printed to a string. */
#pragma once

#include "core/schedule/action.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline struct sl_schedule generate(const char *name, int ranks, int stages, int micro_batches) {
  struct sl_schedule s;
  sl_error_clear();
  if (sl_schedule_generate(&s, name, ranks, stages, micro_batches) != SL_OK)
    fail_msg("%s p=%d v=%d m=%d: %s", name, ranks, stages, micro_batches, sl_error_message());
  return s;
}

static inline void lower(struct sl_schedule *s) {
  if (sl_schedule_lower_unshard(s, 3) != SL_OK || sl_schedule_lower_reduce(s) != SL_OK ||
      sl_schedule_lower_sends(s) != SL_OK)
    fail_msg("%s", sl_error_message());
}

/* To be freed. */
static inline char *print(const struct sl_schedule *s) {
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  sl_schedule_print(s, out);
  fclose(out);
  return text;
}
