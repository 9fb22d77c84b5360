/* Reads torchtitan's settings; see torchtitan.h. Sources: torchtitan at 238fa99, config/job_config.py (keys and
 * defaults), distributed/parallel_dims.py (degrees), distributed/activation_checkpoint.py,
 * models/llama3/infra/parallelize.py (what is applied in which case). */
#include "core/interop/torchtitan.h"

#include "core/base/checked.h"
#include "core/base/json_get.h"
#include "core/base/limits.h"
#include "core/interop/paths.h"
#include "core/interop/toml.h"
#include "core/interop/torchtitan_keys.h"
#include "core/interop/torchtitan_models.h"
#include "core/interop/torchtitan_pipeline.h"

#include <stdlib.h>
#include <string.h>

#define TRAINING "training."
#define PARALLELISM "parallelism."
#define EXPERIMENTAL "experimental."
/* A key's current path, and its path at the end of 2024. */
#define MOVED(old, name) PARALLELISM name "|" old name
static const char shard_key[] = MOVED(TRAINING, "data_parallel_shard_degree") "|training.data_parallel_degree";
static const char replicate_key[] = MOVED(TRAINING, "data_parallel_replicate_degree");
static const char tp_key[] = MOVED(TRAINING, "tensor_parallel_degree");
static const char cp_key[] = MOVED(EXPERIMENTAL, "context_parallel_degree");
static const char rotate_key[] = MOVED(EXPERIMENTAL, "context_parallel_rotate_method");
static const char async_key[] = MOVED(EXPERIMENTAL, "enable_async_tensor_parallel");
static const char reshard_key[] = MOVED(TRAINING, "fsdp_reshard_after_forward");

static void put(struct sl_titan *t, const char *path, json_t *value) {
  sl_interop_put(t->config, path, value);
}

/* ---- ranks ---- */

/* A shard degree of -1 stands for all ranks that the other degrees leave. */
static enum sl_status read_degrees(struct sl_titan *t) {
  t->replicate = t->cp = t->tp = t->pp = 1;
  t->shard = -1;
  SL_TRY(sl_settings_int(&t->s, replicate_key, 1, SL_MAX_DEGREE, &t->replicate));
  SL_TRY(sl_settings_int(&t->s, shard_key, -1, SL_MAX_DEGREE, &t->shard));
  SL_TRY(sl_settings_int(&t->s, cp_key, 1, SL_MAX_DEGREE, &t->cp));
  SL_TRY(sl_settings_int(&t->s, tp_key, 1, SL_MAX_DEGREE, &t->tp));
  SL_TRY(sl_settings_int(&t->s, sl_titan_pp_key, 1, SL_MAX_DEGREE, &t->pp));
  const int64_t others = sl_product(sl_product(sl_product(t->replicate, t->cp), t->tp), t->pp);
  if (t->shard == 0) return sl_settings_fail(&t->s, shard_key, "-1, or 1 and above");
  if (t->shard < 0 && t->world == 0)
    return sl_settings_fail(&t->s, shard_key, "--world beside it: it stands for all ranks that the others leave");
  if (t->shard < 0) t->shard = t->world / others > 0 ? t->world / others : 1;
  const int64_t all = sl_product(others, t->shard);
  t->members = sl_product(t->shard, t->cp);
  if (t->world == 0 && all <= SL_MAX_WORLD) t->world = all;
  if (t->world == all) return SL_OK;
  char cp[32] = "";
  if (t->cp > 1) snprintf(cp, sizeof cp, " x cp %lld", (long long)t->cp);
  return sl_settings_fail(
      &t->s, shard_key, "degrees whose product is the %lld ranks: replicas %lld x shards %lld%s x tp %lld x pp %lld",
      (long long)t->world, (long long)t->replicate, (long long)t->shard, cp, (long long)t->tp, (long long)t->pp);
}

