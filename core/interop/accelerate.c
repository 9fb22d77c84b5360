/* Reads Accelerate's settings; see accelerate.h. Sources: Accelerate 1.15, commands/config/config_args.py,
 * commands/launch.py (defaults), utils/launch.py, utils/dataclasses.py (DeepSpeedPlugin,
 * FullyShardedDataParallelPlugin, MegatronLMPlugin), parallelism_config.py. */
#include "core/interop/accelerate.h"

#include "core/base/checked.h"
#include "core/base/json_get.h"
#include "core/base/limits.h"
#include "core/base/nearest.h"
#include "core/interop/accelerate_deepspeed.h"
#include "core/interop/accelerate_keys.h"
#include "core/interop/paths.h"
#include "core/interop/unsaid.h"
#include "core/interop/yaml.h"

#include <stdlib.h>
#include <string.h>

#define FSDP "fsdp_config.fsdp_"
#define MEGATRON "megatron_lm_config.megatron_lm_"
#define MESH "parallelism_config.parallelism_config_"

struct accelerate {
  struct sl_settings s;
  int64_t world, per_machine;
  int64_t together; /* processes of a machine, as far as is known */
  char precision[32];
  json_t *config;
};

static void put(struct accelerate *a, const char *path, json_t *value) {
  sl_interop_put(a->config, path, value);
}

/* The section that has `key`; NULL: none. */
static const char *find_section(const char *key) {
  static const char *const sections[] = {"deepspeed_config", "fsdp_config", "parallelism_config", "megatron_lm_config",
                                         "dynamo_config"};
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
    char path[128];
    const int n = snprintf(path, sizeof path, "%s.%s", sections[i], key);
    if (n < 0 || (size_t)n >= sizeof path) continue;
    if (sl_interop_among(sl_accelerate_settings, path) || sl_interop_among(sl_accelerate_beside, path))
      return sections[i];
  }
  return NULL;
}

static enum sl_status check_keys(const struct sl_json *doc) {
  const char *key;
  json_t *value;
  size_t count = 0;
  if (!json_is_object(doc->root))
    return sl_fail(SL_ERR_INPUT, "%s: has no keys; expected those of accelerate config", doc->name);
  while (sl_accelerate_known[count] != NULL) count++;
  json_object_foreach(doc->root, key, value) {
    if (sl_interop_among(sl_accelerate_known, key)) continue;
    const char *section = find_section(key), *near = sl_nearest(key, sl_accelerate_known, count);
    if (section != NULL) return sl_json_fail(doc, key, "is at the top; expected inside %s", section);
    return sl_json_fail(doc, key, "is no key of Accelerate's%s%s%s", near != NULL ? "; did you mean " : "",
                        near != NULL ? near : "", near != NULL ? "?" : "");
  }
  return SL_OK;
}

/* ---- ranks ---- */

/* --world makes it more machines, or fewer, of as many processes as the file has on one; a single machine is also taken
 * for one of another size, where those do not divide the world. */
static enum sl_status read_world(struct accelerate *a, bool single) {
  int64_t processes = single ? 1 : 0, machines = 1;
  const int64_t flag = a->world;
  SL_TRY(sl_settings_int(&a->s, "num_processes", 1, SL_MAX_WORLD, &processes));
  SL_TRY(sl_settings_int(&a->s, "num_machines", 1, SL_MAX_WORLD, &machines));
  if (processes == 0) processes = flag;
  if (processes == 0) return sl_settings_fail(&a->s, "num_processes", "the ranks in all, or --world");
  if (processes % machines != 0)
    return sl_settings_fail(&a->s, "num_machines", "a divisor of the %lld processes", (long long)processes);
  a->together = processes / machines;
  if (flag > 0 && flag < a->together) a->together = flag;
  a->world = flag > 0 ? flag : processes;
  if (a->world % a->together != 0 && machines > 1)
    return sl_settings_fail(&a->s, "num_machines",
                            "--world, here %lld, to be a multiple of the %lld processes of a machine", (long long)flag,
                            (long long)a->together);
  if (a->world % a->together != 0) a->together = a->world;
  const bool said = flag == 0 && sl_settings_has(&a->s, "num_machines"); /* also that it is one */
  a->per_machine = machines > 1 || said ? a->together : 0;
  return SL_OK;
}

