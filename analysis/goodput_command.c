/* See goodput_command.h. Options supply what the record lacks. */
#include "analysis/goodput_command.h"

#include "analysis/goodput.h"
#include "analysis/plot.h"
#include "analysis/rows.h"
#include "core/base/json.h"
#include "core/base/new_file.h"
#include "core/base/units.h"
#include "core/base/was_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double noticed_s = 60; /* SHARDLAB_TIMEOUT_S's default, if nothing else is known about restarts */
static const double shortest_step_s = 1e-9, longest_step_s = 1e9; /* beyond, intervals would not be finite */
enum { OCTAVES = 4, MOST_ROWS = 2 * OCTAVES + 2 };

struct request {
  const char *record, *out, *json;
  double mtbf_hours, node_mtbf_hours, interval, restart_s, save_s, write_s, shape, runs, saves,
      seed; /* NaN: not given */
};

struct row {
  int64_t steps;
  double interval_s, first_order, daly;
  struct sl_goodput_drawn drawn;
};

struct result {
  struct sl_goodput_model model;
  double step_s;
  int64_t best_steps;
  struct row rows[MOST_ROWS];
  int count;
};

/* ---- the request ---- */

static const struct number_option {
  const char *name;
  size_t offset;
  double low, high;
  bool whole;
} numbers[] = {{"--mtbf-hours", offsetof(struct request, mtbf_hours), 1e-6, 1e9, false},
               {"--node-mtbf-hours", offsetof(struct request, node_mtbf_hours), 1e-6, 1e9, false},
               {"--interval", offsetof(struct request, interval), 1, 1e9, true},
               {"--restart-s", offsetof(struct request, restart_s), 0, 1e7, false},
               {"--save-s", offsetof(struct request, save_s), 0, 1e7, false},
               {"--write-s", offsetof(struct request, write_s), 0, 1e7, false},
               {"--shape", offsetof(struct request, shape), 0.2, 10, false},
               {"--runs", offsetof(struct request, runs), 2, 1e6, true},
               {"--saves", offsetof(struct request, saves), 1, 1e6, true},
               {"--seed", offsetof(struct request, seed), 0, 4294967295.0, true}};

static enum sl_status read_number(struct request *r, const char *name, const char *text) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    char *end;
    if (strcmp(name, numbers[i].name) != 0) continue;
    const double value = strtod(text, &end);
    if (numbers[i].whole && (end == text || *end != '\0' || value != floor(value)))
      return sl_fail(SL_ERR_INPUT, "%s: is '%s'; expected an integer", name, text);
    if (end == text || *end != '\0' || !(value >= numbers[i].low && value <= numbers[i].high))
      return sl_fail(SL_ERR_INPUT, "%s: is '%s'; expected a number from %.10g to %.10g", name, text, numbers[i].low,
                     numbers[i].high);
    *(double *)((char *)r + numbers[i].offset) = value;
    return SL_OK;
  }
  return sl_fail(SL_ERR_INPUT, "%s: is no option of goodput; --help lists them", name);
}

static enum sl_status read_request(struct request *r, int argc, char **argv) {
  struct stat info;
  *r = (struct request){.shape = 1, .runs = 400, .saves = 50, .seed = 1};
  r->mtbf_hours = r->node_mtbf_hours = r->interval = r->restart_s = r->save_s = r->write_s = NAN;
  for (int i = 0; i < argc; i++) {
    const bool named = strncmp(argv[i], "--", 2) == 0;
    if (named && i + 1 == argc) return sl_fail(SL_ERR_INPUT, "%s: expected a value behind it", argv[i]);
    if (!named && r->record != NULL) return sl_fail(SL_ERR_INPUT, "%s: is a second record; expected one", argv[i]);
    if (!named) r->record = argv[i];
    if (!named) continue;
    const char *name = argv[i++];
    if (strcmp(name, "--out") == 0)
      r->out = argv[i];
    else if (strcmp(name, "--json") == 0)
      r->json = argv[i];
    else
      SL_TRY(read_number(r, name, argv[i]));
  }
  if (r->record == NULL) return sl_fail(SL_ERR_INPUT, "goodput: expected a record, of predict or measure");
  if (isnan(r->mtbf_hours) == isnan(r->node_mtbf_hours))
    return sl_fail(SL_ERR_INPUT,
                   "--mtbf-hours: expected hours between failures, of the job, or by --node-mtbf-hours of "
                   "one node; one of the two");
  if (r->out != NULL && (stat(r->out, &info) != 0 || !S_ISDIR(info.st_mode)))
    return sl_fail(SL_ERR_INPUT, "--out: %s: is no folder; expected one that exists", r->out);
  if (r->json == NULL || strcmp(r->json, "-") == 0) return SL_OK;
  return sl_new_file_check("--json", r->json);
}

/* ---- values from the record ---- */

static double or_else(double value, double otherwise) {
  return isnan(value) ? otherwise : value;
}

static double nodes_of(const json_t *record) {
  const double each = or_else(sl_row_number(record, "cluster.devices_per_node"), 1);
  return fmax(1, ceil(sl_row_number(record, "plan.world") / fmax(1, each)));
}

