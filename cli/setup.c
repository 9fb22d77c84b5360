/* Inputs, plan and job of a command; see setup.h. Flags are put into the config's document before it is read, so that
 * defaults and cross-field checks see them as if they stood in the file. */
#include "cli/setup.h"
#include "core/job/job.h"

#include <stdio.h>
#include <string.h>

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

/* A DeepSpeed preset is a stage: where the file names none, the defaults that follow from the stage do too. */
static void put_preset(json_t *root, const char *preset) {
  const int stage = sl_strategy_deepspeed_stage(preset);
  put(root, "shardlab", "preset", json_string(preset));
  const json_t *zero = json_object_get(root, "zero_optimization");
  if (stage >= 0 && json_object_get(zero, "stage") == NULL)
    put(root, "zero_optimization", "stage", json_integer(stage));
}

/* A flag overrides DeepSpeed's own key for the same thing too. */
static void drop(json_t *root, const char *section, const char *key) {
  json_t *object = json_object_get(root, section);
  if (json_is_object(object)) json_object_del(object, key);
}

static void drop_twins(json_t *root, const struct sl_options *o) {
  if (sl_options_given(o, "tp")) {
    drop(root, "tensor_parallel", "autotp_size");
    drop(json_object_get(root, "tensor_parallel"), "tp", "tp_size");
    drop(json_object_get(root, "tensor_parallel"), "tensor_parallel", "tp_size");
  }
  if (sl_options_given(o, "pp")) drop(root, "pipeline", "stages");
  if (o->stages != NULL) {
    drop(root, "pipeline", "partition");
    drop(root, "pipeline", "partition_method");
  }
  if (sl_options_given(o, "shard-size")) drop(root, "zero_optimization", "mics_shard_size");
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
      {"virtual-stages", "shardlab", "virtual_stages", o->virtual_stages},
      {"recompute-every", "shardlab", "recompute_every", o->recompute_every},
      {"shard-size", "shardlab", "shard_size", o->shard_size},
      {"make-vocab-size-divisible-by", "shardlab", "make_vocab_size_divisible_by", o->vocab_multiple},
      {"seq", "shardlab", "seq_len", o->seq},
      {"seed", "shardlab", "seed", o->seed},
  };
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
    if (sl_options_given(o, integers[i].flag))
      put(root, integers[i].section, integers[i].key, json_integer(integers[i].value));
  const struct {
    const char *key, *value;
  } texts[] = {{"schedule", o->schedule},   {"stages", o->stages},
               {"recompute", o->recompute}, {"recompute_modules", o->recompute_modules},
               {"attention", o->attention}, {"fuse_epilogues", o->fuse_epilogues}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (texts[i].value != NULL) put(root, "shardlab", texts[i].key, json_string(texts[i].value));
  if (o->sequence_parallel) put(root, "shardlab", "sequence_parallel", json_true());
  if (o->tf32) put(root, "shardlab", "tf32", json_true());
  drop_twins(root, o);
  if (o->preset != NULL) put_preset(root, o->preset);
}

/* What a preset trains with when no file says otherwise. */
static const char preset_config[] = "{\"train_micro_batch_size_per_gpu\": 1,\n"
                                    " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.001}}}\n";

static enum sl_status open_config(struct sl_json *doc, const struct sl_options *options) {
  if (options->config != NULL) return sl_json_load(doc, options->config);
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

enum sl_status sl_setup_config(struct sl_config *config, const struct sl_options *options) {
  struct sl_json doc;
  SL_TRY(open_config(&doc, options));
  if (json_is_object(doc.root)) override(doc.root, options);
  return sl_config_from_json(config, &doc, options->strict);
}

enum sl_status sl_setup_inputs(struct sl_setup *setup, const struct sl_options *options) {
  memset(setup, 0, sizeof *setup);
  if (options->model == NULL)
    return sl_fail(SL_ERR_INPUT,
                   "--model: is missing; expected a preset ('shardlab show presets' lists them) or a config.json");
  enum sl_status status;
  SL_GO(sl_model_load(&setup->model, options->model));
  SL_GO(sl_setup_config(&setup->config, options));
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
  sl_cluster_free(&setup->cluster);
  sl_config_free(&setup->config);
  sl_model_free(&setup->model);
  memset(setup, 0, sizeof *setup);
}
