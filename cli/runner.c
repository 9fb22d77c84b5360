/* Runs a job with its timeline and trace, and writes the record; see runner.h. */
#include "cli/runner.h"

#include "cli/assume.h"
#include "cli/output.h"
#include "core/base/machine.h"
#include "core/base/units.h"
#include "core/record/environment.h"
#include "core/record/record.h"
#include "core/run/timeline.h"
#include "core/run/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct observer {
  const struct sl_run *run;
  const struct sl_runner *runner;
  struct sl_timeline timeline;
  struct sl_trace trace;
};

static void observe(void *context, int local, int64_t step, const struct sl_program *program,
                    const struct sl_completion *done) {
  struct observer *observer = context;
  sl_timeline_add(&observer->timeline, local, step, program, done);
  sl_trace_add(&observer->trace, observer->run, local, step, program, done);
  if (observer->runner->watch != NULL && local == 0)
    observer->runner->watch(observer->runner->watch_context, step, program, done);
}

/* For runs whose ops nobody observes one by one. */
static void observe_many(void *context, int local, int64_t step, const struct sl_program *program,
                         const struct sl_stretch *stretches, uint32_t count) {
  sl_timeline_add_many(&((struct observer *)context)->timeline, local, step, program, stretches, count);
}

static void forget(void *context) {
  sl_timeline_forget(&((struct observer *)context)->timeline);
}

/* The timeline has room for all ranks, to which threads add at once. */
static enum sl_status opened(void *context, const struct sl_run *run) {
  return sl_timeline_room(&((struct observer *)context)->timeline, run->local_count);
}

/* The devices of the measurement, if the backend has devices of its own. */
static void put_devices(json_t *environment, const struct sl_exec_ops *exec) {
  struct sl_exec_devices d;
  if (exec->probe == NULL || exec->probe(&d) != SL_OK) return;
  json_object_set_new(environment, "devices",
                      json_pack("{s:i, s:s, s:I, s:s}", "count", d.count, "name", d.name, "memory_bytes",
                                (json_int_t)d.memory_bytes, "software", d.software));
}

static enum sl_status make_record(const struct sl_runner *runner, const struct observer *observer, json_t **record) {
  char *command = sl_output_command(runner->options);
  json_t *options = sl_options_dump(runner->options, runner->command);
  json_t *environment = sl_environment_json(observer->run->options.threads);
  put_devices(environment, runner->exec);
  const char *launches = observer->run->reports[0].launches;
  if (launches != NULL) json_object_set_new(environment, "launches", json_string(launches));
  if (runner->exec->measures) json_object_set_new(environment, "load_average", json_real(sl_machine_load()));
  const struct sl_record_input input = {.run = observer->run,
                                        .timeline = &observer->timeline,
                                        .functional = observer->run->reports[0].functional,
                                        .per_rank = runner->options->per_rank,
                                        .command = command != NULL ? command : "",
                                        .options = options,
                                        .environment = environment};
  const enum sl_status status = sl_record_build(&input, record);
  json_decref(options);
  json_decref(environment);
  free(command);
  if (status != SL_OK) return status;
  if (runner->training != NULL) return sl_training_put(runner->training, observer->run, *record);
  return sl_training_predict(runner->options, observer->run->job, *record);
}

/* Steps repeat exactly, so a prediction of one step simulates one. With 1-bit Adam it simulates one of each kind,
 * unless the measurement next to it has no compressed steps. */
static void take_both_kinds(struct sl_run *run, const struct sl_options *o) {
  const struct sl_config *config = run->job->plan->config;
  const int64_t freeze = config->optimizer.freeze_step;
  if (run->exec->measures || !sl_program_compresses(config) || o->steps > 1) return;
  if (o->measured_steps > 0 && o->measured_steps <= freeze) return;
  run->options.first_step = freeze - 1;
  run->steps = 2;
}

