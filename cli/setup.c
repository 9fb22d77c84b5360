/* Inputs, plan and job of a command; see setup.h. Flags are put into the config's document before it is read, so that
 * defaults and cross-field checks see them as if they stood in the file. */
#include "cli/setup.h"
#include "core/base/machine.h"
#include "core/job/job.h"

#include <stdio.h>
#include <string.h>

/* Set the key at a path of sections, which ends at '|': one that is absent or not an object becomes one. Without a value
 * the key is dropped. */
static void put(json_t *object, const char *path, json_t *value) {
  char key[64];
  for (;;) {
    const size_t length = strcspn(path, ".|");
    snprintf(key, sizeof key, "%.*s", (int)length, path);
    if (path[length] != '.') break;
    json_t *section = json_object_get(object, key);
    if (!json_is_object(section)) {
      if (value == NULL) return;
      section = json_object();
      json_object_set_new(object, key, section);
    }
    object = section;
    path += length + 1;
  }
  if (value != NULL)
    json_object_set_new(object, key, value);
  else
    json_object_del(object, key);
}

/* A DeepSpeed preset is a stage: where the file names none, the defaults that follow from the stage do too. */
static void put_preset_stage(json_t *root, const char *preset) {
  const int stage = sl_strategy_deepspeed_stage(preset);
  const json_t *zero = json_object_get(root, "zero_optimization");
  if (stage >= 0 && json_object_get(zero, "stage") == NULL) put(root, "zero_optimization.stage", json_integer(stage));
}

static void override(json_t *root, const struct sl_options *options) {
  const char *keys;
  json_t *value;
  for (int i = 0; sl_options_override(options, i, &keys, &value); i++) {
    if (value == NULL) continue;
    put(root, keys, value);
    while ((keys = strchr(keys, '|')) != NULL) put(root, ++keys, NULL);
  }
  if (options->preset != NULL) put_preset_stage(root, options->preset);
}

/* What a preset trains with when no file says otherwise. */
static const char preset_config[] = "{\"train_micro_batch_size_per_gpu\": 1,\n"
                                    " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.001}}}\n";

static enum sl_status open_config(struct sl_json *doc, const struct sl_options *options) {
  if (options->config != NULL) return sl_json_open(doc, "--config", options->config);
  if (options->preset == NULL)
    return sl_fail(SL_ERR_INPUT,
                   "--config: is missing; expected DeepSpeed's ds_config.json, or --preset with a framework's name");
  if (!sl_options_given(options, "train-batch"))
    return sl_json_parse(doc, "--preset", preset_config, sizeof preset_config - 1);
  /* the micro-batch then follows from the batch */
  const char *rest = strchr(preset_config, '\n');
  char text[sizeof preset_config + 1];
  const int length = snprintf(text, sizeof text, "{%s", rest);
  return sl_json_parse(doc, "--preset", text, (size_t)length);
}

static enum sl_status read_config(struct sl_config *config, const struct sl_options *options, const json_t *changes) {
  struct sl_json doc;
  const char *path;
  json_t *value;
  SL_TRY(open_config(&doc, options));
  if (json_is_object(doc.root)) override(doc.root, options);
  json_object_foreach((json_t *)(uintptr_t)changes, path, value) put(doc.root, path, json_incref(value));
  return sl_config_from_json(config, &doc, options->strict);
}

enum sl_status sl_setup_config(struct sl_config *config, const struct sl_options *options) {
  return read_config(config, options, NULL);
}

/* Load the three inputs, flags overriding the config's keys. */
static enum sl_status load_inputs(struct sl_setup *setup, const struct sl_options *options, const json_t *changes) {
  memset(setup, 0, sizeof *setup);
  if (options->model == NULL)
    return sl_fail(SL_ERR_INPUT,
                   "--model: is missing; expected a preset ('shardlab show presets' lists them) or a config.json");
  enum sl_status status;
  SL_GO_FAIL(sl_model_load(&setup->model, options->model));
  SL_GO_FAIL(read_config(&setup->config, options, changes));
  SL_GO_FAIL(sl_cluster_load(&setup->cluster, options->cluster));
  return SL_OK;
fail:
  sl_setup_free(setup);
  return status;
}

static enum sl_status make_plan(struct sl_setup *setup, const struct sl_options *options, const json_t *changes) {
  SL_TRY(load_inputs(setup, options, changes));
  const enum sl_status status =
      sl_plan_build(&setup->plan, &setup->model, &setup->config, &setup->cluster, (int)options->world);
  if (status != SL_OK) sl_setup_free(setup);
  return status;
}

enum sl_status sl_setup_plan(struct sl_setup *setup, const struct sl_options *options) {
  return make_plan(setup, options, NULL);
}

static enum sl_status make_job(struct sl_setup *setup, const struct sl_options *options, const json_t *changes,
                               bool alone) {
  const char *what = options->operand_count > 0 ? options->operand[0] : ""; /* of show */
  const struct sl_build_options build = {.memory_curve = strcmp(what, "memory") == 0,
                                         .save_params = options->save != NULL,
                                         .save_grads = options->save_grads != NULL,
                                         .threads = alone ? sl_machine_cores() : 1};
  enum sl_status status;
  SL_TRY(make_plan(setup, options, changes));
  if (options->threads > 0) setup->plan.threads = (int)options->threads; /* scratch memory goes by threads */
  status = sl_job_build(&setup->job, &setup->plan, &build);
  if (status != SL_OK) sl_setup_free(setup);
  return status;
}

enum sl_status sl_setup_job(struct sl_setup *setup, const struct sl_options *options, bool alone) {
  return make_job(setup, options, NULL, alone);
}

enum sl_status sl_setup_changed(struct sl_setup *setup, const struct sl_options *options, const json_t *changes) {
  return make_job(setup, options, changes, true);
}

void sl_setup_free(struct sl_setup *setup) {
  sl_job_free(&setup->job);
  sl_plan_free(&setup->plan);
  sl_cluster_free(&setup->cluster);
  sl_config_free(&setup->config);
  sl_model_free(&setup->model);
  memset(setup, 0, sizeof *setup);
}
