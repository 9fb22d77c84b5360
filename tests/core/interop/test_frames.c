/* label: unit
 * torchtitan's TOML and Accelerate's YAML: what a setting becomes, defaults, earlier names; what is not modelled is
 * refused with its key. */
#include "core/base/json_get.h"
#include "core/interop/accelerate.h"
#include "core/interop/accelerate_keys.h"
#include "core/interop/reword.h"
#include "core/interop/torchtitan.h"
#include "core/interop/torchtitan_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char warned[2048];
static bool strictly; /* as with --strict */

static void keep(void *context, const char *text) {
  (void)context;
  snprintf(warned, sizeof warned, "%s", text);
}

/* A text in one of the two languages, and what becomes of it. */
struct reading {
  int64_t world, per_machine;
  json_t *config, *model;
  enum sl_status status;
};

static struct reading read_text(const char *text, bool titan, int64_t world) {
  struct reading r = {.world = world};
  warned[0] = '\0';
  sl_error_clear();
  sl_warn_set_sink(keep, NULL);
  if (titan)
    r.status = sl_torchtitan_read("f", text, strlen(text), strictly, 0, &r.world, &r.config, &r.model, NULL);
  else
    r.status = sl_accelerate_read("f", text, strlen(text), strictly, &r.world, &r.per_machine, &r.config, NULL);
  sl_warn_set_sink(NULL, NULL);
  return r;
}

static void close_reading(struct reading *r) {
  json_decref(r->config);
  json_decref(r->model);
}

/* `json` is the value at `path`. */
static void value_is(const struct reading *r, const char *path, const char *json) {
  json_t *want = json_loads(json, JSON_DECODE_ANY, NULL);
  const json_t *has = sl_json_at(r->config, path);
  if (r->status != SL_OK) fail_msg("%s", sl_error_message());
  if (!json_equal(has, want)) fail_msg("%s is %s", path, has != NULL ? json_dumps(has, JSON_ENCODE_ANY) : "absent");
  json_decref(want);
}

struct expectation {
  const char *text;
  int64_t world;
  const char *path, *json;
};

static void check(const struct expectation *cases, size_t count, bool titan) {
  for (size_t i = 0; i < count; i++) {
    struct reading r = read_text(cases[i].text, titan, cases[i].world);
    value_is(&r, cases[i].path, cases[i].json);
    close_reading(&r);
  }
}

