/* Checks combinations of DeepSpeed's keys: deprecated spellings, and the errors and warnings of DeepSpeed's config.py,
 * zero/config.py, precision_config.py and engine.py, in their words where they have some. */
#include "core/config/check.h"
#include "core/config/coerce.h"
#include "core/config/convert.h"
#include "core/config/elastic.h"
#include "core/config/fields.h"
#include "core/config/parallel.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Does zero_optimization have a value for `key`, even null? "auto" counts as none. */
static bool zero_says(const struct sl_config *config, const char *key) {
  const json_t *value = json_object_get(json_object_get(config->doc.root, "zero_optimization"), key);
  return value != NULL && !(json_is_string(value) && strcmp(json_string_value(value), "auto") == 0);
}

/* A deprecated key of zero_optimization: false if absent; an error beside its replacement (in either spelling). */
static enum sl_status deprecated(const struct sl_config *config, const char *old_key, const char *new_key,
                                 const char *other_key, bool *given) {
  char path[128], text[256];
  snprintf(path, sizeof path, "zero_optimization.%s", old_key);
  *given = zero_says(config, old_key);
  if (!*given) return SL_OK;
  if (zero_says(config, new_key) || (other_key != NULL && zero_says(config, other_key)))
    return sl_json_fail(&config->doc, path,
                        "Cannot provide deprecated parameter '%s' and replacing parameter '%s' together", old_key,
                        new_key);
  snprintf(text, sizeof text, "Config parameter %s is deprecated use %s instead", old_key, new_key);
  sl_config_warn(config, path, text);
  return SL_OK;
}

/* With "zero_optimization": true the bucket size is the top-level allgather_size, by the rules of the key that replaced
 * it. */
static enum sl_status take_allgather_size(struct sl_config *config) {
  char shown[48], expectation[128];
  const json_t *size = json_object_get(config->doc.root, "allgather_size");
  size_t i = 0;
  if (size == NULL || (json_is_string(size) && strcmp(json_string_value(size), "auto") == 0)) return SL_OK;
  while (strcmp(sl_fields[i].key, "allgather_bucket_size") != 0) i++;
  json_t *made = sl_config_coerce(&sl_fields[i], size);
  const enum sl_converted done =
      sl_config_convert(&sl_fields[i], made != NULL ? made : size, &config->zero.allgather_bucket_size);
  json_decref(made);
  if (done == SL_CONVERTED) return SL_OK;
  return sl_json_fail(&config->doc, "allgather_size", "is %s; expected %s", sl_config_show(size, shown, sizeof shown),
                      sl_config_expectation(&sl_fields[i], expectation, sizeof expectation));
}

enum sl_status sl_config_translate_deprecated(struct sl_config *config) {
  bool given;
  const json_t *zero = json_object_get(config->doc.root, "zero_optimization");
  if (json_is_boolean(zero)) {
    sl_config_warn(config, "zero_optimization",
                   "this format of ZeRO optimization setup is deprecated; use {\"stage\": 1}");
    config->zero.stage = json_is_true(zero) ? 1 : 0;
    if (json_is_true(zero)) SL_TRY(take_allgather_size(config));
  }
  SL_TRY(deprecated(config, "cpu_offload", "offload_optimizer", NULL, &given));
  if (given && sl_config_flag(config, "zero_optimization.cpu_offload", false))
    config->zero.offload_optimizer = SL_OFFLOAD_CPU;
  SL_TRY(deprecated(config, "cpu_offload_param", "offload_param", NULL, &given));
  if (given && sl_config_flag(config, "zero_optimization.cpu_offload_param", false))
    config->zero.offload_param = SL_OFFLOAD_CPU;
  if (sl_config_at(config, "zero_optimization.cpu_offload_use_pin_memory") != NULL)
    sl_config_warn(config, "zero_optimization.cpu_offload_use_pin_memory",
                   "Config parameter cpu_offload_use_pin_memory is deprecated and without effect; use pin_memory of "
                   "offload_param or offload_optimizer instead");
  SL_TRY(deprecated(config, "stage3_gather_fp16_weights_on_model_save", "stage3_gather_16bit_weights_on_model_save",
                    "gather_16bit_weights_on_model_save", &given));
  if (sl_config_at(config, "bf16") != NULL && json_object_get(config->doc.root, "bfloat16") != NULL)
    sl_config_warn(config, "bfloat16", "ignored, because \"bf16\" is given too");
  return SL_OK;
}

