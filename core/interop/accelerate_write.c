/* Writes Accelerate's settings; see accelerate_write.h. */
#include "core/interop/accelerate_write.h"

#include "core/base/json_get.h"
#include "core/interop/unsaid.h"
#include "core/interop/writing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum kind { NO_KIND, DDP, DEEPSPEED, FSDP, FSDP2, MEGATRON };

struct writer {
  const json_t *config, *given, *usual;
  FILE *out;
  json_t *unsaid;
  enum kind kind;
  int64_t world, machines;
  const char *preset, *strategy; /* strategy: FSDP's */
  bool sharded;                  /* with Megatron-LM's distributed optimizer */
};

static const char *text_at(const struct writer *w, const char *path) {
  return sl_interop_text(w->config, path);
}

static int64_t number_at(const struct writer *w, const char *path) {
  return sl_interop_whole(w->config, path);
}

static bool is_on(const struct writer *w, const char *path) {
  return sl_interop_is_on(w->config, path);
}

/* DeepSpeed-Ulysses, the only context parallelism of type DEEPSPEED, and of no other. */
static bool exchanges_heads(const struct writer *w) {
  return strcmp(text_at(w, "shardlab.cp_comm_type"), "a2a") == 0;
}

static enum sl_status refuse(const char *path, const char *is, const char *expected) {
  return sl_interop_refuse("accelerate", path, is, expected);
}

/* A YAML float with an exponent needs a point, too: 1e-05 is a text. */
static void put_real(const struct writer *w, const char *key, double value) {
  char text[SL_INTEROP_REAL_BYTES];
  const int mantissa = (int)strcspn(sl_interop_real(value, text), "e");
  const bool lacks = text[mantissa] == 'e' && strchr(text, '.') == NULL;
  fprintf(w->out, "  %s: %.*s%s%s\n", key, mantissa, text, lacks ? ".0" : "", text + mantissa);
}

static const char *word(bool on) {
  return on ? "true" : "false";
}

/* Writes `text` in single quotes, in which YAML doubles each quote. */
static void put_text(FILE *out, const char *key, const char *text) {
  fprintf(out, "  %s: '", key);
  for (; *text != '\0'; text++) fprintf(out, *text == '\'' ? "''" : "%c", *text);
  fputs("'\n", out);
}

static void find_kind(struct writer *w) {
  static const struct {
    const char *preset;
    enum kind kind;
    const char *strategy;
    bool sharded;
  } kinds[] = {{"ddp", DDP, NULL, false},
               {"accelerate-ddp", DDP, NULL, false},
               {"fsdp", FSDP, "FULL_SHARD", false},
               {"fsdp-shard-grad-op", FSDP, "SHARD_GRAD_OP", false},
               {"fsdp-hybrid-shard", FSDP, "HYBRID_SHARD", false},
               {"fsdp-hybrid-shard-zero2", FSDP, "HYBRID_SHARD_ZERO2", false},
               {"fsdp2", FSDP2, "true", false},
               {"accelerate-fsdp", FSDP2, "true", false},
               {"fsdp2-no-reshard", FSDP2, "false", false},
               {"", DEEPSPEED, NULL, false},
               {"accelerate-deepspeed", DEEPSPEED, NULL, false},
               {"deepspeed-0", DEEPSPEED, NULL, false},
               {"deepspeed-1", DEEPSPEED, NULL, false},
               {"deepspeed-2", DEEPSPEED, NULL, false},
               {"deepspeed-3", DEEPSPEED, NULL, false},
               {"megatron-lm", MEGATRON, NULL, false},
               {"megatron-distributed-optimizer", MEGATRON, NULL, true},
               {"accelerate-megatron", MEGATRON, NULL, true}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].preset, w->preset) == 0)
      w->kind = kinds[i].kind, w->strategy = kinds[i].strategy, w->sharded = kinds[i].sharded;
}