static void torchtitans_settings_are_ours(void **state) {
  (void)state;
#define PP "[model]\nflavor='8B'\n[parallelism]\ndata_parallel_shard_degree=2\npipeline_parallel_degree=4\n"
  static const struct expectation cases[] = {
      {"", 8, "shardlab.preset", "\"fsdp2\""},
      {"", 8, "shardlab.recompute", "\"full\""}, /* its default: every second layer */
      {"", 8, "shardlab.recompute_every", "2"},
      {"", 8, "optimizer.params.lr", "0.0008"},
      {"", 8, "optimizer.params.betas", "[0.9, 0.95]"},
      {"", 8, "train_micro_batch_size_per_gpu", "8"},
      {"", 8, "communication_data_type", "\"fp32\""},
      {"[training]\nlocal_batch_size=2\nglobal_batch_size=48", 8, "gradient_accumulation_steps", "3"},
      {"[training]\nmax_norm = inf", 8, "gradient_clipping", "0.0"},
      {"[training]\nbatch_size=3\ntensor_parallel_degree=2", 8, "train_micro_batch_size_per_gpu", "3"}, /* of 2024 */
      {"[training]\ntensor_parallel_degree=2", 8, "shardlab.tp", "2"},
      {"[parallelism]\ntensor_parallel_degree=2", 8, "shardlab.sequence_parallel", "true"},
      {"[parallelism]\ndata_parallel_replicate_degree=2", 8, "shardlab.shard_size", "4"},
      {"[parallelism]\nfsdp_reshard_after_forward='never'", 8, "shardlab.preset", "\"fsdp2-no-reshard\""},
      {"[activation_checkpoint]\nmode='selective'\nselective_ac_option='op'", 8, "shardlab.recompute",
       "\"selective_op\""},
      {"[compile]\nenable=true\ncomponents=['model']", 8, "shardlab.kernels", "\"torch-compile-blocks\""},
      /* before June 2025 the loss was compiled in some months alone */
      {"[training]\nlocal_batch_size=2\ncompile=true", 8, "shardlab.kernels", "\"torch-compile\""},
      {"[training]\nbatch_size=2\ncompile=true", 8, "shardlab.kernels", "\"torch-compile-blocks\""},
      {"[training]\nbatch_size=2\nlocal_batch_size=2\ncompile=true", 8, "shardlab.kernels", "\"torch-compile\""},
      {"[model]\nconverters=['float8']\n[quantize.linear.float8]\nrecipe_name='rowwise'", 8, "shardlab.fp8_recipe",
       "\"rowwise\""},
      {"[model]\nconverters=' float8,'", 8, "shardlab.fp8", "true"}, /* of March 2025 */
      /* DDP and a single device train under autocast */
      {"[parallelism]\ndata_parallel_replicate_degree=8\ndata_parallel_shard_degree=1", 8, "shardlab.preset",
       "\"ddp\""},
      {"[parallelism]\ndata_parallel_replicate_degree=8\ndata_parallel_shard_degree=1", 8, "torch_autocast.dtype",
       "\"bf16\""},
      {"", 1, "torch_autocast.enabled", "true"},
      {"", 1, "shardlab.preset", "\"ddp\""},
      {"[training]\nmixed_precision_param='float32'", 1, "shardlab.preset", "\"fsdp2\""},
      {PP, 0, "shardlab.preset", "\"fsdp2-no-reshard\""},
      {PP, 0, "shardlab.stages", "[8, 9, 8, 7]"}, /* 34 with the two ends, 9 9 8 8 */
      {PP "pipeline_parallel_schedule='Interleaved1F1B'", 0, "shardlab.virtual_stages", "2"},
      {PP "pipeline_parallel_schedule='ZBVZeroBubble'", 0, "shardlab.schedule", "\"zbv\""},
      {PP "pipeline_parallel_layers_per_stage=4\npipeline_parallel_schedule='interleaved1f1b'\n"
          "pipeline_parallel_first_stage_less_layers=0\npipeline_parallel_last_stage_less_layers=0",
       0, "shardlab.stages", "[4, 4, 4, 4, 4, 4, 4, 4]"},
      {PP "pipeline_parallel_microbatch_size=2", 0, "gradient_accumulation_steps", "4"},
  };
  check(cases, sizeof cases / sizeof *cases, true);
  struct reading r = read_text(PP, true, 0);
  assert_int_equal(r.world, 8);
  assert_int_equal(json_integer_value(json_object_get(r.model, "intermediate_size")), 14336);
  close_reading(&r);
}

/* Where a file has a key's name of 2024 beside today's, today's counts, and the other is named unless it says the same. */
static void an_old_name_beside_the_new_one_is_named(void **state) {
  (void)state;
  static const char *const said[] = {"", "f: no counterpart, so without effect: training.batch_size"};
  for (int i = 0; i < 2; i++) {
    char text[80];
    snprintf(text, sizeof text, "[training]\nbatch_size=%d\nlocal_batch_size=2", 2 + i);
    struct reading r = read_text(text, true, 8);
    value_is(&r, "train_micro_batch_size_per_gpu", "2");
    assert_string_equal(warned, said[i]);
    close_reading(&r);
  }
}