/* "allgather" gathers keys and values once, "alltoall" passes them on from rank to rank. */
static enum sl_status put_context(struct sl_titan *t) {
  char method[32] = "allgather";
  SL_TRY(sl_settings_word(&t->s, rotate_key, "allgather|alltoall", method));
  if (t->cp == 1) return SL_OK;
  put(t, "shardlab.cp", json_integer(t->cp));
  if (strcmp(method, "allgather") == 0) return SL_OK;
  return sl_settings_fail(&t->s, rotate_key, "allgather: keys and values that go round are not modelled");
}

/* Replicas alone (models/llama3/infra/parallelize.py, apply_ddp: DDP has not supported > 1D parallelism). */
static enum sl_status put_ddp(struct sl_titan *t) {
  if (t->tp > 1 || t->pp > 1)
    return sl_settings_fail(&t->s, replicate_key, "1, or shards beside it: torchtitan's DDP has no tp and no pp");
  put(t, "shardlab.preset", json_string("ddp"));
  sl_warn("%s: torchtitan's DDP has buckets of 100 MiB; here they are PyTorch's usual 25 MiB", t->s.doc->name);
  return SL_OK;
}

static enum sl_status put_sharding(struct sl_titan *t) {
  char policy[32] = "default";
  SL_TRY(sl_settings_word(&t->s, reshard_key, "default|always|never", policy));
  const bool reshards = strcmp(policy, "default") == 0 ? t->pp == 1 : strcmp(policy, "always") == 0;
  put(t, "shardlab.preset", json_string(reshards ? "fsdp2" : "fsdp2-no-reshard"));
  if (reshards && t->pp > 1)
    sl_warn("%s: fsdp_reshard_after_forward = \"always\" beside a pipeline: gathers for each micro-batch are not "
            "modelled; parameters are gathered once a step, as by \"never\"",
            t->s.doc->name);
  put(t, "shardlab.tp", json_integer(t->tp));
  put(t, "shardlab.pp", json_integer(t->pp));
  SL_TRY(put_context(t));
  if (t->tp > 1) put(t, "shardlab.sequence_parallel", json_true());
  bool async = false;
  SL_TRY(sl_settings_bool(&t->s, async_key, &async));
  if (async && t->tp > 1) put(t, "shardlab.async_tp", json_true());
  if (t->replicate == 1) return SL_OK;
  if (t->members == 1) return put_ddp(t);
  put(t, "shardlab.shard_size", json_integer(t->members));
  return SL_OK;
}

/* ---- optimizer and number types ---- */

static enum sl_status put_optimizer(struct sl_titan *t) {
  char name[32] = "AdamW";
  double lr = 8e-4, betas[2] = {0.9, 0.95}, eps = 1e-8, decay = 0.1, clip = 1;
  SL_TRY(sl_settings_word(&t->s, "optimizer.name", "AdamW|Adam", name));
  SL_TRY(sl_settings_real(&t->s, "optimizer.lr", 0, 1e300, &lr));
  SL_TRY(sl_settings_real(&t->s, "optimizer.beta1", 0, 1, &betas[0]));
  SL_TRY(sl_settings_real(&t->s, "optimizer.beta2", 0, 1, &betas[1]));
  SL_TRY(sl_settings_real(&t->s, "optimizer.eps", 0, 1e300, &eps));
  SL_TRY(sl_settings_real(&t->s, "optimizer.weight_decay", 0, 1e300, &decay));
  const json_t *norm = sl_settings_value(&t->s, TRAINING "max_norm");
  if (json_is_string(norm) && strcmp(json_string_value(norm), "inf") == 0)
    clip = 0; /* no clipping */
  else
    SL_TRY(sl_settings_real(&t->s, TRAINING "max_norm", 1e-300, 1e300, &clip));
  put(t, "optimizer.type", json_string(name));
  put(t, "optimizer.params",
      json_pack("{s:f, s:[f, f], s:f, s:f}", "lr", lr, "betas", betas[0], betas[1], "eps", eps, "weight_decay", decay));
  if (strcmp(name, "Adam") == 0) put(t, "optimizer.params.adam_w_mode", json_false());
  put(t, "gradient_clipping", json_real(clip));
  return SL_OK;
}