static enum sl_status put_head(const struct writer *w) {
  static const char *const names[] = {"", "MULTI_GPU", "DEEPSPEED", "FSDP", "FSDP", "MEGATRON_LM"};
  const bool bf16 = is_on(w, "bf16.enabled"), fp16 = is_on(w, "fp16.enabled");
  const bool autocast = is_on(w, "torch_autocast.enabled");
  if (w->kind == DDP && (bf16 || fp16))
    return refuse(bf16 ? "bf16.enabled" : "fp16.enabled", "true",
                  "false, or torch_autocast: Accelerate's DistributedDataParallel keeps parameters in fp32");
  if (autocast && w->kind != DDP) return refuse("torch_autocast.enabled", "true", "false, or preset accelerate-ddp");
  fprintf(w->out,
          "compute_environment: LOCAL_MACHINE\ndistributed_type: %s\nmixed_precision: '%s'\nnum_machines: %lld\n"
          "num_processes: %lld\n",
          w->kind == DDP && w->world == 1 ? "'NO'" : names[w->kind],
          autocast ? text_at(w, "torch_autocast.dtype")
          : bf16   ? "bf16"
          : fp16   ? "fp16"
                   : "no",
          (long long)w->machines, (long long)w->world);
  const char *kernels = text_at(w, "shardlab.kernels");
  const bool compiled = strcmp(kernels, "torch-compile") == 0;
  if (compiled && w->kind != MEGATRON) fputs("dynamo_config:\n  dynamo_backend: INDUCTOR\n", w->out);
  if (w->kind == MEGATRON ? strcmp(kernels, "megatron-core") != 0 : !compiled && strcmp(kernels, "torch-eager") != 0)
    json_array_append_new(w->unsaid, json_string("shardlab.kernels"));
  return SL_OK;
}

static bool accumulates(const struct writer *w) {
  return number_at(w, "gradient_accumulation_steps") > 1;
}

static enum sl_status refuse_lost(const struct writer *w, const char *path, const json_t *is, const json_t *usual);

static enum sl_status check_type(const struct writer *w, const char *path, const char *usual) {
  const json_t *is = sl_json_at(w->config, path);
  json_t *other = json_string(usual);
  const enum sl_status status = json_equal(is, other) ? SL_OK : refuse_lost(w, path, is, other);
  json_decref(other);
  return status;
}

/* FSDP reduces in the type in which it gathers, into fp32 shards, and sums in that type what it does not reduce;
 * Megatron-LM sums and reduces fp16 in fp16 and bf16 in fp32. No key of Accelerate's sets other types. */
static enum sl_status check_types(const struct writer *w) {
  const bool bf16 = is_on(w, "bf16.enabled"), megatron = w->kind == MEGATRON;
  const bool in_shards = megatron || !is_on(w, "shardlab.no_sync") || !accumulates(w);
  const char *sent = !bf16 ? "fp16" : megatron ? "fp32" : "bf16", *kept = megatron ? sent : "fp32";
  if (!bf16 && !is_on(w, "fp16.enabled")) return SL_OK;
  SL_TRY(check_type(w, "communication_data_type", sent));
  return in_shards ? check_type(w, "data_types.grad_accum_dtype", kept) : SL_OK;
}

static enum sl_status put_groups(const struct writer *w) {
  const int64_t tp = number_at(w, "shardlab.tp"), shard = number_at(w, "shardlab.shard_size");
  const int64_t cp = number_at(w, "shardlab.cp") > 1 ? number_at(w, "shardlab.cp") : 1;
  const int64_t dp_cp = w->world / (tp > 0 ? tp : 1), inside = shard > 0 ? shard : dp_cp;
  if (w->kind == FSDP)
    return shard > 0 && shard * w->machines != w->world
               ? refuse("shardlab.shard_size", "another number", "the ranks of a machine")
               : SL_OK;
  SL_TRY(sl_interop_check_vocabulary("accelerate", w->config, "gathered"));
  if (tp == 1 && cp == 1 && shard == 0) return SL_OK;
  if (inside % cp != 0) return refuse("shardlab.shard_size", "a part of a cp group", "a multiple of cp");
  fprintf(
      w->out,
      "parallelism_config:\n  parallelism_config_dp_replicate_size: %lld\n  parallelism_config_dp_shard_size: %lld\n"
      "  parallelism_config_tp_size: %lld\n",
      (long long)(dp_cp / inside), (long long)(inside / cp), (long long)tp);
  if (cp > 1) fprintf(w->out, "  parallelism_config_cp_size: %lld\n", (long long)cp);
  return SL_OK;
}

