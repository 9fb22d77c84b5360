/* label: unit
 * The training configuration: defaults by version, spellings, warnings, batch algebra, the dump, and the examples. */
#include "core/config/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MAX_WARNINGS = 8 };
static char warnings[MAX_WARNINGS][2048];
static int warning_count;

static void collect(void *context, const char *message) {
  (void)context;
  assert_in_range(warning_count, 0, MAX_WARNINGS - 1);
  snprintf(warnings[warning_count++], sizeof warnings[0], "%s", message);
}

static void parse(struct sl_config *config, const char *text) {
  warning_count = 0;
  sl_error_clear();
  if (sl_config_parse(config, "ds.json", text, strlen(text), false) != SL_OK) fail_msg("%s", sl_error_message());
}

/* A configuration that says nothing, with an optimizer so that nothing is warned about. */
static const char *const silent = "{\"optimizer\": {\"type\": \"Adam\"}}";

static void defaults_top(void **state) {
  (void)state;
  struct sl_config c;
  parse(&c, silent);
  assert_int_equal(warning_count, 0);
  assert_string_equal(c.ds_version, "0.19.6");
  assert_int_equal(c.train_batch_size, 0);
  assert_int_equal(c.train_micro_batch_size_per_gpu, 0);
  assert_int_equal(c.gradient_accumulation_steps, 0);
  assert_true(c.gradient_clipping == 1.0);
  assert_false(c.gradient_allreduce_sum);
  assert_int_equal(c.param_dtype, SL_F32);
  assert_int_equal(c.communication_data_type, SL_F32);
  assert_int_equal(c.grad_accum_dtype, SL_F32);
  assert_false(c.fp16.enabled);
  assert_true(c.fp16.loss_scale == 0);
  assert_int_equal(c.fp16.initial_scale_power, 16);
  assert_int_equal(c.fp16.loss_scale_window, 1000);
  assert_int_equal(c.fp16.hysteresis, 2);
  assert_false(c.fp16.consecutive_hysteresis);
  assert_true(c.fp16.min_loss_scale == 1);
  assert_false(c.bf16.enabled);
  assert_true(c.bf16.check_grad_overflow);
  sl_config_free(&c);
}

static void defaults_zero(void **state) {
  (void)state;
  struct sl_config c;
  parse(&c, silent);
  assert_int_equal(c.zero.stage, 0);
  assert_false(c.zero.overlap_comm);
  assert_int_equal(c.zero.reduce_bucket_size, 500000000);
  assert_int_equal(c.zero.allgather_bucket_size, 500000000);
  assert_int_equal(c.zero.prefetch_bucket_size, 50000000);
  assert_int_equal(c.zero.param_persistence_threshold, 100000);
  assert_int_equal(c.zero.model_persistence_threshold, INT64_MAX);
  assert_int_equal(c.zero.max_live_parameters, 1000000000);
  assert_int_equal(c.zero.max_reuse_distance, 1000000000);
  assert_int_equal(c.zero.offload_optimizer, SL_OFFLOAD_NONE);
  assert_int_equal(c.zero.offload_param, SL_OFFLOAD_NONE);
  assert_int_equal(c.zero.hpz_partition_size, 1);
  assert_int_equal(c.zero.mics_shard_size, -1);
  assert_false(c.zero.allow_untested_optimizer);
  sl_config_free(&c);
}

static void defaults_rest(void **state) {
  (void)state;
  struct sl_config c;
  parse(&c, silent);
  assert_int_equal(c.optimizer.type, SL_OPT_ADAMW);
  assert_string_equal(c.optimizer.type_name, "Adam");
  assert_true(c.optimizer.lr == 0.001 && c.optimizer.beta1 == 0.9 && c.optimizer.beta2 == 0.999);
  assert_true(c.optimizer.eps == 1e-8 && c.optimizer.weight_decay == 0);
  assert_true(c.optimizer.bias_correction && c.optimizer.adam_w_mode);
  assert_int_equal(c.scheduler.type, SL_LR_CONSTANT);
  assert_int_equal(c.sl.tp, 1);
  assert_int_equal(c.sl.pp, 1);
  assert_int_equal(c.sl.cp, 1);
  assert_int_equal(c.sl.virtual_stages, 1);
  assert_string_equal(c.sl.schedule, "1f1b");
  assert_int_equal(c.sl.recompute_count, 1);
  assert_int_equal(c.sl.recompute[0], SL_RECOMPUTE_NONE);
  assert_string_equal(c.sl.preset, "");
  assert_false(c.sl.sequence_parallel);
  assert_int_equal(c.sl.seed, 1234);
  assert_int_equal(c.sl.seq_len, 0);
  sl_config_free(&c);
}

