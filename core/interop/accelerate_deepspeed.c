/* See accelerate_deepspeed.h. Source: Accelerate 1.15, utils/dataclasses.py, DeepSpeedPlugin. */
#include "core/interop/accelerate_deepspeed.h"

#include "core/base/json_get.h"
#include "core/base/limits.h"
#include "core/interop/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTION "deepspeed_config."
#define FILE_KEY SECTION "deepspeed_config_file"

static enum sl_status put_offload(const struct sl_settings *s, const char *what, json_t *config) {
  char key[64], path[96], device[32] = "none";
  snprintf(key, sizeof key, SECTION "offload_%s_device", what);
  SL_TRY(sl_settings_word(s, key, "none|cpu|nvme", device));
  snprintf(key, sizeof key, SECTION "offload_%s_nvme_path", what);
  const json_t *nvme = sl_settings_value(s, key);
  if (strcmp(device, "none") == 0) return SL_OK;
  snprintf(path, sizeof path, "zero_optimization.offload_%s.device", what);
  sl_interop_put(config, path, json_string(device));
  if (strcmp(device, "nvme") != 0 || !json_is_string(nvme)) return SL_OK;
  snprintf(path, sizeof path, "zero_optimization.offload_%s.nvme_path", what);
  sl_interop_put(config, path, json_string(json_string_value(nvme)));
  return SL_OK;
}

static enum sl_status put_keys(const struct sl_settings *s, const char *precision, json_t *config) {
  int64_t stage = 2, accumulate = 1;
  double clip = 0;
  const json_t *clipping = sl_settings_value(s, SECTION "gradient_clipping"),
               *steps = sl_settings_value(s, SECTION "gradient_accumulation_steps");
  SL_TRY(sl_settings_int(s, SECTION "zero_stage", 0, 3, &stage));
  if (!sl_json_equals_text(steps, "auto"))
    SL_TRY(sl_settings_int(s, SECTION "gradient_accumulation_steps", 1, SL_MAX_MICRO_BATCHES, &accumulate));
  if (!sl_json_equals_text(clipping, "auto")) SL_TRY(sl_settings_real(s, SECTION "gradient_clipping", 0, 1e300, &clip));
  sl_interop_put(config, "shardlab.preset", json_string("accelerate-deepspeed"));
  sl_interop_put(config, "zero_optimization.stage", json_integer(stage));
  if (steps != NULL && !sl_json_equals_text(steps, "auto"))
    sl_interop_put(config, "gradient_accumulation_steps", json_integer(accumulate));
  if (clipping != NULL && !sl_json_equals_text(clipping, "auto"))
    sl_interop_put(config, "gradient_clipping", json_real(clip));
  SL_TRY(put_offload(s, "optimizer", config));
  SL_TRY(put_offload(s, "param", config));
  if (strcmp(precision, "no") != 0)
    sl_interop_put(config, strcmp(precision, "bf16") == 0 ? "bf16.enabled" : "fp16.enabled", json_true());
  return SL_OK;
}

/* deepspeed_config_file replaces the other keys: Accelerate refuses those that the file it names sets. */
static enum sl_status check_alone(const struct sl_settings *s) {
  static const char *const others[] = {
      "zero_stage",           "gradient_accumulation_steps", "gradient_clipping",      "offload_optimizer_device",
      "offload_param_device", "offload_optimizer_nvme_path", "offload_param_nvme_path"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    char path[64];
    snprintf(path, sizeof path, SECTION "%s", others[i]);
    if (sl_settings_has(s, path)) return sl_settings_fail(s, path, "none beside deepspeed_config_file, which says it");
  }
  return SL_OK;
}

/* Loads `path` relative to the working directory or, if it is not there, to the folder of the file that names it. */
static enum sl_status load(const struct sl_settings *s, const char *path, struct sl_json *out) {
  const char *slash = strrchr(s->doc->name, '/');
  char *beside = NULL;
  if (path[0] == '/' || slash == NULL || access(path, R_OK) == 0) return sl_hjson_load(out, path);
  const int length = (int)(slash - s->doc->name);
  const size_t size = (size_t)length + strlen(path) + 2;
  SL_TRY(sl_calloc(&beside, size, 1));
  snprintf(beside, size, "%.*s/%s", length, s->doc->name, path);
  const enum sl_status status = sl_hjson_load(out, beside);
  free(beside);
  return status;
}

/* Replaces "auto" by what `mixed_precision` says. Whether the file's other values contradict it is left to
 * Accelerate. */
static void fill_precision(json_t *config, const char *precision) {
  static const char *const types[] = {"bf16", "fp16"};
  for (int i = 0; i < 2; i++) {
    char path[32];
    snprintf(path, sizeof path, "%s.enabled", types[i]);
    if (sl_json_equals_text(sl_json_at(config, path), "auto"))
      sl_interop_put(config, path, json_boolean(strcmp(precision, types[i]) == 0));
  }
}

enum sl_status sl_accelerate_deepspeed(const struct sl_settings *s, const char *precision, json_t *config) {
  const json_t *file = sl_settings_value(s, FILE_KEY);
  struct sl_json doc;
  if (file == NULL) return put_keys(s, precision, config);
  if (!json_is_string(file) || strlen(json_string_value(file)) != json_string_length(file))
    return sl_settings_fail(s, FILE_KEY, "the path of a file");
  SL_TRY(check_alone(s));
  SL_TRY(load(s, json_string_value(file), &doc));
  if (json_is_object(doc.root)) {
    json_object_update(config, doc.root);
    fill_precision(config, precision);
    if (sl_json_at(config, "shardlab.preset") == NULL)
      sl_interop_put(config, "shardlab.preset", json_string("accelerate-deepspeed"));
    sl_json_free(&doc);
    return SL_OK;
  }
  sl_json_free(&doc);
  return sl_settings_fail(s, FILE_KEY, "a file of DeepSpeed's, which has an object");
}