/* Settings that the training script makes become "auto", so that the rules for "auto" fill them in. */
static void leave_to_script(struct accelerate *a) {
  put(a, "train_micro_batch_size_per_gpu", json_string("auto"));
  put(a, "gradient_accumulation_steps", json_string("auto"));
  put(a, "gradient_clipping", json_string("auto"));
  put(a, "optimizer",
      json_pack("{s:s, s:{s:s, s:s, s:s, s:s}}", "type", "AdamW", "params", "lr", "auto", "betas", "auto", "eps",
                "auto", "weight_decay", "auto"));
}

static enum sl_status put_precision(struct accelerate *a) {
  if (strcmp(a->precision, "no") == 0) return SL_OK;
  put(a, strcmp(a->precision, "bf16") == 0 ? "bf16.enabled" : "fp16.enabled", json_true());
  return SL_OK;
}

/* ---- kinds of training ---- */

/* The model's forward runs under torch.autocast, its parameters stay fp32 (accelerator.py, prepare_model:
 * native_amp). */
static enum sl_status read_ddp(struct accelerate *a) {
  put(a, "shardlab.preset", json_string("accelerate-ddp"));
  if (strcmp(a->precision, "no") == 0) return SL_OK;
  put(a, "torch_autocast.enabled", json_true());
  put(a, "torch_autocast.dtype", json_string(a->precision));
  return SL_OK;
}

/* FSDP's MixedPrecision casts what is gathered and reduced; the shards stay fp32. */
static enum sl_status put_fsdp_types(struct accelerate *a) {
  SL_TRY(put_precision(a));
  if (strcmp(a->precision, "no") == 0) return SL_OK;
  put(a, "communication_data_type", json_string(a->precision));
  return SL_OK;
}

static enum sl_status put_strategy(struct accelerate *a, int64_t version) {
  static const char key[] = FSDP "sharding_strategy|" FSDP "reshard_after_forward";
  static const char *const strategies[][2] = {{"FULL_SHARD", "fsdp"},
                                              {"SHARD_GRAD_OP", "fsdp-shard-grad-op"},
                                              {"NO_SHARD", NULL},
                                              {"HYBRID_SHARD", "fsdp-hybrid-shard"},
                                              {"HYBRID_SHARD_ZERO2", "fsdp-hybrid-shard-zero2"}};
  bool reshards = true;
  char word[32] = "FULL_SHARD";
  int64_t number = 0;
  if (version == 2) {
    SL_TRY(sl_settings_bool(&a->s, FSDP "reshard_after_forward", &reshards));
    return put(a, "shardlab.preset", json_string(reshards ? "accelerate-fsdp" : "fsdp2-no-reshard")), SL_OK;
  }
  if (json_is_integer(sl_settings_value(&a->s, key)))
    SL_TRY(sl_settings_int(&a->s, key, 1, 5, &number));
  else
    SL_TRY(sl_settings_word(&a->s, key, "FULL_SHARD|SHARD_GRAD_OP|NO_SHARD|HYBRID_SHARD|HYBRID_SHARD_ZERO2|1|2|3|4|5",
                            word));
  if (number == 0 && word[1] == '\0') number = word[0] - '0';
  for (int i = 0; i < 5; i++) {
    if (number > 0 ? number != i + 1 : strcmp(word, strategies[i][0]) != 0) continue;
    if (strategies[i][1] == NULL) return sl_settings_fail(&a->s, key, "shards: NO_SHARD is not modelled");
    put(a, "shardlab.preset", json_string(strategies[i][1]));
    if (i > 2) put(a, "shardlab.shard_size", json_integer(a->together));
  }
  return SL_OK;
}

static enum sl_status put_prefetch(struct accelerate *a, int64_t version) {
  static const char key[] = FSDP "backward_prefetch|" FSDP "backward_prefetch_policy";
  char word[32] = "BACKWARD_PRE";
  SL_TRY(sl_settings_word(&a->s, key, "BACKWARD_PRE|BACKWARD_POST|NO_PREFETCH", word));
  if (version == 2 || strcmp(word, "BACKWARD_PRE") == 0) return SL_OK;
  return sl_settings_fail(&a->s, key, "BACKWARD_PRE: no other one is modelled");
}