static void defaults_sgd(void **state) {
  (void)state;
  struct sl_config c;
  parse(&c, "{\"optimizer\": {\"type\": \"SGD\"}}");
  assert_int_equal(c.optimizer.type, SL_OPT_SGD);
  assert_true(c.optimizer.lr == 0.001 && c.optimizer.momentum == 0 && c.optimizer.dampening == 0);
  assert_true(c.optimizer.weight_decay == 0 && !c.optimizer.nesterov);
  sl_config_free(&c);
}

static void defaults_scheduler(void **state) {
  (void)state;
  struct sl_config c;
  parse(&c, "{\"scheduler\": {\"type\": \"OneCycle\", \"params\": {\"cycle_min_lr\": 0.1, \"cycle_max_lr\": 0.3}}}");
  assert_int_equal(c.scheduler.cycle_first_step_size, 2000);
  assert_int_equal(c.scheduler.cycle_second_step_size, 2000);
  assert_int_equal(c.scheduler.cycle_first_stair_count, 0);
  assert_int_equal(c.scheduler.cycle_second_stair_count, 0);
  assert_int_equal(c.scheduler.decay_step_size, 0);
  assert_true(c.scheduler.decay_lr_rate == 0 && c.scheduler.decay_mom_rate == 0 && c.scheduler.cycle_momentum);
  assert_true(c.scheduler.cycle_min_mom == 0.8 && c.scheduler.cycle_max_mom == 0.9);
  sl_config_free(&c);
  parse(&c, "{\"scheduler\": {\"type\": \"LRRangeTest\"}}");
  assert_true(c.scheduler.range_min_lr == 0.001 && c.scheduler.range_step_rate == 1 && !c.scheduler.range_staircase);
  assert_int_equal(c.scheduler.range_step_size, 2000);
  sl_config_free(&c);
  parse(&c, "{\"scheduler\": {\"type\": \"WarmupCosineLR\", \"params\": {\"total_num_steps\": 77}}}");
  assert_true(c.scheduler.warmup_min_ratio == 0 && c.scheduler.cos_min_ratio == 1e-4 && c.scheduler.warmup_log);
  assert_int_equal(c.scheduler.warmup_num_steps, 1000);
  assert_int_equal(c.scheduler.total_num_steps, 77);
  sl_config_free(&c);
}

/* The four defaults that changed, on either side of the change. */
static void versions(void **state) {
  (void)state;
  static const struct {
    const char *version;
    double clipping;
    bool pin, check;
  } table[] = {
      {"0.15.0", 0, false, false}, {"0.16.0", 0, false, false},     {"0.19.5", 0, false, false},
      {"0.19.6", 1, true, true},   {"0.19.10+cu12", 1, true, true}, {"0.9.6", 0, false, false},
      {"1.0", 1, true, true},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    struct sl_config c;
    char text[256];
    snprintf(text, sizeof text,
             "{\"optimizer\": {\"type\": \"Adam\"}, \"shardlab\": {\"ds_version\": \"%s\"}, \"zero_optimization\": "
             "{\"offload_param\": {\"pin_memory\": %s}}}",
             table[i].version, table[i].pin ? "true" : "false");
    parse(&c, text);
    assert_int_equal(warning_count, 0); /* it is the default */
    assert_true(c.zero.param_pinned == table[i].pin &&
                c.zero.optimizer_pinned == table[i].pin); /* where it is not given */
    assert_string_equal(c.ds_version, table[i].version);
    assert_true(c.gradient_clipping == table[i].clipping);
    assert_int_equal(c.bf16.check_grad_overflow, table[i].check);
    sl_config_free(&c);
  }
}

