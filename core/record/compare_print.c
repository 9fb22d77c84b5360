/* A comparison as a table and as JSON; see compare.h. */
#include "core/record/compare_print.h"
#include "core/record/compare.h"

#include "core/base/printable.h"
#include "core/base/units.h"

#include <math.h>
#include <string.h>

static void value_text(char *out, size_t size, const struct sl_compare_row *row, bool present, double value,
                       const char *text) {
  if (!present) {
    snprintf(out, size, "-");
    return;
  }
  switch (row->unit) {
  case SL_UNIT_SECONDS:
    sl_format_seconds(out, size, value);
    break;
  case SL_UNIT_BYTES:
    sl_format_bytes(out, size, value);
    break;
  case SL_UNIT_COUNT:
    sl_format_count(out, size, value);
    break;
  case SL_UNIT_RATIO:
    snprintf(out, size, "%.4f", value);
    break;
  case SL_UNIT_TEXT:
    snprintf(out, size, "%.31s", sl_printable_of(text).text);
    break;
  }
}

/* Small errors in bytes are shown as bytes: "+256 B" says more than "+0.0 %". */
static void error_text(char *out, size_t size, const struct sl_compare_row *row) {
  const double off = row->predicted - row->measured;
  if (!row->has_predicted || !row->has_measured)
    snprintf(out, size, "-");
  else if (row->unit == SL_UNIT_TEXT)
    snprintf(out, size, "%s", strcmp(row->predicted_text, row->measured_text) == 0 ? "equal" : "differs");
  else if (off == 0)
    snprintf(out, size, "equal");
  else if (row->rule == SL_COMPARE_EXACT)
    snprintf(out, size, "%+.0f", off);
  else if (isinf(row->error))
    snprintf(out, size, "-");
  else
    snprintf(out, size, "%+.1f %%", 100 * row->error);
}

static const char *verdict_text(enum sl_verdict verdict, bool colour) {
  if (verdict == SL_VERDICT_OK) return colour ? "\033[32mok\033[0m" : "ok";
  if (verdict == SL_VERDICT_FAIL) return colour ? "\033[31mFAIL\033[0m" : "FAIL";
  return "";
}

void sl_comparison_print(const struct sl_comparison *c, bool colour, FILE *out) {
  const bool alike = strcmp(c->predicted_kind, c->measured_kind) == 0;
  const char *section = "";
  fprintf(out, "%-44s %16s %16s %12s\n", "", alike ? "first" : c->predicted_kind, alike ? "second" : c->measured_kind,
          "error");
  for (size_t i = 0; i < c->count; i++) {
    const struct sl_compare_row *row = &c->rows[i];
    char a[32], b[32], error[32];
    if (strcmp(section, row->section) != 0) fprintf(out, "%s\n", row->section);
    section = row->section;
    value_text(a, sizeof a, row, row->has_predicted, row->predicted, row->predicted_text);
    value_text(b, sizeof b, row, row->has_measured, row->measured, row->measured_text);
    error_text(error, sizeof error, row);
    const char *verdict = verdict_text(row->verdict, colour);
    fprintf(out, "  %-42s %16s %16s %12s%s%s\n", sl_printable_of(row->name).text, a, b, error,
            verdict[0] != '\0' ? "  " : "", verdict);
  }
  int judged = 0;
  for (size_t i = 0; i < c->count; i++) judged += c->rows[i].verdict != SL_VERDICT_NONE;
  if (c->functional) fprintf(out, "functional run (more ranks than cores): times are not comparable and not judged\n");
  fprintf(out, "%d of %d judged values within tolerance (arena and traffic exact, process 2 %% or 48 MB",
          judged - c->failed, judged);
  if (c->time_tolerance >= 0 && !c->functional) fprintf(out, ", step time %.3g %%", 100 * c->time_tolerance);
  fprintf(out, ")\n");
}

static json_t *row_json(const struct sl_compare_row *row) {
  static const char *const units[] = {"s", "bytes", "count", "text", "ratio"};
  static const char *const rules[] = {"exact", "process", "time", "shown"};
  static const char *const verdicts[] = {"ok", "fail", "none"};
  _Static_assert(sizeof units / sizeof *units == SL_UNIT_RATIO + 1, "a name for each unit");
  _Static_assert(sizeof rules / sizeof *rules == SL_COMPARE_SHOWN + 1, "a name for each rule");
  _Static_assert(sizeof verdicts / sizeof *verdicts == SL_VERDICT_NONE + 1, "a name for each verdict");
  json_t *object = json_object();
  const bool text = row->unit == SL_UNIT_TEXT;
  json_object_set_new(object, "section", json_string(row->section));
  json_object_set_new(object, "name", json_string(row->name));
  json_object_set_new(object, "unit", json_string(units[row->unit]));
  if (row->has_predicted)
    json_object_set_new(object, "predicted", text ? json_string(row->predicted_text) : json_real(row->predicted));
  if (row->has_measured)
    json_object_set_new(object, "measured", text ? json_string(row->measured_text) : json_real(row->measured));
  if (row->has_predicted && row->has_measured && !text && !isinf(row->error))
    json_object_set_new(object, "error", json_real(row->error));
  json_object_set_new(object, "rule", json_string(rules[row->rule]));
  json_object_set_new(object, "verdict", json_string(verdicts[row->verdict]));
  return object;
}

json_t *sl_comparison_json(const struct sl_comparison *c) {
  json_t *object = json_object(), *rows = json_array();
  json_object_set_new(object, "functional", json_boolean(c->functional));
  if (c->time_tolerance >= 0) json_object_set_new(object, "time_tolerance", json_real(c->time_tolerance));
  json_object_set_new(object, "failed", json_integer(c->failed));
  for (size_t i = 0; i < c->count; i++) json_array_append_new(rows, row_json(&c->rows[i]));
  json_object_set_new(object, "rows", rows);
  return object;
}