static void accelerates_settings_are_ours(void **state) {
  (void)state;
#define FSDP "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\n"
#define WRAP "fsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
#define ZERO "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n"
#define LM "distributed_type: MEGATRON_LM\nnum_processes: 8\nmegatron_lm_config:\n"
  static const struct expectation cases[] = {
      {"distributed_type: MULTI_GPU\nnum_processes: 2", 0, "shardlab.preset", "\"accelerate-ddp\""},
      {"distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: bf16", 0, "torch_autocast.enabled", "true"},
      {"distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: fp16", 0, "torch_autocast.dtype", "\"fp16\""},
      {"distributed_type: NO\nmixed_precision: bf16", 0, "torch_autocast.dtype", "\"bf16\""},
      {FSDP WRAP, 0, "shardlab.preset", "\"fsdp\""},
      {FSDP WRAP, 0, "communication_data_type", "\"bf16\""},
      {FSDP WRAP, 0, "optimizer.params.lr", "\"auto\""},
      {FSDP WRAP "  fsdp_sharding_strategy: 2", 0, "shardlab.preset", "\"fsdp-shard-grad-op\""},
      {FSDP WRAP "  fsdp_reshard_after_forward: SHARD_GRAD_OP", 0, "shardlab.preset", "\"fsdp-shard-grad-op\""},
      {FSDP "num_machines: 2\n" WRAP "  fsdp_sharding_strategy: HYBRID_SHARD", 0, "shardlab.shard_size", "4"},
      {FSDP "num_machines: 2\n" WRAP "  fsdp_sharding_strategy: HYBRID_SHARD", 32, "shardlab.shard_size", "4"},
      {FSDP "num_machines: 1\n" WRAP "  fsdp_sharding_strategy: HYBRID_SHARD", 32, "shardlab.shard_size", "8"},
      {FSDP WRAP "  fsdp_sharding_strategy: HYBRID_SHARD", 2, "shardlab.shard_size", "2"},
      {FSDP WRAP "  fsdp_sharding_strategy: HYBRID_SHARD", 12, "shardlab.shard_size", "12"},
      {FSDP WRAP "  fsdp_version: 2\n  fsdp_reshard_after_forward: false", 0, "shardlab.preset",
       "\"fsdp2-no-reshard\""},
      {FSDP WRAP "parallelism_config:\n  parallelism_config_dp_shard_size: 4\n  parallelism_config_tp_size: 2", 0,
       "shardlab.tp", "2"},
      {FSDP WRAP "parallelism_config:\n  parallelism_config_dp_shard_size: 4\n  parallelism_config_tp_size: 2", 0,
       "shardlab.tp_vocab", "\"gathered\""},
      {FSDP WRAP "  fsdp_activation_checkpointing: true", 0, "shardlab.recompute", "\"full\""},
      {FSDP WRAP "  fsdp_version: 2", 0, "shardlab.no_sync", "true"},
      {FSDP WRAP "  fsdp_offload_params: true", 0, "zero_optimization.offload_param.device", "\"cpu\""},
      {ZERO "  zero_stage: 3\n  offload_param_device: cpu", 0, "zero_optimization.offload_param.device", "\"cpu\""},
      {ZERO "  gradient_clipping: auto\n", 0, "zero_optimization.stage", "2"},
      {ZERO "  gradient_clipping: 0.5\n", 0, "gradient_clipping", "0.5"},
      {LM "  megatron_lm_tp_degree: 2\n  megatron_lm_num_micro_batches: 4", 0, "gradient_accumulation_steps", "4"},
      {LM "  megatron_lm_use_distributed_optimizer: true", 0, "shardlab.preset", "\"accelerate-megatron\""},
      {"mixed_precision: fp16\n" LM "  megatron_lm_pp_degree: 1", 0, "communication_data_type", "\"fp16\""},
      {"mixed_precision: fp16\n" LM "  megatron_lm_pp_degree: 1", 0, "data_types.grad_accum_dtype", "\"fp16\""},
      {FSDP WRAP "dynamo_config:\n  dynamo_backend: inductor", 0, "shardlab.kernels", "\"torch-compile\""},
  };
  check(cases, sizeof cases / sizeof *cases, false);
  struct reading r = read_text(FSDP "num_machines: 2\nrdzv_backend: static\n" WRAP "  fsdp_new_thing: 3", false, 0);
  assert_int_equal(r.world, 8);
  assert_int_equal(r.per_machine, 4);
  assert_string_equal(warned, "f: no counterpart, so without effect: fsdp_config.fsdp_new_thing");
  close_reading(&r);
}