static void spellings(void **state) {
  (void)state;
  struct sl_config c;
  parse(&c,
        "{\"optimizer\": {\"type\": \"adamw\", \"params\": {\"adam_w_mode\": false, \"betas\": [0.7, 0.95]}},\n"
        " \"bfloat16\": {\"enabled\": 1}, \"train_batch_size\": \"auto\", \"gradient_clipping\": 2,\n"
        " \"communication_data_type\": \"FP32\", \"zero_optimization\": {\"stage\": 3.0, \"reduce_bucket_size\": 3e7,\n"
        " \"prefetch_bucket_size\": 7, \"stage3_max_live_parameters\": 11, \"overlap_comm\": \"auto\",\n"
        " \"offload_param\": {\"device\": \"nvme\"}, \"offload_optimizer\": null}}");
  assert_int_equal(warning_count, 0);
  assert_int_equal(c.optimizer.type, SL_OPT_ADAMW); /* AdamW stays AdamW */
  assert_true(c.optimizer.beta1 == 0.7 && c.optimizer.beta2 == 0.95);
  assert_int_equal(c.param_dtype, SL_BF16);
  assert_int_equal(c.communication_data_type, SL_F32);
  assert_int_equal(c.grad_accum_dtype, SL_BF16);
  assert_int_equal(c.train_batch_size, 0);
  assert_true(c.gradient_clipping == 2);
  assert_int_equal(c.zero.stage, 3);
  assert_int_equal(c.zero.reduce_bucket_size, 30000000);
  assert_int_equal(c.zero.prefetch_bucket_size, 7);
  assert_int_equal(c.zero.max_live_parameters, 11);
  assert_true(c.zero.overlap_comm);
  assert_int_equal(c.zero.offload_param, SL_OFFLOAD_NVME);
  assert_int_equal(c.zero.offload_optimizer, SL_OFFLOAD_NONE);
  sl_config_free(&c);
  parse(&c,
        "{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"adam_w_mode\": false}}, \"bf16\": {\"enabled\": true}}");
  assert_int_equal(c.optimizer.type, SL_OPT_ADAM);
  assert_int_equal(c.grad_accum_dtype, SL_BF16);
  assert_int_equal(c.communication_data_type, SL_BF16);
  sl_config_free(&c);
  parse(&c, "{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"torch_adam\": true}}}");
  assert_true(c.optimizer.weight_decay == 0.01); /* torch.optim.AdamW's default */
  sl_config_free(&c);
}

static void deprecated(void **state) {
  (void)state;
  struct sl_config c;
  parse(&c, "{\"optimizer\": {\"type\": \"Adam\"}, \"zero_optimization\": {\"stage\": 3, \"cpu_offload\": true,\n"
            "\"cpu_offload_param\": true, \"cpu_offload_use_pin_memory\": true}}");
  assert_int_equal(c.zero.offload_optimizer, SL_OFFLOAD_CPU);
  assert_int_equal(c.zero.offload_param, SL_OFFLOAD_CPU);
  assert_int_equal(warning_count, 3);
  assert_string_equal(warnings[0], "ds.json:1:67: zero_optimization.cpu_offload: Config parameter cpu_offload is "
                                   "deprecated use offload_optimizer instead");
  sl_config_free(&c);
  parse(&c, "{\"optimizer\": {\"type\": \"Adam\"}, \"zero_optimization\": true, \"allgather_size\": 777}");
  assert_int_equal(c.zero.stage, 1);
  assert_int_equal(c.zero.allgather_bucket_size, 777);
  assert_int_equal(c.zero.reduce_bucket_size, 500000000);
  assert_int_equal(warning_count, 1);
  sl_config_free(&c);
}

/* `text` parses with exactly one warning. */
static void warns(const char *text, const char *warning) {
  struct sl_config c;
  parse(&c, text);
  assert_int_equal(warning_count, 1);
  assert_string_equal(warnings[0], warning);
  sl_config_free(&c);
}

