/* Writes Megatron-LM's arguments; see megatron_write.h. */
#include "core/interop/megatron_write.h"

#include "core/base/json_get.h"
#include "core/interop/megatron_fp8.h"
#include "core/interop/megatron_model_write.h"
#include "core/interop/megatron_rows.h"
#include "core/interop/unsaid.h"
#include "core/interop/writing.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static enum sl_status refuse(const char *path, const char *is, const char *expected) {
  return sl_interop_refuse("megatron", path, is, expected);
}

static void put_real(FILE *out, const char *argument, const json_t *value) {
  char text[SL_INTEROP_REAL_BYTES];
  fprintf(out, "--%s %s\n", argument, sl_interop_real(json_number_value(value), text));
}

/* ---- the configuration ---- */

static void put_row(const json_t *config, const struct sl_argument *row, FILE *out) {
  const json_t *value = sl_json_at(config, row->path);
  if (row->kind == SL_ARGUMENT_FLAG) {
    if (json_is_true(value)) fprintf(out, "--%s\n", row->name);
  } else if (row->kind == SL_ARGUMENT_INT) {
    /* what is open here, and has a default there, is 1: no multiple of a vocabulary */
    const json_int_t n = json_is_integer(value) || row->absent == NULL ? json_integer_value(value) : 1;
    if (n > 0 || row->absent != NULL) fprintf(out, "--%s %lld\n", row->name, (long long)n);
  } else if (value != NULL) {
    put_real(out, row->name, value);
  }
}

static enum sl_status put_preset(const json_t *config, FILE *out) {
  const char *preset = sl_interop_text(config, "shardlab.preset");
  if (sl_interop_is_on(config, "zero_optimization.overlap_comm")) fputs("--overlap-grad-reduce\n", out);
  if (strcmp(preset, "megatron-lm") == 0) return SL_OK;
  if (strcmp(preset, "megatron-distributed-optimizer") != 0)
    return refuse("shardlab.preset", preset, "megatron-lm or megatron-distributed-optimizer");
  fputs("--use-distributed-optimizer\n", out);
  return SL_OK;
}

/* See put_gradient_type of megatron.c. */
static void put_gradient_type(const json_t *config, FILE *out) {
  const bool fp32 = strcmp(sl_interop_text(config, "data_types.grad_accum_dtype"), "fp32") == 0;
  if (sl_interop_is_on(config, "bf16.enabled") && !fp32) fputs("--grad-reduce-in-bf16\n", out);
  if (sl_interop_is_on(config, "fp16.enabled") && fp32) fputs("--accumulate-allreduce-grads-in-fp32\n", out);
}

static enum sl_status put_optimizer(const json_t *config, FILE *out) {
  const char *type = sl_interop_text(config, "optimizer.type");
  const json_t *betas = sl_json_at(config, "optimizer.params.betas");
  if (strcmp(type, "AdamW") != 0) return refuse("optimizer.type", type, "AdamW: Megatron-LM's adam");
  fputs("--optimizer adam\n", out);
  if (json_array_size(betas) != 2) return SL_OK;
  put_real(out, "adam-beta1", json_array_get(betas, 0));
  put_real(out, "adam-beta2", json_array_get(betas, 1));
  return SL_OK;
}

static enum sl_status put_recompute(const json_t *config, FILE *out) {
  const json_t *value = sl_json_at(config, "shardlab.recompute"),
               *modules = sl_json_at(config, "shardlab.recompute_modules");
  const char *word = json_string_value(json_array_size(value) == 1 ? json_array_get(value, 0) : value);
  if (word == NULL) return refuse("shardlab.recompute", "a list", "one word for all ranks of the pipeline");
  if (strcmp(word, "none") == 0) return SL_OK;
  if (strcmp(word, "full") != 0 && strcmp(word, "selective") != 0)
    return refuse("shardlab.recompute", word, "none, selective or full");
  if (sl_interop_whole(config, "shardlab.recompute_every") > 1)
    return refuse("shardlab.recompute_every", "above 1", "1");
  fprintf(out, "--recompute-granularity %s\n", word);
  if (strcmp(word, "full") == 0) {
    fputs("--recompute-method uniform\n--recompute-num-layers 1\n", out);
  } else {
    fputs("--recompute-modules", out);
    for (size_t i = 0; i < json_array_size(modules); i++)
      fprintf(out, " %s", json_string_value(json_array_get(modules, i)));
    fputc('\n', out);
  }
  return SL_OK;
}