/* The device mesh of FSDP2. */
static enum sl_status put_mesh(struct accelerate *a) {
  int64_t replicas = 1, shards = 1, cp = 1, tp = 1;
  char method[32] = "allgather";
  SL_TRY(sl_settings_int(&a->s, MESH "dp_replicate_size", 1, SL_MAX_DEGREE, &replicas));
  SL_TRY(sl_settings_int(&a->s, MESH "dp_shard_size", 1, SL_MAX_DEGREE, &shards));
  SL_TRY(sl_settings_int(&a->s, MESH "cp_size", 1, SL_MAX_DEGREE, &cp));
  SL_TRY(sl_settings_int(&a->s, MESH "tp_size", 1, SL_MAX_DEGREE, &tp));
  SL_TRY(sl_settings_word(&a->s, MESH "cp_comm_strategy", "allgather|alltoall", method));
  if (!sl_settings_has(&a->s, "parallelism_config")) return SL_OK;
  put(a, "shardlab.tp", json_integer(tp));
  if (tp > 1) put(a, "shardlab.tp_vocab", json_string("gathered")); /* scripts load with tp_plan="auto" */
  if (cp > 1) put(a, "shardlab.cp", json_integer(cp));
  if (cp > 1 && strcmp(method, "allgather") != 0)
    return sl_settings_fail(&a->s, MESH "cp_comm_strategy", "allgather: no other one is modelled");
  if (sl_product(sl_product(replicas, sl_product(shards, cp)), tp) != a->world)
    return sl_settings_fail(&a->s, MESH "dp_shard_size", "sizes whose product is the %lld processes",
                            (long long)a->world);
  if (replicas == 1) return SL_OK;
  if (sl_product(shards, cp) == 1) return sl_settings_fail(&a->s, MESH "dp_replicate_size", "1, or shards beside it");
  return put(a, "shardlab.shard_size", json_integer(sl_product(shards, cp))), SL_OK;
}

/* CPUOffload keeps parameters, gradients and optimizer states in host memory. */
static enum sl_status put_fsdp_offload(struct accelerate *a) {
  const char *preset = json_string_value(sl_json_at(a->config, "shardlab.preset"));
  bool offload = false;
  SL_TRY(sl_settings_bool(&a->s, FSDP "offload_params", &offload));
  if (!offload) return SL_OK;
  if (strcmp(preset, "fsdp") != 0 && strcmp(preset, "accelerate-fsdp") != 0)
    return sl_settings_fail(&a->s, FSDP "offload_params",
                            "false, or FULL_SHARD beside it: offload of no other strategy is modelled");
  put(a, "zero_optimization.stage", json_integer(3));
  put(a, "zero_optimization.offload_optimizer.device", json_string("cpu"));
  return put(a, "zero_optimization.offload_param.device", json_string("cpu")), SL_OK;
}

static enum sl_status read_fsdp(struct accelerate *a) {
  int64_t version = 1;
  bool recompute = false, ahead = false;
  char wrap[32] = "";
  if (sl_settings_has(&a->s, "parallelism_config")) version = 2;
  SL_TRY(sl_settings_int(&a->s, FSDP "version", 1, 2, &version));
  SL_TRY(sl_settings_word(&a->s, FSDP "auto_wrap_policy", "TRANSFORMER_BASED_WRAP|SIZE_BASED_WRAP|NO_WRAP", wrap));
  if (strcmp(wrap, "TRANSFORMER_BASED_WRAP") != 0)
    return sl_settings_fail(&a->s, FSDP "auto_wrap_policy",
                            "TRANSFORMER_BASED_WRAP: a unit a block; no other units are modelled");
  SL_TRY(put_strategy(a, version));
  SL_TRY(put_prefetch(a, version));
  SL_TRY(put_fsdp_offload(a));
  if (version == 2) SL_TRY(put_mesh(a));
  SL_TRY(sl_settings_bool(&a->s, FSDP "activation_checkpointing", &recompute));
  SL_TRY(
      /* has no effect: a fast host issues the gathers as early */
      sl_settings_bool(&a->s, FSDP "forward_prefetch", &ahead));
  put(a, "shardlab.recompute", json_string(recompute ? "full" : "none"));
  put(a, "shardlab.no_sync", json_true()); /* accelerator.py, accumulate */
  return put_fsdp_types(a);
}