static void warnings_given(void **state) {
  (void)state;
  warns("{}",
        "ds.json: no optimizer is given; AdamW with lr 0.001 is used (DeepSpeed would expect one from the client)");
  warns("{\"optimizer\": {\"type\": \"Adam\"},\n \"gradient_cliping\": 1.0}",
        "ds.json:2:2: gradient_cliping: unknown key, ignored as DeepSpeed ignores it; did you mean "
        "\"gradient_clipping\"?");
  warns("{\"optimizer\": {\"type\": \"Adam\"},\n \"aio\": {\"queue_dept\": 3}}",
        "ds.json:2:10: aio.queue_dept: unknown key, ignored as DeepSpeed ignores it; did you mean \"queue_depth\"?");
  warns("{\"scheduler\": {\"type\": \"WarmupLR\", \"zz\": 1}, \"optimizer\": {\"type\": \"Adam\"}}",
        "ds.json:1:36: scheduler.zz: unknown key, ignored as DeepSpeed ignores it; expected one of type, params");
  warns("{\"optimizer\": {\"type\": \"Adam\"},\n \"gradient_cliping\": 1.0, \"steps_per_prin\": 2}",
        "ds.json:2:2: unknown keys, ignored as DeepSpeed ignores them: gradient_cliping (did you mean "
        "\"gradient_clipping\"?), steps_per_prin (did you mean \"steps_per_print\"?)");
  warns("{\"scheduler\": {\"type\": \"WarmupLR\", \"zz\": 1, \"yy\": 2}, \"optimizer\": {\"type\": \"Adam\"}}",
        "ds.json:1:36: unknown keys, ignored as DeepSpeed ignores them: scheduler.zz, scheduler.yy; expected one of "
        "type, params");
  warns("{\"optimizer\": {\"type\": \"Adam\"}, \"memory_breakdown\": true, \"aio\": {\"use_gds\": true},\n"
        " \"zero_optimization\": {\"round_robin_gradients\": true}, \"dump_state\": false}",
        "ds.json: known to DeepSpeed, not modelled yet and so without effect here: memory_breakdown, "
        "zero_optimization.round_robin_gradients, aio.use_gds");
  warns("{\"optimizer\": {\"type\": \"Adam\"}, \"prescale_gradients\": true, \"gradient_predivide_factor\": 3,\n"
        "\"steps_per_print\": 7, \"bf16\": {\"enabled\": true, \"immediate_grad_update\": true},\n"
        "\"zero_optimization\": {\"stage\": 2, \"contiguous_gradients\": false,\n"
        "\"allgather_partitions\": false, \"sub_group_size\": 5e8, \"offload_optimizer\": {\"pin_memory\": false}}}",
        "ds.json: known to DeepSpeed, not modelled yet and so without effect here: prescale_gradients, "
        "gradient_predivide_factor, bf16.immediate_grad_update, zero_optimization.contiguous_gradients, "
        "zero_optimization.allgather_partitions");
  warns("{\"optimizer\": {\"type\": \"SGD\"}, \"zero_optimization\": {\"stage\": 1}}",
        "ds.json:1:16: optimizer.type: You are using an untested ZeRO Optimizer. DeepSpeed would refuse it; please add "
        "<\"zero_allow_untested_optimizer\": true> in the configuration file to use it there.");
  warns("{\"optimizer\": {\"type\": \"Adam\"},\n \"zero_optimization\": {\"stage\": 3, "
        "\"stage3_gather_fp16_weights_on_model_save\": true}}",
        "ds.json:2:36: zero_optimization.stage3_gather_fp16_weights_on_model_save: Config parameter "
        "stage3_gather_fp16_weights_on_model_save is deprecated use stage3_gather_16bit_weights_on_model_save instead");
  warns(
      "{\"optimizer\": {\"type\": \"Adam\"}, \"scheduler\": {\"type\": \"WarmupLR\", \"params\": {\"warmup_type\": "
      "\"cubic\"}}}",
      "ds.json:1:78: scheduler.params.warmup_type: Using unknown warmup_type: \"cubic\". The default \"log\" applies");
}

