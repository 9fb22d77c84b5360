/* Inputs, plan and job of a command; see setup.h. Flags are put into the config's document before it is read, so that
 * defaults and cross-field checks see them as if they were in the file. */
#include "cli/setup.h"

#include "cli/defaults.h"
#include "cli/output.h"
#include "core/base/json_get.h"
#include "core/base/machine.h"
#include "core/cluster/provenance.h"
#include "core/config/parallel.h"
#include "core/interop/megatron.h"
#include "core/job/job.h"

#include <malloc.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A DeepSpeed preset implies a ZeRO stage. If the file has none, the stage is set, so that the defaults that depend on
 * it follow. */
static void put_preset_stage(json_t *root, const char *preset) {
  const int stage = sl_strategy_deepspeed_stage(preset);
  const json_t *zero = json_object_get(root, "zero_optimization");
  if (stage >= 0 && json_object_get(zero, "stage") == NULL)
    sl_defaults_set(root, "zero_optimization.stage", json_integer(stage));
}

/* "bf16-autocast" is fp32 with torch.autocast to bf16. */
static void put_autocast(json_t *root, const char *dtype) {
  const char *end = strstr(dtype, "-autocast");
  sl_defaults_set(root, "torch_autocast", NULL);
  if (end == NULL) return;
  sl_defaults_set(root, "torch_autocast.enabled", json_true());
  sl_defaults_set(root, "torch_autocast.dtype", json_stringn(dtype, (size_t)(end - dtype)));
}

/* Notes that the flag set the first of `keys`. */
static void name_flag(struct sl_json *doc, const char *keys, const char *flag) {
  char path[128], word[64];
  snprintf(path, sizeof path, "%.*s", (int)strcspn(keys, "|"), keys);
  snprintf(word, sizeof word, "--%s", flag);
  sl_json_set_by(doc, path, word);
}

/* --tp takes the place of AutoTP's degree, not of AutoTP: messages about it name the key that asked for it. */
static void keep_autotp(struct sl_json *doc) {
  static const char path[] = "shardlab.tp_vocab";
  const char *autotp = sl_config_autotp_key(doc->root);
  char name[1600];
  if (autotp == NULL || sl_json_at(doc->root, path) != NULL) return;
  sl_json_name(doc, autotp, name, sizeof name);
  sl_defaults_set(doc->root, path, json_string("autotp"));
  sl_json_set_by(doc, path, name);
}

static void override(struct sl_json *doc, const struct sl_options *options) {
  const char *name, *keys;
  json_t *root = doc->root, *value;
  if (options->tp > 0) keep_autotp(doc);
  for (int i = 0; sl_options_override(options, i, &name, &keys, &value); i++) {
    if (value == NULL) continue;
    sl_defaults_set(root, keys, value);
    name_flag(doc, keys, name);
    while ((keys = strchr(keys, '|')) != NULL) sl_defaults_set(root, ++keys, NULL);
  }
  if (options->dtype != NULL) {
    sl_defaults_set(root, "bfloat16", NULL); /* the deprecated spelling */
    sl_defaults_set(root, "bf16.enabled", json_boolean(strcmp(options->dtype, "bf16") == 0));
    sl_defaults_set(root, "fp16.enabled", json_boolean(strcmp(options->dtype, "fp16") == 0));
    put_autocast(root, options->dtype);
  }
  if (options->preset != NULL) put_preset_stage(root, options->preset);
}

/* The configuration if there is no file. */
static const char config_without_file[] = "{\"train_micro_batch_size_per_gpu\": 1,\n"
                                          " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.001}}}\n";

/* Whether a flag is given that overrides a key of the configuration. */
static bool sets_a_key(const struct sl_options *options) {
  const char *name, *keys;
  json_t *value;
  for (int i = 0; sl_options_override(options, i, &name, &keys, &value); i++) {
    json_decref(value);
    if (value != NULL) return true;
  }
  return options->dtype != NULL;
}

static enum sl_status open_config(struct sl_json *doc, const struct sl_options *options) {
  if (options->imported != NULL) return sl_json_parse_made(doc, options->imported, options->config);
  if (options->config != NULL) return sl_hjson_open(doc, "--config", options->config);
  if (options->preset == NULL && !sets_a_key(options))
    return sl_fail(SL_ERR_INPUT,
                   "--config: is missing; expected DeepSpeed's ds_config.json, --preset with a framework's "
                   "name, or flags that stand for its keys (--zero-stage 3)");
  const char *source = options->preset != NULL ? "--preset" : "flags";
  if (!sl_options_given(options, "train-batch"))
    return sl_json_parse(doc, source, config_without_file, sizeof config_without_file - 1);
  /* then the micro-batch follows from the batch */
  const char *rest = strchr(config_without_file, '\n');
  char text[sizeof config_without_file + 1];
  const int length = snprintf(text, sizeof text, "{%s", rest);
  return sl_json_parse(doc, source, text, (size_t)length);
}

static enum sl_status read_config(struct sl_config *config, const struct sl_options *options,
                                  const struct sl_model *model, const struct sl_cluster *cluster) {
  struct sl_json doc;
  SL_TRY(open_config(&doc, options));
  if (json_is_object(doc.root)) {
    override(&doc, options);
    sl_defaults_put(doc.root, options, model, cluster);
  }
  SL_TRY(sl_config_from_json(config, &doc, options->strict));
  if (options->from_megatron != NULL && !sl_options_given(options, "train-batch"))
    config->megatron_batch = sl_megatron_global_batch;
  return SL_OK;
}

