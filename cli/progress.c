/* Lines and monitors of a run; see progress.h. */
#include "cli/progress.h"

#include "cli/output.h"
#include "cli/recovered.h"
#include "core/base/checked.h"
#include "core/base/units.h"
#include "core/record/record.h"

#include <stdlib.h>
#include <string.h>

const char *const sl_progress_terminal = "SHARDLAB_TERMINAL";

static const char clear_line[] = "\r\033[K";

enum sl_status sl_progress_open(struct sl_progress *p, const struct sl_options *options, const struct sl_setup *setup,
                                int64_t epoch_steps, const struct sl_step_state *from) {
  const struct sl_config *config = &setup->config;
  const struct sl_plan *plan = &setup->plan;
  const struct sl_monitor_place csv = {config->csv_monitor.enabled, config->csv_monitor.output_path,
                                       config->csv_monitor.job_name},
                                tensorboard = {config->tensorboard.enabled, config->tensorboard.output_path,
                                               config->tensorboard.job_name};
  *p = (struct sl_progress){.setup = setup,
                            .steps = options->steps,
                            .flops_per_s = sl_record_peak_flops(plan),
                            .flops = sl_model_flops(plan->model, plan->global_batch * plan->seq, plan->seq),
                            .live = !options->quiet && getenv(sl_progress_terminal) != NULL,
                            .epoch_steps = epoch_steps,
                            .applied = from != NULL ? from->good_steps : 0,
                            .out = options->quiet ? NULL : sl_output_text(options)};
  SL_TRY(sl_flops_open(&p->profile, setup, true));
  SL_TRY(sl_monitor_open(&p->monitor, &csv, &tensorboard));
  const bool restarted = options->recovered != NULL && options->recovered->restarts > 0;
  const int64_t after = from != NULL ? sl_product(from->step, plan->global_batch) : 0;
  if (restarted) sl_monitor_go_on(p->monitor, after);
  if (restarted || from != NULL) SL_TRY(sl_monitor_purge(p->monitor, after));
  return SL_OK;
}

/* ---- text ---- */

/* "step 3 of 20, loss 4.8123, 6.1k tokens/s, mfu 13.9 %, 1.2 s left" */
static void describe(const struct sl_progress *p, int64_t step, const struct sl_step_result *r, char *out,
                     size_t size) {
  char left[32], rate[32], mfu[32] = "";
  const struct sl_plan *plan = &p->setup->plan;
  const int64_t taken = step - p->first;
  const double per_step = taken > 0 ? (r->end_s - p->first_s) / (double)taken : r->end_s - r->start_s;
  const double tokens = (double)plan->global_batch * (double)plan->seq;
  sl_format_seconds(left, sizeof left, per_step * (double)(p->steps - step - 1));
  sl_format_count(rate, sizeof rate, per_step > 0 ? tokens / per_step : 0);
  if (per_step > 0 && p->flops_per_s > 0)
    snprintf(mfu, sizeof mfu, ", mfu %.1f %%", 100 * p->flops / per_step / p->flops_per_s);
  snprintf(out, size, "step %lld of %lld, loss %.4f, %s tokens/s%s, %s left", (long long)step + 1, (long long)p->steps,
           r->loss, rate, mfu, left);
}

static void show_live(const char *text, bool last) {
  fprintf(stderr, "%s%s", clear_line, text);
  if (last) fputs(clear_line, stderr);
  fflush(stderr);
}

/* Prints a line of text; overwrites the live line if there is one. */
static void say(const struct sl_progress *p, const char *text) {
  if (p->out == NULL) return;
  if (p->live) fputs(clear_line, stderr), fflush(stderr);
  fprintf(p->out, "%s\n", text);
  fflush(p->out);
}

static void show_epoch(struct sl_progress *p, int64_t step, const struct sl_step_result *r) {
  char text[128];
  p->epoch_loss += r->loss;
  if ((step + 1) % p->epoch_steps != 0) return;
  snprintf(text, sizeof text, "epoch %lld of %lld: mean loss %.6f", (long long)((step + 1) / p->epoch_steps),
           (long long)(p->steps / p->epoch_steps), p->epoch_loss / (double)p->epoch_steps);
  say(p, text);
  p->epoch_loss = 0;
}

/* ---- monitors ---- */

static enum sl_status write_phases(struct sl_progress *p, int64_t samples) {
  const struct sl_phase_times t = sl_phases_times(&p->phases);
  SL_TRY(sl_monitor_write(p->monitor, "Train/Samples/elapsed_time_ms_forward", 1e3 * t.forward_s, samples));
  SL_TRY(sl_monitor_write(p->monitor, "Train/Samples/elapsed_time_ms_backward", 1e3 * t.backward_s, samples));
  SL_TRY(
      sl_monitor_write(p->monitor, "Train/Samples/elapsed_time_ms_backward_inner", 1e3 * t.backward_inner_s, samples));
  SL_TRY(sl_monitor_write(p->monitor, "Train/Samples/elapsed_time_ms_backward_allreduce", 1e3 * t.backward_reduce_s,
                          samples));
  return sl_monitor_write(p->monitor, "Train/Samples/elapsed_time_ms_step", 1e3 * t.step_s, samples);
}

