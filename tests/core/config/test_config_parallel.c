/* label: unit
 * The keys of parallelism: lists as arrays and as text, DeepSpeed's spellings of the same, cross checks, and the
 * dump. */
#include "core/config/config.h"
#include "core/config/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char warning[1024];

static void collect(void *context, const char *message) {
  (void)context;
  snprintf(warning, sizeof warning, "%s", message);
}

static enum sl_status parse(struct sl_config *c, const char *inside) {
  char text[4096];
  snprintf(text, sizeof text, "{\"optimizer\": {\"type\": \"Adam\"}, %s}", inside);
  warning[0] = '\0';
  sl_warn_set_sink(collect, NULL);
  sl_error_clear();
  return sl_config_parse(c, "ds.json", text, strlen(text), false);
}

static void accept(struct sl_config *c, const char *inside) {
  if (parse(c, inside) != SL_OK) fail_msg("%s: %s", inside, sl_error_message());
}

static void defaults(void **state) {
  (void)state;
  struct sl_config c;
  accept(&c, "\"shardlab\": {}");
  assert_int_equal(c.sl.stages_by, SL_STAGES_UNIFORM);
  assert_int_equal(c.sl.stage_count, 0);
  assert_int_equal(c.sl.recompute_count, 1);
  assert_int_equal(c.sl.recompute[0], SL_RECOMPUTE_NONE);
  assert_true(c.sl.recompute_attention && !c.sl.recompute_norms);
  assert_int_equal(c.sl.recompute_every, 1);
  assert_int_equal(sl_config_shard_size(&c), 0);
  assert_true(c.sl.limit_all_gathers && !c.sl.store_dropout_masks && !c.sl.bucket_view);
  assert_int_equal(c.sl.vocab_multiple, 0);
  assert_true(!c.sl.tf32 && sl_config_product_dtype(&c) == SL_F32);
  assert_int_equal(c.sl.unshard_ahead, 3);
  sl_config_free(&c);
}

static void lists(void **state) {
  (void)state;
  static const char *const stages[] = {"[13, 13, 13, 9, 1, 7]", "\"13,13,13,9,1,7\"", "\" 13, 13 ,13,9 ,1, 7 \""};
  const int64_t want[] = {13, 13, 13, 9, 1, 7};
  char text[256];
  struct sl_config c;
  for (int i = 0; i < 3; i++) {
    snprintf(text, sizeof text, "\"shardlab\": {\"pp\": 3, \"virtual_stages\": 2, \"stages\": %s}", stages[i]);
    accept(&c, text);
    assert_int_equal(c.sl.stages_by, SL_STAGES_LIST);
    assert_int_equal(c.sl.stage_count, 6);
    assert_memory_equal(c.sl.stage_layers, want, sizeof want);
    sl_config_free(&c);
  }
  accept(&c, "\"shardlab\": {\"stages\": \"Flops\", \"recompute_modules\": \"layernorm\", \"recompute_every\": 5}");
  assert_int_equal(c.sl.stages_by, SL_STAGES_FLOPS);
  assert_true(!c.sl.recompute_attention && c.sl.recompute_norms);
  assert_int_equal(c.sl.recompute_every, 5);
  sl_config_free(&c);
  accept(&c,
         "\"shardlab\": {\"pp\": 3, \"recompute\": \"full, none,selective\", \"recompute_modules\": [\"layernorm\", "
         "\"core_attn\"]}");
  assert_int_equal(c.sl.recompute_count, 3);
  assert_int_equal(c.sl.recompute[0], SL_RECOMPUTE_FULL);
  assert_int_equal(c.sl.recompute[1], SL_RECOMPUTE_NONE);
  assert_int_equal(c.sl.recompute[2], SL_RECOMPUTE_SELECTIVE);
  assert_true(c.sl.recompute_attention && c.sl.recompute_norms);
  sl_config_free(&c);
}

