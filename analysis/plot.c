/* The gnuplot scripts, each preceded by the common style; see plot.h. `gnuplot memory.gp` in the folder draws a plot
 * again. */
#include "analysis/plot.h"

#include "core/base/new_file.h"
#include "core/base/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every row of the table has its own place on the axis, named by what distinguishes it, so that different worlds never
 * overlap. A first plot that draws nothing sets these names. The last of them leans over the edge: beside it there is
 * room for the longest, as characters are wide and names slanted, up to a third of the page. */
#define AXIS_OF_LABELS                                                                                                 \
  "set xtics noenhanced rotate by -30\n"                                                                               \
  "longest = 0\n"                                                                                                      \
  "stats 'runs.csv' using (l = strlen(strcol('label')), longest = l > longest ? l : longest) nooutput\n"               \
  "set rmargin 0.75 * longest > 36 ? 36 : 0.75 * longest > 8 ? 0.75 * longest : 8\n"                                   \
  "stats 'runs.csv' using 1 skip 1 nooutput\n"                                                                         \
  "set xrange [-0.5:STATS_records - 0.5]\n"                                                                            \
  "names_of_rows = \"'runs.csv' using (column('row')):(NaN):xtic(strcol('label')) notitle, \"\n"

/* Records may be predictions alone, or measurements: then nothing is said of the others, and nothing makes room for
 * them. */
#define WHAT_THERE_IS                                                                                                  \
  "# the line of names is read as a row, too\n"                                                                        \
  "has(name) = strcol(name) ne '' && strcol(name) ne name\n"                                                           \
  "predictions = 0\nmeasurements = 0\n"                                                                                \
  "stats 'runs.csv' using (predictions = predictions || has('predicted_step_time_s'), "                                \
  "measurements = measurements || has('measured_step_time_s'), 0) nooutput\n"                                          \
  "both = predictions && measurements\n"

static const char memory[] = WHAT_THERE_IS
    "set title 'peak memory of a rank: ' . (both ? 'predicted (left bar) and measured (right bar)' : predictions ? "
    "'predicted' : 'measured')\n"
    "set ylabel 'MiB'\n"
    "set yrange [0:*]\n"
    "set offsets 0, 0, graph 0.06, 0\n"
    "set style data boxes\n"
    "set boxwidth 0.36\n"
    "aside = both ? 0.2 : 0\n"
    "set key outside bottom center horizontal\n" AXIS_OF_LABELS "mib(x) = x / 1048576.0\n"
    "# the bar of a category reaches from zero to the sum of it and those below: drawn from the top of the pile down\n"
    "sum_of(kind, k) = (s = 0, sum [j = 1:k] column(kind . word(categories, j) . '_bytes'))\n"
    "number(kind) = (s = sum_of(kind, 7), s > 0 ? sprintf(mib(s) < 10 ? '%.1f' : '%.0f', mib(s)) : '')\n"
    "# one number a row, of its prediction if it has one: gnuplot crashes on labels of which none has a place\n"
    "side(row) = row + (number('predicted_') ne '' ? -aside : aside)\n"
    "process(bytes) = (s = sum_of('measured_', 7), bytes > s ? bytes : s)\n"
    "top(bytes) = (number('predicted_') ne '' ? sum_of('predicted_', 7) : process(bytes))\n"
    "told(row) = number(number('predicted_') ne '' ? 'predicted_' : 'measured_')\n"
    "draw = \"plot \" . names_of_rows . \"for [k = 7:1:-1] 'runs.csv' using (column('row') - "
    "aside):(mib(sum_of('predicted_', k))) "
    "lc rgb word(category_colours, k) title word(category_names, k), \" . \\\n"
    "  \"for [k = 7:1:-1] 'runs.csv' using (column('row') + aside):(mib(sum_of('measured_', k))) "
    "lc rgb word(category_colours, k) notitle, \" . \\\n"
    "  \"'runs.csv' using (side(column('row'))):(mib(top(column('measured_process_bytes')))):(told(column('row'))) "
    "with labels offset 0,0.6 font small notitle\" . (measurements ? \", \" . \\\n"
    "  \"'runs.csv' using (column('row') + aside):(mib(column('measured_process_bytes'))) with points pt 2 lw 2 lc rgb "
    "'black' title 'measured process'\" : '')\n";