static enum sl_status check_precision(const struct sl_config *config) {
  const struct sl_json *doc = &config->doc;
  const char *bf16 = sl_config_at(config, "bf16") != NULL ? "bf16.enabled" : "bfloat16.enabled";
  if (config->fp16.enabled && config->bf16.enabled)
    return sl_json_fail(doc, bf16, "bfloat16 and fp16 modes cannot be simultaneously enabled");
  if (config->sl.fp8 && !config->bf16.enabled)
    return sl_json_fail(doc, "shardlab.fp8", "is true; expected bf16.enabled too: fp8 products are of bf16 numbers");
  const bool dynamic = config->fp16.enabled && config->fp16.loss_scale == 0;
  if (dynamic && config->fp16.loss_scale_window <= 0)
    return sl_json_fail(doc, "fp16.loss_scale_window", "is %lld; expected an integer > 0 for dynamic loss scaling",
                        (long long)config->fp16.loss_scale_window);
  if (dynamic && config->fp16.min_loss_scale <= 0)
    return sl_json_fail(doc, "fp16.min_loss_scale", "is %.15g; expected an integer > 0 for dynamic loss scaling",
                        config->fp16.min_loss_scale);
  return SL_OK;
}

/* 16-bit master weights and optimizer states. */
static enum sl_status check_master_weights(const struct sl_config *config) {
  const struct sl_json *doc = &config->doc;
  const bool master = sl_config_flag(config, "bf16.bf16_master_weights_and_grads", false);
  if (sl_config_flag(config, "fp16.fp16_master_weights_and_grads", false) && config->zero.stage == 0)
    return sl_json_fail(doc, "fp16.fp16_master_weights_and_grads",
                        "Fp16_master_weights_and_grads is only supported with ZeRO Stage 1, 2, or 3.");
  if (master && config->zero.stage == 0)
    return sl_json_fail(doc, "bf16.bf16_master_weights_and_grads",
                        "Bf16_master_weights_and_grads is only supported with ZeRO Stage 1, 2, or 3.");
  if (!sl_config_flag(config, "bf16.bf16_optimizer_states", false)) return SL_OK;
  if (config->zero.stage == 0)
    return sl_json_fail(doc, "bf16.bf16_optimizer_states",
                        "bf16_optimizer_states is only supported with ZeRO Stage 1, 2, or 3.");
  if (!master)
    return sl_json_fail(doc, "bf16.bf16_optimizer_states",
                        "bf16_optimizer_states requires bf16_master_weights_and_grads to be enabled.");
  return SL_OK;
}

static enum sl_status check_allreduce_op(const struct sl_config *config) {
  static const char *const key = "gradient_allreduce_op";
  if (!config->gradient_allreduce_sum) return SL_OK;
  if (config->zero.stage == 3)
    return sl_json_fail(&config->doc, key, "gradient_allreduce_op='sum' is not supported with ZeRO stage 3");
  if (sl_config_at(config, "zero_optimization.zenflow") != NULL)
    return sl_json_fail(&config->doc, key, "gradient_allreduce_op='sum' is not supported with ZenFlow");
  if (sl_config_flag(config, "compile.deepcompile", false))
    return sl_json_fail(&config->doc, key, "gradient_allreduce_op='sum' is not supported with DeepCompile");
  return SL_OK;
}

