/* Reads Megatron-LM's arguments; see megatron.h. */
#include "core/interop/megatron.h"

#include "core/base/json_get.h"
#include "core/interop/arguments.h"
#include "core/interop/megatron_account.h"
#include "core/interop/megatron_fp8.h"
#include "core/interop/megatron_keys.h"
#include "core/interop/megatron_model.h"
#include "core/interop/megatron_outside.h"
#include "core/interop/megatron_refused.h"
#include "core/interop/megatron_rows.h"
#include "core/interop/megatron_stages.h"
#include "core/interop/megatron_words.h"
#include "core/interop/paths.h"
#include "core/interop/unsaid.h"

#include <stdlib.h>
#include <string.h>

/* ---- the configuration ---- */

static json_t *default_of(const struct sl_argument *row) {
  return row->absent != NULL ? json_loads(row->absent, JSON_DECODE_ANY, NULL) : NULL;
}

static enum sl_status put_row(json_t *config, const struct sl_arguments *a, const struct sl_argument *row) {
  json_t *value = NULL;
  if (row->kind == SL_ARGUMENT_FLAG) {
    value = json_boolean(sl_arguments_has(a, row->name));
  } else if (!sl_arguments_has(a, row->name)) {
    value = default_of(row);
  } else if (row->kind == SL_ARGUMENT_INT) {
    int64_t n;
    SL_TRY(sl_arguments_int(a, row->name, &n));
    value = json_integer(n);
  } else {
    double x;
    SL_TRY(sl_arguments_real(a, row->name, &x));
    value = sl_arguments_number(a, row->name, x);
  }
  if (value != NULL) sl_interop_put(config, row->path, value);
  return SL_OK;
}

/* Whether --seed is what a shell would tell, and no number. */
static bool seed_is_open(const struct sl_arguments *a) {
  const struct sl_argument_given *g = sl_arguments_find(a, "seed");
  return a->is_script && g != NULL && g->value_count > 0 && strpbrk(g->values[0], "$`") != NULL;
}

static enum sl_status put_rows(json_t *config, const struct sl_arguments *a, enum sl_megatron_seed seed) {
  const bool open = seed != SL_MEGATRON_SEED_NEEDED && seed_is_open(a);
  for (const struct sl_argument *row = sl_megatron_arguments; row->name != NULL; row++) {
    if (!open || strcmp(row->name, "seed") != 0) {
      SL_TRY(put_row(config, a, row));
      continue;
    }
    sl_interop_put(config, row->path, default_of(row));
    const struct sl_argument_given *g = sl_arguments_find(a, row->name);
    if (sl_arguments_has(a, row->name) && seed == SL_MEGATRON_SEED_IDLE)
      sl_warn("%.256s:%d: --seed: is '%.100s', which only a shell can tell, so %s is taken: nothing here depends on it",
              g->file != NULL ? g->file : a->name, g->line, g->values[0], row->absent);
  }
  return SL_OK;
}

/* Megatron-LM does not start with full and no method, nor with selective and one (transformer_config.py, arguments.py). */
static enum sl_status check_method(const struct sl_arguments *a, const char *granularity) {
  static const char key[] = "recompute-method", needs[] = "recompute-granularity";
  const char *method;
  if (!sl_arguments_has(a, key)) {
    if (strcmp(granularity, "full") != 0 || !sl_arguments_has(a, needs)) return SL_OK;
    return sl_arguments_fail(a, needs,
                             "--recompute-method uniform beside it: full needs uniform or block, and block is not "
                             "modelled");
  }
  if (strcmp(granularity, "selective") == 0)
    return sl_arguments_fail(a, key,
                             "none: recompute method is not yet supported for selective recomputing granularity");
  SL_TRY(sl_arguments_text(a, key, &method));
  return strcmp(method, "uniform") == 0 ? SL_OK : sl_arguments_fail(a, key, "uniform: block is not modelled");
}

