/* shardlab-analyze: tables and plots of run records. It is a separate program, because only it links GSL. */
#include "analysis/fit.h"
#include "analysis/goodput_command.h"
#include "analysis/plot.h"
#include "analysis/refit_command.h"
#include "analysis/table.h"
#include "analysis/watch.h"
#include "core/base/new_file.h"
#include "core/base/printable.h"
#include "core/base/standard.h"
#include "core/record/environment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "usage: shardlab-analyze table FOLDER RECORD.json...\n"
    "       shardlab-analyze plot FOLDER [RECORD.json...]\n"
    "       shardlab-analyze watch FILE.csv...\n"
    "       shardlab-analyze goodput RECORD.json --mtbf-hours H|--node-mtbf-hours H [--interval STEPS]\n"
    "           [--restart-s S] [--save-s S] [--write-s S] [--shape K] [--runs N] [--saves N] [--seed N]\n"
    "           [--out FOLDER] [--json FILE]\n"
    "       shardlab-analyze fit POINTS.json... --out PROFILE.json [--report FOLDER]\n"
    "       shardlab-analyze refit TABLE.csv... --out FOLDER [--held-out TABLE.csv]... [--exclude IDS.csv]\n"
    "           [--min-mfu PERCENT] [--jobs N] [--rounds N] [--starts N] [--start NUMBERS.csv]\n"
    "           [--only OWNER:KEY]...\n"
    "           [--write PROFILES [--source TEXT]]\n\n"
    "table  pairs predicted and measured records by plan, prints a Markdown table and writes FOLDER/runs.csv and\n"
    "       FOLDER/losses.csv, units in the column names\n"
    "plot   writes gnuplot scripts that read those two files and draws FOLDER/{memory,step_time,losses}.{svg,png}; a\n"
    "       row a place of the axis, named by what tells it from the others; with records it makes the files first\n"
    "watch  draws the curves of files of csv_monitor as text, on a terminal again every second while the run goes on\n"
    "goodput\n"
    "       the share of the time in which steps are taken that no failure undoes, against the interval of\n"
    "       checkpoints: by Young's and Daly's closed forms and by drawing failures (Weibull's shape 1:\n"
    "       exponential), for a record of predict --save-every or measure --checkpoint; the best interval;\n"
    "       FOLDER/goodput.{csv,gp,svg,png}\n"
    "fit    fits a profile to the points of shardlab calibrate; with --report writes FOLDER/residuals.{csv,md} and\n"
    "       FOLDER/fit.{gp,svg,png}\n"
    "refit  fits numbers of GPUs, clusters and kernel sets to the step times of tables of measured training runs, "
    "says\n"
    "       how far it is off for runs, models and clusters held out, writes FOLDER/{predictions,numbers}.csv and, "
    "with\n"
    "       --write, the numbers into the files of a folder of profiles; with --only all other numbers keep the "
    "values\n"
    "       of --start or of the profiles\n\n"
    "shardlab-analyze --version prints the version\n\n"
    "example:\n  shardlab-analyze table out predicted.json measured.json && shardlab-analyze plot out\n";

static enum sl_status table(const char *folder, char **paths, int n) {
  struct sl_rows rows;
  SL_TRY(sl_rows_load(&rows, paths, n));
  const enum sl_status status = sl_table_csv(&rows, folder);
  if (status == SL_OK) sl_table_markdown(&rows, stdout);
  sl_rows_free(&rows);
  return status;
}

/* Plots the existing tables, or tables of these records. */
static enum sl_status plot(const char *folder, char **paths, int n) {
  char path[4200];
  snprintf(path, sizeof path, "%s/runs.csv", folder);
  if (n == 0 && access(path, R_OK) != 0)
    return sl_fail(SL_ERR_INPUT, "%s: %s; expected the runs.csv of 'table', or records to make it of", path,
                   strerror(errno));
  if (n == 0) return sl_plot_folder(folder);
  struct sl_rows rows;
  SL_TRY(sl_rows_load(&rows, paths, n));
  const enum sl_status status = sl_table_csv(&rows, folder);
  sl_rows_free(&rows);
  return status == SL_OK ? sl_plot_folder(folder) : status;
}

struct fit_request {
  const char *out, *report;
  char **paths;
  int n;
};

static enum sl_status fit_request(struct fit_request *request, int argc, char **argv) {
  request->paths = argv;
  for (int i = 0; i < argc; i++) {
    const bool out = strcmp(argv[i], "--out") == 0, report = strcmp(argv[i], "--report") == 0;
    if ((out || report) && i + 1 == argc) return sl_fail(SL_ERR_INPUT, "%s: expected a path behind it", argv[i]);
    if (out)
      request->out = argv[++i];
    else if (report)
      request->report = argv[++i];
    else
      argv[request->n++] = argv[i];
  }
  if (request->out == NULL) return sl_fail(SL_ERR_INPUT, "--out: is missing; expected the profile to write");
  if (request->n == 0) return sl_fail(SL_ERR_INPUT, "expected files of points, as shardlab calibrate writes them");
  struct stat info;
  if (request->report != NULL && (stat(request->report, &info) != 0 || !S_ISDIR(info.st_mode)))
    return sl_fail(SL_ERR_INPUT, "--report: %s: is no folder; expected one that exists", request->report);
  return sl_new_file_check("--out", request->out);
}