/* See put_kernels of megatron.c. Kernels that are not Megatron-LM's are named. */
static void put_kernels(const json_t *config, FILE *out, json_t *unsaid) {
  const char *kernels = sl_interop_text(config, "shardlab.kernels");
  const bool unfused = strcmp(kernels, "megatron-unfused") == 0 && sl_interop_is_on(config, "shardlab.fused_norm") &&
                       !sl_interop_is_on(config, "shardlab.fused_softmax");
  if (unfused || strcmp(kernels, "megatron-fused") == 0)
    fprintf(out, "--transformer-impl local\n%s", unfused ? "--no-masked-softmax-fusion\n" : "");
  else if (strcmp(kernels, "megatron-core") != 0)
    json_array_append_new(unsaid, json_string("shardlab.kernels"));
}

static enum sl_status put_rest(const json_t *config, FILE *out) {
  static const char *const backends[][2] = {{"materialised", "unfused"}, {"flash", "flash"}, {"cudnn", "fused"}};
  const char *attention = sl_interop_text(config, "shardlab.attention"),
             *order = sl_interop_text(config, "shardlab.rank_order"),
             *schedule = sl_interop_text(config, "shardlab.schedule"), *backend = NULL;
  const bool interleaved = sl_interop_whole(config, "shardlab.virtual_stages") > 1;
  for (int i = 0; i < 3; i++)
    if (strcmp(backends[i][0], attention) == 0) backend = backends[i][1];
  if (backend == NULL) return refuse("shardlab.attention", attention, "materialised, flash or cudnn");
  fprintf(out, "--attention-backend %s\n", backend);
  if (sl_interop_whole(config, "shardlab.pp") > 1 && strcmp(schedule, interleaved ? "interleaved" : "1f1b") != 0)
    return refuse("shardlab.schedule", schedule, interleaved ? "interleaved" : "1f1b");
  const bool context = sl_interop_whole(config, "shardlab.cp") > 1;
  if (context) fprintf(out, "--cp-comm-type %s\n", sl_interop_text(config, "shardlab.cp_comm_type"));
  if (context && strcmp(order, "tp-dp-pp") != 0)
    return refuse("shardlab.rank_order", order, "tp-dp-pp beside context-parallel-size: cp is a part of dp here");
  SL_TRY(sl_interop_check_vocabulary("megatron", config, "parallel"));
  if (strcmp(order, "tp-pp-dp") == 0) fputs("--use-tp-pp-dp-mapping\n", out);
  if (strcmp(order, "tp-pp-dp") != 0 && strcmp(order, "tp-dp-pp") != 0)
    return refuse("shardlab.rank_order", order, "tp-dp-pp or tp-pp-dp");
  return SL_OK;
}

/* ---- what Megatron-LM has no arguments for ---- */

static bool is_said(const void *context, const char *path, const json_t *value) {
  (void)context, (void)value;
  static const char *const others[] = {"optimizer.type",
                                       "optimizer.params.betas",
                                       "shardlab.preset",
                                       "shardlab.recompute",
                                       "shardlab.recompute_modules",
                                       "shardlab.recompute_every",
                                       "shardlab.attention",
                                       "shardlab.kernels", /* named by put_kernels */
                                       "shardlab.fused_norm",
                                       "shardlab.fused_softmax",
                                       "shardlab.cp_comm_type",
                                       "shardlab.rank_order",
                                       "shardlab.tp_vocab", /* no other is written */
                                       "shardlab.schedule",
                                       "gradient_accumulation_steps",
                                       "communication_data_type",
                                       "data_types.grad_accum_dtype",
                                       "zero_optimization.overlap_comm",
                                       "zero_optimization.stage", /* follows from the preset */
                                       NULL};
  for (const struct sl_argument *row = sl_megatron_arguments; row->name != NULL; row++)
    if (strcmp(row->path, path) == 0) return true;
  return sl_interop_among(others, path) || sl_megatron_says_fp8(path);
}

enum sl_status sl_megatron_write(const json_t *config, const json_t *given, const json_t *model, FILE *out,
                                 json_t *unsaid) {
  for (const struct sl_argument *row = sl_megatron_arguments; row->name != NULL; row++) put_row(config, row, out);
  SL_TRY(put_preset(config, out));
  put_gradient_type(config, out);
  SL_TRY(put_optimizer(config, out));
  SL_TRY(put_recompute(config, out));
  put_kernels(config, out, unsaid);
  sl_megatron_write_fp8(config, out);
  SL_TRY(put_rest(config, out));
  SL_TRY(sl_megatron_write_model(model, out));
  sl_interop_unsaid(given, is_said, NULL, unsaid);
  return SL_OK;
}
