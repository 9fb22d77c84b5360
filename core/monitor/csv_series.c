/* DeepSpeed's csv_monitor; see monitor.h. Lines end with a carriage return and a line feed, like those of Python's csv
 * module. */
#include "core/monitor/csv_series.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sl_python_repr(char *out, size_t size, double value) {
  char digits[40];
  if (!isfinite(value)) {
    snprintf(out, size, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return;
  }
  int precision = 0; /* digits after the first */
  do snprintf(digits, sizeof digits, "%.*e", precision, value);
  while (strtod(digits, NULL) != value && ++precision < 17);
  const int exponent = atoi(strchr(digits, 'e') + 1);
  if (exponent < -4 || exponent >= 16)
    snprintf(out, size, "%s", digits);
  else if (precision <= exponent)
    snprintf(out, size, "%.1f", value);
  else
    snprintf(out, size, "%.*f", precision - exponent, value);
}

static enum sl_status io_error(const struct sl_csv_file *file) {
  return sl_fail(SL_ERR_IO, "%s: %s", file->path, strerror(errno));
}

/* Drops what this run had written after step `after` before it was restarted: rows below the last heading. *headed:
 * there is a heading. */
static enum sl_status drop_rows(const char *path, int64_t after, bool *headed) {
  char line[256];
  long end = -1;
  *headed = false;
  const int handle = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  FILE *in = handle >= 0 ? fdopen(handle, "r") : NULL;
  if (in == NULL) return SL_OK; /* there is no file, or opening it for writing will report the error */
  for (long at = 0; fgets(line, sizeof line, in) != NULL; at = ftell(in)) {
    if (strncmp(line, "step,", 5) == 0)
      *headed = true, end = -1;
    else if (end < 0 && atoll(line) > after)
      end = at;
  }
  fclose(in);
  if (end < 0 || truncate(path, end) == 0) return SL_OK;
  return sl_fail(SL_ERR_IO, "%s: %s", path, strerror(errno));
}

/* Opens only a regular file: a link could lead to somebody else's file, and a pipe would block. NULL with errno. */
static FILE *append_to(const char *path) {
  const int handle = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0666);
  struct stat info;
  if (handle < 0) return NULL;
  const bool regular = fstat(handle, &info) == 0 && S_ISREG(info.st_mode);
  FILE *stream = regular ? fdopen(handle, "a") : NULL;
  if (stream == NULL) close(handle);
  if (!regular) errno = EEXIST;
  return stream;
}

static void free_file(struct sl_csv_file *file) {
  if (file->stream != NULL) fclose(file->stream);
  free(file->name);
  free(file->path);
}

/* Opens the file of `name`, behind what is in it already. "Train/Samples/lr" becomes Train_Samples_lr.csv, whose second
 * column is lr. */
static enum sl_status open_file(const struct sl_csv_series *series, const char *name, struct sl_csv_file *file) {
  const char *last = strrchr(name, '/');
  bool headed = false;
  *file = (struct sl_csv_file){.name = strdup(name)};
  if (asprintf(&file->path, "%s/%s.csv", series->folder, name) < 0) file->path = NULL;
  if (file->name == NULL || file->path == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the file of %s", name);
  for (char *c = file->path + strlen(series->folder) + 1; *c != '\0'; c++)
    if (*c == '/' || *c == ' ') *c = '_';
  if (series->goes_on) SL_TRY(drop_rows(file->path, series->after, &headed));
  file->stream = append_to(file->path);
  if (file->stream == NULL) return io_error(file);
  if (!headed && fprintf(file->stream, "step,%s\r\n", last != NULL ? last + 1 : name) < 0) return io_error(file);
  return SL_OK;
}

/* A file that cannot be opened is none of the series. */
static enum sl_status begin(struct sl_csv_series *series, const char *name, struct sl_csv_file **out) {
  SL_TRY(sl_grow(&series->files, &series->capacity, series->count + 1, sizeof *series->files));
  struct sl_csv_file *file = &series->files[series->count];
  const enum sl_status status = open_file(series, name, file);
  if (status != SL_OK) return free_file(file), status;
  series->count++;
  *out = file;
  return SL_OK;
}

enum sl_status sl_csv_series_write(struct sl_csv_series *series, const char *name, double value, int64_t step) {
  struct sl_csv_file *file = NULL;
  char text[40];
  for (size_t i = 0; i < series->count; i++)
    if (strcmp(series->files[i].name, name) == 0) file = &series->files[i];
  if (file == NULL) SL_TRY(begin(series, name, &file));
  sl_python_repr(text, sizeof text, value);
  return fprintf(file->stream, "%lld,%s\r\n", (long long)step, text) < 0 ? io_error(file) : SL_OK;
}

enum sl_status sl_csv_series_flush(struct sl_csv_series *series) {
  for (size_t i = 0; i < series->count; i++)
    if (fflush(series->files[i].stream) != 0) return io_error(&series->files[i]);
  return SL_OK;
}

void sl_csv_series_free(struct sl_csv_series *series) {
  for (size_t i = 0; i < series->count; i++) free_file(&series->files[i]);
  free(series->files);
  free(series->folder);
  *series = (struct sl_csv_series){0};
}