static const struct {
  const char *text, *says;
  bool titan;
  int64_t world;
} refused[] = {
    {"[model]\nconverters=['float8']\n[parallelism]\ntensor_parallel_degree=8",
     "f:2:1: model.converters: is [\"float8\"]; expected none where parameters are fp32, as without FSDP and by "
     "mixed_precision_param: fp8 products are of bf16 numbers here",
     true, 8},
    {"[parallelism]\ncontext_parallel_degree = 2\ncontext_parallel_rotate_method = \"alltoall\"",
     "f:3:1: parallelism.context_parallel_rotate_method: is \"alltoall\"; expected allgather: keys and values that go "
     "round are not modelled",
     true, 8},
    {"[parallelism]\ncontext_parallel_degree = 2\ndata_parallel_shard_degree = 8",
     "f:3:1: parallelism.data_parallel_shard_degree: is 8; expected degrees whose product is the 8 ranks: replicas 1 x "
     "shards 8 x cp 2 x tp 1 x pp 1",
     true, 8},
    {"",
     "f: parallelism.data_parallel_shard_degree: is missing; expected --world beside it: it stands for all ranks "
     "that the others leave",
     true, 0},
    {"[parallelism]\ntensor_parallel_degree = 3",
     "f:1:2: parallelism.data_parallel_shard_degree: is missing; expected degrees whose product is the 8 ranks: "
     "replicas "
     "1 x shards 2 x tp 3 x pp 1",
     true, 8},
    {"[parallelism]\ndata_parallel_replicate_degree = 4\ndata_parallel_shard_degree = 1\ntensor_parallel_degree = 2",
     "f:2:1: parallelism.data_parallel_replicate_degree: is 4; expected 1, or shards beside it: torchtitan's DDP has "
     "no "
     "tp and no pp",
     true, 8},
    {"[activation_checkpoint]\nmode = 'memory_budget'",
     "f:2:1: activation_checkpoint.mode: is \"memory_budget\"; expected none, selective or full: no other one is "
     "modelled",
     true, 8},
    {"[training]\ndtype = 'bfloat16'",
     "f:2:1: training.dtype: is \"bfloat16\"; expected float32: parameters without fp32 masters are not modelled", true,
     8},
    {"[model]\nflavor = '9B'",
     "f:2:1: model.flavor: is \"9B\"; expected of llama3 one of debugmodel, 8B, 70B, 405B; "
     "or --model",
     true, 8},
    {PP "[training]\nglobal_batch_size = 32",
     "f:7:1: training.global_batch_size: is 32; expected 16: beside a pipeline, several runs of it a step are not "
     "modelled",
     true, 0},
    {"[training]\nseq_len = 'long'", "f:2:1: training.seq_len: is \"long\"; expected a whole number from 1 to 67108864",
     true, 8},
    {"num_processes: 2", "f: distributed_type: is missing; expected NO, MULTI_GPU, DEEPSPEED, FSDP or MEGATRON_LM",
     false, 0},
    {"distributed_type: FSDP\nnum_proceses: 2",
     "f:2:1: num_proceses: is no key of Accelerate's; did you mean "
     "num_processes?",
     false, 0},
    {"distributed_type: XLA",
     "f:1:1: distributed_type: is \"XLA\"; expected one of NO, MULTI_GPU, DEEPSPEED, FSDP, "
     "MEGATRON_LM",
     false, 0},
    {FSDP WRAP "  fsdp_offload_params: true\n  fsdp_sharding_strategy: 2",
     "f:6:3: fsdp_config.fsdp_offload_params: is true; expected false, or FULL_SHARD beside it: offload of no other "
     "strategy is modelled",
     false, 0},
    {FSDP,
     "f: fsdp_config.fsdp_auto_wrap_policy: is missing; expected TRANSFORMER_BASED_WRAP: a unit a block; no "
     "other units are modelled",
     false, 0},
    {FSDP WRAP "  fsdp_sharding_strategy: NO_SHARD",
     "f:6:3: fsdp_config.fsdp_sharding_strategy: is \"NO_SHARD\"; expected shards: NO_SHARD is not modelled", false, 0},
    {ZERO "  deepspeed_config_file: x.json\n  zero_stage: 2",
     "f:5:3: deepspeed_config.zero_stage: is 2; expected none beside deepspeed_config_file, which says it", false, 0},
    {FSDP "num_machines: 3\n" WRAP, "f:4:1: num_machines: is 3; expected a divisor of the 8 processes", false, 0},
    {FSDP "num_machines: 2\n" WRAP,
     "f:4:1: num_machines: is 2; expected --world, here 6, to be a multiple of the 4 processes of a machine", false, 6},
    {"megatron_lm_gradient_clipping: 1.0\n" LM "  megatron_lm_pp_degree: 1",
     "f:1:1: megatron_lm_gradient_clipping: is at the top; expected inside megatron_lm_config", false, 0},
    {ZERO "  zero_stage: 2\nzero3_init_flag: true",
     "f:5:1: zero3_init_flag: is at the top; expected inside "
     "deepspeed_config",
     false, 0},
    {FSDP "fsdp_offload_params: true\n" WRAP, "f:4:1: fsdp_offload_params: is at the top; expected inside fsdp_config",
     false, 0},
};