/* DeepSpeed's own keys for tp, Ulysses, pp, the split and the groups. */
static void deepspeeds_spellings(void **state) {
  (void)state;
  struct sl_config c;
  accept(&c, "\"tensor_parallel\": {\"autotp_size\": 3}, \"pipeline\": {\"stages\": 5, \"partition_method\": "
             "\"parameters\"}, \"zero_optimization\": {\"stage\": 3, \"mics_shard_size\": 7}");
  assert_int_equal(c.sl.tp, 3);
  assert_int_equal(c.sl.tp_vocab, SL_TP_VOCAB_AUTOTP);
  assert_int_equal(c.sl.pp, 5);
  assert_int_equal(c.sl.stages_by, SL_STAGES_PARAMETERS);
  assert_int_equal(sl_config_shard_size(&c), 7);
  assert_string_equal(warning, "");
  sl_config_free(&c);
  accept(&c, "\"tensor_parallel\": {\"tp\": {\"tp_size\": 3}}, \"shardlab\": {\"tp\": 3}, \"pipeline\": {\"stages\": "
             "\"auto\", \"partition\": \"best\"}");
  assert_int_equal(c.sl.tp, 3);
  assert_int_equal(c.sl.pp, 1);
  assert_int_equal(c.sl.stages_by, SL_STAGES_UNIFORM);
  assert_int_equal(c.sl.tp_vocab, SL_TP_VOCAB_AUTOTP);
  sl_config_free(&c);
}

/* DeepSpeed's tensor parallelism is AutoTP unless the file says what else; ours is Megatron-LM's. */
static void autotp_is_no_megatron(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum sl_tp_vocab is;
  } cases[] = {
      {"\"shardlab\": {\"tp\": 3}", SL_TP_VOCAB_PARALLEL},
      {"\"tensor_parallel\": {\"autotp_size\": 3}, \"shardlab\": {\"tp_vocab\": \"whole\"}", SL_TP_VOCAB_WHOLE},
      {"\"tensor_parallel\": {\"autotp_size\": 3}, \"shardlab\": {\"tp_vocab\": \"parallel\"}", SL_TP_VOCAB_PARALLEL},
      {"\"tensor_parallel\": {\"tp\": {\"tp_size\": 1}}, \"shardlab\": {\"tp\": 3}", SL_TP_VOCAB_PARALLEL},
      {"\"tensor_parallel\": {\"tensor_parallel\": {\"tp_size\": 3}}", SL_TP_VOCAB_AUTOTP},
      {"\"shardlab\": {\"tp\": 3, \"tp_vocab\": \"Gathered\"}", SL_TP_VOCAB_GATHERED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_config c;
    accept(&c, cases[i].text);
    if (c.sl.tp_vocab != cases[i].is) fail_msg("%s: %d", cases[i].text, (int)c.sl.tp_vocab);
    sl_config_free(&c);
  }
}

/* Ulysses exchanges heads, whatever the default of cp is; who says otherwise is heard. */
static void sequence_parallel_size_is_ulysses(void **state) {
  (void)state;
  struct sl_config c;
  accept(&c, "\"sequence_parallel_size\": 3");
  assert_true(c.sl.cp == 3 && c.sl.cp_comm == SL_CP_A2A);
  assert_string_equal(warning, "");
  sl_config_free(&c);
  accept(&c, "\"sequence_parallel_size\": 1");
  assert_true(c.sl.cp == 1 && c.sl.cp_comm == SL_CP_ALL_GATHER);
  assert_string_equal(warning, "");
  sl_config_free(&c);
  accept(&c, "\"sequence_parallel_size\": 3, \"shardlab\": {\"cp\": 3, \"cp_comm_type\": \"all_gather\"}");
  assert_true(c.sl.cp == 3 && c.sl.cp_comm == SL_CP_ALL_GATHER);
  sl_config_free(&c);
}