static enum sl_status write_events(struct sl_progress *p, int64_t step, const struct sl_step_result *r) {
  const struct sl_config *config = &p->setup->config;
  const int64_t samples = (step + 1) * p->setup->plan.global_batch;
  if (r->has_loss) SL_TRY(sl_monitor_write(p->monitor, "Train/Samples/train_loss", r->loss, samples));
  SL_TRY(sl_monitor_write(p->monitor, "Train/Samples/lr", sl_config_lr(config, p->applied), samples));
  if (config->fp16.enabled || config->autocast_dtype == SL_F16)
    SL_TRY(sl_monitor_write(p->monitor, "Train/Samples/loss_scale", r->loss_scale, samples));
  if (config->wall_clock_breakdown) SL_TRY(write_phases(p, samples));
  return sl_monitor_flush(p->monitor);
}

/* ---- ops ---- */

bool sl_progress_watches(const struct sl_progress *p) {
  const struct sl_config *config = &p->setup->config;
  return config->wall_clock_breakdown || config->comms_logger.enabled || config->flops_profiler.enabled;
}

/* DeepSpeed's names of calls begin with ours: all_gather_into_tensor, reduce_scatter_tensor, all_to_all_single. */
static bool is_logged(const struct sl_config *config, enum sl_op_kind kind) {
  const char *op = sl_op_name(kind);
  bool named = config->comms_logger.prof_all;
  if (named) return true;
  json_t *names = json_loads(config->comms_logger.prof_ops, 0, NULL), *name;
  size_t i;
  json_array_foreach(names, i, name) {
    const char *text = json_string_value(name);
    named |= text != NULL && strncmp(text, op, strlen(op)) == 0;
  }
  json_decref(names);
  return named;
}

void sl_progress_op(void *context, int64_t step, const struct sl_program *program, const struct sl_completion *done) {
  struct sl_progress *p = context;
  const struct sl_config *config = &p->setup->config;
  if (config->wall_clock_breakdown) sl_phases_add(&p->phases, step, program, done);
  sl_flops_add(&p->profile, step, program, done);
  const enum sl_op_kind kind = sl_issue_op(program, done->index)->kind;
  if (config->comms_logger.enabled && sl_op_is_comm(kind) && is_logged(config, kind))
    sl_comm_log_add(&p->comms, &p->setup->plan, 0, program, done, config->comms_logger.verbose ? p->out : NULL);
}

static void say_phases(const struct sl_progress *p) {
  const struct sl_phase_times t = sl_phases_times(&p->phases);
  char text[160];
  snprintf(text, sizeof text, "time (ms) | fwd: %.2f | bwd: %.2f | bwd_inner: %.2f | bwd_allreduce: %.2f | step: %.2f",
           1e3 * t.forward_s, 1e3 * t.backward_s, 1e3 * t.backward_inner_s, 1e3 * t.backward_reduce_s, 1e3 * t.step_s);
  say(p, text);
}

enum sl_status sl_progress_end(struct sl_progress *p, json_t *record) {
  SL_TRY(sl_flops_put(&p->profile, record));
  SL_TRY(sl_flops_tell(&p->setup->config, record, p->out));
  if (p->setup->config.comms_logger.enabled && p->out != NULL) sl_comm_log_print(&p->comms, p->out);
  return SL_OK;
}

void sl_progress_step(void *context, int64_t step, const struct sl_step_result *r) {
  struct sl_progress *p = context;
  const int64_t every = p->setup->config.steps_per_print;
  char text[160], line[256];
  if (p->first_s == 0) p->first_s = r->end_s, p->first = step;
  p->applied += !r->skipped;
  if (p->monitor != NULL && p->status == SL_OK) p->status = write_events(p, step, r);
  if (p->epoch_steps > 0) show_epoch(p, step, r);
  if (p->setup->config.wall_clock_breakdown) {
    const struct sl_phase_times times = sl_phases_times(&p->phases);
    sl_flops_time(&p->profile, step, &times);
    say_phases(p);
  }
  describe(p, step, r, text, sizeof text);
  if (every > 0 && (step + 1) % every == 0) {
    snprintf(line, sizeof line, "%s, lr %g, skipped %lld", text, r->lr, (long long)(step + 1 - p->applied));
    say(p, line);
  }
  if (p->live) show_live(text, step + 1 == p->steps);
}

static enum sl_status write_evaluation(struct sl_progress *p, const struct sl_eval_result *e) {
  const int64_t samples = sl_product(e->step, p->setup->plan.global_batch);
  SL_TRY(sl_monitor_write(p->monitor, "Validation/Samples/val_loss", e->loss, samples));
  return sl_monitor_flush(p->monitor);
}

void sl_progress_evaluated(void *context, const struct sl_eval_result *e) {
  struct sl_progress *p = context;
  char text[160], time[32];
  if (!e->has_loss) return;
  if (p->monitor != NULL && p->status == SL_OK) p->status = write_evaluation(p, e);
  sl_format_seconds(time, sizeof time, e->time_s);
  snprintf(text, sizeof text, "step %lld of %lld, validation loss %.4f, %s", (long long)e->step, (long long)p->steps,
           e->loss, time);
  say(p, text);
}

enum sl_status sl_progress_close(struct sl_progress *p) {
  sl_monitor_close(p->monitor);
  p->monitor = NULL;
  sl_phases_free(&p->phases);
  sl_comm_log_free(&p->comms);
  sl_flops_close(&p->profile);
  return p->status;
}