/* Only FSDP casts. Without it DDP and a single device train under torch.autocast, and beside tp or pp torchtitan
 * leaves all in fp32 and warns (distributed/utils.py, maybe_enable_amp). */
static enum sl_status put_number_types(struct sl_titan *t) {
  char whole[32] = "float32", param[32] = "bfloat16", reduce[32] = "float32";
  SL_TRY(sl_settings_word(&t->s, TRAINING "dtype", "float32|bfloat16", whole));
  SL_TRY(sl_settings_word(&t->s, TRAINING "mixed_precision_param", "bfloat16|float32", param));
  SL_TRY(sl_settings_word(&t->s, TRAINING "mixed_precision_reduce", "float32|bfloat16", reduce));
  if (strcmp(whole, "float32") != 0)
    return sl_settings_fail(&t->s, TRAINING "dtype", "float32: parameters without fp32 masters are not modelled");
  if (strcmp(param, "float32") == 0) return SL_OK;
  if (t->members == 1 && t->tp == 1 && t->pp == 1) {
    put(t, "shardlab.preset", json_string("ddp"));
    put(t, "torch_autocast.enabled", json_true());
    return put(t, "torch_autocast.dtype", json_string("bf16")), SL_OK;
  }
  if (t->members == 1)
    return sl_warn("%s: without FSDP mixed precision is not applied: parameters are fp32, as in torchtitan",
                   t->s.doc->name),
           SL_OK;
  put(t, "bf16.enabled", json_true());
  put(t, "communication_data_type", json_string(strcmp(reduce, "float32") == 0 ? "fp32" : "bf16"));
  return SL_OK;
}

/* Whether a converter is one of float8; none else is modelled. */
static enum sl_status read_converter(const struct sl_titan *t, const char *name, size_t length, bool *on) {
  static const char *const known[] = {"float8", "quantize.linear.float8"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strlen(known[i]) == length && strncmp(name, known[i], length) == 0) return *on = true, SL_OK;
  return sl_settings_fail(&t->s, "model.converters", "none but float8: no other one is modelled");
}

/* A list, in TOML of early 2025 one string with commas (config_manager.py, string_list). */
static enum sl_status read_converters(const struct sl_titan *t, bool *on) {
  const json_t *given = sl_settings_value(&t->s, "model.converters"), *item;
  size_t i;
  if (json_is_string(given)) {
    for (const char *at = json_string_value(given); *at != '\0';) {
      const size_t length = strcspn(at, ",");
      size_t end = length, begin = strspn(at, " ");
      while (end > begin && at[end - 1] == ' ') end--;
      if (end > begin) SL_TRY(read_converter(t, at + begin, end - begin, on));
      at += length + (at[length] == ',');
    }
    return SL_OK;
  }
  if (given != NULL && !json_is_array(given)) return sl_settings_fail(&t->s, "model.converters", "a list");
  json_array_foreach((json_t *)(uintptr_t)given, i, item) {
    const char *name = json_is_string(item) ? json_string_value(item) : "";
    SL_TRY(read_converter(t, name, strlen(name), on));
  }
  return SL_OK;
}

