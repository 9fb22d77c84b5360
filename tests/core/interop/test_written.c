/* label: unit
 * What is written of a plan in other frameworks' words, and which of its keys are named as left out. */
#include "core/interop/accelerate_write.h"
#include "core/interop/megatron_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char text[8192], left_out[1024];

static json_t *parse(const char *what) {
  json_error_t error;
  json_t *root = json_loads(what, 0, &error);
  if (root == NULL) fail_msg("%s: %s", error.text, what);
  return root;
}

#define USUAL                                                                                                          \
  "{\"wall_clock_breakdown\": false, \"communication_data_type\": \"bf16\", \"zero_optimization\": "                   \
  "{\"reduce_bucket_size\": 7, \"overlap_comm\": false, "                                                              \
  "\"offload_optimizer\": {\"device\": \"none\"}}, \"shardlab\": "                                                     \
  "{"                                                                                                                  \
  "\"tp\": 1, \"pp\": 1, \"cp\": 1, \"cp_comm_type\": \"all_gather\", \"sequence_parallel\": false, "                  \
  "\"shard_size\": 0, \"shuffle\": true, \"attention\": \"flash\", \"make_vocab_size_divisible_by\": 128}}"

/* Fills `text` and `left_out`. `model`: for Megatron-LM; NULL: for Accelerate. */
static enum sl_status write_as(const char *what, const char *model) {
  json_t *config = parse(what), *shape = model != NULL ? parse(model) : NULL, *unsaid = json_array(), *path;
  json_t *usual = parse(USUAL);
  FILE *out = fmemopen(text, sizeof text, "w");
  size_t i;
  assert_non_null(out);
  const enum sl_status status = model != NULL ? sl_megatron_write(config, config, shape, out, unsaid)
                                              : sl_accelerate_write(config, config, usual, 8, 1, out, unsaid);
  fclose(out);
  json_decref(usual);
  left_out[0] = '\0';
  json_array_foreach(unsaid, i, path) {
    if (i > 0) strcat(left_out, " ");
    strcat(left_out, json_string_value(path));
  }
  json_decref(config);
  json_decref(shape);
  json_decref(unsaid);
  return status;
}

#define SUMS(type) "\"communication_data_type\": \"" type "\", \"data_types\": {\"grad_accum_dtype\": \"" type "\"}"
#define AS(preset, more) "{\"shardlab\": {\"preset\": \"" preset "\", " more "}}"
#define EAGER "\"kernels\": \"torch-eager\""
#define CORE "\"kernels\": \"megatron-core\""
#define MANY "\"tp\": 2, \"pp\": 2, \"sequence_parallel\": true, \"recompute\": \"full\""
#define ONE "\"tp\": 1, \"pp\": 1, \"cp\": 1, \"sequence_parallel\": false, \"recompute\": \"none\""

