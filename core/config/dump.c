/* Writes the configuration after defaults as JSON, under DeepSpeed's names: the table of keys in the reverse
 * direction. */
#include "core/config/dump.h"
#include "core/config/convert.h"
#include "core/config/fields.h"

#include <stdio.h>
#include <string.h>

const char *sl_config_scheduler_name(enum sl_lr_schedule type) {
  static const char *const names[] = {
      [SL_LR_CONSTANT] = "",
      [SL_LR_WARMUP] = "WarmupLR",
      [SL_LR_WARMUP_DECAY] = "WarmupDecayLR",
      [SL_LR_WARMUP_COSINE] = "WarmupCosineLR",
      [SL_LR_ONE_CYCLE] = "OneCycle",
      [SL_LR_RANGE_TEST] = "LRRangeTest",
  };
  return names[type];
}

/* The object at the dotted path below `root`, created if missing; borrowed, NULL when out of memory. */
static json_t *make_object(json_t *root, const char *path) {
  json_t *object = root;
  while (object != NULL && *path != '\0') {
    const size_t n = strcspn(path, ".");
    json_t *child = json_object_getn(object, path, n);
    if (child == NULL) {
      child = json_object();
      if (json_object_setn_new(object, path, n, child) != 0) return NULL;
    }
    object = child;
    path += n + (path[n] == '.');
  }
  return object;
}

/* Is the section part of the dump? Variants only if selected. */
static bool applies(const struct sl_config *config, const struct sl_section *section) {
  const char *variant = strchr(section->name, '@');
  if (variant == NULL) return true;
  if (strcmp(section->path, "scheduler.params") == 0)
    return strcmp(variant + 1, sl_config_scheduler_name(config->scheduler.type)) == 0;
  const enum sl_optimizer type = config->optimizer.type;
  return strcmp(variant + 1, type == SL_OPT_SGD ? "sgd" : type == SL_OPT_ONEBIT_ADAM ? "onebit" : "adam") == 0;
}

static bool dump_section(const struct sl_config *config, const struct sl_section *section, json_t *root) {
  for (size_t i = 0; i < sl_field_count; i++) {
    const struct sl_field *field = &sl_fields[i];
    if (!field->modelled || strcmp(field->section, section->name) != 0) continue;
    json_t *object = make_object(root, section->path);
    if (object == NULL || json_object_set_new(object, field->key, sl_config_value(field, config)) != 0) return false;
  }
  return true;
}

json_t *sl_config_to_json(const struct sl_config *config) {
  json_t *root = json_object();
  bool good = root != NULL;
  for (size_t i = 0; good && i < sl_section_count; i++) {
    if (applies(config, &sl_sections[i])) good = dump_section(config, &sl_sections[i], root);
  }
  if (good && config->scheduler.type != SL_LR_CONSTANT) {
    json_t *scheduler = make_object(root, "scheduler");
    good = scheduler != NULL &&
           json_object_set_new(scheduler, "type", json_string(sl_config_scheduler_name(config->scheduler.type))) == 0;
  }
  if (good && config->autocast_dtype != SL_F32)
    good =
        json_object_set_new(root, "torch_autocast",
                            json_pack("{s:b, s:s}", "enabled", 1, "dtype", sl_dtype_name(config->autocast_dtype))) == 0;
  if (good) return root;
  json_decref(root);
  return NULL;
}