/* --recompute-activations means --recompute-granularity selective. Method "uniform" with one layer per piece recomputes
 * every layer from its input; in 2021 this was --checkpoint-activations or --activations-checkpoint-method. */
static enum sl_status put_recompute(json_t *config, const struct sl_arguments *a) {
  const char *granularity = sl_arguments_has(a, "recompute-activations") ? "selective" : NULL, *method;
  int64_t layers = 1;
  if (sl_arguments_has(a, "checkpoint-activations")) granularity = "full";
  if (sl_arguments_has(a, "activations-checkpoint-method")) {
    SL_TRY(sl_arguments_text(a, "activations-checkpoint-method", &method));
    if (strcmp(method, "uniform") != 0)
      return sl_arguments_fail(a, "activations-checkpoint-method", "uniform: block is not modelled");
    granularity = "full";
  }
  if (sl_arguments_has(a, "activations-checkpoint-num-layers"))
    SL_TRY(sl_arguments_int(a, "activations-checkpoint-num-layers", &layers));
  if (layers != 1)
    return sl_arguments_fail(a, "activations-checkpoint-num-layers", "1: larger pieces are not modelled");
  if (sl_arguments_has(a, "recompute-granularity")) SL_TRY(sl_arguments_text(a, "recompute-granularity", &granularity));
  if (granularity == NULL) return SL_OK;
  if (strcmp(granularity, "full") != 0 && strcmp(granularity, "selective") != 0)
    return sl_arguments_fail(a, "recompute-granularity", "full or selective");
  if (sl_arguments_has(a, "recompute-num-layers")) SL_TRY(sl_arguments_int(a, "recompute-num-layers", &layers));
  if (strcmp(granularity, "full") == 0 && layers != 1)
    return sl_arguments_fail(a, "recompute-num-layers",
                             "1: pieces of several layers, or some layers alone, are not modelled");
  SL_TRY(check_method(a, granularity));
  sl_interop_put(config, "shardlab.recompute", json_string(granularity));
  if (strcmp(granularity, "full") == 0 || !sl_arguments_has(a, "recompute-modules")) return SL_OK;
  json_t *modules = sl_arguments_list(a, "recompute-modules");
  sl_interop_put(config, "shardlab.recompute_modules", modules);
  return SL_OK;
}

/* Of 2021 and 2022, and of DeepSpeed's fork: attention is written in PyTorch unless --use-flash-attn is given. */
static enum sl_status read_legacy(const struct sl_arguments *a, bool *out) {
  static const char *const marks[] = {"deepspeed", "checkpoint-activations", "activations-checkpoint-method",
                                      "DDP-impl",  "use-legacy-models",      NULL};
  const char *implementation = "transformer_engine";
  if (sl_arguments_has(a, "transformer-impl")) SL_TRY(sl_arguments_text(a, "transformer-impl", &implementation));
  *out = strcmp(implementation, "local") == 0;
  if (!*out && strcmp(implementation, "transformer_engine") != 0)
    return sl_arguments_fail(a, "transformer-impl", "local or transformer_engine: no other one is modelled");
  *out |= sl_arguments_has_any(a, marks);
  return SL_OK;
}

/* Whose kernels run: Transformer Engine's, those of DeepSpeed's fork, or Megatron-LM's own, of which the softmax is fused
 * unless told otherwise. */
static enum sl_status put_kernels(json_t *config, const struct sl_arguments *a) {
  bool legacy;
  const char *kernels = "megatron-core";
  SL_TRY(read_legacy(a, &legacy));
  if (sl_arguments_has(a, "deepspeed")) {
    kernels = "megatron-deepspeed";
  } else if (legacy) {
    const bool apart = sl_arguments_has(a, "no-masked-softmax-fusion");
    kernels = apart ? "megatron-unfused" : "megatron-fused";
    if (apart) sl_interop_put(config, "shardlab.fused_norm", json_true());
  }
  sl_interop_put(config, "shardlab.kernels", json_string(kernels));
  return SL_OK;
}

