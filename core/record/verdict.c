/* Builds the verdict as JSON; see verdict.h. */
#include "core/record/verdict.h"

#include "core/plan/kernels.h"

#include "core/program/memory_report.h"
#include "core/record/part.h"
#include "core/run/fits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A line of text that grows. */
struct line {
  char text[512];
  size_t used;
};

static void say(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct line *line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t left = sizeof line->text - line->used;
  const int n = vsnprintf(line->text + line->used, left, format, arguments);
  va_end(arguments);
  line->used += n > 0 && (size_t)n < left ? (size_t)n : left - 1;
}

/* ---- the request as understood ---- */

static void say_attention(struct line *line, const struct sl_config *config) {
  static const char *const names[] = {[SL_ATTENTION_MATERIALISED] = "materialised attention",
                                      [SL_ATTENTION_FLASH] = "flash",
                                      [SL_ATTENTION_FLASH_1] = "flash 1",
                                      [SL_ATTENTION_FLASH_3] = "flash 3",
                                      [SL_ATTENTION_CUDNN] = "cuDNN attention"};
  say(line, ", %s", names[config->sl.attention]);
}

/* "bf16 with fp8 products (tensorwise)", "fp32 with tf32 products" */
static void say_types(struct line *line, const struct sl_config *config) {
  static const char *const casts[] = {[SL_CASTS_NONE] = "without casts",
                                      [SL_CASTS_SHARDLAB] = "delayed scaling",
                                      [SL_CASTS_TORCHAO] = "tensorwise",
                                      [SL_CASTS_TRANSFORMER_ENGINE] = "delayed scaling",
                                      [SL_CASTS_TRANSFORMER_ENGINE_CACHED] = "delayed scaling"};
  const enum sl_dtype products = sl_config_product_dtype(config);
  const enum sl_fp8_casts by = sl_kernel_set(config->sl.kernels)->fp8_casts;
  const bool by_row = by == SL_CASTS_TORCHAO && config->sl.fp8_recipe == SL_FP8_ROWWISE;
  say(line, ", %s", sl_dtype_name(config->param_dtype));
  if (config->autocast_dtype != SL_F32) say(line, " with autocast to %s", sl_dtype_name(config->autocast_dtype));
  if (products == SL_TF32) say(line, " with tf32 products");
  if (products == SL_F8) say(line, " with fp8 products (%s)", by_row ? "rowwise" : casts[by]);
  if (products == SL_F8 && by == SL_CASTS_TRANSFORMER_ENGINE_CACHED && config->sl.fp8_param_gather)
    say(line, " and parameters");
}

static void say_recompute(struct line *line, const struct sl_config *config) {
  static const char *const names[] = {[SL_RECOMPUTE_NONE] = "no",
                                      [SL_RECOMPUTE_SELECTIVE] = "selective",
                                      [SL_RECOMPUTE_FULL] = "full",
                                      [SL_RECOMPUTE_SELECTIVE_OP] = "selective_op"};
  for (int i = 0; i < config->sl.recompute_count; i++)
    say(line, "%s%s", i == 0 ? ", " : "/", names[config->sl.recompute[i]]);
  say(line, " recomputation");
  if (config->sl.recompute_every > 1) say(line, " of one layer in %lld", (long long)config->sl.recompute_every);
}

static void say_degrees(struct line *line, const struct sl_plan *plan) {
  const struct sl_strategy *s = &plan->strategy;
  if (plan->tp > 1) say(line, ", tp %d%s", plan->tp, plan->sequence_parallel ? " with sequence parallelism" : "");
  if (plan->tp_vocab == SL_TP_VOCAB_GATHERED) say(line, ", logits gathered");
  if (plan->tp_vocab == SL_TP_VOCAB_WHOLE) say(line, ", whole ends");
  if (plan->tp > 1 && plan->config->sl.async_tp) say(line, ", async_tp");
  if (plan->tp > 1 && plan->config->sl.tp_comm_overlap) say(line, ", tp_comm_overlap");
  if (plan->cp > 1) say(line, ", cp %d", plan->cp);
  if (plan->pp > 1) say(line, ", pp %d by %s", plan->pp, plan->config->sl.schedule);
  if (s->offload_optimizer) say(line, ", optimizer on %s", s->optimizer_on_nvme ? "NVMe" : "the CPU");
  if (s->offload_params) say(line, ", parameters on %s", s->params_on_nvme ? "NVMe" : "the CPU");
}

/* " (assuming --straggler 3:1.5,7:2, --jitter 0.1)": as the flags say it; of many stragglers the first */
static void say_assumptions(struct line *line, const struct sl_exec_assumptions *assume) {
  enum { SHOWN = 4 };
  const char *before = " (assuming ";
  for (int i = 0; i < assume->straggler_count && i < SHOWN; i++, before = ", ")
    say(line, "%s%d:%g", i == 0 ? " (assuming --straggler " : ",", assume->stragglers[i].rank,
        assume->stragglers[i].factor);
  if (assume->straggler_count > SHOWN) say(line, " and %d more", assume->straggler_count - SHOWN);
  if (assume->jitter > 0) say(line, "%s--jitter %g", before, assume->jitter), before = ", ";
  if (assume->share_links) say(line, "%s--share-links", before), before = ", ";
  if (assume->nccl_choice) say(line, "%s--nccl-algo choice", before), before = ", ";
  if (before[0] == ',') say(line, ")");
}