/* The key to blame for an offload target: its own, or the deprecated one that set it. */
static const char *offload_key(const struct sl_config *config, const char *key, const char *old_key) {
  return sl_config_at(config, key) != NULL || sl_config_at(config, old_key) == NULL ? key : old_key;
}

/* DeepSpeed reads offload_param in stage 3 only (engine.py, _configure_zero_optimizer); in others it says nothing.
 * Where a preset says the stage, the plan looks at it (plan/refusals.c). */
static enum sl_status check_offload_stage(struct sl_config *config) {
  const struct sl_json *doc = &config->doc;
  const int stage = config->zero.stage;
  char text[96];
  if (config->sl.preset[0] != '\0' && stage == 0) return SL_OK;
  const char *key =
      offload_key(config, "zero_optimization.offload_param.device", "zero_optimization.cpu_offload_param");
  if (config->zero.offload_param != SL_OFFLOAD_NONE && stage != 3) {
    snprintf(text, sizeof text, "has no effect: parameters are offloaded in ZeRO stage 3 only; the stage is %d", stage);
    sl_config_warn(config, key, text);
    config->zero.offload_param = SL_OFFLOAD_NONE;
  }
  key = offload_key(config, "zero_optimization.offload_optimizer.device", "zero_optimization.cpu_offload");
  if (config->zero.offload_optimizer != SL_OFFLOAD_NONE && stage == 0)
    return sl_json_fail(doc, key, "optimizer offload is only supported with ZeRO stage 1, 2 or 3; the stage is 0");
  return SL_OK;
}

static enum sl_status check_offload(struct sl_config *config) {
  const struct sl_json *doc = &config->doc;
  const int stage = config->zero.stage;
  const json_t *ratio = sl_config_at(config, "zero_optimization.offload_optimizer.ratio");
  SL_TRY(check_offload_stage(config));
  if (json_is_number(ratio) && json_number_value(ratio) < 1 && stage != 3)
    return sl_json_fail(doc, "zero_optimization.offload_optimizer.ratio",
                        "is %.15g; a ratio below 1.0 is only supported with ZeRO stage 3; the stage is %d",
                        json_number_value(ratio), stage);
  const bool adam =
      config->optimizer.type != SL_OPT_SGD && !sl_config_flag(config, "optimizer.params.torch_adam", false);
  if (config->zero.offload_optimizer != SL_OFFLOAD_NONE && config->zero.offload_ratio < 1 &&
      !adam) /* stage3.py, __init__ */
    return sl_json_fail(doc, "zero_optimization.offload_optimizer.ratio",
                        "is %.15g; Hybrid Optimizer Only Supports DeepSpeedCPUAdam, and optimizer.type is \"%s\"",
                        config->zero.offload_ratio, config->optimizer.type_name);
  if (config->zero.offload_optimizer == SL_OFFLOAD_NONE || !sl_config_flag(config, "zero_force_ds_cpu_optimizer", true))
    return SL_OK;
  if (!adam)
    sl_config_warn(
        config, "optimizer.type",
        "You are using ZeRO-Offload with an optimizer that is not DeepSpeedCPUAdam, which in most cases will yield "
        "poor performance; \"zero_force_ds_cpu_optimizer\": false says that this is meant");
  return SL_OK;
}

/* engine.py, _configure_basic_optimizer; onebit/adam.py, __init__. */
static enum sl_status check_onebit(const struct sl_config *config) {
  if (config->optimizer.type != SL_OPT_ONEBIT_ADAM) return SL_OK;
  if (config->zero.stage > 0)
    return sl_json_fail(&config->doc, "optimizer.type", "1bit-Adam is not compatible with ZeRO; the stage is %d",
                        config->zero.stage);
  if (sl_config_flag(config, "optimizer.params.amsgrad", false))
    return sl_json_fail(&config->doc, "optimizer.params.amsgrad", "1-bit Adam does not support the AMSGrad variant.");
  return SL_OK;
}

