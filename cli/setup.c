/* Inputs, plan and job of a command; see setup.h. Flags are put into the config's document before it is read, so that
 * defaults and cross-field checks see them as if they stood in the file. */
#include "cli/setup.h"

#include <string.h>

static enum sl_status required(const char *flag, const char *value, const char *expected) {
  if (value != NULL) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: is missing; expected %s", flag, expected);
}

/* Set section.key (section "" is the top level); a section that is absent or not an object becomes one. */
static void put(json_t *root, const char *section, const char *key, json_t *value) {
  json_t *object = root;
  if (section[0] != '\0') {
    object = json_object_get(root, section);
    if (!json_is_object(object)) {
      object = json_object();
      json_object_set_new(root, section, object);
    }
  }
  json_object_set_new(object, key, value);
}

static void override(json_t *root, const struct sl_options *o) {
  const struct {
    const char *flag, *section, *key;
    int64_t value;
  } integers[] = {
      {"train-batch", "", "train_batch_size", o->train_batch},
      {"micro-batch", "", "train_micro_batch_size_per_gpu", o->micro_batch},
      {"grad-accum", "", "gradient_accumulation_steps", o->grad_accum},
      {"zero-stage", "zero_optimization", "stage", o->zero_stage},
      {"tp", "shardlab", "tp", o->tp},
      {"pp", "shardlab", "pp", o->pp},
      {"cp", "shardlab", "cp", o->cp},
      {"seq", "shardlab", "seq_len", o->seq},
      {"seed", "shardlab", "seed", o->seed},
  };
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
    if (sl_options_given(o, integers[i].flag))
      put(root, integers[i].section, integers[i].key, json_integer(integers[i].value));
  if (o->schedule != NULL) put(root, "shardlab", "schedule", json_string(o->schedule));
}

static enum sl_status load_config(struct sl_config *config, const struct sl_options *options) {
  struct sl_json doc;
  SL_TRY(sl_json_load(&doc, options->config));
  if (json_is_object(doc.root)) override(doc.root, options);
  return sl_config_from_json(config, &doc, options->strict);
}

enum sl_status sl_setup_inputs(struct sl_setup *setup, const struct sl_options *options) {
  memset(setup, 0, sizeof *setup);
  SL_TRY(required("--model", options->model, "a preset ('shardlab show presets' lists them) or a config.json"));
  SL_TRY(required("--config", options->config, "DeepSpeed's ds_config.json"));
  enum sl_status status;
  SL_GO(sl_model_load(&setup->model, options->model));
  SL_GO(load_config(&setup->config, options));
  SL_GO(sl_cluster_load(&setup->cluster, options->cluster));
  return SL_OK;
fail:
  sl_setup_free(setup);
  return status;
}

enum sl_status sl_setup_plan(struct sl_setup *setup, const struct sl_options *options) {
  SL_TRY(sl_setup_inputs(setup, options));
  const enum sl_status status =
      sl_plan_build(&setup->plan, &setup->model, &setup->config, &setup->cluster, (int)options->world);
  if (status != SL_OK) sl_setup_free(setup);
  return status;
}

enum sl_status sl_setup_job(struct sl_setup *setup, const struct sl_options *options) {
  const struct sl_build_options build = {.save_params = options->save != NULL,
                                         .save_grads = options->save_grads != NULL};
  enum sl_status status;
  SL_TRY(sl_setup_plan(setup, options));
  if (options->threads > 0) setup->plan.threads = (int)options->threads; /* scratch memory goes by threads */
  status = sl_job_build(&setup->job, &setup->plan, &build);
  if (status != SL_OK) sl_setup_free(setup);
  return status;
}

void sl_setup_free(struct sl_setup *setup) {
  sl_job_free(&setup->job);
  sl_plan_free(&setup->plan);
  sl_config_free(&setup->config);
  sl_model_free(&setup->model);
  memset(setup, 0, sizeof *setup);
}
