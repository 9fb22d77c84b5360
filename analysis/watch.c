/* Curves as text; see watch.h. A column of the plot shows the mean of the values that fall into it. */
#include "analysis/watch.h"

#include "core/base/file.h"
#include "core/base/printable.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 64, HEIGHT = 12 };

struct curve {
  char name[128];
  struct point {
    int64_t step;
    double value;
  } * points; /* owned */
  size_t count, capacity;
};

static volatile sig_atomic_t ended;

static void on_signal(int number) {
  (void)number;
  ended = 1;
}

/* ---- a file ---- */

#define EXPECTED "STEP,VALUE behind a line step,NAME, as csv_monitor writes them"

/* Parses "1024,5.4321", or the heading "step,train_loss". The line ends at a zero byte. */
static enum sl_status read_line(struct curve *curve, const char *path, int number, const char *line) {
  char *end, *rest;
  if (strncmp(line, "step,", 5) == 0) {
    snprintf(curve->name, sizeof curve->name, "%.*s", (int)sizeof curve->name - 1, sl_printable_of(line + 5).text);
    curve->count = 0;
    return SL_OK;
  }
  errno = 0;
  const long long step = strtoll(line, &end, 10);
  const double value = end != line && *end == ',' ? strtod(end + 1, &rest) : 0;
  if (end == line || *end != ',' || rest == end + 1 || *rest != '\0' || errno == ERANGE || curve->name[0] == '\0')
    return sl_fail(SL_ERR_INPUT, "%s:%d: is '%s'; expected " EXPECTED, path, number, sl_printable_of(line).text);
  SL_TRY(sl_grow(&curve->points, &curve->capacity, curve->count + 1, sizeof *curve->points));
  curve->points[curve->count++] = (struct point){step, value};
  return SL_OK;
}

/* The last line may be half of one still; but it begins as one does, and no line has zero bytes. */
static enum sl_status check_rest(const struct curve *curve, const char *path, int number, const char *rest,
                                 bool whole) {
  const size_t length = strlen(rest);
  if (!whole) return sl_fail(SL_ERR_INPUT, "%s:%d: has a zero byte; expected " EXPECTED, path, number);
  if (curve->name[0] != '\0' || strncmp(rest, "step,", length < 5 ? length : 5) == 0) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s:%d: is '%s'; expected " EXPECTED, path, number, sl_printable_of(rest).text);
}

static enum sl_status read_file(struct curve *curve, const char *path) {
  char *text;
  size_t size;
  enum sl_status status = SL_OK;
  *curve = (struct curve){0};
  SL_TRY(sl_file_load(path, &text, &size));
  const bool whole = strlen(text) == size;
  char *at = text;
  int number = 1;
  for (char *end; (end = strchr(at, '\n')) != NULL && status == SL_OK; at = end + 1, number++) {
    *end = '\0';
    if (end > at && end[-1] == '\r') end[-1] = '\0';
    status = read_line(curve, path, number, at);
  }
  if (status == SL_OK) status = check_rest(curve, path, number, at, whole);
  free(text);
  return status;
}

/* ---- a plot ---- */

struct picture {
  double columns[WIDTH]; /* NAN if no value falls into it */
  double low, high;
};

static struct picture picture_of(const struct curve *curve) {
  struct picture p = {.low = INFINITY, .high = -INFINITY};
  double sums[WIDTH] = {0};
  int counts[WIDTH] = {0};
  const double first = (double)curve->points[0].step, last = (double)curve->points[curve->count - 1].step;
  for (size_t i = 0; i < curve->count; i++) {
    const double at = last > first ? ((double)curve->points[i].step - first) / (last - first) : 0;
    if (!isfinite(curve->points[i].value) || at < 0 || at > 1) continue;
    const int column = (int)(at * (WIDTH - 1) + 0.5);
    sums[column] += curve->points[i].value;
    counts[column]++;
  }
  for (int c = 0; c < WIDTH; c++) {
    p.columns[c] = counts[c] > 0 ? sums[c] / counts[c] : NAN;
    p.low = fmin(p.low, p.columns[c]);
    p.high = fmax(p.high, p.columns[c]);
  }
  return p;
}

static void draw_row(const struct picture *p, int row, FILE *out) {
  char line[WIDTH + 1];
  const double range = p->high > p->low ? p->high - p->low : 1;
  int used = 0;
  for (int c = 0; c < WIDTH; c++) {
    const bool here = !isnan(p->columns[c]) && (int)((p->columns[c] - p->low) / range * (HEIGHT - 1) + 0.5) == row;
    line[c] = here ? '*' : ' ';
    if (here) used = c + 1;
  }
  line[used] = '\0';
  if (row == HEIGHT - 1 || row == 0)
    fprintf(out, "%12.5g |%s\n", row == 0 ? p->low : p->high, line);
  else
    fprintf(out, "%12s |%s\n", "", line);
}

static void draw(const struct curve *curve, const char *path, FILE *out) {
  if (curve->count == 0) {
    fprintf(out, "%s: nothing yet\n", curve->name[0] != '\0' ? curve->name : sl_printable_of(path).text);
    return;
  }
  const struct point *last = &curve->points[curve->count - 1];
  const struct picture p = picture_of(curve);
  fprintf(out, "%s: %g at %lld, of %zu\n", curve->name, last->value, (long long)last->step, curve->count);
  if (!isfinite(p.low)) return;
  for (int row = HEIGHT - 1; row >= 0; row--) draw_row(&p, row, out);
  fprintf(out, "%12s +", "");
  for (int c = 0; c < WIDTH; c++) fputc('-', out);
  fprintf(out, "\n%12s  %-*lld%*lld\n", "", WIDTH / 2, (long long)curve->points[0].step, WIDTH / 2,
          (long long)last->step);
}

/* Draws nothing if one of the files cannot be read. */
static enum sl_status draw_all(char *const *paths, int count, FILE *out) {
  enum sl_status status;
  struct curve *curves;
  SL_TRY(sl_calloc(&curves, (size_t)count, sizeof *curves));
  for (int i = 0; i < count; i++) SL_GO(read_file(&curves[i], paths[i]));
  for (int i = 0; i < count; i++) draw(&curves[i], paths[i], out);
done:
  for (int i = 0; i < count; i++) free(curves[i].points);
  free(curves);
  return status;
}

enum sl_status sl_watch(char *const *paths, int count, FILE *out) {
  static const char home[] = "\033[H\033[2J"; /* moves the cursor to the corner and clears the screen */
  if (!isatty(fileno(out))) return draw_all(paths, count, out);
  (void)sigaction(SIGINT, &(struct sigaction){.sa_handler = on_signal}, NULL);
  while (!ended && !ferror(out)) {
    fputs(home, out);
    SL_TRY(draw_all(paths, count, out));
    fflush(out);
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  }
  return SL_OK;
}
