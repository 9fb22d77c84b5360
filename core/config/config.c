/* Turns one file or text into struct sl_config. The table of keys is in config/fields.c, the reader in config/read.c,
 * checks across keys in config/check.c. This file has the order of these steps, the choice of optimizer and scheduler,
 * derived values and the batch algebra. */
#include "core/config/config.h"

#include "core/base/checked.h"
#include "core/base/nearest.h"
#include "core/config/check.h"
#include "core/config/convert.h"
#include "core/config/dump.h"
#include "core/config/elastic.h"
#include "core/config/fields.h"
#include "core/config/read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ds_version comes first, since it decides the defaults of everything else. */
static enum sl_status read_version(struct sl_reader *reader) {
  static const char *const key = "shardlab.ds_version";
  char shown[48];
  const json_t *value = sl_config_at(reader->config, key);
  reader->version = SL_DEEPSPEED(0, 19, 6);
  if (value == NULL) return SL_OK;
  reader->version = json_is_string(value) ? sl_config_version(json_string_value(value)) : -1;
  if (reader->version >= 0) return SL_OK;
  return sl_json_fail(&reader->config->doc, key, "is %s; expected a DeepSpeed version like \"0.19.6\"",
                      sl_config_show(value, shown, sizeof shown));
}

static enum sl_status refuse_optimizer(const struct sl_config *config, const char *name) {
  static const char *const known[] = {"Adagrad", "Lamb",  "ZeroOneAdam", "OneBitLamb", "MuAdam",
                                      "MuAdamW", "MuSGD", "Lion",        "Muon"};
  static const char *const modelled[] = {"Adam", "AdamW", "OneBitAdam", "SGD"};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strcasecmp(name, known[i]) == 0)
      return sl_json_fail(&config->doc, "optimizer.type",
                          "%s is known to DeepSpeed, not modelled yet; expected Adam, AdamW, OneBitAdam or SGD",
                          known[i]);
  }
  const char *nearest = sl_nearest(name, modelled, sizeof modelled / sizeof *modelled);
  return sl_json_fail(
      &config->doc, "optimizer.type",
      "is \"%s\"; expected Adam, AdamW, OneBitAdam or SGD (no other optimizer of torch.optim is modelled yet)%s%s%s",
      name, nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

/* Adam runs as AdamW unless adam_w_mode says otherwise; torch's own AdamW has a default weight decay of 0.01. */
static enum sl_status read_adam(struct sl_reader *reader, bool adam_w) {
  struct sl_config *config = reader->config;
  SL_TRY(sl_config_read_section(reader, "optimizer.params@adam"));
  if (adam_w) config->optimizer.adam_w_mode = true;
  config->optimizer.type = config->optimizer.adam_w_mode ? SL_OPT_ADAMW : SL_OPT_ADAM;
  if (config->optimizer.type == SL_OPT_ADAMW && sl_config_flag(config, "optimizer.params.torch_adam", false) &&
      sl_config_at(config, "optimizer.params.weight_decay") == NULL)
    config->optimizer.weight_decay = 0.01;
  return SL_OK;
}

/* Its warm-up is AdamW as in DeepSpeed's code: weight decay is decoupled and there is no bias correction, whatever
 * bias_correction says. */
static enum sl_status read_onebit_adam(struct sl_reader *reader) {
  SL_TRY(sl_config_read_section(reader, "optimizer.params@onebit"));
  reader->config->optimizer.type = SL_OPT_ONEBIT_ADAM;
  reader->config->optimizer.adam_w_mode = true;
  reader->config->optimizer.bias_correction = false;
  return SL_OK;
}

static enum sl_status read_optimizer(struct sl_reader *reader) {
  struct sl_config *config = reader->config;
  const char *name = config->optimizer.type_name;
  if (json_object_get(config->doc.root, "optimizer") == NULL) {
    sl_warn("%s: no optimizer is given; AdamW with lr 0.001 is used (DeepSpeed would expect one from the client)",
            config->doc.name);
    snprintf(config->optimizer.type_name, sizeof config->optimizer.type_name, "AdamW");
  } else if (sl_config_at(config, "optimizer.type") == NULL) {
    return sl_json_fail(&config->doc, "optimizer.type", "missing; expected Adam, AdamW, OneBitAdam or SGD");
  }
  if (sl_config_at(config, "optimizer.params.max_grad_norm") != NULL)
    return sl_json_fail(&config->doc, "optimizer.params.max_grad_norm",
                        "'max_grad_norm' is not supported as an optimizer parameter, please switch to using the "
                        "deepspeed parameter 'gradient_clipping'");
  if (strcasecmp(name, "Adam") == 0) return read_adam(reader, false);
  if (strcasecmp(name, "AdamW") == 0) return read_adam(reader, true);
  if (strcasecmp(name, "OneBitAdam") == 0) return read_onebit_adam(reader);
  if (strcasecmp(name, "SGD") != 0) return refuse_optimizer(config, name);
  config->optimizer.type = SL_OPT_SGD;
  return sl_config_read_section(reader, "optimizer.params@sgd");
}

/* Fills in what the scheduler's parameters leave open. */
static void complete_scheduler(struct sl_config *config) {
  if (isnan(config->scheduler.warmup_max_lr)) config->scheduler.warmup_max_lr = config->optimizer.lr;
  if (config->scheduler.cycle_second_step_size < 0)
    config->scheduler.cycle_second_step_size = config->scheduler.cycle_first_step_size;
  if (config->scheduler.cycle_second_stair_count < 0)
    config->scheduler.cycle_second_stair_count = config->scheduler.cycle_first_stair_count;
}

static enum sl_status read_scheduler(struct sl_reader *reader) {
  static const char *const expected = "LRRangeTest, OneCycle, WarmupLR, WarmupDecayLR or WarmupCosineLR";
  struct sl_config *config = reader->config;
  char section[64], shown[48];
  const json_t *type = sl_config_at(config, "scheduler.type");
  if (json_object_get(config->doc.root, "scheduler") == NULL) return SL_OK;
  if (type == NULL) return sl_json_fail(&config->doc, "scheduler.type", "missing; expected %s", expected);
  for (int i = SL_LR_CONSTANT + 1; json_is_string(type) && i <= SL_LR_RANGE_TEST; i++) {
    const char *name = sl_config_scheduler_name((enum sl_lr_schedule)i);
    if (strcmp(json_string_value(type), name) != 0) continue;
    config->scheduler.type = (enum sl_lr_schedule)i;
    snprintf(section, sizeof section, "scheduler.params@%s", name);
    SL_TRY(sl_config_read_section(reader, section));
    complete_scheduler(config);
    return SL_OK;
  }
  return sl_json_fail(&config->doc, "scheduler.type",
                      "DeepSpeed does not recognize LR scheduler %s; expected %s (those of torch are not modelled yet)",
                      sl_config_show(type, shown, sizeof shown), expected);
}

/* torch.autocast ignores a type that it cannot cast to (torch/amp/autocast_mode.py: "Disabling autocast"). */
static enum sl_dtype autocast_dtype(const struct sl_config *config) {
  const struct sl_field field = {.type = SL_FIELD_DTYPE};
  const json_t *said = sl_config_at(config, "torch_autocast.dtype");
  enum sl_dtype type = SL_F16;
  if (!sl_config_flag(config, "torch_autocast.enabled", false)) return SL_F32;
  if (said != NULL && sl_config_convert(&field, said, &type) != SL_CONVERTED) return SL_F32;
  return type;
}

/* Values that are null in the file and follow from others. Gradients: runtime/engine.py, get_data_types. */
static void derive(struct sl_config *config) {
  const bool wider = config->bf16.enabled && config->zero.stage == 0 && !sl_config_since(config, 0, 17, 6);
  config->param_dtype = config->fp16.enabled ? SL_F16 : config->bf16.enabled ? SL_BF16 : SL_F32;
  config->autocast_dtype = autocast_dtype(config);
  if (config->communication_data_type == SL_DTYPE_COUNT) config->communication_data_type = config->param_dtype;
  if (config->seq_parallel_communication_data_type == SL_DTYPE_COUNT)
    config->seq_parallel_communication_data_type = config->param_dtype;
  if (config->grad_accum_dtype == SL_DTYPE_COUNT) config->grad_accum_dtype = wider ? SL_F32 : config->param_dtype;
  if (sl_config_at(config, "zero_optimization.overlap_comm") == NULL)
    config->zero.overlap_comm = config->zero.stage == 3;
}

static enum sl_status read_all(struct sl_reader *reader) {
  struct sl_config *config = reader->config;
  if (!json_is_object(config->doc.root))
    return sl_fail(SL_ERR_INPUT, "%s:1:1: expected an object {...} of DeepSpeed's keys", config->doc.name);
  SL_TRY(read_version(reader));
  for (size_t i = 0; i < sl_section_count; i++) {
    if (strchr(sl_sections[i].name, '@') == NULL) SL_TRY(sl_config_read_section(reader, sl_sections[i].name));
  }
  SL_TRY(read_optimizer(reader));
  SL_TRY(read_scheduler(reader));
  SL_TRY(sl_config_translate_deprecated(config));
  derive(config);
  SL_TRY(sl_config_check(config));
  if (reader->unmodelled_length > 0)
    sl_warn("%s: known to DeepSpeed, not modelled yet and so without effect here: %s", config->doc.name,
            reader->unmodelled);
  return SL_OK;
}

/* Reads and checks everything; config->doc must be set. */
static enum sl_status finish(struct sl_config *config, bool strict) {
  struct sl_reader reader = {.config = config, .strict = strict};
  const enum sl_status status = read_all(&reader);
  free(reader.unmodelled);
  if (status != SL_OK) sl_config_free(config);
  return status;
}

enum sl_status sl_config_parse(struct sl_config *config, const char *name, const char *text, size_t length,
                               bool strict) {
  memset(config, 0, sizeof *config);
  SL_TRY(sl_hjson_parse(&config->doc, name, text, length));
  return finish(config, strict);
}

enum sl_status sl_config_from_json(struct sl_config *config, struct sl_json *doc, bool strict) {
  memset(config, 0, sizeof *config);
  config->doc = *doc;
  memset(doc, 0, sizeof *doc);
  return finish(config, strict);
}

void sl_config_free(struct sl_config *config) {
  sl_json_free(&config->doc);
  memset(config, 0, sizeof *config);
}

/* The key to blame: a batch key that is in the file. */
static const char *batch_key(const struct sl_config *config, const char *preferred) {
  static const char *const keys[] = {"train_batch_size", "train_micro_batch_size_per_gpu",
                                     "gradient_accumulation_steps"};
  if (sl_config_at(config, preferred) != NULL) return preferred;
  for (size_t i = 0; i < 3; i++) {
    if (sl_config_at(config, keys[i]) != NULL) return keys[i];
  }
  return "";
}

/* The product a * b * c, or an error that names the key. */
static enum sl_status batch_product(const struct sl_config *config, int64_t a, int64_t b, int64_t c, int64_t *out) {
  *out = sl_product(sl_product(a, b), c);
  if (*out < SL_HUGE) return SL_OK;
  return sl_json_fail(&config->doc, batch_key(config, "train_micro_batch_size_per_gpu"),
                      "the global batch %lld * %lld * %lld is too large; expected below 2^63", (long long)a,
                      (long long)b, (long long)c);
}

/* DeepSpeed's _set_batch_related_parameters; 0 is its None. */
static enum sl_status fill_batch(struct sl_config *config, int64_t dp) {
  int64_t *total = &config->train_batch_size, *micro = &config->train_micro_batch_size_per_gpu;
  int64_t *steps = &config->gradient_accumulation_steps;
  if (*total != 0 && *micro != 0 && *steps != 0) return SL_OK;
  if (*total != 0 && *micro != 0) {
    *steps = *total / *micro / dp;
  } else if (*total != 0) {
    if (*steps == 0) *steps = 1;
    *micro = *total / dp / *steps;
  } else if (*micro != 0) {
    if (*steps == 0) *steps = 1;
    return batch_product(config, *micro, *steps, dp, total);
  } else {
    return sl_json_fail(&config->doc, batch_key(config, "gradient_accumulation_steps"),
                        "Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided");
  }
  return SL_OK;
}

/* Of arguments in their own words: megatron/core/num_microbatches_calculator.py, ConstantNumMicroBatchesCalculator.
 * They have no accumulation steps, so those that a flag gives are DeepSpeed's matter. */
static enum sl_status check_megatron_batch(const struct sl_config *config, int64_t dp) {
  const int64_t total = config->train_batch_size, micro = config->train_micro_batch_size_per_gpu;
  const int64_t pass = sl_product(micro, dp);
  if (config->megatron_batch == NULL || sl_config_at(config, "gradient_accumulation_steps") != NULL) return SL_OK;
  if (total <= 0 || micro <= 0 || total % pass == 0) return SL_OK;
  return sl_json_fail(&config->doc, config->megatron_batch,
                      "global batch size (%lld) is not divisible by micro batch size (%lld) times data parallel size "
                      "(%lld); expected a multiple of %lld",
                      (long long)total, (long long)micro, (long long)dp, (long long)pass);
}

/* DeepSpeed's _batch_assertion. */
static enum sl_status check_batch(const struct sl_config *config, int64_t dp) {
  const int64_t total = config->train_batch_size, micro = config->train_micro_batch_size_per_gpu;
  const int64_t steps = config->gradient_accumulation_steps;
  int64_t product;
  if (total <= 0)
    return sl_json_fail(&config->doc, batch_key(config, "train_batch_size"),
                        "Train batch size: %lld has to be greater than 0", (long long)total);
  if (micro == 0 && total < dp) /* it follows from the other */
    return sl_json_fail(&config->doc, batch_key(config, "train_micro_batch_size_per_gpu"),
                        "Micro batch size per gpu: 0 has to be greater than 0: a train batch of %lld is less than one "
                        "sequence for each of %lld data-parallel ranks; expected a multiple of %lld",
                        (long long)total, (long long)dp, (long long)dp);
  if (micro <= 0)
    return sl_json_fail(&config->doc, batch_key(config, "train_micro_batch_size_per_gpu"),
                        "Micro batch size per gpu: %lld has to be greater than 0", (long long)micro);
  if (steps <= 0)
    return sl_json_fail(&config->doc, batch_key(config, "gradient_accumulation_steps"),
                        "Gradient accumulation steps: %lld has to be greater than 0", (long long)steps);
  SL_TRY(batch_product(config, micro, steps, dp, &product));
  if (total == product) return SL_OK;
  return sl_json_fail(&config->doc, batch_key(config, "train_batch_size"),
                      "Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * "
                      "gradient_acc_step * world_size %lld != %lld * %lld * %lld",
                      (long long)total, (long long)micro, (long long)steps, (long long)dp);
}

enum sl_status sl_config_resolve_batch(struct sl_config *config, int dp) {
  if (dp < 1) return sl_fail(SL_ERR_INPUT, "%s: %d data-parallel ranks; expected at least 1", config->doc.name, dp);
  SL_TRY(sl_config_elastic_batch(config, dp));
  SL_TRY(fill_batch(config, dp));
  SL_TRY(check_megatron_batch(config, dp));
  return check_batch(config, dp);
}