/* A key of the script's is named exactly where the distributed_type has none for it; what is not used is not missed. */
static void accelerate_names_what_its_type_lacks(void **state) {
  (void)state;
  static const struct {
    const char *config, *left_out, *writes;
  } cases[] = {
      {AS("", "\"recompute\": \"full\", " EAGER), "shardlab.recompute", "DEEPSPEED"},
      {AS("deepspeed-3", ONE ", " EAGER), "", "DEEPSPEED"},
      {AS("", "\"shard_size\": 0, \"attention\": \"flash\", " EAGER), "shardlab.shard_size shardlab.attention", ""},
      {"{\"zero_optimization\": {\"reduce_bucket_size\": 7}, \"gradient_clipping\": 1.0, "
       "\"shardlab\": {\"preset\": \"\", " EAGER "}}",
       "zero_optimization.reduce_bucket_size", "DEEPSPEED"},
      {AS("", "\"cp\": 2, \"cp_comm_type\": \"a2a\", " EAGER), "", "parallelism_config_sp_size: 2"},
      {AS("", "\"cp\": 1, \"cp_comm_type\": \"all_gather\", " EAGER), "", ""},
      {AS("ddp", ONE ", \"cp_comm_type\": \"a2a\", \"schedule\": \"gpipe\", " EAGER), "shardlab.schedule", "MULTI_GPU"},
      {"{\"torch_autocast\": {\"enabled\": true, \"dtype\": \"bf16\"}, \"shardlab\": {\"preset\": \"ddp\", " ONE
       ", " EAGER "}}",
       "", "mixed_precision: 'bf16'"},
      {AS("fsdp", "\"recompute\": \"full\", " EAGER), "", "fsdp_activation_checkpointing: true"},
      {AS("fsdp2", "\"tp\": 2, \"tp_vocab\": \"gathered\", \"recompute\": \"none\", " EAGER), "",
       "parallelism_config_tp_size: 2"},
      {"{\"gradient_clipping\": 1.0, \"shardlab\": {\"preset\": \"fsdp\", \"recompute\": \"none\", " EAGER "}}",
       "gradient_clipping", "FSDP"},
      {AS("megatron-lm", MANY ", \"attention\": \"flash\", " CORE), "", "megatron_lm_pp_degree: 2"},
      {AS("megatron-lm", ONE ", " EAGER), "shardlab.kernels", "MEGATRON_LM"},
      {AS("megatron-lm", MANY ", " CORE), "",
       "  megatron_lm_attention_backend: true\n  megatron_lm_context_parallel_size: 1\n"
       "  megatron_lm_recompute_granularity: full\n  megatron_lm_recompute_method: uniform\n"
       "  megatron_lm_recompute_num_layers: 1\n"},
      {AS("megatron-lm", ONE ", " CORE), "",
       "  megatron_lm_context_parallel_size: 1\n  megatron_lm_recompute_granularity: full\n"
       "  megatron_lm_recompute_method: block\n  megatron_lm_recompute_num_layers: 0\n"},
      {AS("megatron-lm", "\"recompute\": \"none\", \"cp\": 4, \"make_vocab_size_divisible_by\": 128, " CORE), "",
       "megatron_lm_context_parallel_size: 4\n"},
      {"{\"wall_clock_breakdown\": false, \"zero_optimization\": {\"overlap_comm\": false}, "
       "\"shardlab\": {\"preset\": \"megatron-lm\", \"shuffle\": false, " ONE ", " CORE "}}",
       "shardlab.shuffle", "MEGATRON_LM"},
      {AS("", "\"attention\": \"cudnn\", " EAGER), "shardlab.attention", "DEEPSPEED"},
      {"{\"communication_data_type\": \"bf16\", \"shardlab\": {\"preset\": \"\", " EAGER "}}", "", "DEEPSPEED"},
      {"{\"fp16\": {\"enabled\": true}, " SUMS("fp16") ", \"shardlab\": {\"preset\": \"megatron-lm\", " ONE ", " CORE
                                                       "}}",
       "", "mixed_precision: 'fp16'"},
      {"{\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": "
       "\"cpu\"}}, \"shardlab\": {\"preset\": \"fsdp\", \"recompute\": \"none\", " EAGER "}}",
       "", "fsdp_offload_params: true"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (write_as(cases[i].config, NULL) != SL_OK) fail_msg("%s: %s", cases[i].config, sl_error_message());
    if (strcmp(left_out, cases[i].left_out) != 0) fail_msg("%s: left out: %s", cases[i].config, left_out);
    if (strstr(text, cases[i].writes) == NULL) fail_msg("%s: wrote %s", cases[i].config, text);
    if (cases[i].writes[0] == '\0') assert_null(strstr(text, "parallelism_config"));
  }
}

/* What nobody asked for is lost, too: Megatron-LM's overlap and vocabulary, as the preset has them. Of other types a
 * vocabulary is named. */
static void accelerate_asks_what_the_file_does_not(void **state) {
  (void)state;
  static const struct {
    const char *config;
    enum sl_status status;
    const char *says;
  } cases[] = {{"{\"zero_optimization\": {\"overlap_comm\": true}, \"shardlab\": {\"preset\": \"megatron-lm\", " ONE
                "}}",
                SL_ERR_INPUT, "--to accelerate: zero_optimization.overlap_comm: is true; expected false"},
               {AS("megatron-lm", "\"make_vocab_size_divisible_by\": 1, " ONE), SL_ERR_INPUT,
                "--to accelerate: shardlab.make_vocab_size_divisible_by: is 1; expected 128"},
               {AS("", "\"make_vocab_size_divisible_by\": 1, " EAGER), SL_OK, "shardlab.make_vocab_size_divisible_by"},
               {AS("", "\"make_vocab_size_divisible_by\": 128, " EAGER), SL_OK, ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *config = parse(cases[i].config), *given = json_object(), *usual = parse(USUAL), *unsaid = json_array();
    FILE *out = fmemopen(text, sizeof text, "w");
    sl_error_clear();
    assert_non_null(out);
    assert_int_equal(sl_accelerate_write(config, given, usual, 8, 1, out, unsaid), cases[i].status);
    fclose(out);
    const char *name = json_string_value(json_array_get(unsaid, 0)), *says = cases[i].status != SL_OK
                                                                                 ? sl_error_message()
                                                                             : name != NULL ? name
                                                                                            : "";
    if (strncmp(says, cases[i].says, strlen(cases[i].says)) != 0 || (cases[i].says[0] == '\0' && says[0] != '\0'))
      fail_msg("%s: %s", cases[i].config, says);
    json_decref(config);
    json_decref(given);
    json_decref(usual);
    json_decref(unsaid);
  }
  sl_error_clear();
}

/* What would be another plan when it is read again is no file. */
static void accelerate_loses_no_plan(void **state) {
  (void)state;
#define DEEPSPEED_HAS ": with distributed_type DEEPSPEED it cannot be expressed"
  static const struct {
    const char *config, *says;
  } cases[] = {
      {AS("", MANY ", " EAGER), "shardlab.tp: is 2; expected 1" DEEPSPEED_HAS},
      {AS("", "\"pp\": 2, " EAGER), "shardlab.pp: is 2; expected 1" DEEPSPEED_HAS},
      {AS("", "\"shard_size\": 4, " EAGER), "shardlab.shard_size: is 4; expected 0" DEEPSPEED_HAS},
      {AS("", "\"cp\": 2, \"cp_comm_type\": \"all_gather\", " EAGER), "shardlab.cp: is 2; expected 1" DEEPSPEED_HAS},
      {"{\"communication_data_type\": \"fp32\", \"shardlab\": {\"preset\": \"\", " EAGER "}}",
       "communication_data_type: is fp32; expected bf16" DEEPSPEED_HAS},
      {"{\"zero_optimization\": {\"reduce_bucket_size\": 8}, \"shardlab\": {\"preset\": \"\", " EAGER "}}",
       "zero_optimization.reduce_bucket_size: is 8; expected 7" DEEPSPEED_HAS " but in a deepspeed_config_file"},
      {AS("ddp", MANY ", " EAGER), "shardlab.tp: is 2; expected 1: with distributed_type MULTI_GPU it cannot"},
      {AS("fsdp", MANY ", " EAGER), "shardlab.tp: is 2; expected 1: with distributed_type FSDP it cannot"},
      {AS("fsdp2", "\"tp\": 2, \"tp_vocab\": \"whole\", \"recompute\": \"none\", " EAGER),
       "--to accelerate: shardlab.tp_vocab: is whole; expected gathered beside tp, as the framework's is"},
      {AS("megatron-lm", "\"tp\": 2, \"tp_vocab\": \"gathered\", \"recompute\": \"none\", " CORE),
       "--to accelerate: shardlab.tp_vocab: is gathered; expected parallel beside tp, as the framework's is"},
      {AS("fsdp2", MANY ", " EAGER), "shardlab.pp: is 2; expected 1: with distributed_type FSDP version 2 it cannot"},
      {AS("fsdp2", "\"recompute\": \"none\", \"cp\": 2, \"cp_comm_type\": \"a2a\", " EAGER),
       "shardlab.cp_comm_type: is a2a; expected all_gather"},
      {"{\"gradient_accumulation_steps\": 2, \"shardlab\": {\"preset\": \"fsdp\", \"recompute\": \"none\", " EAGER "}}",
       "shardlab.no_sync: is false; expected true: sync_each_batch is an argument of the script's, so it cannot be"},
      {"{\"fp16\": {\"enabled\": true}, " SUMS("fp32") ", \"shardlab\": {\"preset\": \"megatron-lm\", " ONE ", " CORE
                                                       "}}",
       "communication_data_type: is fp32; expected fp16: with distributed_type MEGATRON_LM it cannot be expressed"},
      {"{\"bf16\": {\"enabled\": true}, " SUMS("bf16") ", \"shardlab\": {\"preset\": \"megatron-lm\", " ONE ", " CORE
                                                       "}}",
       "communication_data_type: is bf16; expected fp32: with distributed_type MEGATRON_LM it cannot be expressed"},
      {"{\"fp16\": {\"enabled\": true}, \"communication_data_type\": \"fp16\", \"data_types\": {\"grad_accum_dtype\": "
       "\"fp32\"}, \"shardlab\": {\"preset\": \"megatron-lm\", " ONE ", " CORE "}}",
       "data_types.grad_accum_dtype: is fp32; expected fp16: with distributed_type MEGATRON_LM it cannot be expressed"},
      {"{\"bf16\": {\"enabled\": true}, " SUMS("fp32") ", \"shardlab\": {\"preset\": \"fsdp\", \"recompute\": "
                                                       "\"none\", " EAGER "}}",
       "communication_data_type: is fp32; expected bf16: with distributed_type FSDP it cannot be expressed"},
      {"{\"zero_optimization\": {\"overlap_comm\": true}, \"shardlab\": {\"preset\": \"megatron-lm\", " ONE ", " CORE
       "}}",
       "zero_optimization.overlap_comm: is true; expected false: with distributed_type MEGATRON_LM it cannot be"},
      {AS("megatron-lm", "\"make_vocab_size_divisible_by\": 64, " ONE ", " CORE),
       "shardlab.make_vocab_size_divisible_by: is 64; expected 128: with distributed_type MEGATRON_LM it cannot be"},
      {AS("", "\"make_vocab_size_divisible_by\": 64, " EAGER),
       "shardlab.make_vocab_size_divisible_by: is 64; expected 128" DEEPSPEED_HAS},
      {AS("megatron-lm", "\"attention\": \"cudnn\", " ONE ", " CORE),
       "shardlab.attention: is cudnn; expected flash: with distributed_type MEGATRON_LM it cannot be expressed"},
      {AS("megatron-lm", "\"recompute\": \"selective\", " CORE),
       "shardlab.recompute: is selective; expected none or full: with distributed_type MEGATRON_LM it cannot be"},
      {"{\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"cpu\"}}, \"shardlab\": {\"preset\": "
       "\"megatron-lm\", " ONE ", " CORE "}}",
       "zero_optimization.offload_optimizer.device: is cpu; expected none: with distributed_type MEGATRON_LM"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sl_error_clear();
    if (write_as(cases[i].config, NULL) != SL_ERR_INPUT) fail_msg("%s: wrote %s", cases[i].config, text);
    if (strstr(sl_error_message(), cases[i].says) == NULL) fail_msg("%s: %s", cases[i].config, sl_error_message());
  }
  sl_error_clear();
}

/* Megatron-LM's arguments say whose kernels run, where they are its own. */
static void megatron_says_its_kernels(void **state) {
  (void)state;
  static const char model[] = "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 8, \"n_head\": 2}";
  static const struct {
    const char *kernels, *writes, *left_out;
  } cases[] = {
      {"\"megatron-core\"", "", ""},
      {"\"megatron-fused\"", "--transformer-impl local\n", ""},
      {"\"megatron-unfused\", \"fused_norm\": true", "--transformer-impl local\n--no-masked-softmax-fusion\n", ""},
      {"\"megatron-unfused\"", "", "shardlab.kernels"},
      {"\"megatron-unfused\", \"fused_norm\": true, \"fused_softmax\": true", "", "shardlab.kernels"},
      {"\"shardlab\"", "", "shardlab.kernels"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char config[512];
    snprintf(config, sizeof config,
             "{\"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"preset\": \"megatron-lm\", \"recompute\": "
             "\"none\", \"attention\": \"flash\", \"rank_order\": \"tp-dp-pp\", \"kernels\": %s}}",
             cases[i].kernels);
    if (write_as(config, model) != SL_OK) fail_msg("%s: %s", config, sl_error_message());
    if (strstr(text, cases[i].writes) == NULL) fail_msg("%s: wrote %s", config, text);
    if (cases[i].writes[0] == '\0') assert_null(strstr(text, "--transformer-impl"));
    assert_string_equal(left_out, cases[i].left_out);
  }
}

/* --from-megatron has no ranks of cp beside that mapping. */
static void megatron_has_no_mapping_beside_cp(void **state) {
  (void)state;
#define LM(more)                                                                                                       \
  "{\"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"preset\": \"megatron-lm\", \"recompute\": \"none\", "       \
  "\"attention\": \"flash\", \"cp_comm_type\": \"all_gather\", " more "}}"
  static const char model[] = "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 8, \"n_head\": 2}";
  assert_int_equal(write_as(LM("\"cp\": 2, \"rank_order\": \"tp-pp-dp\""), model), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "--to megatron: shardlab.rank_order: is tp-pp-dp; expected tp-dp-pp "
                                          "beside context-parallel-size: cp is a part of dp here");
  assert_int_equal(write_as(LM("\"cp\": 1, \"rank_order\": \"tp-pp-dp\""), model), SL_OK);
  assert_non_null(strstr(text, "--use-tp-pp-dp-mapping\n"));
  assert_int_equal(write_as(LM("\"cp\": 2, \"rank_order\": \"tp-dp-pp\""), model), SL_OK);
  assert_non_null(strstr(text, "--cp-comm-type all_gather\n"));
  assert_null(strstr(text, "mapping"));
}

/* Numbers have the fewest digits that read back the same. */
static void numbers_are_short(void **state) {
  (void)state;
  static const char model[] =
      "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 8, \"n_head\": 2, \"layer_norm_epsilon\": 1e-5, "
      "\"resid_pdrop\": 0.1, \"initializer_range\": 0.30000000000000004}";
  assert_int_equal(write_as("{\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1.5e-4, \"betas\": [0.9, "
                            "0.999]}}, \"gradient_clipping\": 1.0, \"shardlab\": {\"preset\": \"megatron-lm\", "
                            "\"recompute\": \"none\", \"attention\": \"flash\", \"rank_order\": \"tp-dp-pp\"}}",
                            model),
                   SL_OK);
  static const char *const lines[] = {"--adam-beta1 0.9\n",
                                      "--adam-beta2 0.999\n",
                                      "--norm-epsilon 1e-05\n",
                                      "--hidden-dropout 0.1\n",
                                      "--lr 0.00015\n",
                                      "--clip-grad 1\n",
                                      "--init-method-std 0.30000000000000004\n"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    if (strstr(text, lines[i]) == NULL) fail_msg("%s is not in %s", lines[i], text);
  static const char *const clips[][2] = {{"0.3", "gradient_clipping: 0.3\n"},
                                         {"2.0", "gradient_clipping: 2\n"},
                                         {"1e-5", "gradient_clipping: 1.0e-05\n"}, /* 1e-05 is a text in YAML */
                                         {"1.5e-7", "gradient_clipping: 1.5e-07\n"}};
  for (size_t i = 0; i < sizeof clips / sizeof *clips; i++) {
    char config[256];
    snprintf(config, sizeof config,
             "{\"gradient_clipping\": %s, \"shardlab\": {\"preset\": \"deepspeed-3\", " EAGER "}}", clips[i][0]);
    assert_int_equal(write_as(config, NULL), SL_OK);
    if (strstr(text, clips[i][1]) == NULL) fail_msg("%s is not in %s", clips[i][1], text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accelerate_names_what_its_type_lacks),   cmocka_unit_test(accelerate_loses_no_plan),
      cmocka_unit_test(accelerate_asks_what_the_file_does_not), cmocka_unit_test(megatron_says_its_kernels),
      cmocka_unit_test(megatron_has_no_mapping_beside_cp),      cmocka_unit_test(numbers_are_short)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