static void prepare(struct sl_run *run, const struct sl_runner *runner, const struct sl_run_hooks *hooks) {
  if (runner->training != NULL) {
    sl_training_prepare(runner->training, run);
    return;
  }
  run->hooks = hooks;
  run->observe_threads = run->job->threads;
}

enum sl_status sl_runner_run(const struct sl_runner *runner, json_t **record) {
  const struct sl_options *o = runner->options;
  struct observer observer = {.runner = runner};
  const struct sl_run_hooks hooks = {.context = &observer, .opened = opened};
  struct sl_run run = {.exec = runner->exec,
                       .job = &runner->setup->job,
                       .steps = o->steps,
                       .observe = observe,
                       .observe_many = runner->trace == NULL && runner->watch == NULL ? observe_many : NULL,
                       .observe_context = &observer,
                       .forget = runner->trace == NULL ? forget : NULL, /* a trace needs completions in order of time */
                       .progress = runner->progress,
                       .eval_iters = o->eval_batches,
                       .evaluated = runner->evaluated,
                       .progress_context = runner->progress_context,
                       .options = {.threads = (int)o->threads,
                                   .text = {o->tokenizer, o->text_field, o->eod_token},
                                   .data = o->data,
                                   .val_data = o->val_data,
                                   .val_split = o->val_split,
                                   .split = o->split,
                                   .init = o->init,
                                   .save = o->save,
                                   .save_grads = o->save_grads,
                                   .detect_anomaly = o->detect_anomaly,
                                   .poison = o->poison,
                                   .fold = !o->no_fold,
                                   .alone = o->of_world > 0,
                                   .alone_rank = (int)o->as_rank,
                                   .runs = o->runs,
                                   .timed_from = runner->trace != NULL || runner->watch != NULL
                                                     ? 0
                                                     : o->steps - 1, /* the breakdown is of the last step */
                                   .fail_rank = -1,
                                   .fail_step = -1}};
  enum sl_status status;
  struct sl_straggler stragglers[SL_MAX_STRAGGLERS];
  *record = NULL;
  observer.run = &run;
  prepare(&run, runner, &hooks);
  take_both_kinds(&run, o);
  run.never_evaluates = o->measured_steps > 0 && o->measured_steps < runner->setup->config.sl.eval_interval;
  SL_TRY(sl_assume_read(&run.options.assume, stragglers, o, &runner->setup->config));
  if (runner->trace != NULL)
    SL_GO(sl_trace_open(&observer.trace, runner->trace, run.job, runner->exec->measures, runner->process,
                        runner->processes));
  SL_GO(sl_run_execute(&run));
  SL_GO(make_record(runner, &observer, record));
  SL_GO(sl_trace_close(&observer.trace, &run));
done:
  if (status != SL_OK) {
    json_decref(*record);
    *record = NULL;
  }
  sl_trace_discard(&observer.trace);
  sl_run_close(&run);
  sl_timeline_free(&observer.timeline);
  return status;
}

static void print_category(const json_t *by_category, FILE *out) {
  const char *key;
  json_t *value;
  const char *separator = "";
  json_object_foreach((json_t *)by_category, key, value) {
    char text[32];
    if (json_integer_value(value) == 0) continue;
    sl_format_bytes(text, sizeof text, (double)json_integer_value(value));
    fprintf(out, "%s%s %s", separator, key, text);
    separator = ", ";
  }
}

