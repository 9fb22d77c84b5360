/* label: unit
 * Broken training configurations: each gives one error with place, key and what was expected, in DeepSpeed's words
 * where it has some, and holds nothing afterwards. */
#include "core/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
  const char *text, *message;
} broken[] = {
    {"{\"train_batch_size\": 0}", "ds.json:1:2: train_batch_size: Train batch size: 0 has to be greater than 0"},
    {"{\"train_micro_batch_size_per_gpu\": -3}",
     "ds.json:1:2: train_micro_batch_size_per_gpu: Micro batch size per gpu: -3 has to be greater than 0"},
    {"{\"train_batch_size\": \"four\"}", "ds.json:1:2: train_batch_size: is \"four\"; expected an integer >= 1"},
    {"{\"train_batch_size\": 2.5}", "ds.json:1:2: train_batch_size: is 2.5; expected an integer >= 1"},
    {"{\"train_batch_size\": 1e300}", "ds.json:1:2: train_batch_size: is 1e+300; expected an integer >= 1"},
    {"{\"gradient_accumulation_steps\": 0}",
     "ds.json:1:2: gradient_accumulation_steps: Gradient accumulation steps: 0 has to be greater than 0"},
    {"{\n  \"zero_optimization\": {\n    \"stage\": 7\n  }\n}",
     "ds.json:3:5: zero_optimization.stage: is 7; expected 0, 1, 2 or 3"},
    {"{\"zero_optimization\": {\"stge\": 1}}",
     "ds.json:1:24: zero_optimization.stge: unknown key; did you mean \"stage\"?"},
    {"{\"zero_optimization\": {\"reduce_bucket_size\": -1}}",
     "ds.json:1:24: zero_optimization.reduce_bucket_size: is -1; expected an integer > 0"},
    {"{\"zero_optimization\": {\"overlap_comm\": \"yess\"}}",
     "ds.json:1:24: zero_optimization.overlap_comm: is \"yess\"; expected true or false"},
    {"{\"zero_optimization\": {\"prefetch_bucket_size\": 5, \"stage3_prefetch_bucket_size\": 6}}",
     "ds.json:1:51: zero_optimization.stage3_prefetch_bucket_size: given twice, also as \"prefetch_bucket_size\"; "
     "expected one of the two"},
    {"{\"zero_optimization\": {\"cpu_offload\": true, \"stage\": 2,\n \"offload_optimizer\": {\"device\": \"cpu\"}}}",
     "ds.json:1:24: zero_optimization.cpu_offload: Cannot provide deprecated parameter 'cpu_offload' and replacing "
     "parameter 'offload_optimizer' together"},
    {"{\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"cpu\"}}}",
     "ds.json:1:46: zero_optimization.offload_optimizer.device: optimizer offload is only supported with ZeRO stage 1, "
     "2 or 3; the stage is 0"},
    {"{\"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"device\": \"disk\"}}}",
     "ds.json:1:54: zero_optimization.offload_param.device: is \"disk\"; expected one of none, cpu, nvme"},
    {"{\"zero_optimization\": {\"stage\": 1, \"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 0.3}}}",
     "ds.json:1:75: zero_optimization.offload_optimizer.ratio: is 0.3; a ratio below 1.0 is only supported with ZeRO "
     "stage 3; the stage is 1"},
    {"{\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"ratio\": 1.7}}}",
     "ds.json:1:58: zero_optimization.offload_optimizer.ratio: is 1.7; expected a number from 0 to 1"},
    {"{\"zero_optimization\": 3}", "ds.json:1:2: zero_optimization: is 3; expected an object"},
    {"{\"fp16\": {\"enabled\": true},\n \"bf16\": {\"enabled\": true}}",
     "ds.json:2:11: bf16.enabled: bfloat16 and fp16 modes cannot be simultaneously enabled"},
    {"{\"fp16\": {\"enabled\": true},\n \"bfloat16\": {\"enabled\": true}}",
     "ds.json:2:15: bfloat16.enabled: bfloat16 and fp16 modes cannot be simultaneously enabled"},
    {"{\"fp16\": {\"loss_scale\": -2}}",
     "ds.json:1:11: fp16.loss_scale: fp16.loss_scale must be >= 0 (0 enables dynamic loss scaling); is -2"},
    {"{\"fp16\": {\"loss_scale\": true}}", "ds.json:1:11: fp16.loss_scale: is true; expected a number >= 0"},
    {"{\"fp16\": {\"enabled\": true, \"loss_scale_window\": 0}}",
     "ds.json:1:28: fp16.loss_scale_window: is 0; expected an integer > 0 for dynamic loss scaling"},
    {"{\"fp16\": {\"enabled\": true, \"min_loss_scale\": 0.5}}",
     "ds.json:1:28: fp16.min_loss_scale: is 0.5; expected an integer"},
    {"{\"fp16\": true}", "ds.json:1:2: fp16: is true; expected an object"},
    {"{\"fp16\": {\"fp16_master_weights_and_grads\": true}}",
     "ds.json:1:11: fp16.fp16_master_weights_and_grads: Fp16_master_weights_and_grads is only supported with ZeRO "
     "Stage 1, 2, or 3."},
    {"{\"bf16\": {\"bf16_optimizer_states\": true}, \"zero_optimization\": {\"stage\": 1}}",
     "ds.json:1:11: bf16.bf16_optimizer_states: bf16_optimizer_states requires bf16_master_weights_and_grads to be "
     "enabled."},
    {"{\"gradient_allreduce_op\": \"sum\", \"zero_optimization\": {\"stage\": 3}}",
     "ds.json:1:2: gradient_allreduce_op: gradient_allreduce_op='sum' is not supported with ZeRO stage 3"},
    {"{\"gradient_allreduce_op\": \"max\"}",
     "ds.json:1:2: gradient_allreduce_op: is \"max\"; expected one of mean, sum"},
    {"{\"gradient_allreduce_op\": \"sum\", \"compile\": {\"deepcompile\": true}}",
     "ds.json:1:2: gradient_allreduce_op: gradient_allreduce_op='sum' is not supported with DeepCompile"},
    {"{\"communication_data_type\": \"int8\"}",
     "ds.json:1:2: communication_data_type: Invalid communication_data_type. Supported data types: ['fp16', 'bf16', "
     "'fp32']. Got: \"int8\""},
    {"{\"gradient_clipping\": -1}", "ds.json:1:2: gradient_clipping: is -1; expected a number >= 0"},
    {"{\"gradient_predivide_factor\": 0}", "ds.json:1:2: gradient_predivide_factor: is 0; expected a number > 0"},
    {"{\"optimizer\": {\"type\": \"Lamb\"}}", "ds.json:1:16: optimizer.type: Lamb is known to DeepSpeed, not modelled "
                                              "yet; expected Adam, AdamW, OneBitAdam or SGD"},
    {"{\"optimizer\": {\"type\": \"AdmaW\"}}", "ds.json:1:16: optimizer.type: is \"AdmaW\"; expected Adam, AdamW, "
                                               "OneBitAdam or SGD (no other optimizer of torch.optim is "
                                               "modelled yet); did you mean \"AdamW\"?"},
    {"{\"optimizer\": {\"params\": {\"lr\": 0.1}}}",
     "ds.json:1:2: optimizer.type: missing; expected Adam, AdamW, OneBitAdam or SGD"},
    {"{\"optimizer\": {\"type\": \"Adam\",\n \"params\": {\"lr\": 1e-3, \"max_grad_norm\": 1.0}}}",
     "ds.json:2:25: optimizer.params.max_grad_norm: 'max_grad_norm' is not supported as an optimizer parameter, please "
     "switch to using the deepspeed parameter 'gradient_clipping'"},
    {"{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"betas\": [0.9]}}}",
     "ds.json:1:43: optimizer.params.betas: is [0.9]; expected an array of two numbers >= 0 and < 1"},
    {"{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"betas\": [0.9, 1.0]}}}",
     "ds.json:1:43: optimizer.params.betas: is [0.9,1.0]; expected an array of two numbers >= 0 and < 1"},
    {"{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"amsgrad\": true}}}",
     "ds.json:1:43: optimizer.params.amsgrad: FusedAdam does not support the AMSGrad variant."},
    {"{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"momentum\": 0.9}}}",
     "ds.json:1:43: optimizer.params.momentum: unknown key; expected one of lr, betas, eps, weight_decay, "
     "bias_correction, adam_w_mode, torch_adam, amsgrad, fp32_optimizer_states"},
    {"{\"optimizer\": {\"type\": \"SGD\", \"params\": {\"nesterov\": true}}}",
     "ds.json:1:42: optimizer.params.nesterov: Nesterov momentum requires a momentum and zero dampening"},
    {"{\"optimizer\": {\"type\": \"SGD\", \"params\": {\"learning_rate\": 0.1}}}",
     "ds.json:1:42: optimizer.params.learning_rate: unknown key; expected one of lr, momentum, dampening, "
     "weight_decay, nesterov, maximize, foreach, differentiable, fused"},
    {"{\"scheduler\": {\"type\": \"StepLR\"}}",
     "ds.json:1:16: scheduler.type: DeepSpeed does not recognize LR scheduler \"StepLR\"; expected LRRangeTest, "
     "OneCycle, WarmupLR, WarmupDecayLR or WarmupCosineLR (those of torch are not modelled yet)"},
    {"{\"scheduler\": {\"params\": {}}}",
     "ds.json:1:2: scheduler.type: missing; expected LRRangeTest, OneCycle, WarmupLR, WarmupDecayLR or WarmupCosineLR"},
    {"{\"scheduler\": {\"type\": \"WarmupDecayLR\", \"params\": {\"total_num_steps\": \"auto\"}}}",
     "ds.json:1:52: scheduler.params.total_num_steps: is \"auto\" and has no default; expected an integer >= 0"},
    {"{\"scheduler\": {\"type\": \"WarmupDecayLR\", \"params\": {\"warmup_num_steps\": 10}}}",
     "ds.json:1:41: scheduler.params.total_num_steps: missing; expected an integer >= 0"},
    {"{\"scheduler\": {\"type\": \"WarmupLR\", \"params\": {\"warmup_num_steps\": 0}}}",
     "ds.json:1:47: scheduler.params.warmup_num_steps: warmup_num_steps must be a positive integer, got 0"},
    {"{\"scheduler\": {\"type\": \"OneCycle\", \"params\": {\"cycle_min_lr\": 0.1}}}",
     "ds.json:1:36: scheduler.params.cycle_max_lr: missing; expected a number >= 0"},
    {"{\"scheduler\": {\"type\": \"WarmupLR\", \"params\": {\"warmup_steps\": 5}}}",
     "ds.json:1:47: scheduler.params.warmup_steps: unknown key; did you mean \"warmup_type\"?"},
    {"{\"elasticity\": {\"enabled\": true, \"max_train_batch_size\": 9, \"micro_batch_sizes\": [1]}, "
     "\"train_batch_size\": 8}",
     "ds.json:1:88: train_batch_size: One or more batch related parameters were found in your ds_config "
     "(train_batch_size, train_micro_batch_size_per_gpu, and/or gradient_accumulation_steps). These parameters *will "
     "not be used* since elastic training is enabled, which takes control of these parameters; remove them or set "
     "elasticity.ignore_non_elastic_batch_info to true"},
    {"{\"checkpoint\": {\"tag_validation\": \"maybe\"}}",
     "ds.json:1:17: checkpoint.tag_validation: Checkpoint config contains invalid tag_validation value of \"maybe\", "
     "expecting one of ['WARN', 'IGNORE', 'FAIL']"},
    {"{\"tensorboard\": {\"enable\": true}}",
     "ds.json:1:18: tensorboard.enable: unknown key; did you mean \"enabled\"?"},
    {"{\"shardlab\": {\"tensor_parallel\": 2}}",
     "ds.json:1:15: shardlab.tensor_parallel: unknown key; expected one of ds_version, tp, pp, cp, cp_comm_type, "
     "rank_order, virtual_stages, schedule, stages, recompute, recompute_modules, recompute_every, preset, "
     "sequence_parallel, scatter_gather_tensors_in_pipeline, shard_size, limit_all_gathers, ..."},
    {"{\"shardlab\": {\"make_vocab_size_divisible_by\": 0}}",
     "ds.json:1:15: shardlab.make_vocab_size_divisible_by: is 0; expected an integer from 1 to 65536"},
    {"{\"shardlab\": {\"pp\": 0}}", "ds.json:1:15: shardlab.pp: is 0; expected an integer from 1 to 65536"},
    {"{\"shardlab\": {\"preset\": \"a name that is far too long for any preset\"}}",
     "ds.json:1:15: shardlab.preset: is \"a name that is far too long for any preset\"; expected a string of at "
     "most 31 bytes"},
    {"{\"shardlab\": {\"ds_version\": \"new\"}}",
     "ds.json:1:15: shardlab.ds_version: is \"new\"; expected a DeepSpeed version like \"0.19.6\""},
    {"[1, 2]", "ds.json:1:1: expected an object {...} of DeepSpeed's keys"},
    {"{\"train_batch_size\": 4, \"train_batch_size\": 8}",
     "ds.json:1:25: train_batch_size: duplicate key; first given at ds.json:1:2"},
    {"{\"train_batch_size\": NaN}",
     "ds.json:1:22: train_batch_size: NaN is no value; expected a finite number, true, false, null or a \"string\""},
    {"{\"train_batch_size\": 1e999}", "ds.json:1:22: train_batch_size: 1e999 is too large; expected a finite number"},
    {"{\"train_batch_size\": 4", "ds.json:1:23: expected ',' or '}' after a value, found the end of the file"},
    {"{\"train_batch_size\" 4}", "ds.json:1:21: expected ':' after a key, found '4'"},
    {"{\"train_batch_size\": 4 \"steps_per_print\": 1}",
     "ds.json:1:24: expected ',' or a closing bracket after a value, found '\"'"},
    {"{\"zero_optimization\": {\"fastest\": 1}}",
     "ds.json:1:24: zero_optimization.fastest: unknown key; expected one of stage, reduce_bucket_size, "
     "allgather_bucket_size, overlap_comm, reduce_scatter, stage3_prefetch_bucket_size, prefetch_bucket_size, "
     "stage3_param_persistence_threshold, param_persistence_threshold, stage3_model_persistence_threshold, ..."},
    {"{\"gradient_allreduce_op\": \"sum\", \"zero_optimization\": {\"zenflow\": {}}}",
     "ds.json:1:2: gradient_allreduce_op: gradient_allreduce_op='sum' is not supported with ZenFlow"},
    {"{\"bf16\": {\"bf16_master_weights_and_grads\": true}}",
     "ds.json:1:11: bf16.bf16_master_weights_and_grads: Bf16_master_weights_and_grads is only supported with ZeRO "
     "Stage 1, 2, or 3."},
    {"{\"zero_optimization\": {\"stage\": -1}}", "ds.json:1:24: zero_optimization.stage: is -1; expected 0, 1, 2 or 3"},
    {"{\"optimizer\": {\"type\": \"SGD\", \"params\": {\"lr\": \"fast\"}}}",
     "ds.json:1:42: optimizer.params.lr: is \"fast\"; expected a number >= 0"},
    {"{\"comms_logger\": {\"enabled\": 2}}", "ds.json:1:19: comms_logger.enabled: is 2; expected true or false"},
};