static enum sl_status put_float8(struct sl_titan *t) {
  static const char recipe_key[] =
      "quantize.linear.float8.recipe_name|quantize.dense.float8.recipe_name|float8.recipe_name";
  static const char gather_key[] = "quantize.linear.float8.enable_fsdp_float8_all_gather|"
                                   "quantize.dense.float8.enable_fsdp_float8_all_gather|"
                                   "float8.enable_fsdp_float8_all_gather";
  bool on = false, gathers = false;
  char recipe[32] = "tensorwise";
  SL_TRY(sl_settings_bool(&t->s, "float8.enable_float8_linear", &on));
  SL_TRY(sl_settings_word(&t->s, recipe_key, "tensorwise|rowwise|rowwise_with_gw_hp", recipe));
  SL_TRY(read_converters(t, &on));
  SL_TRY(sl_settings_bool(&t->s, gather_key, &gathers));
  if (!on) return SL_OK;
  if (!gathers && strcmp(recipe, "tensorwise") == 0 && t->members > 1)
    sl_warn("%s: enable_fsdp_float8_all_gather is false, but compiled tensorwise blocks are gathered in float8 here",
            t->s.doc->name);
  if (strcmp(recipe, "rowwise_with_gw_hp") == 0)
    return sl_settings_fail(&t->s, recipe_key, "tensorwise or rowwise: no other one is modelled");
  if (!json_is_true(sl_json_at(t->config, "bf16.enabled")))
    return sl_settings_fail(
        &t->s, "float8.enable_float8_linear|model.converters",
        "none where parameters are fp32, as without FSDP and by mixed_precision_param: fp8 products "
        "are of bf16 numbers here");
  put(t, "shardlab.fp8", json_true());
  put(t, "shardlab.fp8_recipe", json_string(recipe));
  return SL_OK;
}

/* ---- kernels and activations ---- */

static bool compiles(const json_t *components, const char *what) {
  size_t i;
  json_t *name;
  if (components == NULL) return true; /* both are compiled by default */
  json_array_foreach((json_t *)(uintptr_t)components, i,
                     name) if (json_is_string(name) && strcmp(json_string_value(name), what) == 0) return true;
  return false;
}

static enum sl_status put_kernels(struct sl_titan *t) {
  bool compile = false;
  SL_TRY(sl_settings_bool(&t->s, "compile.enable|training.compile", &compile));
  const json_t *components = sl_settings_value(&t->s, "compile.components");
  if (components != NULL && !json_is_array(components)) return sl_settings_fail(&t->s, "compile.components", "a list");
  /* until June 2025 (8570415c3); the loss was not compiled from December 2024 to April 2025 (e8977b007, bbb1b616e) */
  const bool old = sl_settings_value(&t->s, "training.local_batch_size") == NULL &&
                   sl_settings_value(&t->s, "training.batch_size") != NULL;
  const bool blocks = compile && compiles(components, "model"), loss = blocks && !old && compiles(components, "loss");
  put(t, "shardlab.kernels", json_string(loss ? "torch-compile" : blocks ? "torch-compile-blocks" : "torch-eager"));
  put(t, "shardlab.expandable_segments", json_true()); /* run_train.sh */
  put(t, "shardlab.attention", json_string("flash"));  /* what scaled_dot_product_attention runs on GPUs */
  return SL_OK;
}

/* "op" keeps the results of expensive ops; a number n recomputes every n-th layer in full. */
static enum sl_status put_recompute(struct sl_titan *t) {
  static const char option_key[] = "activation_checkpoint.selective_ac_option";
  char mode[32] = "selective";
  SL_TRY(sl_settings_word(&t->s, "activation_checkpoint.mode", "none|selective|full|memory_budget", mode));
  const json_t *option = sl_settings_value(&t->s, option_key);
  const char *text = option == NULL ? "2" : json_is_string(option) ? json_string_value(option) : "";
  char *end;
  const long every = strtol(text, &end, 10);
  if (strcmp(mode, "memory_budget") == 0)
    return sl_settings_fail(&t->s, "activation_checkpoint.mode", "none, selective or full: no other one is modelled");
  if (strcmp(mode, "selective") != 0) return put(t, "shardlab.recompute", json_string(mode)), SL_OK;
  if (strcmp(text, "op") == 0) return put(t, "shardlab.recompute", json_string("selective_op")), SL_OK;
  if (*text == '\0' || *end != '\0' || every < 1 || every > SL_MAX_ROWS)
    return sl_settings_fail(&t->s, option_key, "\"op\", or a whole number in quotes");
  put(t, "shardlab.recompute", json_string("full"));
  if (every > 1) put(t, "shardlab.recompute_every", json_integer(every));
  return SL_OK;
}