/* ---- Megatron-LM ---- */

/* Accelerate's str_to_bool: what it does not know does not start. */
static enum sl_status read_switch(const struct accelerate *a, const char *path, bool *out) {
  static const char *const on[] = {"y", "yes", "t", "true", "on", "1", NULL};
  const json_t *value = sl_settings_value(&a->s, path);
  char text[32] = "";
  int64_t number = 0;
  if (value == NULL || json_is_boolean(value)) return sl_settings_bool(&a->s, path, out);
  if (json_is_integer(value)) {
    SL_TRY(sl_settings_int(&a->s, path, 0, 1, &number));
    return *out = number == 1, SL_OK;
  }
  SL_TRY(sl_settings_word(&a->s, path, "true|false|y|yes|t|on|1|n|no|f|off|0", text));
  return *out = sl_interop_among(on, text), SL_OK;
}

/* Accelerate hands on a granularity, a method and a number always (MegatronLMPlugin, megatron_lm_default_args), and
 * recompute_activations never. Megatron-LM has no selective beside a method (training/arguments.py, validate_args);
 * blocks of no layers are none that is recomputed (core/recompute.py). */
static enum sl_status put_megatron_recompute(struct accelerate *a) {
  static const char methods[] = MEGATRON "recompute_method", number[] = MEGATRON "recompute_num_layers";
  bool unheard = false;
  char granularity[32] = "full", method[32] = "uniform";
  int64_t layers = 1;
  SL_TRY(sl_settings_word(&a->s, MEGATRON "recompute_granularity", "full|selective", granularity));
  SL_TRY(sl_settings_word(&a->s, methods, "uniform|block", method));
  SL_TRY(sl_settings_int(&a->s, number, 0, SL_MAX_LAYERS, &layers));
  if (strcmp(granularity, "full") != 0)
    return sl_settings_fail(&a->s, MEGATRON "recompute_granularity",
                            "full: Megatron-LM does not start with selective beside a recompute_method, and Accelerate "
                            "always gives one");
  const bool uniform = strcmp(method, "uniform") == 0, none = !uniform && layers == 0;
  if (uniform && layers != 1) return sl_settings_fail(&a->s, number, "1: larger pieces are not modelled");
  if (!uniform && layers > 0)
    return sl_settings_fail(&a->s, methods, "uniform, or recompute_num_layers 0: some layers alone are not modelled");
  SL_TRY(read_switch(a, MEGATRON "recompute_activations", &unheard));
  if (sl_settings_has(&a->s, MEGATRON "recompute_activations"))
    sl_warn("%s: megatron_lm_recompute_activations has no effect: Accelerate does not hand it to Megatron-LM; "
            "recomputation is %s, of megatron_lm_recompute_granularity and its method and number of layers",
            a->s.doc->name, none ? "none" : "full");
  return put(a, "shardlab.recompute", json_string(none ? "none" : "full")), SL_OK;
}

/* Accelerate's true and false are no AttnBackend: Megatron-LM then forbids none, and Transformer Engine chooses, as it
 * does by our default (core/models/common/language_module, _set_attention_backend). */
static enum sl_status check_megatron_attention(struct accelerate *a) {
  static const char key[] = MEGATRON "attention_backend";
  bool any = true;
  if (read_switch(a, key, &any) == SL_OK) return SL_OK;
  sl_error_clear();
  return sl_settings_fail(&a->s, key,
                          "true or false, with both of which Transformer Engine chooses: Accelerate loads no other "
                          "word");
}