/* Transformer Engine's choice ("auto", the default) depends on the device; older code has flash attention. */
static enum sl_status put_attention(json_t *config, const struct sl_arguments *a) {
  static const char *const words[][2] = {{"flash", "flash"},
                                         {"fused", "cudnn"},
                                         {"unfused", "materialised"},
                                         {"auto", "flash-on-gpu"},
                                         {"local", "materialised"}};
  static const char *const older[] = {"use-flash-attn",        "use-flash-attn-v1",      "use-flash-attn-v2",
                                      "use-flash-attn-triton", "use-flash-attn-builder", NULL}; /* the fork has five */
  const bool cp = json_integer_value(sl_json_at(config, "shardlab.cp")) > 1; /* which no unfused attention does */
  bool legacy;
  SL_TRY(read_legacy(a, &legacy));
  const char *backend = sl_arguments_has_any(a, older) || cp || !legacy ? "auto" : "unfused";
  if (sl_arguments_has(a, "attention-backend")) SL_TRY(sl_arguments_text(a, "attention-backend", &backend));
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i][0], backend) == 0) {
      const bool flash = legacy && strcmp(backend, "auto") == 0;
      sl_interop_put(config, "shardlab.attention", json_string(flash ? "flash" : words[i][1]));
      return SL_OK;
    }
  return sl_arguments_fail(a, "attention-backend", "flash, fused, unfused, local or auto");
}

static enum sl_status put_optimizer(json_t *config, const struct sl_arguments *a) {
  const char *type = "adam";
  double betas[2] = {0.9, 0.999};
  if (sl_arguments_has(a, "optimizer")) SL_TRY(sl_arguments_text(a, "optimizer", &type));
  if (strcmp(type, "adam") != 0)
    return sl_arguments_fail(a, "optimizer", "adam: no other one of Megatron-LM is modelled");
  sl_interop_put(config, "optimizer.type", json_string("AdamW"));
  if (sl_arguments_has(a, "adam-beta1")) SL_TRY(sl_arguments_real(a, "adam-beta1", &betas[0]));
  if (sl_arguments_has(a, "adam-beta2")) SL_TRY(sl_arguments_real(a, "adam-beta2", &betas[1]));
  sl_interop_put(config, "optimizer.params.betas",
                 json_pack("[o, o]", sl_arguments_number(a, "adam-beta1", betas[0]),
                           sl_arguments_number(a, "adam-beta2", betas[1])));
  return SL_OK;
}

/* One word for all layers, or one a layer. */
static enum sl_status read_context_type(const struct sl_arguments *a, const char *key, const char **type) {
  SL_TRY(sl_arguments_text(a, key, type));
  const struct sl_argument_given *g = sl_arguments_find(a, key);
  for (size_t i = 1; i < g->value_count; i++)
    if (strcmp(g->values[i], *type) != 0)
      return sl_arguments_fail(a, key, "one type for all layers: layers of several types are not modelled");
  return SL_OK;
}

/* Megatron-DeepSpeed's own sequence parallelism is DeepSpeed-Ulysses: heads for tokens, over ranks of their own. */
static enum sl_status put_ulysses(json_t *config, const struct sl_arguments *a) {
  static const char key[] = "ds-sequence-parallel-size";
  int64_t ranks = 1;
  if (sl_arguments_has(a, key)) SL_TRY(sl_arguments_int(a, key, &ranks));
  if (ranks <= 1) return SL_OK;
  if (!sl_arguments_has(a, "deepspeed")) return sl_arguments_fail(a, key, "1 without --deepspeed");
  sl_interop_put(config, "shardlab.cp", json_integer(ranks));
  return sl_interop_put(config, "shardlab.cp_comm_type", json_string("a2a")), SL_OK;
}