/* A point without an interval has one of its own height. */
#define STEPS_OF(kind)                                                                                                 \
  "(1e3 * column('" kind "_step_time_s')):(1e3 * bound('" kind "', 'low')):(1e3 * bound('" kind "', 'high')) "
static const char step_time[] = WHAT_THERE_IS
    "set title 'step time' . (predictions ? ', predicted (90 % interval)' : '') . (both ? ' and' : '') . "
    "(measurements ? ' measured (5th to 95th percentile)' : '')\n"
    "set ylabel 'ms'\n"
    "set yrange [0:*]\n"
    "aside = both ? 0.05 : 0\n"
    "bound(kind, end) = strcol(kind . '_step_time_' . end . '_s') eq '' ? column(kind . '_step_time_s') : column(kind "
    ". "
    "'_step_time_' . end . '_s')\n"
    "set key outside bottom center horizontal\n" AXIS_OF_LABELS
    "draw = \"plot \" . names_of_rows . (predictions ? \"'runs.csv' using (column('row') - aside):" STEPS_OF(
        "predicted") "with yerrorbars pt 5 ps 1.5 lc rgb blue title 'predicted'\" : '') . (both ? ', ' : '') . \\\n"
                     "  (measurements ? \"'runs.csv' using (column('row') + aside):" STEPS_OF(
                         "measured") "with yerrorbars pt 7 ps 1.2 lc rgb red title 'measured'\" : '')\n";

/* The name of a curve comes from its column: loss_zero2_world4_nats is ZeRO-2 on 4 ranks, loss_zero2_world4_row5_nats
 * that of row 5 of runs.csv. */
static const char losses[] =
    "set title 'loss of the global batch: curves of one training must coincide'\n"
    "set xlabel 'optimizer step'\n"
    "set ylabel 'nats per token'\n"
    "set key inside right top\n"
    "stats 'losses.csv' skip 1 nooutput\n"
    "name_of(c) = (w = strstrt(c, '_world'), r = strstrt(c, '_row'), e = strlen(c) - 5, sprintf('ZeRO-%s, world %s%s', "
    "c[10:w - 1], c[w + 6:(r > 0 ? r - 1 : e)], r > 0 ? ', row ' . c[r + 4:e] : ''))\n"
    "draw = \"plot for [c = 2:STATS_columns] 'losses.csv' using 1:c with lines lw (2 * (STATS_columns - c) + 1.5) "
    "lc rgb word(curve_colours, (c - 2) % 8 + 1) title name_of(columnheader(c))\"\n";

enum { HEIGHT = 520 }; /* pixels */

static const struct picture {
  const char *name, *script;
} pictures[] = {{"memory", memory}, {"step_time", step_time}, {"losses", losses}};

static enum sl_status write_script(const char *folder, const char *name, const char *body, int height) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s.gp", folder, name);
  struct sl_new_file file;
  SL_TRY(sl_new_file_open(&file, path));
  fprintf(file.stream, "# gnuplot %s.gp, in this folder\n%s\n%s", name, sl_plot_style, body);
  fprintf(file.stream, "do for [t in terminals] {\n  eval page(t, '%s', %d)\n  eval draw\n}\n", name, height);
  return sl_new_file_finish(&file);
}

/* Finds gnuplot in the absolute folders of PATH only, because a relative one would refer to the folder of the plots,
 * where gnuplot runs. */
static bool find_gnuplot(char *out, size_t size) {
  const char *path = getenv("PATH");
  while (path != NULL && *path != '\0') {
    const size_t length = strcspn(path, ":");
    snprintf(out, size, "%.*s/gnuplot", (int)length, path);
    if (path[0] == '/' && access(out, X_OK) == 0) return true;
    path += length + (path[length] == ':');
  }
  return false;
}