/* ---- the model ---- */

/* Names the flavors of the given model family or, if it is unknown, the families. */
static enum sl_status unknown_flavor(const struct sl_titan *t, const char *family) {
  char list[256] = "";
  const char *name, *flavor;
  for (int i = 0; sl_torchtitan_flavor(i, &name, &flavor); i++) {
    const size_t used = strlen(list);
    if (strcmp(name, family) == 0) snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", flavor);
  }
  if (list[0] != '\0') return sl_settings_fail(&t->s, "model.flavor", "of %s one of %s; or --model", family, list);
  return sl_settings_fail(&t->s, "model.name", "llama3, llama2 or qwen3, dense; or --model");
}

static enum sl_status make_model(struct sl_titan *t, int64_t seq, json_t **model) {
  const json_t *flavor = sl_settings_value(&t->s, "model.flavor"), *name = sl_settings_value(&t->s, "model.name");
  if (flavor == NULL || t->layers > 0) return SL_OK; /* --model was given */
  const char *family = name == NULL ? "llama3" : json_is_string(name) ? json_string_value(name) : "";
  *model = json_is_string(flavor) ? sl_torchtitan_model(family, json_string_value(flavor), seq) : NULL;
  if (*model == NULL) return unknown_flavor(t, family);
  t->layers = json_integer_value(json_object_get(*model, "num_hidden_layers"));
  return SL_OK;
}

/* "[[training]]" is a list, in which no setting would be found. */
static enum sl_status check_sections(const struct sl_json *doc) {
  const char *key;
  json_t *value;
  json_object_foreach(doc->root, key, value) {
    if (json_is_array(value)) return sl_json_fail(doc, key, "is a list; expected a table, [%s]", key);
  }
  return SL_OK;
}

static enum sl_status make_config(struct sl_titan *t, json_t **model) {
  int64_t seq = 2048, seed = 1234;
  SL_TRY(check_sections(t->s.doc));
  SL_TRY(sl_settings_refuse(&t->s, sl_torchtitan_refused));
  SL_TRY(sl_settings_int(&t->s, TRAINING "seq_len", 1, SL_MAX_ROWS, &seq));
  SL_TRY(sl_settings_int(&t->s, "debug.seed|training.seed", 0, INT64_C(1) << 53, &seed));
  put(t, "shardlab.seq_len", json_integer(seq));
  put(t, "shardlab.seed", json_integer(seed));
  SL_TRY(make_model(t, seq, model));
  SL_TRY(read_degrees(t));
  SL_TRY(put_sharding(t));
  SL_TRY(sl_titan_put_pipeline(t));
  SL_TRY(put_optimizer(t));
  SL_TRY(put_number_types(t));
  SL_TRY(put_float8(t));
  SL_TRY(put_kernels(t));
  return put_recompute(t);
}

enum sl_status sl_torchtitan_read(const char *name, const char *text, size_t size, bool strict, int64_t layers,
                                  int64_t *world, json_t **config, json_t **model, json_t *names_given) {
  static const struct sl_setting_names names = {"torchtitan", sl_torchtitan_beside, sl_torchtitan_known};
  struct sl_json doc;
  enum sl_status status;
  struct sl_titan t = {.world = *world, .layers = layers};
  *config = *model = NULL;
  SL_TRY(sl_toml_parse(&doc, name, text, size));
  SL_GO(sl_settings_open(&t.s, &doc));
  SL_GO(sl_settings_check_names(&t.s, &names, strict));
  *config = t.config = json_object();
  SL_GO(make_config(&t, model));
  sl_settings_name_rest(&t.s, &names);
  if (names_given != NULL) sl_settings_tie(&t.s, sl_torchtitan_ties, names_given);
  *world = t.world;
done:
  sl_settings_free(&t.s);
  sl_json_free(&doc);
  if (status != SL_OK) {
    json_decref(*config);
    json_decref(*model);
    *config = *model = NULL;
  }
  return status;
}