/* What is switched off, or set to its default, is not worth a warning. */
static void silence(void **state) {
  (void)state;
  struct sl_config c;
  parse(&c, "{\"optimizer\": {\"type\": \"SGD\"}, \"zero_optimization\": {\"stage\": 2, \"zenflow\": null,\n"
            "\"contiguous_gradients\": true, \"reduce_scatter\": true, \"allgather_partitions\": \"auto\",\n"
            "\"sub_group_size\": 1e9, \"offload_optimizer\": {\"pin_memory\": true}},\n"
            "\"zero_allow_untested_optimizer\": true, \"steps_per_print\": 2000, \"wall_clock_breakdown\": false,\n"
            "\"prescale_gradients\": false, \"gradient_predivide_factor\": 1, \"bf16\": {\"immediate_grad_update\": "
            "true},\n"
            "\"tensorboard\": {\"enabled\": false, \"output_path\": \"logs\"}, \"elasticity\": {\"micro_batch_sizes\": "
            "[3]},\n"
            "\"checkpoint\": {\"tag_validation\": \"WARN\"}, \"aio\": {\"block_size\": 1048576.0}}");
  assert_int_equal(warning_count, 0);
  sl_config_free(&c);
}

/* Nor is what changes no training step: how checkpoints are written and loaded, what is printed or asserted. */
static void what_changes_no_step_is_silent(void **state) {
  (void)state;
  static const char *const saved[] = {"stage3_gather_16bit_weights_on_model_save",
                                      "gather_16bit_weights_on_model_save"};
  for (size_t i = 0; i < sizeof saved / sizeof *saved; i++) {
    struct sl_config c;
    char text[640];
    snprintf(text, sizeof text,
             "{\"optimizer\": {\"type\": \"Adam\"}, \"dump_state\": true, \"vocabulary_size\": 50304,\n"
             "\"checkpoint\": {\"tag_validation\": \"Fail\", \"load_universal\": true, "
             "\"use_node_local_storage\": true, \"parallel_write\": {\"pipeline_stage\": true}},\n"
             "\"log_level\": \"info\", \"zero_optimization\": {\"stage\": 3, \"%s\": true,\n"
             "\"load_from_fp32_weights\": false, \"ignore_unused_parameters\": false,\n"
             "\"pipeline_loading_checkpoint\": true, \"log_trace_cache_warnings\": true}}",
             saved[i]);
    parse(&c, text);
    assert_int_equal(warning_count, 0);
    sl_config_free(&c);
  }
}

/* Given (train, micro, accumulation; 0 = not) over 3 ranks: what comes out. */
static void batch_algebra(void **state) {
  (void)state;
  static const int table[][6] = {
      {42, 7, 2, 42, 7, 2}, /* all three: checked */
      {42, 7, 0, 42, 7, 2}, /* TB, MB */
      {42, 0, 2, 42, 7, 2}, /* TB, GA */
      {0, 7, 2, 42, 7, 2},  /* MB, GA */
      {42, 0, 0, 42, 14, 1}, {0, 7, 0, 21, 7, 1},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    struct sl_config c;
    char text[256];
    int n = snprintf(text, sizeof text, "{\"optimizer\": {\"type\": \"Adam\"}");
    if (table[i][0]) n += sprintf(text + n, ", \"train_batch_size\": %d", table[i][0]);
    if (table[i][1]) n += sprintf(text + n, ", \"train_micro_batch_size_per_gpu\": %d", table[i][1]);
    if (table[i][2]) n += sprintf(text + n, ", \"gradient_accumulation_steps\": %d", table[i][2]);
    sprintf(text + n, "}");
    parse(&c, text);
    assert_int_equal(sl_config_resolve_batch(&c, 3), SL_OK);
    assert_int_equal(c.train_batch_size, table[i][3]);
    assert_int_equal(c.train_micro_batch_size_per_gpu, table[i][4]);
    assert_int_equal(c.gradient_accumulation_steps, table[i][5]);
    sl_config_free(&c);
  }
}

/* Reading the dump gives the configuration that was dumped. */
static void check_dump(const struct sl_config *config) {
  struct sl_config again;
  json_t *dump = sl_config_to_json(config), *second;
  char *text = json_dumps(dump, JSON_INDENT(1));
  parse(&again, text);
  second = sl_config_to_json(&again);
  assert_true(json_equal(dump, second));
  json_decref(dump);
  json_decref(second);
  free(text);
  sl_config_free(&again);
}