/* Keys and values that go round a ring (p2p, the default) are as many bytes as gathered ones. */
static enum sl_status put_context(json_t *config, const struct sl_arguments *a) {
  static const char key[] = "cp-comm-type", mapping[] = "use-tp-pp-dp-mapping";
  const char *type = "p2p";
  const bool says = sl_arguments_has(a, key);
  SL_TRY(put_ulysses(config, a));
  if (sl_json_at(config, "shardlab.cp_comm_type") != NULL) return SL_OK;
  if (json_integer_value(sl_json_at(config, "shardlab.cp")) <= 1) return SL_OK;
  if (says) SL_TRY(read_context_type(a, key, &type));
  if (sl_arguments_has(a, mapping))
    return sl_arguments_fail(a, mapping, "no such mapping beside context-parallel-size: cp is a part of dp here");
  if (strcmp(type, "a2a") == 0) return sl_interop_put(config, "shardlab.cp_comm_type", json_string(type)), SL_OK;
  if (strcmp(type, "all_gather") != 0 && strcmp(type, "p2p") != 0)
    return sl_arguments_fail(a, key, "all_gather, a2a or p2p: no other one is modelled");
  if (strcmp(type, "p2p") == 0)
    sl_warn("%s: --cp-comm-type p2p is taken as all_gather: the same bytes, for all of which attention waits", a->name);
  return SL_OK;
}

/* Megatron-DeepSpeed's own schedule in the place of DeepSpeed's. Its default puts off the weight gradients of the first
 * micro-batches, its exact semantics, which are those of zb-h1, always the latest ones: as many, for as long. */
static enum sl_status put_zero_bubble(json_t *config, const struct sl_arguments *a, int64_t pp) {
  static const char key[] = "enable-zbh1-pipeline", exact[] = "enable-zbh1-exact-semantics";
  const bool is_given = sl_arguments_has(a, key);
  if (sl_arguments_has(a, exact) && !is_given)
    return sl_arguments_fail(a, exact, "--enable-zbh1-pipeline beside it, of which these are the semantics");
  if (is_given && !sl_arguments_has(a, "deepspeed")) return sl_arguments_fail(a, key, "none without --deepspeed");
  if (is_given && pp > 1) sl_interop_put(config, "shardlab.schedule", json_string("zb-h1"));
  return SL_OK;
}

/* Virtual stages may also be given as the number of layers of each. With more than one per rank, the schedule is
 * interleaved. */
static enum sl_status put_pipeline(json_t *config, const struct sl_arguments *a) {
  const json_t *section = json_object_get(config, "shardlab");
  const int64_t pp = json_integer_value(json_object_get(section, "pp"));
  int64_t virtual = json_integer_value(json_object_get(section, "virtual_stages")), layers, each;
  if (sl_arguments_has(a, "num-layers-per-virtual-pipeline-stage")) {
    SL_TRY(sl_arguments_int(a, "num-layers-per-virtual-pipeline-stage", &each));
    SL_TRY(sl_arguments_int(a, "num-layers", &layers));
    if (pp < 1 || each < 1 || layers % pp != 0 || layers / pp % each != 0)
      return sl_arguments_fail(a, "num-layers-per-virtual-pipeline-stage",
                               "a divisor of num-layers / pipeline-model-parallel-size");
    virtual = layers / pp / each;
    sl_interop_put(config, "shardlab.virtual_stages", json_integer(virtual));
  }
  SL_TRY(put_context(config, a));
  SL_TRY(sl_megatron_check_interleaved(a, pp, virtual));
  if (virtual > 1) sl_interop_put(config, "shardlab.schedule", json_string("interleaved"));
  SL_TRY(put_zero_bubble(config, a, pp));
  if (sl_arguments_has(a, "use-tp-pp-dp-mapping"))
    sl_interop_put(config, "shardlab.rank_order", json_string("tp-pp-dp"));
  return SL_OK;
}

/* DeepSpeed's checkpoints of activations cut what every rank of a tensor-parallel group keeps. */
static enum sl_status put_partitioned(json_t *config, const struct sl_arguments *a) {
  static const char key[] = "partition-activations";
  if (!sl_arguments_has(a, key)) return SL_OK;
  if (!sl_arguments_has(a, "deepspeed")) return sl_arguments_fail(a, key, "none without --deepspeed");
  sl_interop_put(config, "activation_checkpointing.partition_activations", json_true());
  return SL_OK;
}