/* Settings of what is not asked for are named; beside it they are not. */
static void settings_without_effect_are_named(void **state) {
  (void)state;
  static const struct {
    const char *alone, *beside, *says;
  } cases[] = {
      {"\"cp_comm_type\": \"a2a\"", "\"cp\": 2", "cp_comm_type: has no effect without shardlab.cp above 1"},
      {"\"async_tp\": true", "\"tp\": 2, \"sequence_parallel\": true",
       "async_tp: has no effect without shardlab.tp above 1"},
      {"\"fp8_recipe\": \"rowwise\"", "\"fp8\": true", "fp8_recipe: has no effect without shardlab.fp8"},
      {"\"recompute_every\": 3", "\"recompute\": \"full\"",
       "recompute_every: has no effect without shardlab.recompute"},
      {"\"recompute_modules\": [\"layernorm\"]", "\"recompute\": \"selective\"",
       "recompute_modules: has no effect unless shardlab.recompute is \"selective\""},
      {"\"eval_iters\": 7", "\"eval_interval\": 5", "eval_iters: has no effect without shardlab.eval_interval"},
      {"\"fp8_margin\": 1", "\"fp8\": true", "fp8_margin: has no effect without shardlab.fp8"},
      {"\"fp8_format\": \"e4m3\"", "\"fp8\": true", "fp8_format: has no effect without shardlab.fp8"},
      {"\"fp8_amax_history_len\": 1", "\"fp8\": true", "fp8_amax_history_len: has no effect without shardlab.fp8"},
      {"\"fp8_amax_compute_algo\": \"most_recent\"", "\"fp8\": true",
       "fp8_amax_compute_algo: has no effect without shardlab.fp8"},
      {"\"fp8_param_gather\": true", "\"fp8\": true, \"kernels\": \"megatron-core\"",
       "fp8_param_gather: has no effect without shardlab.fp8 and the kernels \"megatron-core\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int beside = 0; beside < 2; beside++) {
      struct sl_config c;
      char inside[200];
      snprintf(inside, sizeof inside, "\"bf16\": {\"enabled\": true}, \"shardlab\": {%s%s%s}", cases[i].alone,
               beside ? ", " : "", beside ? cases[i].beside : "");
      accept(&c, inside);
      if ((strstr(warning, cases[i].says) != NULL) != !beside) fail_msg("%s: \"%s\"", inside, warning);
      sl_config_free(&c);
    }
  }
}

static void tf32_is_of_fp32_alone(void **state) {
  (void)state;
  static const char says[] = "tf32: has no effect but on fp32 products";
  struct sl_config c;
  accept(&c, "\"shardlab\": {\"tf32\": true}");
  assert_null(strstr(warning, says));
  sl_config_free(&c);
  accept(&c, "\"bf16\": {\"enabled\": true}, \"shardlab\": {\"tf32\": true}");
  assert_non_null(strstr(warning, says));
  sl_config_free(&c);
}

/* DeepSpeed's pipelines repeat every layer at an interval of 1; our own word for it comes first. */
static void a_pipelines_interval_is_recomputation(void **state) {
  (void)state;
  static const struct {
    const char *inside, *warned;
    enum sl_recompute made;
  } cases[] = {
      {"\"pipeline\": {\"stages\": 3, \"activation_checkpoint_interval\": 1}", "", SL_RECOMPUTE_FULL},
      {"\"pipeline\": {\"stages\": 3, \"activation_checkpoint_interval\": 0}", "", SL_RECOMPUTE_NONE},
      {"\"pipeline\": {\"stages\": 3, \"activation_checkpoint_interval\": 2}", "has no effect but for 1",
       SL_RECOMPUTE_NONE},
      {"\"pipeline\": {\"activation_checkpoint_interval\": 1}", "has no effect without a pipeline", SL_RECOMPUTE_NONE},
      {"\"pipeline\": {\"stages\": 3, \"activation_checkpoint_interval\": 1}, \"shardlab\": {\"recompute\": "
       "\"selective\"}",
       "", SL_RECOMPUTE_SELECTIVE}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_config c;
    accept(&c, cases[i].inside);
    assert_int_equal(c.sl.recompute[0], cases[i].made);
    assert_true(cases[i].warned[0] != '\0' ? strstr(warning, cases[i].warned) != NULL : warning[0] == '\0');
    sl_config_free(&c);
  }
}

