/* Sweeps; see sweep.h. sweep_axes.c reads which values there are. */
#include "cli/sweep.h"

#include "cli/output.h"
#include "cli/sweep_axes.h"
#include "cli/trial.h"
#include "cli/workers.h"
#include "core/base/csv.h"
#include "core/base/machine.h"
#include "core/base/new_file.h"
#include "core/base/printable.h"
#include "core/base/units.h"

#include <stdlib.h>
#include <string.h>

struct sweep {
  const struct sl_options *options;
  struct sl_axes axes;
  struct sl_workers workers;
  size_t *order; /* (count) combinations in the order of the output; owned */
};

static enum sl_status predict(void *context, size_t i, void *result) {
  const struct sweep *s = context;
  struct sl_options options = *s->options;
  SL_TRY(sl_axes_apply(&s->axes, i, &options));
  return sl_trial_run(result, &options, SL_SETUP_WORKER);
}

static const struct sl_trial *trial_of(const struct sweep *s, size_t i) {
  return sl_workers_result(&s->workers, i);
}

static bool is_plan(const struct sweep *s, size_t i) {
  return sl_workers_error(&s->workers, i)[0] == '\0';
}

/* 0: fits, 1: does not fit, 2: has no plan. */
static int rank_of(const struct sweep *s, size_t i) {
  return !is_plan(s, i) ? 2 : sl_trial_fits(trial_of(s, i)) ? 0 : 1;
}

/* Whether `a` comes before `b`; equal ones keep the order of the axes. */
static bool before(const struct sweep *s, size_t a, size_t b) {
  const int x = rank_of(s, a), y = rank_of(s, b);
  if (x != y) return x < y;
  const double p = trial_of(s, a)->tokens_per_s, q = trial_of(s, b)->tokens_per_s;
  return p != q ? p > q : a < b;
}

/* The sweep for qsort's comparison function, which has no context argument. */
static const struct sweep *sorted;

static int compare(const void *a, const void *b) {
  const size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return x == y ? 0 : before(sorted, x, y) ? -1 : 1;
}

static enum sl_status sort(struct sweep *s) {
  SL_TRY(sl_calloc(&s->order, s->workers.count, sizeof *s->order));
  for (size_t i = 0; i < s->workers.count; i++) s->order[i] = i;
  sorted = s;
  qsort(s->order, s->workers.count, sizeof *s->order, compare);
  return SL_OK;
}

/* ---- output ---- */

static void put_csv(FILE *out, const struct sweep *s) {
  for (int a = 0; a < s->axes.count; a++) fprintf(out, "%s,", s->axes.axis[a].flag);
  fprintf(out, "fits,tokens_per_s,step_time_s,need_bytes,limit_bytes,error\n");
  for (size_t k = 0; k < s->workers.count; k++) {
    const size_t i = s->order[k];
    const struct sl_trial *t = trial_of(s, i);
    const struct sl_space_fit *device = &t->prediction.spaces.space[SL_SPACE_DEVICE];
    for (int a = 0; a < s->axes.count; a++) {
      sl_csv_put(out, sl_axes_value(&s->axes, a, i));
      fputc(',', out);
    }
    if (is_plan(s, i)) {
      fprintf(out, "%d,%.9g,%.9g,%lld,%lld,\n", sl_trial_fits(t), t->tokens_per_s, t->prediction.step_s,
              (long long)device->need_bytes, (long long)device->limit_bytes);
      continue;
    }
    fprintf(out, ",,,,,");
    sl_csv_put(out, sl_workers_error(&s->workers, i));
    fputc('\n', out);
  }
}

static json_t *row_json(const struct sweep *s, size_t i) {
  const struct sl_trial *t = trial_of(s, i);
  json_t *row = json_object(), *values = json_object();
  for (int a = 0; a < s->axes.count; a++)
    json_object_set_new(values, s->axes.axis[a].flag, json_string(sl_axes_value(&s->axes, a, i)));
  json_object_set_new(row, "values", values);
  if (!is_plan(s, i)) {
    json_object_set_new(row, "error", json_string(sl_workers_error(&s->workers, i)));
    return row;
  }
  json_object_set_new(row, "fits", json_boolean(sl_trial_fits(t)));
  json_object_set_new(row, "tokens_per_s", json_real(t->tokens_per_s));
  json_object_set_new(row, "step_time_s", json_real(t->prediction.step_s));
  json_object_set_new(row, "need_bytes", json_integer(sl_trial_need(t)));
  return row;
}