/* Both frameworks refuse fields that they do not have; here one is refused if it can be told what was meant, and with
 * --strict. */
static void misspelt_keys_are_refused(void **state) {
  (void)state;
#define NO(place, path, framework) "f:" place ": " path ": is no key of " framework "'s"
#define CP "parallelism_config:\n  parallelism_config_"
  static const struct {
    const char *text, *says;
    bool titan;
  } cases[] = {
      {"[parallelism]\ntensor_parallel_degre = 2",
       NO("2:1", "parallelism.tensor_parallel_degre",
          "torchtitan") "; did you mean parallelism.tensor_parallel_degree?",
       true},
      {"[paralelism]\ntensor_parallel_degree = 2",
       NO("2:1", "paralelism.tensor_parallel_degree",
          "torchtitan") "; did you mean parallelism.tensor_parallel_degree?",
       true},
      {"[training]\nsteeps = 2", NO("2:1", "training.steeps", "torchtitan") "; did you mean training.steps?", true},
      {FSDP "fsdp_config:\n  fsdp_auto_wrap_polcy: TRANSFORMER_BASED_WRAP",
       NO("5:3", "fsdp_config.fsdp_auto_wrap_polcy", "Accelerate") "; did you mean fsdp_config.fsdp_auto_wrap_policy?",
       false},
      {FSDP WRAP "  fsdp_offload_param: true",
       NO("6:3", "fsdp_config.fsdp_offload_param", "Accelerate") "; did you mean fsdp_config.fsdp_offload_params?",
       false}};
  static const struct {
    const char *text, *path, *json;
    bool titan;
  } taken[] = {
      {"[parallelism]\ntensor_parallel_degre = 2\ntensor_parallel_degree = 4", "shardlab.tp", "4",
       true}, /* given, too */
      {"[our_fork]\nlearnt_scale = 2\n[training]\nzzz = 1", "shardlab.tp", "1", true},
      {"[parallelism]\npipeline_parallel_layers_per_stage = 2", "shardlab.tp", "1", true}, /* not asked for here */
      {ZERO "  zero_stage: 1\n" CP "tp_size: 1", "zero_optimization.stage", "1", false},
      {ZERO "  zero_stage: 1\n  hidden_x: 1", "zero_optimization.stage", "1", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct reading r = read_text(cases[i].text, cases[i].titan, cases[i].titan ? 8 : 0);
    if (r.status != SL_ERR_INPUT) fail_msg("taken: %s", cases[i].text);
    assert_string_equal(sl_error_message(), cases[i].says);
    assert_null(r.config);
  }
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    struct reading r = read_text(taken[i].text, taken[i].titan, taken[i].titan ? 8 : 0);
    value_is(&r, taken[i].path, taken[i].json);
    assert_int_equal(strncmp(warned, "f: no counterpart, so without effect: ", 38), 0);
    close_reading(&r);
  }
  strictly = true;
  struct reading r = read_text(taken[1].text, true, 8);
  assert_int_equal(r.status, SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), NO("2:1", "our_fork.learnt_scale", "torchtitan"));
  r = read_text(taken[2].text, true, 8);
  value_is(&r, "shardlab.tp", "1");
  close_reading(&r);
  strictly = false;
  sl_error_clear();
}