static void swallow(void *context, const char *message) {
  (void)context;
  (void)message;
}

static void broken_configs(void **state) {
  (void)state;
  sl_warn_set_sink(swallow, NULL);
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
    struct sl_config config;
    sl_error_clear();
    const enum sl_status status = sl_config_parse(&config, "ds.json", broken[i].text, strlen(broken[i].text), false);
    if (status != SL_ERR_INPUT) fail_msg("accepted: %s", broken[i].text);
    assert_string_equal(sl_error_message(), broken[i].message);
    assert_null(config.doc.root);
    assert_int_equal(sl_exit_code(status), 2);
  }
  sl_warn_set_sink(NULL, NULL);
}

/* Errors that need the number of ranks. `expected` NULL: it resolves. */
static void resolve(const char *text, int dp, int pp, const char *expected) {
  struct sl_config config;
  sl_warn_set_sink(swallow, NULL);
  sl_error_clear();
  assert_int_equal(sl_config_parse(&config, "ds.json", text, strlen(text), false), SL_OK);
  config.sl.pp = pp; /* as the flag --pp would */
  assert_int_equal(sl_config_resolve_batch(&config, dp), expected != NULL ? SL_ERR_INPUT : SL_OK);
  assert_string_equal(sl_error_message(), expected != NULL ? expected : "");
  sl_config_free(&config);
  sl_warn_set_sink(NULL, NULL);
}

