/* Any text as a points file: what loads has sound numbers and can be written and read again. */
#include "core/cluster/points.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(const struct sl_points *points) {
  for (size_t i = 0; i < points->count; i++) {
    const struct sl_point *p = &points->items[i];
    if (!(p->median_s > 0) || p->low_s > p->median_s || p->high_s < p->median_s || p->ranks < 1) abort();
    const struct sl_work made = sl_point_work(p), work = sl_work_in_cache(&made, 1e6);
    for (int t = 0; t < SL_TERM_COUNT; t++)
      if (!isfinite(work.terms[t]) || work.terms[t] < 0) abort();
  }
  json_t *dump = sl_points_json(points);
  char *text = json_dumps(dump, 0);
  struct sl_json doc;
  struct sl_points again = {.count = 0};
  if (text == NULL || sl_json_parse(&doc, "dump", text, strlen(text)) != SL_OK) abort();
  if (sl_points_read(&again, &doc) != SL_OK || again.count != points->count) abort();
  sl_json_free(&doc);
  sl_points_free(&again);
  free(text);
  json_decref(dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct sl_json doc;
  struct sl_points points = {.count = 0};
  if (sl_json_parse(&doc, "fuzz", (const char *)bytes, size) == SL_OK) {
    if (sl_points_read(&points, &doc) == SL_OK) check(&points);
    sl_points_free(&points);
    sl_json_free(&doc);
  }
  sl_error_clear();
  return 0;
}