static enum sl_status put_fsdp(const struct writer *w) {
  const char *recompute = text_at(w, "shardlab.recompute");
  if (strcmp(recompute, "none") != 0 && strcmp(recompute, "full") != 0)
    return refuse("shardlab.recompute", recompute, "none or full");
  SL_TRY(check_types(w));
  if (accumulates(w) && !is_on(w, "shardlab.no_sync"))
    return refuse("shardlab.no_sync", "false",
                  "true: sync_each_batch is an argument of the script's, so it cannot be expressed");
  fprintf(w->out,
          "fsdp_config:\n  fsdp_version: %d\n  %s: %s\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
          "  fsdp_activation_checkpointing: %s\n  fsdp_offload_params: %s\n",
          w->kind == FSDP2 ? 2 : 1, w->kind == FSDP2 ? "fsdp_reshard_after_forward" : "fsdp_sharding_strategy",
          w->strategy, word(strcmp(recompute, "full") == 0),
          word(strcmp(text_at(w, "zero_optimization.offload_param.device"), "cpu") == 0));
  if (w->kind == FSDP) fputs("  fsdp_backward_prefetch: BACKWARD_PRE\n", w->out);
  return put_groups(w);
}

static void put_offload(const struct writer *w, const char *what) {
  char path[96], key[64];
  snprintf(path, sizeof path, "zero_optimization.offload_%s.device", what);
  const char *device = text_at(w, path);
  if (device[0] == '\0' || strcmp(device, "none") == 0) return;
  fprintf(w->out, "  offload_%s_device: %s\n", what, device);
  snprintf(path, sizeof path, "zero_optimization.offload_%s.nvme_path", what);
  snprintf(key, sizeof key, "offload_%s_nvme_path", what);
  if (strcmp(device, "nvme") == 0 && text_at(w, path)[0] != '\0') put_text(w->out, key, text_at(w, path));
}

static enum sl_status put_deepspeed(const struct writer *w) {
  fprintf(w->out, "deepspeed_config:\n  zero_stage: %lld\n  gradient_accumulation_steps: %lld\n",
          (long long)number_at(w, "zero_optimization.stage"), (long long)number_at(w, "gradient_accumulation_steps"));
  put_real(w, "gradient_clipping", json_number_value(sl_json_at(w->config, "gradient_clipping")));
  put_offload(w, "optimizer");
  put_offload(w, "param");
  if (number_at(w, "shardlab.cp") > 1 && exchanges_heads(w))
    fprintf(w->out,
            "parallelism_config:\n  parallelism_config_sp_size: %lld\n  parallelism_config_sp_backend: deepspeed\n",
            (long long)number_at(w, "shardlab.cp"));
  return SL_OK;
}

/* Accelerate's own defaults are cp 2 and full recomputation: what is none is written, too. Blocks of no layers are no
 * recomputation. */