/* A batch of Megatron-LM's arguments is refused in its words, and so is what is left over. */
static void broken_batches_of_megatron(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"{\"train_batch_size\": 4, \"train_micro_batch_size_per_gpu\": 2}",
       "run.sh: --global-batch-size: global batch size (4) is not divisible by micro batch size (2) times data "
       "parallel "
       "size (3); expected a multiple of 6"},
      {"{\"train_batch_size\": 15, \"train_micro_batch_size_per_gpu\": 2}",
       "run.sh: --global-batch-size: global batch size (15) is not divisible by micro batch size (2) times data "
       "parallel "
       "size (3); expected a multiple of 6"},
      {"{\"train_batch_size\": 12, \"train_micro_batch_size_per_gpu\": 2}", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_config config;
    struct sl_json doc;
    sl_warn_set_sink(swallow, NULL);
    sl_error_clear();
    assert_int_equal(sl_json_parse_made(&doc, "run.sh", cases[i].text), SL_OK);
    assert_int_equal(sl_config_from_json(&config, &doc, false), SL_OK);
    config.megatron_batch = "--global-batch-size";
    sl_config_resolve_batch(&config, 3);
    assert_string_equal(sl_error_message(), cases[i].says);
    sl_config_free(&config);
    sl_warn_set_sink(NULL, NULL);
  }
}