enum sl_status sl_setup_config(struct sl_config *config, const struct sl_options *options) {
  struct sl_cluster cluster;
  SL_TRY(sl_cluster_load(&cluster, options->cluster));
  const enum sl_status status = read_config(config, options, NULL, &cluster);
  sl_cluster_free(&cluster);
  return status;
}

/* For a job that uses part of every node. A machine that has no other nodes may have more ranks than cores. */
static enum sl_status resize_nodes(struct sl_cluster *cluster, const struct sl_options *options) {
  const bool alone = cluster->nodes == 1 && options->ranks_per_node == options->world;
  if (options->ranks_per_node == 0 || options->ranks_per_node == cluster->devices_per_node) return SL_OK;
  if (alone && options->ranks_per_node > cluster->devices_per_node) return SL_OK;
  if (options->ranks_per_node > cluster->devices_per_node)
    return sl_fail(SL_ERR_INPUT, "%s: has %lld ranks a node; expected at most the %lld devices of a node of %s",
                   options->hostfile != NULL ? options->hostfile : options->from_accelerate,
                   (long long)options->ranks_per_node, (long long)cluster->devices_per_node, options->cluster);
  sl_cluster_resize_nodes(cluster, options->ranks_per_node);
  return SL_OK;
}

/* Loads the three inputs, with flags overriding the config's keys. */
static enum sl_status load_inputs(struct sl_setup *setup, const struct sl_options *options) {
  memset(setup, 0, sizeof *setup);
  if (options->model == NULL)
    return sl_fail(SL_ERR_INPUT,
                   "--model: is missing; expected a preset ('shardlab show presets' lists them) or a config.json");
  enum sl_status status;
  SL_GO_FAIL(sl_model_load(&setup->model, options->model));
  SL_GO_FAIL(sl_cluster_load(&setup->cluster, options->cluster));
  SL_GO_FAIL(resize_nodes(&setup->cluster, options));
  sl_cluster_align(&setup->cluster, options->world);
  SL_GO_FAIL(read_config(&setup->config, options, &setup->model, &setup->cluster));
  if (options->device_memory > 0) {
    setup->cluster.device.device_memory = options->device_memory;
    sl_annotation_set(setup->cluster.annotations, "device.device_memory_GiB", "--device-memory", NAN);
  }
  return SL_OK;
fail:
  sl_setup_free(setup);
  return status;
}

enum sl_status sl_setup_plan(struct sl_setup *setup, const struct sl_options *options) {
  SL_TRY(load_inputs(setup, options));
  enum sl_status status =
      sl_plan_build(&setup->plan, &setup->model, &setup->config, &setup->cluster, (int)options->world);
  if (status == SL_OK) status = sl_output_check(options);
  if (status != SL_OK) sl_setup_free(setup);
  return status;
}

/* The programs of one rank are built after those of another, in memory of the same sizes: what is given back stays with
 * the process, so that the kernel does not have to clear it once more. The first part of this thread's heap comes in huge
 * pages where there are any: otherwise a tenth of a prediction's time is the kernel's, page by page. Other threads keep
 * heaps of their own, since in one heap they would wait for each other. */
static void keep_memory(void) {
  enum { HEAP = 64 << 20, HUGE_PAGE = 2 << 20 };
  mallopt(M_MMAP_THRESHOLD, 32 << 20); /* bytes, the most that there may be */
  mallopt(M_TRIM_THRESHOLD, 2 * HEAP);
  mallopt(M_TOP_PAD, HEAP);
  void *volatile grows = malloc(HUGE_PAGE); /* by as much as that and HEAP */
  free(grows);
  const uintptr_t end = (uintptr_t)sbrk(0), first = (end - HEAP) / HUGE_PAGE * HUGE_PAGE;
  madvise((void *)first, end - first, MADV_HUGEPAGE);
}

enum sl_status sl_setup_job_within(struct sl_setup *setup, const struct sl_options *options, enum sl_setup_for use,
                                   int64_t most_live_bytes) {
  const char *what = options->operand_count > 0 ? options->operand[0] : ""; /* the subject of show */
  const bool shared = use == SL_SETUP_RANK || use == SL_SETUP_WORKER;       /* the machine, with others like it */
  struct sl_build_options build = {.memory_curve = strcmp(what, "memory") == 0 || options->trace != NULL,
                                   .save_params = options->save != NULL,
                                   .save_grads = options->save_grads != NULL,
                                   .threads = shared ? 1 : sl_machine_cores(),
                                   .repeated = use >= SL_SETUP_SIMULATION,
                                   .reserve_beside = use == SL_SETUP_SIMULATION};
  enum sl_status status;
  SL_TRY(sl_setup_plan(setup, options));
  /* the size of a CPU's scratch memory depends on the threads */
  if (options->threads > 0 && setup->cluster.device.kind == SL_DEVICE_CPU) setup->plan.threads = (int)options->threads;
  if (use != SL_SETUP_RANK) keep_memory();
  /* a framework's allocator takes what it takes, however much is live at once of our buffers */
  if (setup->plan.config->sl.kernels == SL_KERNELS_SHARDLAB) build.most_live = most_live_bytes;
  status = sl_job_build(&setup->job, &setup->plan, &build);
  if (status != SL_OK) sl_setup_free(setup);
  return status;
}

enum sl_status sl_setup_job(struct sl_setup *setup, const struct sl_options *options, enum sl_setup_for use) {
  return sl_setup_job_within(setup, options, use, 0);
}

void sl_setup_free(struct sl_setup *setup) {
  sl_job_free(&setup->job);
  sl_plan_free(&setup->plan);
  sl_cluster_free(&setup->cluster);
  sl_config_free(&setup->config);
  sl_model_free(&setup->model);
  memset(setup, 0, sizeof *setup);
}
