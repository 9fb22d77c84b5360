/* The CSV has all columns of one list; the Markdown table has the few that a reader compares. See table.h. */
#include "analysis/table.h"

#include "analysis/labels.h"

#include "core/base/new_file.h"
#include "core/base/units.h"
#include "core/record/record.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef SL_HAVE_GSL
#include <gsl/gsl_statistics_double.h>
#endif

/* A column of runs.csv: predicted_NAME and measured_NAME from the same path of the two records. */
static const struct column {
  const char *name, *path;
} columns[] = {
    {"arena_bytes", "memory.device.peak_bytes"},
    {"process_bytes", "memory.device.process_bytes"},
    {"parameter_bytes", "memory.device.by_category.parameter"},
    {"gradient_bytes", "memory.device.by_category.gradient"},
    {"optimizer_bytes", "memory.device.by_category.optimizer"},
    {"activation_bytes", "memory.device.by_category.activation"},
    {"communication_bytes", "memory.device.by_category.communication"},
    {"workspace_bytes", "memory.device.by_category.workspace"},
    {"fragmentation_bytes", "memory.device.by_category.fragmentation"},
    {"step_time_s", "step_time_s"},
    {"step_time_low_s", "step_time_low_s"},
    {"step_time_high_s", "step_time_high_s"},
    {"exposed_communication_s", "breakdown_s.exposed_total"},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

/* The standard deviation of the measured step times without the first; NAN without GSL or with fewer than two. */
static double step_deviation(const json_t *record) {
#ifdef SL_HAVE_GSL
  const json_t *list = json_object_get(record, "step_times_s");
  const size_t n = json_array_size(list);
  double *times = n > 2 ? calloc(n, sizeof *times) : NULL;
  if (times == NULL) return NAN;
  for (size_t i = 1; i < n; i++) times[i - 1] = json_number_value(json_array_get(list, i));
  const double deviation = gsl_stats_sd(times, 1, n - 1);
  free(times);
  return deviation;
#else
  (void)record;
  return NAN;
#endif
}

static void put_runs(const struct sl_rows *rows, FILE *out) {
  char label[512];
  fprintf(out, "world,zero_stage");
  for (int c = 0; c < COLUMNS; c++) fprintf(out, ",predicted_%s,measured_%s", columns[c].name, columns[c].name);
  fprintf(out, ",predicted_traffic_bytes,measured_traffic_bytes,predicted_calls,measured_calls"
               ",measured_step_time_sd_s,row,label\n");
  for (size_t i = 0; i < rows->count; i++) {
    const struct sl_row *row = &rows->rows[i];
    fprintf(out, "%.0f,%.0f", sl_row_number(row->plan, "world"), sl_row_number(row->plan, "zero_stage"));
    for (int c = 0; c < COLUMNS; c++) {
      sl_row_put(sl_row_number(row->predicted, columns[c].path), out);
      sl_row_put(sl_row_number(row->measured, columns[c].path), out);
    }
    sl_row_put(sl_row_traffic(row->predicted, "bytes"), out);
    sl_row_put(sl_row_traffic(row->measured, "bytes"), out);
    sl_row_put(sl_row_traffic(row->predicted, "calls"), out);
    sl_row_put(sl_row_traffic(row->measured, "calls"), out);
    sl_row_put(step_deviation(row->measured), out);
    sl_label_of(rows, i, label, sizeof label);
    fprintf(out, ",%zu,%s\n", i, label);
  }
}

static bool is_curve_alike(const struct sl_row *a, const struct sl_row *b) {
  return json_object_get(b->measured, "losses") != NULL &&
         sl_row_number(a->plan, "zero_stage") == sl_row_number(b->plan, "zero_stage") &&
         sl_row_number(a->plan, "world") == sl_row_number(b->plan, "world");
}

/* A further column: ",loss_zero2_world4_nats", or where other rows would have that name ",loss_zero2_world4_row5_nats",
 * of that row of runs.csv. */
static void put_loss_name(const struct sl_rows *rows, size_t i, FILE *out) {
  const struct sl_row *row = &rows->rows[i];
  int alike = 0;
  for (size_t k = 0; k < rows->count; k++) alike += is_curve_alike(row, &rows->rows[k]);
  fprintf(out, ",loss_zero%.0f_world%.0f", sl_row_number(row->plan, "zero_stage"), sl_row_number(row->plan, "world"));
  if (alike > 1) fprintf(out, "_row%zu", i);
  fprintf(out, "_nats");
}

static void put_losses(const struct sl_rows *rows, FILE *out) {
  size_t steps = 0;
  fprintf(out, "step");
  for (size_t i = 0; i < rows->count; i++) {
    const json_t *losses = json_object_get(rows->rows[i].measured, "losses");
    if (losses == NULL) continue;
    put_loss_name(rows, i, out);
    if (json_array_size(losses) > steps) steps = json_array_size(losses);
  }
  fputc('\n', out);
  for (size_t s = 0; s < steps; s++) {
    fprintf(out, "%zu", s + 1);
    for (size_t i = 0; i < rows->count; i++) {
      const json_t *losses = json_object_get(rows->rows[i].measured, "losses");
      const json_t *loss = json_array_get(losses, s);
      if (losses != NULL) sl_row_put(json_is_number(loss) ? json_number_value(loss) : NAN, out);
    }
    fputc('\n', out);
  }
}

static enum sl_status write_file(const struct sl_rows *rows, const char *folder, const char *name,
                                 void (*put)(const struct sl_rows *rows, FILE *out)) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  struct sl_new_file file;
  SL_TRY(sl_new_file_open(&file, path));
  put(rows, file.stream);
  return sl_new_file_finish(&file);
}