static enum sl_status check_optimizer(const struct sl_config *config) {
  const struct sl_json *doc = &config->doc;
  SL_TRY(check_onebit(config));
  if (sl_config_flag(config, "optimizer.params.amsgrad", false) &&
      !sl_config_flag(config, "optimizer.params.torch_adam", false))
    return sl_json_fail(doc, "optimizer.params.amsgrad", "FusedAdam does not support the AMSGrad variant.");
  if (config->optimizer.nesterov && (config->optimizer.momentum <= 0 || config->optimizer.dampening != 0))
    return sl_json_fail(doc, "optimizer.params.nesterov", "Nesterov momentum requires a momentum and zero dampening");
  if (config->optimizer.type == SL_OPT_SGD && config->zero.stage >= 1 && !config->zero.allow_untested_optimizer)
    sl_config_warn(config, "optimizer.type",
                   "You are using an untested ZeRO Optimizer. DeepSpeed would refuse it; please add "
                   "<\"zero_allow_untested_optimizer\": true> in the configuration file to use it there.");
  if (config->optimizer.type == SL_OPT_SGD && config->scheduler.type == SL_LR_ONE_CYCLE &&
      config->scheduler.cycle_momentum)
    sl_config_warn(
        config, "scheduler.params.cycle_momentum",
        "cycle_momentum is disabled because optimizer SGD does not support momentum, no betas attribute in defaults");
  return SL_OK;
}

/* DeepSpeed partitions and copies only what activation checkpointing keeps. */
static enum sl_status check_activations(const struct sl_config *config) {
  static const char *const partition = "activation_checkpointing.partition_activations",
                           *const on_host = "activation_checkpointing.cpu_checkpointing";
  const bool partitioned = config->activations.partitioned;
  bool full = false;
  for (int i = 0; i < config->sl.recompute_count; i++) full |= config->sl.recompute[i] == SL_RECOMPUTE_FULL;
  if (!partitioned && !config->activations.on_host) return SL_OK;
  if (partitioned && config->sl.sequence_parallel)
    return sl_json_fail(&config->doc, partition,
                        "is true beside sequence_parallel; expected one of them: ranks of a tp group have rows of "
                        "their own already, which DeepSpeed would mix up");
  if (!full)
    sl_config_warn(config, partitioned ? partition : on_host,
                   "has no effect: no activation is checkpointed unless shardlab.recompute is \"full\"");
  else if (partitioned && config->sl.tp == 1)
    sl_config_warn(config, partition, "has no effect: a tp group of one rank has nobody to share with");
  return SL_OK;
}

/* Keys without effect here whose values DeepSpeed still checks. */
static enum sl_status check_others(const struct sl_config *config) {
  static const char *const sections[] = {"amp", "progressive_layer_drop", "curriculum_learning"};
  const json_t *vocabulary = sl_config_at(config, "vocabulary_size");
  for (size_t i = 0; i < 3; i++) { /* DeepSpeed deletes "enabled" from them without checking that it is there */
    char path[64];
    const json_t *section = json_object_get(config->doc.root, sections[i]);
    snprintf(path, sizeof path, "%s.enabled", sections[i]);
    if (json_is_object(section) && json_object_get(section, "enabled") == NULL)
      return sl_json_fail(&config->doc, path, "missing; expected true or false");
  }
  if (json_is_integer(vocabulary) && json_integer_value(vocabulary) % 8 != 0)
    sl_config_warn(config, "vocabulary_size",
                   "vocabulary size is not aligned to 8, may impact tensor core utilization");
  return SL_OK;
}

enum sl_status sl_config_check(struct sl_config *config) {
  SL_TRY(check_precision(config));
  SL_TRY(check_master_weights(config));
  SL_TRY(check_allreduce_op(config));
  SL_TRY(check_offload(config));
  SL_TRY(check_optimizer(config));
  SL_TRY(check_activations(config));
  SL_TRY(sl_config_check_elasticity(config));
  SL_TRY(sl_config_check_parallel(config));
  return check_others(config);
}