static void print_traffic(const json_t *traffic, FILE *out) {
  json_t *row;
  size_t i;
  json_array_foreach(traffic, i, row) {
    char bytes[32];
    sl_format_bytes(bytes, sizeof bytes, (double)json_integer_value(json_object_get(row, "bytes")));
    const bool twins = sl_record_traffic_twins(traffic, row);
    const char *by = json_string_value(json_object_get(row, "algorithms"));
    const char *kind = json_string_value(json_object_get(row, "step"));
    const bool evaluates = kind != NULL && strcmp(kind, "evaluation") == 0;
    fprintf(out, "  traffic    %s %s of %s%s%s: %lld calls, %s %s%s%s%s%s\n",
            json_string_value(json_object_get(row, "group")), json_string_value(json_object_get(row, "op")),
            json_string_value(json_object_get(row, "payload")), twins ? " in " : "",
            twins ? json_string_value(json_object_get(row, "dtype")) : "",
            (long long)json_integer_value(json_object_get(row, "calls")), bytes,
            evaluates ? "a batch of an evaluation" : "a ", evaluates || kind == NULL ? "" : kind,
            evaluates      ? ""
            : kind != NULL ? " step"
                           : "step",
            by != NULL ? ", by " : "", by != NULL ? by : "");
  }
}

/* Prints one memory space of the worst rank; nothing for an unused space. */
static void print_space(const json_t *record, const char *space, const char *label, FILE *out) {
  const json_t *memory = json_object_get(json_object_get(record, "memory"), space);
  const double bytes = (double)json_integer_value(json_object_get(memory, "peak_bytes"));
  char peak[32];
  if (bytes == 0) return;
  sl_format_bytes(peak, sizeof peak, bytes);
  fprintf(out, "  %-10s %s a rank at the peak, in %s: ", label, peak,
          json_string_value(json_object_get(memory, "peak_phase")));
  print_category(json_object_get(memory, "by_category"), out);
  fprintf(out, "\n");
}

/* Prints the interval that a calibrated profile gives. */
static void print_interval(const json_t *record, FILE *out) {
  const json_t *low = json_object_get(record, "step_time_low_s"), *high = json_object_get(record, "step_time_high_s");
  char from[32], to[32];
  if (low == NULL || high == NULL || strcmp(json_string_value(json_object_get(record, "kind")), "predicted") != 0)
    return;
  sl_format_seconds(from, sizeof from, json_real_value(low));
  sl_format_seconds(to, sizeof to, json_real_value(high));
  fprintf(out, " (%s90 %% interval %s to %s)",
          json_is_false(json_object_get(record, "step_time_calibrated")) ? "not calibrated; " : "", from, to);
}

static void print_lost(const json_t *losses, long long taken, FILE *out) {
  size_t first = 0, lost = 0;
  for (size_t i = 0; i < json_array_size(losses); i++)
    if (isnan(sl_record_loss(losses, i)) && lost++ == 0) first = i;
  if (lost > 0)
    fprintf(out, "  no number  the loss of %zu steps, of step %lld first\n", lost, taken + (long long)first + 1);
}

static void print_checkpoint(const json_t *checkpoint, FILE *out) {
  char all[32], rank[32], wait[32];
  if (checkpoint == NULL) return;
  sl_format_bytes(all, sizeof all, (double)json_integer_value(json_object_get(checkpoint, "bytes")));
  sl_format_bytes(rank, sizeof rank, (double)json_integer_value(json_object_get(checkpoint, "rank_bytes")));
  sl_format_seconds(wait, sizeof wait, json_number_value(json_object_get(checkpoint, "wait_s")));
  fprintf(out, "  checkpoint %s, of which a rank writes %s at most; steps wait %s for one\n", all, rank, wait);
}

/* Prints at which steps the model was evaluated, and the losses. */
static void print_evaluations(const json_t *record, FILE *out) {
  const json_t *losses = json_object_get(record, "evaluation_losses"),
               *steps = json_object_get(record, "evaluation_steps");
  const json_t *time_s = json_object_get(record, "evaluation_time_s");
  const size_t n = json_array_size(losses);
  char time[32];
  if (time_s == NULL) return;
  sl_format_seconds(time, sizeof time, json_real_value(time_s));
  const long long batches = (long long)json_integer_value(json_object_get(record, "evaluation_batches"));
  fprintf(out, "  validation %lld batch%s in %s", batches, batches == 1 ? "" : "es", time);
  for (size_t i = 0; i < n; i += i + 1 < n ? n - 1 : 1) /* the first and the last */
    fprintf(out, ", %s%.4f at step %lld", i == 0 ? "loss " : "", sl_record_loss(losses, i),
            (long long)json_integer_value(json_array_get(steps, i)));
  fprintf(out, "\n");
}