static void broken_batches(void **state) {
  (void)state;
  resolve("{}", 3, 1, "ds.json: Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided");
  resolve(
      "{\"gradient_accumulation_steps\": 5}", 3, 1,
      "ds.json:1:2: gradient_accumulation_steps: Either train_batch_size or train_micro_batch_size_per_gpu needs to "
      "be provided");
  resolve("{\"train_batch_size\": 7}", 3, 1,
          "ds.json:1:2: train_batch_size: Check batch related parameters. train_batch_size is not equal to "
          "micro_batch_per_gpu * gradient_acc_step * world_size 7 != 2 * 1 * 3");
  resolve("{\"train_batch_size\": 2}", 3, 1,
          "ds.json:1:2: train_batch_size: Micro batch size per gpu: 0 has to be greater than 0: a train batch of 2 is "
          "less than one sequence for each of 3 data-parallel ranks; expected a multiple of 3");
  resolve("{\"train_micro_batch_size_per_gpu\": 5,\n \"train_batch_size\": 12}", 3, 1,
          "ds.json:2:2: train_batch_size: Gradient accumulation steps: 0 has to be greater than 0");
  resolve("{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4, \"train_batch_size\": 25}", 3, 1,
          "ds.json:1:73: train_batch_size: Check batch related parameters. train_batch_size is not equal to "
          "micro_batch_per_gpu * gradient_acc_step * world_size 25 != 2 * 4 * 3");
  resolve("{\"train_micro_batch_size_per_gpu\": 9e18}", 3, 1,
          "ds.json:1:2: train_micro_batch_size_per_gpu: the global batch 9000000000000000000 * 1 * 3 is too large; "
          "expected below 2^63");
  resolve("{\"train_batch_size\": 6}", 0, 1, "ds.json: 0 data-parallel ranks; expected at least 1");
}