static enum sl_status read_points(struct sl_points *points, const struct fit_request *request) {
  for (int i = 0; i < request->n; i++) {
    struct sl_json doc;
    SL_TRY(sl_json_load(&doc, request->paths[i]));
    const enum sl_status status = sl_points_read(points, &doc);
    sl_json_free(&doc);
    SL_TRY(status);
  }
  return SL_OK;
}

static const double busy = 0.1; /* a quiet machine repeats a step to within 1 to 3 % */

static enum sl_status fit(int argc, char **argv) {
  static struct sl_fit result; /* too large for the stack */
  struct fit_request request = {0};
  struct sl_points points = {0};
  json_t *profile = NULL;
  enum sl_status status;
  SL_TRY(fit_request(&request, argc, argv));
  SL_GO(read_points(&points, &request));
  SL_GO(sl_fit_points(&result, &points));
  profile = sl_cluster_to_json(&result.profile);
  SL_GO(sl_fit_check(profile, request.out));
  SL_GO(sl_json_save(profile, request.out));
  printf("%s: %d costs of ops from %zu points; ", sl_printable_of(request.out).text, result.profile.op_costs.count,
         points.count);
  if (result.profile.device.run_noise > 0)
    printf("noise of a step of 0.1 s %.1f %%\n", 100 * result.profile.device.run_noise);
  else
    printf("noise from run to run not known of one round, so intervals leave it out (--add rounds)\n");
  if (result.profile.device.run_noise > busy)
    sl_warn("steps of 0.1 s differed by %.0f %% from run to run: others were busy on this machine; calibrate again "
            "when it is quiet",
            100 * result.profile.device.run_noise);
  if (request.report == NULL) goto done;
  status = sl_fit_report(&result, request.report);
  if (status == SL_ERR_ABSENT) { /* the profile is complete; only its plot is missing */
    sl_warn("%s", sl_error_message());
    sl_error_clear();
    status = SL_OK;
  }
done:
  json_decref(profile);
  sl_fit_free(&result);
  sl_points_free(&points);
  return status;
}

/* A word that begins with "--" is not taken for a file. */
static enum sl_status watch(char **paths, int n) {
  for (int i = 0; i < n; i++)
    if (strncmp(paths[i], "--", 2) == 0)
      return sl_fail(SL_ERR_INPUT, "%s: is no option of watch; expected files of csv_monitor", paths[i]);
  return sl_watch(paths, n, stdout);
}

/* Why these words are no command. */
static enum sl_status misused(int argc, char **argv) {
  static const char names[] = "table, plot, watch, goodput, fit or refit";
  static const struct {
    const char *name, *expected;
  } commands[] = {{"table", "'table FOLDER RECORD.json...'"},
                  {"plot", "'plot FOLDER [RECORD.json...]'"},
                  {"watch", "'watch FILE.csv...'"},
                  {"goodput", "'goodput RECORD.json --mtbf-hours H'"},
                  {"fit", "'fit POINTS.json... --out PROFILE.json'"},
                  {"refit", "'refit TABLE.csv... --out FOLDER'"},
                  {"--help", "nothing behind it, or a command before it"},
                  {"-h", "nothing behind it, or a command before it"},
                  {"--version", "nothing behind it"}};
  if (argc < 2) return sl_fail(SL_ERR_INPUT, "no command is given; expected %s; --help says more", names);
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (strcmp(argv[1], commands[i].name) == 0)
      return sl_fail(SL_ERR_INPUT, "%s: words behind it: %d; expected %s", argv[1], argc - 2, commands[i].expected);
  return sl_fail(SL_ERR_INPUT, "'%s' is no command; expected %s; --help says more", argv[1], names);
}

static enum sl_status dispatch(int argc, char **argv) {
  const char *last = argc > 0 ? argv[argc - 1] : ""; /* also after a subcommand */
  if (argc >= 2 && argc <= 3 && (strcmp(last, "--help") == 0 || strcmp(last, "-h") == 0)) {
    fputs(usage, stdout);
    return SL_OK;
  }
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("shardlab-analyze %s\n", SL_VERSION);
    return SL_OK;
  }
  if (argc >= 4 && strcmp(argv[1], "table") == 0) return table(argv[2], argv + 3, argc - 3);
  if (argc >= 3 && strcmp(argv[1], "plot") == 0) return plot(argv[2], argv + 3, argc - 3);
  if (argc >= 3 && strcmp(argv[1], "watch") == 0) return watch(argv + 2, argc - 2);
  if (argc >= 3 && strcmp(argv[1], "goodput") == 0) return sl_goodput_command(argc - 2, argv + 2);
  if (argc >= 3 && strcmp(argv[1], "refit") == 0) return sl_refit_command(argc - 2, argv + 2);
  if (argc >= 3 && strcmp(argv[1], "fit") == 0) return fit(argc - 2, argv + 2);
  return misused(argc, argv);
}

int main(int argc, char **argv) {
  enum sl_status status = sl_standard_begin();
  if (status == SL_OK) status = dispatch(argc, argv);
  if (status == SL_OK) status = sl_standard_flush();
  if (status != SL_OK) fprintf(stderr, "shardlab-analyze: error: %s\n", sl_error_message());
  return sl_exit_code(status);
}