/* Megatron-DeepSpeed uses DeepSpeed's pipeline engine even for one stage, unless --no-pipeline-parallel is given. Its
 * --zero-stage defaults to 1. */
static enum sl_status put_deepspeed(json_t *config, const struct sl_arguments *a) {
  static const char *const presets[] = {"deepspeed-0", "deepspeed-1", "deepspeed-2", "deepspeed-3"};
  int64_t stage = 1;
  if (sl_arguments_has(a, "zero-stage")) SL_TRY(sl_arguments_int(a, "zero-stage", &stage));
  /* the engine's stage is the file's, whatever --zero-stage is */
  else if (sl_arguments_find(a, "deepspeed-config") != NULL)
    sl_warn("%s: --zero-stage: is missing, so 1 is taken; the file of --deepspeed_config, which is not read, may say "
            "another",
            a->name);
  if (stage > 3) return sl_arguments_fail(a, "zero-stage", "0 to 3");
  const int64_t pp = json_integer_value(sl_json_at(config, "shardlab.pp"));
  /* a script may hold the flag in an if */
  const bool pipeline = !sl_arguments_has(a, "no-pipeline-parallel") || pp > 1;
  sl_interop_put(config, "shardlab.preset", json_string(pipeline ? "deepspeed-pipeline" : presets[stage]));
  sl_interop_put(config, "zero_optimization.stage", json_integer(stage));
  if (sl_arguments_has(a, "cpu-optimizer"))
    sl_interop_put(config, "zero_optimization.offload_optimizer.device", json_string("cpu"));
  return SL_OK;
}

/* Gradients are summed in fp32 with bf16 unless told otherwise, with fp16 only if told to (training/arguments.py,
 * validate_args: grad_reduce_in_bf16, accumulate_allreduce_grads_in_fp32). */
static void put_gradient_type(json_t *config, const struct sl_arguments *a) {
  const bool bf16 = sl_arguments_has(a, "bf16") && sl_arguments_has(a, "grad-reduce-in-bf16");
  const bool fp16 = sl_arguments_has(a, "fp16") && !sl_arguments_has(a, "accumulate-allreduce-grads-in-fp32");
  if (!bf16 && !fp16) return;
  sl_interop_put(config, "communication_data_type", json_string(bf16 ? "bf16" : "fp16"));
  sl_interop_put(config, "data_types.grad_accum_dtype", json_string(bf16 ? "bf16" : "fp16"));
}

static enum sl_status put_preset(json_t *config, const struct sl_arguments *a) {
  const bool sharded = sl_arguments_has(a, "use-distributed-optimizer");
  if (sl_arguments_has(a, "deepspeed")) return put_deepspeed(config, a);
  sl_interop_put(config, "shardlab.preset", json_string(sharded ? "megatron-distributed-optimizer" : "megatron-lm"));
  sl_interop_put(config, "zero_optimization.overlap_comm", json_boolean(sl_arguments_has(a, "overlap-grad-reduce")));
  put_gradient_type(config, a);
  return SL_OK;
}

static enum sl_status make_config(json_t *config, const struct sl_arguments *a, enum sl_megatron_seed seed) {
  SL_TRY(put_rows(config, a, seed));
  SL_TRY(put_preset(config, a));
  SL_TRY(put_optimizer(config, a));
  SL_TRY(put_pipeline(config, a));
  SL_TRY(put_kernels(config, a));
  SL_TRY(put_attention(config, a));
  SL_TRY(put_recompute(config, a));
  SL_TRY(put_partitioned(config, a));
  SL_TRY(sl_megatron_read_fp8(config, a));
  if (sl_arguments_has(a, "micro-batch-size")) return SL_OK;
  return sl_arguments_fail(a, "micro-batch-size",
                           "sequences a step of a rank, without which Megatron-LM does not start");
}

/* ---- all arguments ---- */