static void broken_pipelines(void **state) {
  (void)state;
  const char *zero2 = "{\"train_batch_size\": 6, \"zero_optimization\": {\"stage\": 2}}";
  resolve(zero2, 3, 2, NULL); /* DeepSpeed refuses it, and so do its presets; shardlab does not */
  resolve(zero2, 3, 1, NULL);
  resolve("{\"train_batch_size\": 6, \"zero_optimization\": {\"stage\": 1}}", 3, 2, NULL);
  resolve("{\"elasticity\": {\"enabled\": true, \"max_train_batch_size\": 9, \"micro_batch_sizes\": [1]}}", 3, 2,
          "ds.json:1:17: elasticity.enabled: Elasticity is not currently supported with pipeline parallelism; pp is 2");
}

static void broken_elasticity(void **state) {
  (void)state;
  sl_warn_set_sink(swallow, NULL);
  static const struct {
    const char *keys, *message;
  } broken_keys[] = {
      {"\"enabled\": \"x\"", "1:17: elasticity.enabled: is \"x\"; expected true or false"},
      {"\"enabled\": true", "1:2: elasticity.max_train_batch_size: Elasticity config missing max_train_batch_size"},
      {"\"enabled\": true, \"max_train_batch_size\": 9",
       "1:2: elasticity.micro_batch_sizes: Elasticity config missing micro_batch_sizes"},
      {"\"enabled\": true, \"max_train_batch_size\": 2.5",
       "1:34: elasticity.max_train_batch_size: is 2.5; expected an integer from 1 to 4294967296"},
      {"\"enabled\": true, \"max_train_batch_size\": 9, \"micro_batch_sizes\": [0]",
       "1:61: elasticity.micro_batch_sizes: Elasticity expected micro_batch_sizes to only contain positive integers"},
      {"\"enabled\": true, \"max_train_batch_size\": 9, \"micro_batch_sizes\": [5e84]", /* no int64_t holds it */
       "1:61: elasticity.micro_batch_sizes: Elasticity expected micro_batch_sizes to only contain positive integers"},
      {"\"enabled\": true, \"max_train_batch_size\": 9, \"micro_batch_sizes\": [1], \"max_gpus\": "
       "9223372036854775808.0",
       "1:87: elasticity.max_gpus: is 9.22337203685478e+18; expected an integer from 1 to 9223372036854775807"},
      {"\"enabled\": true, \"max_train_batch_size\": 9, \"micro_batch_sizes\": [10]",
       "1:61: elasticity.micro_batch_sizes: All micro batches must be less than or equal to max_acceptable_batch_size, "
       "which is max_train_batch_size"},
      {"\"enabled\": true, \"max_train_batch_size\": 9, \"micro_batch_sizes\": [1], \"version\": 3",
       "1:87: elasticity.version: is 3; expected 0.1 or 0.2"},
      {"\"enabled\": true, \"max_train_batch_size\": 9, \"micro_batch_sizes\": [1], \"version\": \"0.1abc\"",
       "1:87: elasticity.version: is \"0.1abc\"; expected 0.1 or 0.2"},
  };
  for (size_t i = 0; i < sizeof broken_keys / sizeof *broken_keys; i++) {
    struct sl_config config;
    char text[256], expected[256];
    snprintf(text, sizeof text, "{\"elasticity\": {%s}}", broken_keys[i].keys);
    snprintf(expected, sizeof expected, "ds.json:%s", broken_keys[i].message);
    sl_error_clear();
    assert_int_equal(sl_config_parse(&config, "ds.json", text, strlen(text), false), SL_ERR_INPUT);
    assert_string_equal(sl_error_message(), expected);
  }
  resolve("{\"elasticity\": {\"enabled\": true, \"max_train_batch_size\": 9, \"micro_batch_sizes\": [3], \"version\": "
          "0.1}}",
          4, 1,
          "ds.json:1:2: elasticity: World size (4) is not valid with the current list of valid GPU counts: [1, 2] of a "
          "batch "
          "of 6");
  resolve("{\"elasticity\": {\"enabled\": true, \"max_train_batch_size\": 720720, \"micro_batch_sizes\": [1], "
          "\"min_gpus\": 2, "
          "\"version\": 0.1}}",
          17, 1,
          "ds.json:1:2: elasticity: World size (17) is not valid with the current list of valid GPU counts: [2, 3, 4, "
          "5, 6, "
          "7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 21, 22, 24, 26, 28, 30, 33, 35, 36, 39, 40, 42, 44, 45, 48, "
          "52, 55, "
          "56, 60, 63, 65, 66, 70, 72, 77, 78, ...] of a batch of 720720");
}