enum sl_status sl_table_csv(const struct sl_rows *rows, const char *folder) {
  struct stat info;
  if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
    return sl_fail(SL_ERR_INPUT, "%s: is no folder; expected one that exists", folder);
  SL_TRY(write_file(rows, folder, "runs.csv", put_runs));
  return write_file(rows, folder, "losses.csv", put_losses);
}

enum unit { BYTES, SECONDS, COUNT };

/* "predicted / measured (error)", with a dash for an absent value; equal values are marked as such. */
static void put_pair(double predicted, double measured, enum unit unit, FILE *out) {
  void (*const format[])(char *, size_t, double) = {sl_format_bytes, sl_format_seconds, sl_format_count};
  char a[32] = "-", b[32] = "-";
  if (!isnan(predicted)) format[unit](a, sizeof a, predicted);
  if (!isnan(measured)) format[unit](b, sizeof b, measured);
  fprintf(out, " %s / %s", a, b);
  if (!isnan(predicted) && predicted == measured)
    fprintf(out, " (equal) |");
  else if (measured > 0 && !isnan(predicted))
    fprintf(out, " (%+.1f %%) |", 100 * (predicted / measured - 1));
  else
    fprintf(out, " |");
}

void sl_table_markdown(const struct sl_rows *rows, FILE *out) {
  fprintf(out, "predicted / measured\n\n| world | ZeRO | arena a rank | process | traffic a step | calls | step time | "
               "loss first | loss last |\n|---|---|---|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < rows->count; i++) {
    const struct sl_row *row = &rows->rows[i];
    const json_t *losses = json_object_get(row->measured, "losses");
    const size_t n = json_array_size(losses);
    fprintf(out, "| %.0f | %.0f |", sl_row_number(row->plan, "world"), sl_row_number(row->plan, "zero_stage"));
    put_pair(sl_row_number(row->predicted, columns[0].path), sl_row_number(row->measured, columns[0].path), BYTES, out);
    put_pair(sl_row_number(row->predicted, columns[1].path), sl_row_number(row->measured, columns[1].path), BYTES, out);
    put_pair(sl_row_traffic(row->predicted, "bytes"), sl_row_traffic(row->measured, "bytes"), BYTES, out);
    put_pair(sl_row_traffic(row->predicted, "calls"), sl_row_traffic(row->measured, "calls"), COUNT, out);
    put_pair(sl_row_number(row->predicted, "step_time_s"), sl_row_number(row->measured, "step_time_s"), SECONDS, out);
    if (n > 0)
      fprintf(out, " %.6f | %.6f |\n", sl_record_loss(losses, 0), sl_record_loss(losses, n - 1));
    else
      fprintf(out, " - | - |\n");
  }
}