static enum sl_status put_megatron(const struct writer *w) {
  const char *recompute = text_at(w, "shardlab.recompute");
  const bool full = strcmp(recompute, "full") == 0;
  const int64_t cp = number_at(w, "shardlab.cp");
  SL_TRY(check_types(w));
  SL_TRY(sl_interop_check_vocabulary("accelerate", w->config, "parallel"));
  if (!full && strcmp(recompute, "none") != 0)
    return refuse("shardlab.recompute", recompute,
                  "none or full: with distributed_type MEGATRON_LM it cannot be expressed, as Accelerate gives a "
                  "recompute_method beside it");
  if (strcmp(text_at(w, "shardlab.cp_comm_type"), "a2a") == 0)
    return refuse("shardlab.cp_comm_type", "a2a", "all_gather: MegatronLMPlugin has no such setting");
#define KEY "  megatron_lm_"
  fprintf(w->out,
          "megatron_lm_config:\n" KEY "tp_degree: %lld\n" KEY "pp_degree: %lld\n" KEY "num_micro_batches: %lld\n" KEY
          "sequence_parallelism: %s\n" KEY "use_distributed_optimizer: %s\n" KEY "attention_backend: true\n" KEY
          "context_parallel_size: %lld\n" KEY "recompute_granularity: full\n" KEY "recompute_method: %s\n" KEY
          "recompute_num_layers: %d\n",
          (long long)number_at(w, "shardlab.tp"), (long long)number_at(w, "shardlab.pp"),
          (long long)number_at(w, "gradient_accumulation_steps"), word(is_on(w, "shardlab.sequence_parallel")),
          word(w->sharded), (long long)(cp > 1 ? cp : 1), full ? "uniform" : "block", full ? 1 : 0);
  put_real(w, "megatron_lm_gradient_clipping", json_number_value(sl_json_at(w->config, "gradient_clipping")));
#undef KEY
  return SL_OK;
}

/* ---- what the type that is written has no keys for ---- */

/* Values that mean the same as no key at all. */
static bool is_usual(const json_t *value) {
  const char *text = json_string_value(value);
  return json_is_null(value) || json_is_false(value) || (text != NULL && strcmp(text, "none") == 0) ||
         (json_is_integer(value) && (json_integer_value(value) == 0 || json_integer_value(value) == 1));
}

static bool is_as_usual(const struct writer *w, const char *path) {
  const json_t *is = sl_json_at(w->config, path);
  return is == NULL || json_equal(is, sl_json_at(w->usual, path));
}

/* The dimensions of a plan, which only some types have. */
static bool is_said_dimension(const struct writer *w, const char *path) {
  const bool fsdp = w->kind == FSDP || w->kind == FSDP2;
  if (strcmp(path, "shardlab.tp") == 0) return w->kind == FSDP2 || w->kind == MEGATRON;
  if (strcmp(path, "shardlab.cp") == 0)
    return w->kind == FSDP2 || w->kind == MEGATRON || (w->kind == DEEPSPEED && exchanges_heads(w));
  if (strcmp(path, "shardlab.cp_comm_type") == 0)
    return number_at(w, "shardlab.cp") <= 1 || exchanges_heads(w) == (w->kind == DEEPSPEED);
  if (strcmp(path, "shardlab.pp") == 0 || strcmp(path, "shardlab.sequence_parallel") == 0) return w->kind == MEGATRON;
  if (strcmp(path, "shardlab.shard_size") == 0) return fsdp; /* put_groups refuses what FSDP cannot say */
  return strcmp(path, "shardlab.recompute") == 0 && (fsdp || w->kind == MEGATRON);
}

static bool is_said_offload(const struct writer *w, const char *path) {
  static const char *const keys[] = {
      "zero_optimization.offload_optimizer.device", "zero_optimization.offload_optimizer.nvme_path",
      "zero_optimization.offload_param.device", "zero_optimization.offload_param.nvme_path", NULL};
  if (!sl_interop_among(keys, path)) return false;
  if (w->kind == DEEPSPEED) return true;
  /* of FSDP one key is for parameters and optimizer */
  return (w->kind == FSDP || w->kind == FSDP2) && strcmp(text_at(w, path), "cpu") == 0 &&
         strcmp(text_at(w, "zero_optimization.offload_param.device"), "cpu") == 0;
}