static void dump(void **state) {
  (void)state;
  static const char *const texts[] = {
      "{}",
      "{\"optimizer\": {\"type\": \"SGD\", \"params\": {\"momentum\": 0.37, \"nesterov\": true}}}",
      "{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"adam_w_mode\": false}}, \"fp16\": {\"enabled\": 1}}",
      "{\"scheduler\": {\"type\": \"OneCycle\", \"params\": {\"cycle_min_lr\": 1e-5, \"cycle_max_lr\": 1}}}",
      "{\"scheduler\": {\"type\": \"WarmupLR\"}, \"shardlab\": {\"ds_version\": \"0.15.0\", \"pp\": 4, \"seed\": 7}}",
      "{\"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}, \"overlap_comm\": false}}",
      "{\"bf16\": {\"enabled\": true}, \"train_batch_size\": 12, \"gradient_allreduce_op\": \"sum\"}",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct sl_config c;
    parse(&c, texts[i]);
    check_dump(&c);
    sl_config_free(&c);
  }
}

static void dump_names(void **state) {
  (void)state;
  struct sl_config c;
  int stage, prefetch;
  const char *type, *schedule;
  double lr;
  parse(&c, "{\"optimizer\": {\"type\": \"AdamW\"}, \"scheduler\": {\"type\": \"WarmupLR\", \"params\": "
            "{\"warmup_max_lr\": 0.3}},"
            "\"zero_optimization\": {\"stage\": 3, \"prefetch_bucket_size\": 77}}");
  json_t *root = sl_config_to_json(&c);
  assert_int_equal(json_unpack(root, "{s:{s:i, s:i}, s:{s:s, s:{s:f}}, s:{s:s}}", "zero_optimization", "stage", &stage,
                               "stage3_prefetch_bucket_size", &prefetch, "scheduler", "type", &type, "params",
                               "warmup_max_lr", &lr, "shardlab", "schedule", &schedule),
                   0);
  assert_int_equal(stage, 3);
  assert_int_equal(prefetch, 77);
  assert_string_equal(type, "WarmupLR");
  assert_true(lr == 0.3);
  assert_string_equal(schedule, "1f1b");
  json_decref(root);
  sl_config_free(&c);
}

static void examples(void **state) {
  (void)state;
  static const struct {
    const char *file;
    int stage, warnings;
  } table[] = {{"ds_zero0", 0, 0}, {"ds_zero1", 1, 0},          {"ds_zero2", 2, 0},
               {"ds_zero3", 3, 0}, {"ds_sgd_fp16_zero2", 2, 1}, {"ds_zero3_offload", 3, 0}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    struct sl_config c;
    struct sl_json doc;
    char path[512];
    snprintf(path, sizeof path, "%s/examples/%s.json", SL_SOURCE_DIR, table[i].file);
    warning_count = 0;
    sl_error_clear();
    if (sl_json_load(&doc, path) != SL_OK) fail_msg("%s", sl_error_message());
    if (sl_config_from_json(&c, &doc, true) != SL_OK) fail_msg("%s", sl_error_message());
    assert_int_equal(warning_count, table[i].warnings);
    assert_int_equal(c.zero.stage, table[i].stage);
    assert_int_equal(sl_config_resolve_batch(&c, 2), SL_OK);
    assert_int_equal(c.train_batch_size, 4);
    check_dump(&c);
    sl_config_free(&c);
  }
}

int main(void) {
  sl_warn_set_sink(collect, NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_top),
      cmocka_unit_test(defaults_zero),
      cmocka_unit_test(defaults_rest),
      cmocka_unit_test(defaults_sgd),
      cmocka_unit_test(defaults_scheduler),
      cmocka_unit_test(versions),
      cmocka_unit_test(spellings),

      cmocka_unit_test(deprecated),
      cmocka_unit_test(warnings_given),
      cmocka_unit_test(silence),
      cmocka_unit_test(what_changes_no_step_is_silent),
      cmocka_unit_test(batch_algebra),
      cmocka_unit_test(dump),
      cmocka_unit_test(dump_names),
      cmocka_unit_test(examples),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
