/* Writes to both targets, CSV and TensorBoard; see monitor.h. */
#include "core/monitor/monitor.h"

#include "core/base/folders.h"
#include "core/monitor/csv_series.h"
#include "core/monitor/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sl_monitor {
  struct sl_csv_series csv; /* folder NULL: not enabled */
  struct sl_events events;  /* stream NULL: not enabled */
};

/* Creates OUTPUT_PATH/JOB_NAME; the path is the caller's. */
static enum sl_status open_folder(const struct sl_monitor_place *place, char **out) {
  const size_t n = strlen(place->output_path);
  const char *between = n == 0 || place->output_path[n - 1] == '/' ? "" : "/";
  *out = NULL;
  if (asprintf(out, "%s%s%s", place->output_path, between, place->job_name[0] != '\0' ? place->job_name : ".") < 0) {
    *out = NULL;
    return sl_fail(SL_ERR_MEMORY, "out of memory: the folder of a monitor");
  }
  const int why = sl_folders_make(*out);
  return why == 0 ? SL_OK : sl_fail(SL_ERR_IO, "%s: cannot be made: %s", *out, strerror(why));
}

enum sl_status sl_monitor_open(struct sl_monitor **out, const struct sl_monitor_place *csv,
                               const struct sl_monitor_place *tensorboard) {
  struct sl_monitor *monitor;
  char *folder = NULL;
  enum sl_status status;
  *out = NULL;
  if (!csv->enabled && !tensorboard->enabled) return SL_OK;
  SL_TRY(sl_calloc(&monitor, 1, sizeof *monitor));
  if (csv->enabled) SL_GO_FAIL(open_folder(csv, &monitor->csv.folder));
  if (tensorboard->enabled) SL_GO_FAIL(open_folder(tensorboard, &folder));
  if (tensorboard->enabled) SL_GO_FAIL(sl_events_open(&monitor->events, folder));
  free(folder);
  *out = monitor;
  return SL_OK;
fail:
  free(folder);
  sl_monitor_close(monitor);
  return status;
}

void sl_monitor_go_on(struct sl_monitor *monitor, int64_t after) {
  if (monitor == NULL) return;
  monitor->csv.goes_on = true;
  monitor->csv.after = after;
}

enum sl_status sl_monitor_purge(struct sl_monitor *monitor, int64_t after) {
  return monitor != NULL ? sl_events_purge(&monitor->events, after + 1) : SL_OK;
}

enum sl_status sl_monitor_write(struct sl_monitor *monitor, const char *name, double value, int64_t step) {
  if (monitor == NULL) return SL_OK;
  if (monitor->csv.folder != NULL) SL_TRY(sl_csv_series_write(&monitor->csv, name, value, step));
  return monitor->events.stream != NULL ? sl_events_write(&monitor->events, name, value, step) : SL_OK;
}

enum sl_status sl_monitor_flush(struct sl_monitor *monitor) {
  if (monitor == NULL) return SL_OK;
  SL_TRY(sl_csv_series_flush(&monitor->csv));
  return sl_events_flush(&monitor->events);
}

void sl_monitor_close(struct sl_monitor *monitor) {
  if (monitor == NULL) return;
  sl_csv_series_free(&monitor->csv);
  sl_events_close(&monitor->events);
  free(monitor);
}