static bool is_said(const void *context, const char *path, const json_t *value) {
  static const char *const always[] = {"bf16.enabled",
                                       "fp16.enabled",
                                       "torch_autocast.enabled",
                                       "torch_autocast.dtype",
                                       "shardlab.preset",
                                       "zero_optimization.stage", /* follows from the preset, if it is not written */
                                       NULL};
  static const char *const types[] = {"communication_data_type", "data_types.grad_accum_dtype", NULL};
  static const char *const usual[] = {"shardlab.tp",
                                      "shardlab.cp",
                                      "shardlab.pp",
                                      "shardlab.sequence_parallel",
                                      "shardlab.recompute",
                                      "zero_optimization.offload_optimizer.device",
                                      "zero_optimization.offload_param.device",
                                      NULL};
  const struct writer *w = context;
  const bool fsdp = w->kind == FSDP || w->kind == FSDP2;
  if (sl_interop_among(always, path)) return true;
  if (sl_interop_among(usual, path) && is_usual(value)) return true;
  if (json_is_false(value) && json_equal(value, sl_json_at(w->usual, path))) return true;
  if (sl_interop_among(types, path) && is_as_usual(w, path)) return true;
  if (sl_interop_among(types, path)) /* check_types refuses what is not the framework's own */
    return (fsdp || w->kind == MEGATRON) && (is_on(w, "bf16.enabled") || is_on(w, "fp16.enabled"));
  if (strcmp(path, "shardlab.kernels") == 0) return true;  /* named by put_head */
  if (strcmp(path, "shardlab.tp_vocab") == 0) return true; /* what is not the type's own is refused */
  if (strcmp(path, "shardlab.no_sync") == 0) return fsdp;  /* put_fsdp refuses the other */
  if (strcmp(path, "shardlab.attention") == 0) return w->kind == MEGATRON && is_as_usual(w, path);
  if (strcmp(path, "shardlab.make_vocab_size_divisible_by") == 0) return is_as_usual(w, path);
  if (strcmp(path, "zero_optimization.overlap_comm") == 0 && w->kind == MEGATRON) return true; /* see check_unasked */
  if (strcmp(path, "gradient_accumulation_steps") == 0 || strcmp(path, "gradient_clipping") == 0)
    return w->kind == DEEPSPEED || w->kind == MEGATRON;
  return is_said_dimension(w, path) || is_said_offload(w, path);
}

/* ---- what changes the plan, which nobody may lose by reading again what was written ---- */

/* The keys that make a plan and are no script's; of DeepSpeed all of zero_optimization. */
static bool makes_the_plan(const struct writer *w, const char *path) {
  static const char *const keys[] = {"shardlab.tp",
                                     "shardlab.pp",
                                     "shardlab.cp",
                                     "shardlab.cp_comm_type",
                                     "shardlab.sequence_parallel",
                                     "shardlab.shard_size",
                                     "shardlab.virtual_stages",
                                     "shardlab.schedule",
                                     "shardlab.stages",
                                     "shardlab.rank_order",
                                     "shardlab.fp8",
                                     "shardlab.async_tp",
                                     "shardlab.tp_comm_overlap",
                                     "communication_data_type",
                                     "data_types.grad_accum_dtype",
                                     "zero_optimization.offload_optimizer.device",
                                     "zero_optimization.offload_param.device",
                                     "shardlab.make_vocab_size_divisible_by",
                                     NULL};
  if (sl_interop_among(keys, path)) return true;
  if (w->kind == MEGATRON && strcmp(path, "shardlab.attention") == 0) return true; /* else it is the model's */
  return w->kind == DEEPSPEED && strncmp(path, "zero_optimization.", strlen("zero_optimization.")) == 0;
}

/* A pipeline's words without one, and the kind of context parallelism without any. */
static bool is_idle(const struct writer *w, const char *path) {
  static const char *const of_pp[] = {"shardlab.virtual_stages", "shardlab.schedule", "shardlab.stages", NULL};
  if (sl_interop_among(of_pp, path)) return number_at(w, "shardlab.pp") <= 1;
  return strcmp(path, "shardlab.cp_comm_type") == 0 && number_at(w, "shardlab.cp") <= 1;
}

/* `value` as messages have it; to be freed. */
static char *shown(const json_t *value) {
  if (json_is_string(value)) return strdup(json_string_value(value));
  return value != NULL ? json_dumps(value, JSON_ENCODE_ANY) : strdup("none");
}