static void print_kinds(const json_t *record, FILE *out) {
  char warmup[32], compressed[32];
  const json_t *a = json_object_get(record, "warmup_step_time_s"),
               *b = json_object_get(record, "compressed_step_time_s");
  sl_format_seconds(warmup, sizeof warmup, json_real_value(a));
  sl_format_seconds(compressed, sizeof compressed, json_real_value(b));
  if (a != NULL && b != NULL) fprintf(out, "  steps      %s up to freeze_step, %s behind it\n", warmup, compressed);
}

/* The share of the 16-bit peak, or of which other one: fp8 halves the share where it leaves the time as it is. */
static void print_mfu(const json_t *record, FILE *out) {
  const json_t *mfu = json_object_get(record, "mfu");
  const char *peak = json_string_value(json_object_get(record, "mfu_peak"));
  if (mfu == NULL) return;
  fprintf(out, ", mfu %.1f %%", 100 * json_real_value(mfu));
  if (peak != NULL && strcmp(peak, "bf16") != 0 && strcmp(peak, "fp16") != 0) fprintf(out, " of the %s peak", peak);
}

void sl_runner_summary(const json_t *record, FILE *out) {
  const json_t *plan = json_object_get(record, "plan"), *losses = json_object_get(record, "losses");
  char time[32], rate[32];
  sl_format_seconds(time, sizeof time, json_real_value(json_object_get(record, "step_time_s")));
  sl_format_count(rate, sizeof rate, json_real_value(json_object_get(record, "tokens_per_s")));
  const char *kind = json_string_value(json_object_get(record, "kind"));
  fprintf(out, "%s: world %lld, ZeRO-%lld", kind, (long long)json_integer_value(json_object_get(plan, "world")),
          (long long)json_integer_value(json_object_get(plan, "zero_stage")));
  const char *order = json_string_value(json_object_get(plan, "rank_order"));
  const bool usual = order == NULL || strcmp(order, "tp-dp-pp") == 0;
  fprintf(out, "%s%s\n", usual ? "" : ", ranks in the order ", usual ? "" : order);
  fprintf(out, "  step       %s", time);
  print_interval(record, out);
  fprintf(out, ", %s tokens/s", rate);
  print_mfu(record, out);
  const json_t *load = json_object_get(json_object_get(record, "environment"), "load_average");
  if (load != NULL) fprintf(out, ", load average %.2f", json_real_value(load));
  if (json_is_true(json_object_get(record, "functional")))
    fprintf(out, " (ranks share cores or a GPU: no measure of speed)");
  fprintf(out, "\n");
  print_kinds(record, out);
  print_space(record, "device", "memory", out);
  print_space(record, "host", "host", out);
  print_space(record, "nvme", "nvme", out);
  print_traffic(json_object_get(record, "traffic"), out);
  print_checkpoint(json_object_get(record, "checkpoint"), out);
  const size_t n = json_array_size(losses);
  /* steps before this run */
  const long long taken = (long long)json_integer_value(json_object_get(record, "first_step"));
  if (n > 0) fprintf(out, "  loss       %.4f at step %lld", sl_record_loss(losses, 0), taken + 1);
  if (n > 1) fprintf(out, ", %.4f at step %lld", sl_record_loss(losses, n - 1), taken + (long long)n);
  if (n > 0) fputc('\n', out);
  print_lost(losses, taken, out);
  print_evaluations(record, out);
  const long long skipped = json_integer_value(json_object_get(record, "skipped_steps"));
  if (skipped > 0) fprintf(out, "  skipped    %lld of %zu steps, whose gradients overflowed\n", skipped, n);
}