/* The seconds in which a node's disk handles its share of a checkpoint, at the rate `key` of the profile; 0 if that is
 * not known. */
static double disk_s(const json_t *record, const char *key) {
  const double rate = 1e9 * sl_row_number(record, key), bytes = sl_row_number(record, "checkpoint.bytes");
  return rate > 0 && bytes > 0 ? bytes / nodes_of(record) / rate : 0;
}

/* The time of a restart: for a run that was restarted, the mean; otherwise the time to notice the failure, to
 * initialise, and to read the checkpoint twice, once for its checksums, if the disk's rate is known. */
static double restart_of(const json_t *record) {
  const double restarts = sl_row_number(record, "recovery.restarts");
  if (restarts > 0) return sl_row_number(record, "recovery.down_s") / restarts;
  return noticed_s + or_else(sl_row_number(record, "init_time_s"), 0) +
         2 * disk_s(record, "cluster.device.nvme_read_GBps");
}

static double write_of(const json_t *record) {
  return or_else(sl_row_number(record, "checkpoint.write_s"), disk_s(record, "cluster.device.nvme_write_GBps"));
}

static enum sl_status make_model(struct result *out, const struct request *r, const json_t *record) {
  const double wait = or_else(r->save_s, sl_row_number(record, "checkpoint.wait_s"));
  out->step_s = sl_row_number(record, "step_time_s");
  if (isnan(out->step_s))
    return sl_fail(SL_ERR_INPUT, "%s: step_time_s: is no time of a step; expected a record of predict or measure",
                   r->record);
  if (!(out->step_s >= shortest_step_s && out->step_s <= longest_step_s))
    return sl_fail(SL_ERR_INPUT, "%s: step_time_s: is %.4g; expected %g s to %g s", r->record, out->step_s,
                   shortest_step_s, longest_step_s);
  if (!(wait >= 0))
    return sl_fail(SL_ERR_INPUT,
                   "%s: checkpoint: is missing; expected a record of predict --save-every or measure --checkpoint, or "
                   "--save-s",
                   r->record);
  const double hours = isnan(r->mtbf_hours) ? r->node_mtbf_hours / nodes_of(record) : r->mtbf_hours;
  out->model = (struct sl_goodput_model){.mtbf_s = 3600 * hours,
                                         .save_s = wait,
                                         .write_s = or_else(r->write_s, write_of(record)),
                                         .restart_s = or_else(r->restart_s, restart_of(record)),
                                         .shape = r->shape};
  const struct sl_goodput_model *m = &out->model;
  if (m->write_s >= 0 && isfinite(m->write_s) && m->restart_s >= 0 && isfinite(m->restart_s)) return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 "%s: says that a write takes %g s and a restart %g s; expected --write-s and --restart-s", r->record,
                 m->write_s, m->restart_s);
}

/* ---- rows ---- */

static enum sl_status add_row(struct result *out, const struct request *r, int64_t steps) {
  int at = 0;
  while (at < out->count && out->rows[at].steps < steps) at++;
  if (at < out->count && out->rows[at].steps == steps) return SL_OK;
  memmove(&out->rows[at + 1], &out->rows[at], (size_t)(out->count - at) * sizeof *out->rows);
  struct row *row = &out->rows[at];
  out->count++;
  row->steps = steps;
  row->interval_s = (double)steps * out->step_s;
  row->first_order = sl_goodput_first_order(&out->model, row->interval_s);
  row->daly = sl_goodput_daly(&out->model, row->interval_s);
  return sl_goodput_draw(&out->model, row->interval_s, (int)r->saves, (int)r->runs, (uint64_t)r->seed, &row->drawn);
}

static enum sl_status make_rows(struct result *out, const struct request *r) {
  out->best_steps = sl_goodput_best_steps(&out->model, out->step_s);
  for (int octave = -OCTAVES; octave <= OCTAVES; octave++) {
    const double steps = round(ldexp((double)out->best_steps, octave));
    if (steps >= 1 && steps < 1e15) SL_TRY(add_row(out, r, (int64_t)steps));
  }
  return isnan(r->interval) ? SL_OK : add_row(out, r, (int64_t)r->interval);
}

/* ---- output ---- */

static const char *seconds(double value, char *text, size_t size) {
  sl_format_seconds(text, size, value);
  return text;
}