static enum sl_status refuse_lost(const struct writer *w, const char *path, const json_t *is, const json_t *usual) {
  static const char *const types[] = {"", "MULTI_GPU", "DEEPSPEED", "FSDP", "FSDP version 2", "MEGATRON_LM"};
  const bool zero = strncmp(path, "zero_optimization.", strlen("zero_optimization.")) == 0;
  char *had = shown(is), *other = shown(usual), expected[256];
  snprintf(expected, sizeof expected, "%.64s: with distributed_type %s it cannot be expressed%s",
           other != NULL ? other : "none", types[w->kind],
           w->kind == DEEPSPEED && zero ? " but in a deepspeed_config_file" : "");
  const enum sl_status status =
      had != NULL ? refuse(path, had, expected) : sl_fail(SL_ERR_MEMORY, "out of memory: a value");
  free(had);
  free(other);
  return status;
}

/* What a file says as anyone's would is read again as what became of it. */
static bool is_given_as(const struct writer *w, const char *path, const json_t *usual) {
  const json_t *value = sl_json_at(w->given, path);
  return value != NULL && json_equal(value, usual);
}

/* What the preset says unless the file does, and Accelerate says otherwise. Of the other types a vocabulary that nobody
 * asked to be padded is named. */
static enum sl_status check_unasked(const struct writer *w) {
  static const char overlap[] = "zero_optimization.overlap_comm", rows[] = "shardlab.make_vocab_size_divisible_by";
  static const char degree[] = "shardlab.tp";
  const json_t *is = sl_json_at(w->config, rows);
  /* DeepSpeed's tensor_parallel has asked for it */
  if (number_at(w, degree) > 1 && !is_said_dimension(w, degree))
    return refuse_lost(w, degree, sl_json_at(w->config, degree), sl_json_at(w->usual, degree));
  if (w->kind == MEGATRON && !is_as_usual(w, overlap))
    return refuse_lost(w, overlap, sl_json_at(w->config, overlap), sl_json_at(w->usual, overlap));
  if (is_as_usual(w, rows)) return SL_OK;
  if (w->kind == MEGATRON) return refuse_lost(w, rows, is, sl_json_at(w->usual, rows));
  if (sl_json_at(w->given, rows) == NULL) json_array_append_new(w->unsaid, json_string(rows));
  return SL_OK;
}

static enum sl_status check_lost(const struct writer *w) {
  size_t i;
  json_t *name;
  json_array_foreach(w->unsaid, i, name) {
    const char *path = json_string_value(name);
    const json_t *is = sl_json_at(w->config, path), *other = sl_json_at(w->usual, path);
    if (!makes_the_plan(w, path) || is_idle(w, path)) continue;
    if (is != NULL && !json_equal(is, other) && !is_given_as(w, path, other)) SL_TRY(refuse_lost(w, path, is, other));
  }
  return check_unasked(w);
}

bool sl_accelerate_writes_megatron(const char *preset) {
  struct writer w = {.preset = preset};
  find_kind(&w);
  return w.kind == MEGATRON;
}

enum sl_status sl_accelerate_write(const json_t *config, const json_t *given, const json_t *usual, int64_t world,
                                   int64_t machines, FILE *out, json_t *unsaid) {
  struct writer w = {.config = config,
                     .given = given,
                     .usual = usual,
                     .out = out,
                     .unsaid = unsaid,
                     .world = world,
                     .machines = machines};
  w.preset = text_at(&w, "shardlab.preset");
  find_kind(&w);
  if (w.kind == NO_KIND) return refuse("shardlab.preset", w.preset, "one of DeepSpeed, FSDP, DDP or Megatron-LM");
  SL_TRY(put_head(&w));
  if (w.kind == FSDP || w.kind == FSDP2) SL_TRY(put_fsdp(&w));
  if (w.kind == DEEPSPEED) SL_TRY(put_deepspeed(&w));
  if (w.kind == MEGATRON) SL_TRY(put_megatron(&w));
  sl_interop_unsaid(given, is_said, &w, unsaid);
  return check_lost(&w);
}