/* Frameworks keep the masks that PyTorch's dropout makes; our kernels draw them again. */
static void masks_are_kept_where_the_kernels_are_a_frameworks(void **state) {
  (void)state;
  static const struct {
    const char *inside;
    bool kept;
  } cases[] = {{"\"shardlab\": {}", false},
               {"\"shardlab\": {\"kernels\": \"megatron-fused\"}", true},
               {"\"shardlab\": {\"kernels\": \"torch-eager\", \"store_dropout_masks\": false}", false},
               {"\"shardlab\": {\"store_dropout_masks\": true}", true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_config c;
    accept(&c, cases[i].inside);
    assert_int_equal(c.sl.store_dropout_masks, cases[i].kept);
    sl_config_free(&c);
  }
}

static void sequence_parallel_needs_tp(void **state) {
  (void)state;
  struct sl_config c;
  accept(&c, "\"shardlab\": {\"sequence_parallel\": true}");
  assert_false(c.sl.sequence_parallel);
  assert_non_null(strstr(warning, "Disabling sequence parallelism because tensor model parallelism is disabled"));
  sl_config_free(&c);
  accept(&c, "\"shardlab\": {\"sequence_parallel\": true, \"tp\": 3}");
  assert_true(c.sl.sequence_parallel);
  assert_string_equal(warning, "");
  sl_config_free(&c);
}

static const char *const stages_expected =
    "expected uniform, parameters, flops, cost, or the layers (0 to 4096) of each of "
    "at most 256 stages, like [13, 13, 13, 9]";

static void broken(void **state) {
  (void)state;
  const char *const cases[][2] = {
      {"\"shardlab\": {\"stages\": \"evenly\"}", stages_expected},
      {"\"shardlab\": {\"stages\": 4}", "ds.json:1:46: shardlab.stages: is 4; expected uniform"},
      {"\"shardlab\": {\"stages\": []}", stages_expected},
      {"\"shardlab\": {\"stages\": \"\"}", stages_expected},
      {"\"shardlab\": {\"pp\": 2, \"stages\": \"3,\"}", stages_expected},
      {"\"shardlab\": {\"pp\": 2, \"stages\": \"3,-2\"}", stages_expected},
      {"\"shardlab\": {\"pp\": 2, \"stages\": [3, -1]}", stages_expected},
      {"\"shardlab\": {\"pp\": 2, \"stages\": [3, 2.5]}", stages_expected},
      {"\"shardlab\": {\"pp\": 2, \"stages\": [3, \"2\"]}", stages_expected},
      {"\"shardlab\": {\"pp\": 2, \"stages\": \"3,99999999999999999999\"}", stages_expected},
      {"\"shardlab\": {\"pp\": 2, \"virtual_stages\": 3, \"stages\": [3, 2]}",
       "shardlab.stages: has 2 entries; expected one a stage: pp 2 x virtual_stages 3 = 6"},
      {"\"shardlab\": {\"pp\": 3, \"recompute\": [\"full\", \"none\"]}",
       "shardlab.recompute: has 2 entries; expected 1, or one a pipeline rank: 3"},
      {"\"shardlab\": {\"recompute\": \"all\"}", "is \"all\"; expected none, selective, selective_op or full"},
      {"\"shardlab\": {\"recompute\": [1]}", "is [1]; expected none, selective, selective_op or full"},
      {"\"shardlab\": {\"recompute_modules\": [\"mlp\"]}", "expected one or more of core_attn, layernorm"},
      {"\"shardlab\": {\"recompute_modules\": []}", "expected one or more of core_attn, layernorm"},
      {"\"shardlab\": {\"recompute_every\": 0}", "shardlab.recompute_every: is 0; expected an integer >= 1"},
      {"\"shardlab\": {\"unshard_ahead\": 0}", "shardlab.unshard_ahead: is 0; expected an integer from 1 to 65536"},
      {"\"shardlab\": {\"shard_size\": -3}", "shardlab.shard_size: is -3; expected an integer from 0 to 65536"},
      {"\"shardlab\": {\"shard_size\": 1}", "shardlab.shard_size: is 1, which shards nothing"},
      {"\"zero_optimization\": {\"mics_shard_size\": 1}",
       "zero_optimization.mics_shard_size: is 1, which shards nothing"},
      {"\"zero_optimization\": {\"mics_shard_size\": 3}, \"shardlab\": {\"shard_size\": 5}",
       "zero_optimization.mics_shard_size: is 3, but shardlab.shard_size is 5"},
      {"\"zero_optimization\": {\"stage\": 3, \"mics_shard_size\": 3}, \"shardlab\": {\"ds_version\": \"0.19.7\"}",
       "MiCS ZeRO-3 sharding has been removed"},
      {"\"tensor_parallel\": {\"autotp_size\": 3}, \"shardlab\": {\"tp\": 1}",
       "tensor_parallel.autotp_size: is 3, but shardlab.tp is 1; expected one of the two, or the same"},
      {"\"tensor_parallel\": {\"autotp_size\": 3, \"tp\": {\"tp_size\": 5}}",
       "tensor_parallel.tp.tp_size: is 5, but tensor_parallel.autotp_size is 3"},
      {"\"sequence_parallel_size\": 3, \"shardlab\": {\"cp\": 1}",
       "sequence_parallel_size: is 3, but shardlab.cp is 1; expected one of the two, or the same"},
      {"\"pipeline\": {\"stages\": 3}, \"shardlab\": {\"pp\": 5}", "pipeline.stages: is 3, but shardlab.pp is 5"},
      {"\"pipeline\": {\"stages\": 0}", "pipeline.stages: is 0; expected \"auto\" or an integer >= 1"},
      {"\"pipeline\": {\"stages\": 99999}", "pipeline.stages: is 99999; expected an integer from 1 to 65536"},
      {"\"pipeline\": {\"partition_method\": \"profile\"}", "is \"profile\"; expected uniform or parameters"},
      {"\"pipeline\": {\"partition\": \"parameters\"}, \"shardlab\": {\"stages\": \"flops\"}",
       "pipeline.partition: is \"parameters\", but shardlab.stages says otherwise"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_config c;
    if (parse(&c, cases[i][0]) == SL_OK) fail_msg("accepted: %s", cases[i][0]);
    if (strstr(sl_error_message(), cases[i][1]) == NULL) fail_msg("%s: %s", cases[i][0], sl_error_message());
  }
}

/* 256 entries fit, 257 do not. */
static void longest_list(void **state) {
  (void)state;
  char text[2048];
  struct sl_config c;
  for (int n = SL_MAX_STAGES; n <= SL_MAX_STAGES + 1; n++) {
    size_t used = (size_t)snprintf(text, sizeof text, "\"shardlab\": {\"pp\": %d, \"stages\": \"3", n);
    for (int i = 1; i < n; i++) used += (size_t)snprintf(text + used, sizeof text - used, ",5");
    snprintf(text + used, sizeof text - used, "\"}");
    assert_int_equal(parse(&c, text), n == SL_MAX_STAGES ? SL_OK : SL_ERR_INPUT);
    if (n > SL_MAX_STAGES) continue;
    assert_int_equal(c.sl.stage_layers[255], 5);
    sl_config_free(&c);
  }
}

/* Products are in tf32 where they would be in fp32; a model of 16-bit numbers has none. */
static void tf32_is_for_fp32(void **state) {
  (void)state;
  struct sl_config c;
  accept(&c, "\"shardlab\": {\"tf32\": true}");
  assert_int_equal(sl_config_product_dtype(&c), SL_TF32);
  sl_config_free(&c);
  accept(&c, "\"bf16\": {\"enabled\": true}, \"shardlab\": {\"tf32\": true}");
  assert_int_equal(sl_config_product_dtype(&c), SL_BF16);
  sl_config_free(&c);
}

/* torch.autocast leaves parameters in fp32; without a type it casts to fp16, and to another one than these two not
 * at all. */
static void autocast_is_of_products(void **state) {
  static const struct {
    const char *section;
    enum sl_dtype type;
  } cases[] = {{"{\"enabled\": true, \"dtype\": \"bfloat16\"}", SL_BF16},
               {"{\"enabled\": true, \"dtype\": \"fp16\"}", SL_F16},
               {"{\"enabled\": true}", SL_F16},
               {"{\"enabled\": true, \"dtype\": \"float32\"}", SL_F32},
               {"{\"enabled\": true, \"dtype\": \"int8\"}", SL_F32},
               {"{\"enabled\": false, \"dtype\": \"bf16\"}", SL_F32},
               {"{\"dtype\": \"bf16\"}", SL_F32}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[128];
    struct sl_config c;
    snprintf(text, sizeof text, "\"torch_autocast\": %s", cases[i].section);
    accept(&c, text);
    assert_int_equal(c.param_dtype, SL_F32);
    assert_int_equal(c.grad_accum_dtype, SL_F32);
    assert_int_equal(c.communication_data_type, SL_F32);
    assert_int_equal(sl_config_product_dtype(&c), cases[i].type);
    const char *names[] = {[SL_F32] = "fp32", [SL_BF16] = "bf16-autocast", [SL_F16] = "fp16-autocast"};
    assert_string_equal(sl_config_precision(&c), names[cases[i].type]);
    json_t *written = sl_config_to_json(&c);
    assert_int_equal(json_object_get(written, "torch_autocast") != NULL, cases[i].type != SL_F32);
    json_decref(written);
    sl_config_free(&c);
  }
}

/* fp8 products are of bf16 numbers, and of no others. */
static void fp8_is_for_bf16(void **state) {
  (void)state;
  struct sl_config c;
  accept(&c, "\"bf16\": {\"enabled\": true}, \"shardlab\": {\"fp8\": true}");
  assert_int_equal(sl_config_product_dtype(&c), SL_F8);
  assert_int_equal(c.param_dtype, SL_BF16);
  sl_config_free(&c);
  assert_int_equal(parse(&c, "\"fp16\": {\"enabled\": true}, \"shardlab\": {\"fp8\": true}"), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "shardlab.fp8: is true; expected bf16.enabled too"));
}

/* The dump of a configuration, read again, is the same configuration. */
static void dump_and_back(void **state) {
  (void)state;
  static const char *const insides[] = {
      "\"shardlab\": {\"pp\": 2, \"tp\": 3, \"stages\": [5, 3], \"recompute\": [\"full\", \"selective\"], "
      "\"recompute_modules\": [\"layernorm\"], \"recompute_every\": 7, \"shard_size\": 5, \"limit_all_gathers\": "
      "false, \"no_sync\": true, \"gradient_as_bucket_view\": true, "
      "\"unshard_ahead\": 2, \"store_dropout_masks\": true, \"sequence_parallel\": true, "
      "\"scatter_gather_tensors_in_pipeline\": true, \"tf32\": true, "
      "\"make_vocab_size_divisible_by\": 128, \"fuse_epilogues\": \"always\"}",
      "\"tensor_parallel\": {\"autotp_size\": 3}, \"zero_optimization\": {\"stage\": 3, \"mics_shard_size\": 7}, "
      "\"pipeline\": {\"stages\": 2, \"partition\": \"parameters\"}, \"shardlab\": {\"recompute\": \"full\"}, "
      "\"sequence_parallel_size\": 5",
  };
  for (int i = 0; i < 2; i++) {
    struct sl_config first, second;
    accept(&first, insides[i]);
    json_t *dump = sl_config_to_json(&first);
    char *text = json_dumps(dump, 0);
    json_decref(dump);
    if (sl_config_parse(&second, "dump.json", text, strlen(text), true) != SL_OK) fail_msg("%s", sl_error_message());
    assert_memory_equal(&first.sl, &second.sl, sizeof first.sl);
    assert_int_equal(sl_config_shard_size(&first), sl_config_shard_size(&second));
    free(text);
    sl_config_free(&first);
    sl_config_free(&second);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults),
      cmocka_unit_test(lists),
      cmocka_unit_test(broken),
      cmocka_unit_test(deepspeeds_spellings),
      cmocka_unit_test(autotp_is_no_megatron),
      cmocka_unit_test(longest_list),
      cmocka_unit_test(sequence_parallel_needs_tp),
      cmocka_unit_test(tf32_is_for_fp32),
      cmocka_unit_test(autocast_is_of_products),
      cmocka_unit_test(fp8_is_for_bf16),
      cmocka_unit_test(dump_and_back),
      cmocka_unit_test(sequence_parallel_size_is_ulysses),
      cmocka_unit_test(settings_without_effect_are_named),
      cmocka_unit_test(tf32_is_of_fp32_alone),
      cmocka_unit_test(a_pipelines_interval_is_recomputation),
      cmocka_unit_test(masks_are_kept_where_the_kernels_are_a_frameworks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