static void print(const struct result *x) {
  char a[32], b[32], c[32], d[32];
  printf("a step %s, a save %s, complete %s later, a restart %s; ", seconds(x->step_s, a, sizeof a),
         seconds(x->model.save_s, b, sizeof b), seconds(x->model.write_s, c, sizeof c),
         seconds(x->model.restart_s, d, sizeof d));
  printf("a failure every %s\n\n", seconds(x->model.mtbf_s, a, sizeof a));
  printf("| steps | interval | first order | Daly | drawn | +- |\n|---|---|---|---|---|---|\n");
  for (int i = 0; i < x->count; i++) {
    const struct row *row = &x->rows[i];
    printf("| %lld%s | %s | %.4f | %.4f |", (long long)row->steps, row->steps == x->best_steps ? " (best)" : "",
           seconds(row->interval_s, a, sizeof a), row->first_order, row->daly);
    if (isnan(row->drawn.mean))
      printf(" - | - |\n");
    else
      printf(" %.4f | %.4f |\n", row->drawn.mean, row->drawn.error);
  }
  printf("\nbest interval: %lld steps, %s; by Young %s, by Daly's estimate %s\n", (long long)x->best_steps,
         seconds((double)x->best_steps * x->step_s, a, sizeof a), seconds(sl_goodput_young_s(&x->model), b, sizeof b),
         seconds(sl_goodput_daly_s(&x->model), c, sizeof c));
  if (x->model.shape != 1)
    printf("(the best for failures of shape 1; for these compare what is drawn, and --interval for others)\n");
}

static enum sl_status write_csv(const struct result *x, const char *folder) {
  struct sl_new_file file;
  char path[4200];
  snprintf(path, sizeof path, "%s/goodput.csv", folder);
  SL_TRY(sl_new_file_open(&file, path));
  fprintf(file.stream, "interval_steps,interval_s,first_order,daly,drawn,drawn_error\n");
  for (int i = 0; i < x->count; i++) {
    const struct row *row = &x->rows[i];
    const double values[] = {row->interval_s, row->first_order, row->daly, row->drawn.mean, row->drawn.error};
    fprintf(file.stream, "%lld", (long long)row->steps);
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) sl_row_put(values[k], file.stream);
    fputc('\n', file.stream);
  }
  return sl_new_file_finish(&file);
}

static const char script[] =
    "set key inside right top\n"
    "set title 'time lost to checkpoints and failures (bars: standard error)'\n"
    "set xlabel 'steps from one checkpoint to the next'\n"
    "set ylabel 'time lost (%)'\n"
    "set logscale x 2\n"
    "set logscale y\n"
    "set offsets graph 0.05, graph 0.05, graph 0.1, graph 0.1\n"
    "lost(name) = 100 * (1 - column(name))\n"
    "draw = \"plot 'goodput.csv' using (column('interval_steps')):(lost('daly')) with lines lw 2 lc rgb blue title "
    "'Daly', \" . \\\n"
    "  \"'goodput.csv' using (column('interval_steps')):(lost('first_order')) with lines lw 2 dt 2 lc rgb orange title "
    "'first order', \" . \\\n"
    "  \"'goodput.csv' using (column('interval_steps')):(lost('drawn')):(100 * column('drawn_error')) with yerrorbars "
    "pt 7 ps 1.2 lc rgb red title 'drawn'\"\n";

static enum sl_status write_folder(const struct result *x, const char *folder) {
  SL_TRY(write_csv(x, folder));
  return sl_plot_draw(folder, "goodput", script, 520);
}

static json_t *number(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

static enum sl_status write_json(const struct result *x, const char *path) {
  const struct sl_goodput_model *m = &x->model;
  json_t *rows = json_array();
  for (int i = 0; i < x->count; i++) {
    const struct row *row = &x->rows[i];
    json_array_append_new(rows,
                          json_pack("{s:I, s:f, s:f, s:f, s:o, s:o}", "steps", (json_int_t)row->steps, "interval_s",
                                    row->interval_s, "first_order", row->first_order, "daly", row->daly, "drawn",
                                    number(row->drawn.mean), "drawn_error", number(row->drawn.error)));
  }
  json_t *root = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "step_s", x->step_s, "mtbf_s", m->mtbf_s, "save_s",
                           m->save_s, "write_s", m->write_s, "restart_s", m->restart_s, "shape", m->shape);
  json_object_set_new(root, "best_steps", json_integer((json_int_t)x->best_steps));
  json_object_set_new(root, "best_s", number(sl_goodput_best_s(m)));
  json_object_set_new(root, "young_s", json_real(sl_goodput_young_s(m)));
  json_object_set_new(root, "daly_s", json_real(sl_goodput_daly_s(m)));
  json_object_set_new(root, "intervals", rows);
  const enum sl_status status = strcmp(path, "-") == 0 ? sl_json_print(root, stdout) : sl_json_save(root, path);
  json_decref(root);
  return status;
}

enum sl_status sl_goodput_command(int argc, char **argv) {
  struct request request;
  struct result result = {0};
  struct sl_json doc;
  SL_TRY(read_request(&request, argc, argv));
  SL_TRY(sl_json_load(&doc, request.record));
  enum sl_status status = make_model(&result, &request, doc.root);
  if (status == SL_OK) status = sl_was_read_check("--json", request.json);
  sl_json_free(&doc);
  SL_TRY(status);
  SL_TRY(make_rows(&result, &request));
  if (request.json == NULL || strcmp(request.json, "-") != 0) print(&result);
  if (request.json != NULL) SL_TRY(write_json(&result, request.json));
  if (request.out == NULL) return SL_OK;
  status = write_folder(&result, request.out);
  if (status != SL_ERR_ABSENT) return status;
  sl_warn("%s", sl_error_message()); /* the table is complete; only its plot is missing */
  sl_error_clear();
  return SL_OK;
}