static void keep_last(void *context, const char *message) {
  snprintf(context, 512, "%s", message);
}

/* DeepSpeed reads offload_param in stage 3 alone, and takes it without a word in others. */
static void parameters_offloaded_by_stage_3_alone(void **state) {
  (void)state;
  static const struct {
    const char *zero, *says;
  } cases[] = {
      {"\"stage\": 2, \"offload_param\": {\"device\": \"nvme\"}",
       "ds.json:1:85: zero_optimization.offload_param.device: has no effect: parameters are offloaded in ZeRO stage 3 "
       "only; the stage is 2"},
      {"\"cpu_offload_param\": true",
       "ds.json:1:55: zero_optimization.cpu_offload_param: has no effect: parameters are offloaded in ZeRO stage 3 "
       "only; the stage is 0"},
      {"\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_config config;
    char text[256], warning[512] = "";
    snprintf(text, sizeof text, "{\"optimizer\": {\"type\": \"Adam\"}, \"zero_optimization\": {%s}}", cases[i].zero);
    sl_warn_set_sink(keep_last, warning);
    assert_int_equal(sl_config_parse(&config, "ds.json", text, strlen(text), false), SL_OK);
    sl_warn_set_sink(NULL, NULL);
    assert_string_equal(warning, cases[i].says);
    assert_int_equal(config.zero.offload_param, i == 2 ? SL_OFFLOAD_CPU : SL_OFFLOAD_NONE);
    sl_config_free(&config);
  }
}

/* A pydantic model since 0.17.1: what public files of before have in it was ignored, and is with their version. */
static void keys_ignored_before_a_release(void **state) {
  (void)state;
  static const char *const texts[] = {"{\"fp16\": {\"opt_level\": \"O2\"}, \"optimizer\": {\"type\": \"Adam\"}, "
                                      "\"shardlab\": {\"ds_version\": \"0.17.1\"}}",
                                      "{\"fp16\": {\"opt_level\": \"O2\"}, \"optimizer\": {\"type\": \"Adam\"}, "
                                      "\"shardlab\": {\"ds_version\": \"0.17.0\"}}"};
  struct sl_config config;
  char warning[512] = "";
  sl_warn_set_sink(keep_last, warning);
  sl_error_clear();
  assert_int_equal(sl_config_parse(&config, "ds.json", texts[0], strlen(texts[0]), false), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(),
                      "ds.json:1:11: fp16.opt_level: unknown key; expected one of enabled, loss_scale, "
                      "initial_scale_power, loss_scale_window, hysteresis, consecutive_hysteresis, min_loss_scale, "
                      "auto_cast, fp16_master_weights_and_grads; DeepSpeed before 0.17.1 ignores it "
                      "(shardlab.ds_version)");
  assert_int_equal(sl_config_parse(&config, "ds.json", texts[1], strlen(texts[1]), false), SL_OK);
  sl_warn_set_sink(NULL, NULL);
  assert_non_null(strstr(warning, "ds.json:1:11: fp16.opt_level: unknown key, ignored as DeepSpeed ignores it"));
  sl_config_free(&config);
}

/* Values that DeepSpeed took before the release that asks what they are. */
static void values_asked_since_a_release(void **state) {
  (void)state;
  static const char *const keys[][3] = {
      {"\"fp16\": {\"enabled\": true, \"min_loss_scale\": 0.05}", "0.17.0", "0.17.1"},
      {"\"scheduler\": {\"type\": \"WarmupLR\", \"params\": {\"warmup_num_steps\": 0}}", "0.19.2", "0.19.3"}};
  for (size_t i = 0; i < 2; i++) {
    for (int release = 1; release <= 2; release++) {
      struct sl_config config;
      char text[256];
      snprintf(text, sizeof text, "{%s, \"optimizer\": {\"type\": \"Adam\"}, \"shardlab\": {\"ds_version\": \"%s\"}}",
               keys[i][0], keys[i][release]);
      sl_warn_set_sink(swallow, NULL);
      const enum sl_status status = sl_config_parse(&config, "ds.json", text, strlen(text), false);
      sl_warn_set_sink(NULL, NULL);
      assert_int_equal(status, release == 1 ? SL_OK : SL_ERR_INPUT);
      if (status == SL_OK && i == 0) assert_true(config.fp16.min_loss_scale == 0.05);
      if (status == SL_OK) sl_config_free(&config);
    }
  }
  sl_error_clear();
}

/* --strict turns the warning about an unknown top-level key into an error. */
static void strict(void **state) {
  (void)state;
  struct sl_config config;
  const char *text = "{\n  \"gradient_cliping\": 1.0}";
  sl_warn_set_sink(swallow, NULL);
  assert_int_equal(sl_config_parse(&config, "ds.json", text, strlen(text), false), SL_OK);
  sl_config_free(&config);
  sl_error_clear();
  assert_int_equal(sl_config_parse(&config, "ds.json", text, strlen(text), true), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(),
                      "ds.json:2:3: gradient_cliping: unknown key; did you mean \"gradient_clipping\"?");
  sl_warn_set_sink(NULL, NULL);
}

/* 64 keys that nobody knows are one warning; of one more nobody thinks that the file was meant. */
static void a_file_of_other_keys(void **state) {
  (void)state;
  for (int keys = 64; keys <= 65; keys++) {
    struct sl_config config;
    char text[2048] = "{";
    for (int i = 0; i < keys; i++) snprintf(text + strlen(text), 32, "%s\"word%d\": %d", i > 0 ? ",\n" : "", i, i);
    strcat(text, "}");
    sl_warn_set_sink(swallow, NULL);
    sl_error_clear();
    const enum sl_status status = sl_config_parse(&config, "vocab.json", text, strlen(text), false);
    sl_warn_set_sink(NULL, NULL);
    assert_int_equal(status, keys == 64 ? SL_OK : SL_ERR_INPUT);
    if (status == SL_OK) sl_config_free(&config);
  }
  assert_string_equal(
      sl_error_message(),
      "vocab.json:1:2: word0: the first of 65 unknown keys; expected a ds_config.json, which this is not");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(broken_configs),
      cmocka_unit_test(broken_batches),
      cmocka_unit_test(broken_batches_of_megatron),
      cmocka_unit_test(broken_pipelines),
      cmocka_unit_test(broken_elasticity),
      cmocka_unit_test(parameters_offloaded_by_stage_3_alone),
      cmocka_unit_test(keys_ignored_before_a_release),
      cmocka_unit_test(values_asked_since_a_release),
      cmocka_unit_test(strict),
      cmocka_unit_test(a_file_of_other_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