static json_t *sweep_json(const struct sweep *s) {
  json_t *rows = json_array();
  for (size_t k = 0; k < s->workers.count; k++) json_array_append_new(rows, row_json(s, s->order[k]));
  return json_pack("{s:s, s:o}", "kind", "sweep", "rows", rows);
}

static void tell_row(const struct sweep *s, size_t i, FILE *out) {
  const struct sl_trial *t = trial_of(s, i);
  char rate[32], time[32], need[32];
  sl_format_count(rate, sizeof rate, t->tokens_per_s);
  sl_format_seconds(time, sizeof time, t->prediction.step_s);
  sl_format_bytes(need, sizeof need, (double)sl_trial_need(t));
  for (int a = 0; a < s->axes.count; a++)
    fprintf(out, "  %*s", s->axes.axis[a].width, sl_printable_of(sl_axes_value(&s->axes, a, i)).text);
  fprintf(out, "  %10s  %10s  %10s  %s\n", rate, time, need, sl_trial_fits(t) ? "fits" : "does not fit");
}

static void tell(const struct sweep *s, FILE *out) {
  size_t counts[3] = {0};
  for (size_t i = 0; i < s->workers.count; i++) counts[rank_of(s, i)]++;
  for (int a = 0; a < s->axes.count; a++) fprintf(out, "  %*s", s->axes.axis[a].width, s->axes.axis[a].flag);
  fprintf(out, "  %10s  %10s  %10s\n", "tokens/s", "step", "device");
  for (size_t k = 0; k < counts[0] + counts[1]; k++) tell_row(s, s->order[k], out);
  fprintf(out, "%zu combinations in %.1f s: %zu fit, %zu do not, %zu are no plan", s->workers.count,
          sl_workers_seconds(&s->workers), counts[0], counts[1], counts[2]);
  if (counts[2] > 0)
    fprintf(out, " (%s)", sl_printable_of(sl_workers_error(&s->workers, s->order[counts[0] + counts[1]])).text);
  fprintf(out, "\n");
}

static enum sl_status write_csv(const struct sweep *s) {
  struct sl_new_file file;
  if (s->options->out == NULL) return SL_OK;
  SL_TRY(sl_new_file_open(&file, s->options->out));
  put_csv(file.stream, s);
  return sl_new_file_finish(&file);
}

/* If no combination has a plan, the request is wrong: the reason of the first is that of all, or of as good as any. */
static enum sl_status check_plans(const struct sweep *s) {
  for (size_t i = 0; i < s->workers.count; i++)
    if (is_plan(s, i)) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "--sweep: none of %zu combinations is a plan: %s", s->workers.count,
                 sl_workers_error(&s->workers, 0));
}

static enum sl_status put(const struct sweep *s) {
  SL_TRY(write_csv(s));
  if (!s->options->quiet) tell(s, sl_output_text(s->options));
  return s->options->json != NULL ? sl_output_json(s->options, sweep_json(s)) : SL_OK;
}

/* Refuses flags that are for a single prediction. */
static enum sl_status check_flags(const struct sl_options *options) {
  static const char *const others[] = {"trace",       "table",    "max-micro-batch", "min-world", "max-seq",
                                       "require-fit", "per-rank", "steps",           "runs",      "save-every"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (sl_options_given(options, others[i]))
      return sl_fail(SL_ERR_INPUT, "--%s: is of one prediction; expected it without --sweep", others[i]);
  return SL_OK;
}

enum sl_status sl_sweep(const struct sl_options *options) {
  struct sweep s = {.options = options};
  enum sl_status status;
  SL_GO(check_flags(options));
  SL_GO(sl_axes_read(&s.axes, options));
  s.workers = (struct sl_workers){.run = predict,
                                  .context = &s,
                                  .count = (size_t)s.axes.combinations,
                                  .result_bytes = sizeof(struct sl_trial),
                                  .jobs = options->jobs > 0 ? (int)options->jobs : sl_machine_cores()};
  SL_GO(sl_workers_run(&s.workers, !options->quiet && sl_output_terminal(stderr)));
  SL_GO(check_plans(&s));
  SL_GO(sort(&s));
  SL_GO(put(&s));
done:
  sl_workers_close(&s.workers);
  free(s.order);
  sl_axes_free(&s.axes);
  return status;
}