/* Programs of Megatron-LM and its forks that train no decoder of text, by what stands behind "pretrain_". */
static const char *const other_kinds[] = {"bert", "t5",   "retro", "ict",    "biencoder", "realm", "vision",
                                          "vlm",  "mimo", "mamba", "hybrid", "prefix_lm", NULL};

static bool is_other_kind(const char *kind) {
  const char *const *row = other_kinds;
  while (*row != NULL && strncmp(kind, *row, strlen(*row)) != 0) row++;
  return *row != NULL;
}

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

/* What "pretrain_llama.py" of a fork trains its arguments alone do not tell, --model does; a program of another name
 * may train, or do something else with a model. */
static enum sl_status check_program(const struct sl_arguments *a, bool wants_model) {
  for (size_t i = 0; i < a->words.count; i++) {
    const char *word = a->words.list[i], *slash = strrchr(word, '/'), *file = slash != NULL ? slash + 1 : word;
    const size_t length = strlen(file);
    const bool pretrains = begins(file, "pretrain_");
    if (length < 4 || strcmp(file + length - 3, ".py") != 0 || (!pretrains && i > 0)) continue;
    if (begins(file, "pretrain_gpt")) continue;
    if (pretrains && is_other_kind(file + 9))
      return sl_fail(SL_ERR_INPUT, "%s: runs %s, which is not modelled; expected pretrain_gpt.py", a->name, file);
    if (pretrains && wants_model)
      return sl_fail(SL_ERR_INPUT,
                     "%s: runs %s, whose model the arguments alone do not tell; expected pretrain_gpt.py, or --model",
                     a->name, file);
    sl_warn("%s: runs %s: its arguments are taken to mean what they do of pretrain_gpt.py", a->name, file);
  }
  return SL_OK;
}

/* Everything that is read of the arguments. */
static enum sl_status read_all(const struct sl_arguments *a, const struct sl_megatron_source *source,
                               struct sl_megatron_made *out) {
  SL_TRY(check_program(a, source->wants_model));
  SL_TRY(make_config(out->config, a, source->seed));
  sl_megatron_name_config(a, out->names);
  if (source->wants_model) SL_TRY(sl_megatron_model(a, &out->model, out->names));
  SL_TRY(sl_megatron_put_stages(a, out->model, out->config));
  sl_megatron_say_doubts(a);
  sl_arguments_pass(a, sl_megatron_of_model);
  if (!a->is_script) SL_TRY(sl_megatron_check_words(a));
  if (!a->is_script) SL_TRY(sl_megatron_check_rampup(a));
  return sl_megatron_check_refused(a);
}

/* A misspelt name explains best what is missing without it, so its message comes before the one of `status`. */
static enum sl_status check_names_first(const struct sl_arguments *a, bool strict, enum sl_status status) {
  char said[2048];
  snprintf(said, sizeof said, "%s", sl_error_message());
  if (status == SL_OK || status == SL_ERR_INPUT) {
    sl_error_clear();
    SL_TRY(sl_megatron_check_names(a, strict));
  }
  return status == SL_OK ? SL_OK : sl_error_relay(status, said);
}

enum sl_status sl_megatron_read(const struct sl_megatron_source *source, struct sl_megatron_made *out) {
  struct sl_arguments a;
  *out = (struct sl_megatron_made){0};
  SL_TRY(sl_arguments_read(&a, source->name, source->text, source->is_script, source->start));
  out->config = json_object();
  out->names = json_object();
  enum sl_status status = sl_megatron_check_outside(&a, source->strict);
  if (status == SL_OK) status = check_names_first(&a, source->strict, read_all(&a, source, out));
  if (status == SL_OK) sl_megatron_say_rest(&a);
  sl_arguments_free(&a);
  if (status != SL_OK) sl_megatron_free(out);
  return status;
}

void sl_megatron_free(struct sl_megatron_made *made) {
  json_decref(made->config);
  json_decref(made->model);
  json_decref(made->names);
  *made = (struct sl_megatron_made){0};
}