static void what_is_not_modelled_is_refused_with_its_key(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    struct reading r = read_text(refused[i].text, refused[i].titan, refused[i].world);
    if (r.status != SL_ERR_INPUT) fail_msg("taken: %s", refused[i].text);
    assert_string_equal(sl_error_message(), refused[i].says);
    assert_null(r.config);
  }
  sl_error_clear();
}

static bool is_listed(const char *const *list, const char *path, size_t length) {
  for (; *list != NULL; list++) {
    const size_t n = strlen(*list);
    if (n == length && strncmp(*list, path, n) == 0) return true;
    if (n > 0 && (*list)[n - 1] == '*' && length >= n - 1 && strncmp(*list, path, n - 1) == 0) return true;
  }
  return false;
}

/* Every path of the ties is one of the framework's keys. */
static void ties_are_of_known_keys(void **state) {
  (void)state;
  const struct {
    const struct sl_setting_tie *ties;
    const char *const *lists[3];
  } frameworks[] = {{sl_torchtitan_ties, {sl_torchtitan_known, sl_torchtitan_beside, sl_torchtitan_beside}},
                    {sl_accelerate_ties, {sl_accelerate_known, sl_accelerate_beside, sl_accelerate_settings}}};
  for (size_t f = 0; f < 2; f++)
    for (const struct sl_setting_tie *tie = frameworks[f].ties; tie->key != NULL; tie++)
      for (const char *at = tie->paths; at != NULL; at = strchr(at, '|') != NULL ? strchr(at, '|') + 1 : NULL) {
        bool listed = false;
        for (size_t k = 0; k < 3; k++) listed |= is_listed(frameworks[f].lists[k], at, strcspn(at, "|"));
        if (!listed) fail_msg("%s: %s", tie->key, at);
      }
}

/* Errors in what was made of a file name its own keys, where they stand. */
static void errors_name_the_files_keys(void **state) {
  (void)state;
  static const struct {
    bool titan;
    const char *text, *was, *becomes;
  } cases[] = {{true, "[parallelism]\ntensor_parallel_degree = 2\n", "f: shardlab.tp: is 2; expected 1",
                "f:2:1: parallelism.tensor_parallel_degree: is 2; expected 1"},
               {true, "[training]\ntensor_parallel_degree = 2\nbatch_size = 4\n",
                "f: train_micro_batch_size_per_gpu: is 4; see shardlab.tp",
                "f:3:1: training.batch_size: is 4; see training.tensor_parallel_degree"},
               {true, "[training]\nseq_len = 64\n", "f: shardlab.pp: is 2", "f: shardlab.pp: is 2"},
               {false,
                "distributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
                "parallelism_config:\n  parallelism_config_tp_size: 2\n",
                "f: shardlab.tp: is 2; expected 1",
                "f:5:3: parallelism_config.parallelism_config_tp_size: is 2; expected 1"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *config = NULL, *model = NULL, *names = json_object();
    int64_t world = 2, machine = 0;
    const size_t size = strlen(cases[i].text);
    sl_error_clear();
    sl_warn_set_sink(keep, NULL);
    const enum sl_status status =
        cases[i].titan ? sl_torchtitan_read("f", cases[i].text, size, false, 8, &world, &config, &model, names)
                       : sl_accelerate_read("f", cases[i].text, size, false, &world, &machine, &config, names);
    sl_warn_set_sink(NULL, NULL);
    if (status != SL_OK) fail_msg("%s: %s", cases[i].text, sl_error_message());
    sl_fail(SL_ERR_INPUT, "%s", cases[i].was);
    assert_int_equal(sl_interop_reword(SL_ERR_INPUT, "f", names), SL_ERR_INPUT);
    assert_string_equal(sl_error_message(), cases[i].becomes);
    json_decref(config);
    json_decref(model);
    json_decref(names);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(torchtitans_settings_are_ours), cmocka_unit_test(an_old_name_beside_the_new_one_is_named),
      cmocka_unit_test(accelerates_settings_are_ours), cmocka_unit_test(what_is_not_modelled_is_refused_with_its_key),
      cmocka_unit_test(misspelt_keys_are_refused),     cmocka_unit_test(ties_are_of_known_keys),
      cmocka_unit_test(errors_name_the_files_keys)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