/* "llama3-8b, bf16, seq 8192, micro-batch 1 x 4, flash, no recomputation, ZeRO-3 on 8 x A100-SXM4-80GB, torch-eager
 * kernels" */
static void understood(struct line *line, const struct sl_plan *plan, const struct sl_exec_assumptions *assume) {
  const struct sl_config *config = plan->config;
  const struct sl_device *device = &plan->cluster->device;
  say(line, "%s", plan->model->name);
  say_types(line, config);
  if (sl_model_reads_tokens(plan->model)) say(line, ", seq %lld", (long long)plan->seq);
  say(line, ", micro-batch %lld x %lld", (long long)plan->micro_batch, (long long)plan->n_micro);
  if (sl_model_reads_tokens(plan->model)) {
    say_attention(line, config);
    say_recompute(line, config);
  }
  say_degrees(line, plan);
  if (config->sl.preset[0] != '\0')
    say(line, ", %s", config->sl.preset);
  else if (plan->strategy.nothing_to_shard)
    say(line, ", ZeRO-%d", config->zero.stage);
  else
    say(line, ", ZeRO-%d", plan->strategy.zero_stage);
  if (plan->strategy.no_sync) say(line, ", no_sync");
  if (plan->strategy.nothing_to_shard) say(line, " (one data-parallel rank: nothing is sharded)");
  if (device->kind == SL_DEVICE_GPU)
    say(line, " on %d x %s, %s kernels", plan->world, device->name, sl_kernel_set(config->sl.kernels)->name);
  else
    say(line, " on %d rank%s of %s", plan->world, plan->world > 1 ? "s" : "", device->name);
  say_assumptions(line, assume);
}

/* ---- the device's peak ---- */

/* "gemm of h.3", "flash_attention_bwd of head": as traces name ops. */
static json_t *op_at_peak(const struct sl_class *c, const struct sl_memory_report *report,
                          const struct sl_model *model) {
  const struct sl_program *program = &c->programs[report->peak_program];
  if (report->peak_issue >= program->issue_count) return json_string("");
  const struct sl_op *op = sl_issue_op(program, report->peak_issue);
  const bool of_model = op->phase == SL_PHASE_FORWARD || op->phase == SL_PHASE_BACKWARD;
  if (!of_model) return json_string(sl_op_label(op));
  if (op->layer < 0) return json_sprintf("%s of the embedding", sl_op_label(op));
  if (op->layer >= model->n_layer) return json_sprintf("%s of the head", sl_op_label(op));
  return json_sprintf("%s of h.%d", sl_op_label(op), op->layer);
}

static json_t *held(const struct sl_class *c, const struct sl_memory_report *report) {
  json_t *object = json_object();
  int64_t live = 0;
  for (int i = 0; i < SL_CATEGORY_COUNT; i++) {
    live += report->at_peak[i];
    set_integer(object, sl_category_name((enum sl_category)i),
                report->at_peak[i] - (i == SL_CATEGORY_ACTIVATION ? report->logits_at_peak : 0));
  }
  set_integer(object, "logits", report->logits_at_peak);
  set_integer(object, "fragmentation", c->arena_bytes[SL_SPACE_DEVICE] - live);
  return object;
}

static json_t *space_json(const struct sl_space_fit *fit, const char *at) {
  json_t *object = json_object();
  set_integer(object, "need_bytes", fit->need_bytes);
  set_integer(object, at, fit->at);
  if (fit->limit_bytes == 0) return object;
  set_integer(object, "limit_bytes", fit->limit_bytes);
  const int64_t over = sl_fits_over(fit);
  set_integer(object, over > 0 ? "over_bytes" : "left_bytes", over > 0 ? over : fit->limit_bytes - fit->need_bytes);
  return object;
}

json_t *sl_verdict_json(const struct sl_run *run) {
  const struct sl_job *job = run->job;
  struct sl_fits fits;
  struct line line = {.used = 0};
  sl_fits_of(&fits, job, run->reports, run->local_ranks, run->local_count);
  understood(&line, job->plan, &run->options.assume);
  json_t *device = space_json(&fits.space[SL_SPACE_DEVICE], "rank");
  const struct sl_class *c = &job->classes[sl_job_class_of(job, fits.space[SL_SPACE_DEVICE].at)];
  const struct sl_memory_report *report = &c->memory[SL_SPACE_DEVICE];
  set_integer(device, "peak_bytes", fits.arena_bytes);
  set_integer(device, "context_bytes", fits.context_bytes);
  set_integer(device, "reserve_bytes", fits.reserve_bytes);
  json_object_set_new(device, "phase", json_string(sl_phase_name(report->peak_phase)));
  json_object_set_new(device, "op", op_at_peak(c, report, job->plan->model));
  json_object_set_new(device, "held_bytes", held(c, report));
  return json_pack("{s:s, s:b, s:o, s:o, s:o}", "understood", line.text, "fits", (int)fits.fits, "device", device,
                   "host", space_json(&fits.space[SL_SPACE_HOST], "node"), "nvme",
                   space_json(&fits.space[SL_SPACE_NVME], "node"));
}