/* What Accelerate's __post_init__ takes, and nobody would expect. */
static void say_megatron_defaults(const struct accelerate *a) {
  const bool cp = !sl_settings_has(&a->s, MEGATRON "context_parallel_size"),
             recompute = !sl_settings_has(&a->s, MEGATRON "recompute_granularity|" MEGATRON "recompute_method|" MEGATRON
                                                          "recompute_num_layers");
  if (!cp && !recompute) return;
  sl_warn("%s: Accelerate's defaults: %s%s%s", a->s.doc->name,
          cp ? "megatron_lm_context_parallel_size is 2 (1 is none)" : "", cp && recompute ? "; " : "",
          recompute ? "megatron_lm_recompute_granularity is full (megatron_lm_recompute_method block with "
                      "megatron_lm_recompute_num_layers 0 is none)"
                    : "");
}

/* Gradients wait for the end of backward: Accelerate gives no --overlap-grad-reduce, nor has it a key for it. The
 * vocabulary is padded as Megatron-LM pads it (utils/megatron_lm.py, initialize). */
static void put_megatron_own(struct accelerate *a) {
  put(a, "zero_optimization.overlap_comm", json_false());
  put(a, "shardlab.make_vocab_size_divisible_by", json_integer(SL_ACCELERATE_VOCABULARY));
  if (strcmp(a->precision, "fp16") != 0) return;
  put(a, "communication_data_type", json_string("fp16")); /* no key for --accumulate-allreduce-grads-in-fp32 */
  put(a, "data_types.grad_accum_dtype", json_string("fp16"));
}

static enum sl_status read_megatron(struct accelerate *a) {
  int64_t tp = 1, cp = 2, pp = 1, micro_batches = 1;
  bool sharded = false, sequence = false;
  double clip = 1;
  SL_TRY(sl_settings_int(&a->s, MEGATRON "tp_degree", 1, SL_MAX_DEGREE, &tp));
  SL_TRY(sl_settings_int(&a->s, MEGATRON "context_parallel_size", 1, SL_MAX_DEGREE, &cp));
  SL_TRY(sl_settings_int(&a->s, MEGATRON "pp_degree", 1, SL_MAX_DEGREE, &pp));
  SL_TRY(sl_settings_int(&a->s, MEGATRON "num_micro_batches", 1, SL_MAX_MICRO_BATCHES, &micro_batches));
  SL_TRY(read_switch(a, MEGATRON "use_distributed_optimizer", &sharded));
  SL_TRY(read_switch(a, MEGATRON "sequence_parallelism", &sequence));
  SL_TRY(sl_settings_real(&a->s, MEGATRON "gradient_clipping", 0, 1e300, &clip));
  put(a, "shardlab.preset", json_string(sharded ? "accelerate-megatron" : "megatron-lm"));
  put(a, "shardlab.tp", json_integer(tp));
  if (cp > 1) put(a, "shardlab.cp", json_integer(cp));
  put(a, "shardlab.pp", json_integer(pp));
  if (sequence && tp > 1) put(a, "shardlab.sequence_parallel", json_true());
  put(a, "gradient_accumulation_steps", json_integer(micro_batches));
  put(a, "gradient_clipping", json_real(clip));
  say_megatron_defaults(a);
  SL_TRY(put_megatron_recompute(a));
  SL_TRY(check_megatron_attention(a));
  put_megatron_own(a);
  return put_precision(a);
}

/* Megatron-LM's models are its gpt_builder's, on Transformer Engine (utils/megatron_lm.py). */
static enum sl_status put_kernels(struct accelerate *a, bool megatron) {
  char backend[32] = "NO";
  if (megatron) return put(a, "shardlab.kernels", json_string("megatron-core")), SL_OK;
  SL_TRY(sl_settings_word(&a->s, "dynamo_config.dynamo_backend|dynamo_backend", "NO|INDUCTOR|EAGER", backend));
  put(a, "shardlab.kernels", json_string(strcmp(backend, "INDUCTOR") == 0 ? "torch-compile" : "torch-eager"));
  return SL_OK;
}