/* Removes existing plots: gnuplot would write to whatever has their name, through a symbolic link, into a pipe that
 * nobody reads, or into a file with several hard links. Also removes the partial output of a failed gnuplot. */
static void drop_pictures(const char *folder, const char *name) {
  static const char *const kinds[] = {"svg", "png"};
  char path[4200];
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, kinds[i]);
    (void)unlink(path);
  }
}

/* What gnuplot, the loader and fontconfig say is not for the terminal: it would stand beside our one line, and may be a
 * variable of the environment as it is. The last line of it is the reason where gnuplot failed. -1: not kept. */
static void last_line(int said, char *out, size_t size) {
  const off_t end = said >= 0 ? lseek(said, 0, SEEK_END) : 0;
  const off_t from = end >= (off_t)size ? end - (off_t)size + 1 : 0;
  const ssize_t got = end > 0 ? pread(said, out, size - 1, from) : 0;
  size_t length = got > 0 ? (size_t)got : 0;
  while (length > 0 && strchr(" \t\r\n", out[length - 1]) != NULL) length--;
  out[length] = '\0';
  const char *line = strrchr(out, '\n');
  if (line != NULL) memmove(out, line + 1, strlen(line + 1) + 1);
}

static _Noreturn void become(const char *program, const char *folder, char *script, int said) {
  (void)signal(SIGPIPE, SIG_DFL);
  if (said >= 0) (void)dup2(said, STDERR_FILENO);
  if (chdir(folder) == 0) execl(program, "gnuplot", script, (char *)NULL);
  _exit(127);
}

static enum sl_status run(const char *folder, const char *name) {
  char script[80], program[4200], why[300];
  snprintf(script, sizeof script, "%s.gp", name);
  if (!find_gnuplot(program, sizeof program))
    return sl_fail(SL_ERR_ABSENT, "gnuplot is not on PATH: install gnuplot-nox, then run it on %s/%s", folder, script);
  drop_pictures(folder, name);
  fflush(NULL);
  const int said = memfd_create("gnuplot", MFD_CLOEXEC);
  const pid_t child = fork();
  if (child < 0) {
    if (said >= 0) close(said);
    return sl_fail(SL_ERR_IO, "cannot start a process: %s", strerror(errno));
  }
  if (child == 0) become(program, folder, script, said);
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
  last_line(said, why, sizeof why);
  if (said >= 0) close(said);
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return SL_OK;
  drop_pictures(folder, name);
  return sl_fail(SL_ERR_IO, "gnuplot failed on %s/%s%s%s", folder, script, why[0] != '\0' ? ": " : "",
                 sl_printable_of(why).text);
}

enum sl_status sl_plot_draw(const char *folder, const char *name, const char *body, int height) {
  SL_TRY(write_script(folder, name, body, height));
  return run(folder, name);
}

/* Predictions have no losses; a table with only the column of steps gives no plot. */
static bool has_losses(const char *folder) {
  char path[4200];
  int c = 0;
  snprintf(path, sizeof path, "%s/losses.csv", folder);
  const int handle = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  FILE *file = handle >= 0 ? fdopen(handle, "r") : NULL;
  if (file == NULL) return true; /* gnuplot reports it */
  while ((c = fgetc(file)) != EOF && c != ',' && c != '\n') {
  }
  fclose(file);
  return c == ',';
}

enum sl_status sl_plot_folder(const char *folder) {
  const size_t all = sizeof pictures / sizeof *pictures, n = has_losses(folder) ? all : all - 1; /* losses come last */
  for (size_t i = 0; i < n; i++) SL_TRY(write_script(folder, pictures[i].name, pictures[i].script, HEIGHT));
  for (size_t i = 0; i < n; i++) SL_TRY(run(folder, pictures[i].name));
  return SL_OK;
}