/* DeepSpeed-Ulysses, which Accelerate calls sequence parallelism: parallelism_config.py, sp_backend. */
static enum sl_status put_ulysses(struct accelerate *a, bool deepspeed) {
  int64_t sp = 1;
  char backend[32] = "deepspeed";
  SL_TRY(sl_settings_int(&a->s, MESH "sp_size", 1, SL_MAX_DEGREE, &sp));
  SL_TRY(sl_settings_word(&a->s, MESH "sp_backend", "deepspeed", backend));
  if (sp == 1) return SL_OK;
  if (!deepspeed)
    return sl_settings_fail(&a->s, MESH "sp_size", "1, or distributed_type DEEPSPEED, which alone exchanges heads");
  put(a, "shardlab.cp", json_integer(sp));
  return put(a, "shardlab.cp_comm_type", json_string("a2a")), SL_OK;
}

/* ---- the whole file ---- */

static enum sl_status make_config(struct accelerate *a) {
  char type[32] = "", place[32] = "LOCAL_MACHINE";
  SL_TRY(sl_settings_word(&a->s, "compute_environment", "LOCAL_MACHINE|AMAZON_SAGEMAKER", place));
  if (strcmp(place, "LOCAL_MACHINE") != 0)
    return sl_settings_fail(&a->s, "compute_environment", "LOCAL_MACHINE: SageMaker is not modelled");
  if (json_is_false(sl_settings_value(&a->s, "distributed_type")))
    snprintf(type, sizeof type, "NO"); /* YAML reads an unquoted no as false */
  else
    SL_TRY(sl_settings_word(&a->s, "distributed_type", "NO|MULTI_GPU|DEEPSPEED|FSDP|MEGATRON_LM", type));
  if (type[0] == '\0')
    return sl_settings_fail(&a->s, "distributed_type", "NO, MULTI_GPU, DEEPSPEED, FSDP or MEGATRON_LM");
  SL_TRY(sl_settings_refuse(&a->s, sl_accelerate_refused));
  if (json_is_false(sl_settings_value(&a->s, "mixed_precision")))
    snprintf(a->precision, sizeof a->precision, "no");
  else
    SL_TRY(sl_settings_word(&a->s, "mixed_precision", "no|fp16|bf16|fp8", a->precision));
  if (strcmp(a->precision, "fp8") == 0)
    return sl_settings_fail(&a->s, "mixed_precision", "no, fp16 or bf16: the fp8 of other libraries is not modelled");
  sl_settings_value(&a->s, "fp8_config");
  SL_TRY(read_world(a, strcmp(type, "NO") == 0));
  leave_to_script(a);
  SL_TRY(put_kernels(a, strcmp(type, "MEGATRON_LM") == 0));
  SL_TRY(put_ulysses(a, strcmp(type, "DEEPSPEED") == 0));
  if (strcmp(type, "DEEPSPEED") == 0) return sl_accelerate_deepspeed(&a->s, a->precision, a->config);
  if (strcmp(type, "FSDP") == 0) return read_fsdp(a);
  return strcmp(type, "MEGATRON_LM") == 0 ? read_megatron(a) : read_ddp(a);
}

enum sl_status sl_accelerate_read(const char *name, const char *text, size_t size, bool strict, int64_t *world,
                                  int64_t *per_machine, json_t **config, json_t *names_given) {
  static const struct sl_setting_names names = {"Accelerate", sl_accelerate_beside, sl_accelerate_settings};
  struct sl_json doc;
  enum sl_status status;
  struct accelerate a = {.world = *world, .precision = "no"};
  *config = NULL;
  SL_TRY(sl_yaml_parse(&doc, name, text, size));
  SL_GO(check_keys(&doc));
  SL_GO(sl_settings_open(&a.s, &doc));
  SL_GO(sl_settings_check_names(&a.s, &names, strict));
  *config = a.config = json_object();
  SL_GO(make_config(&a));
  sl_settings_name_rest(&a.s, &names);
  if (names_given != NULL) sl_settings_tie(&a.s, sl_accelerate_ties, names_given);
  *world = a.world;
  *per_machine = a.per_machine;
done:
  sl_settings_free(&a.s);
  sl_json_free(&doc);
  if (status == SL_OK) return SL_OK;
  json_decref(*config);
  *config = NULL;
  return status;
}
