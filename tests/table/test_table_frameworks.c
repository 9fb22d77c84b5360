/* label: unit
   libs: table
 * What a row's framework means: its preset, its kernels, how it deals layers and what it adds up in. */
#include "core/plan/kernels.h"
#include "table/predict.h"
#include "tests/support/table_row.h"

static void frameworks_choose_presets(void **state) {
  (void)state;
  static const struct {
    const char *framework, *stage, *tp, *pp, *preset;
    int recompute, multiple;
    const char *precision;
  } rows[] = {
      {"megatron", "0", "2", "4", "megatron-local-ddp", SL_RECOMPUTE_FULL, 128, "fp16"},
      {"megatron", "0", "2", "4", "megatron-lm", SL_RECOMPUTE_FULL, 128, "bf16"},
      {"megatron", "1", "2", "4", "megatron-distributed-optimizer", SL_RECOMPUTE_FULL, 128, "bf16"},
      {"megatron-deepspeed", "1", "2", "4", "deepspeed-pipeline", SL_RECOMPUTE_FULL, 128, "fp16"},
      {"megatron-deepspeed", "3", "1", "1", "deepspeed-3", SL_RECOMPUTE_FULL, 128, "fp16"},
      {"deepspeed", "2", "1", "1", "deepspeed-2", SL_RECOMPUTE_FULL, 1, "fp16"},
      {"fsdp", "3", "1", "1", "fsdp", SL_RECOMPUTE_NONE, 1, "fp16"},
      {"fsdp", "2", "1", "1", "fsdp-shard-grad-op", SL_RECOMPUTE_NONE, 1, "fp16"},
      {"fsdp", "3", "2", "1", "fsdp2", SL_RECOMPUTE_NONE, 1, "fp16"},
      {"torchtitan", "2", "1", "4", "fsdp2-no-reshard", SL_RECOMPUTE_NONE, 1, "fp16"},
      {"ddp", "0", "1", "1", "ddp", SL_RECOMPUTE_NONE, 1, "fp16"},
      {"nanotron", "0", "2", "4", "nanotron", SL_RECOMPUTE_NONE, 1, "fp16"},
      {"nanotron", "1", "2", "4", "nanotron-zero1", SL_RECOMPUTE_NONE, 1, "fp16"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct sl_table_inputs in = inputs_of(CHANGES(
        "framework", rows[i].framework, "zero_stage", rows[i].stage, "tp", rows[i].tp, "pp", rows[i].pp, "dp", "",
        "grad_accum", "5", "global_batch_seqs", "", "recompute", "unknown", "precision", rows[i].precision));
    assert_string_equal(in.config.sl.preset, rows[i].preset);
    assert_int_equal(in.config.sl.recompute[0], rows[i].recompute);
    assert_int_equal(in.config.sl.vocab_multiple, rows[i].multiple);
    done(&in);
  }
}

/* Megatron-LM in fp16 and DeepSpeed scatter a pipeline's messages over tp ranks. */
static void frameworks_behave_as_they_do(void **state) {
  (void)state;
  static const struct {
    const char *framework, *stage, *precision, *fused_norm, *kernels;
    bool scatters;
  } rows[] = {
      {"megatron", "0", "fp16", "1", "megatron-unfused", true},
      {"megatron", "0", "bf16", "0", "megatron-unfused", false},
      {"megatron-deepspeed", "1", "fp16", "1", "megatron-unfused", true},
      {"nanotron", "1", "bf16", "1", "nanotron", false},
      {"torchtitan", "3", "bf16", "0", "torch-eager", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct sl_table_inputs in =
        inputs_of(CHANGES("framework", rows[i].framework, "zero_stage", rows[i].stage, "arch", "llama", "precision",
                          rows[i].precision, "fused_norm", rows[i].fused_norm, "d_ff", "4096", "tied_embeddings", "0"));
    assert_string_equal(sl_kernel_set(in.config.sl.kernels)->name, rows[i].kernels);
    assert_int_equal(in.config.sl.fused_norm, rows[i].fused_norm[0] == '1');
    assert_int_equal(in.config.sl.scatter_gather, rows[i].scatters);
    assert_int_equal(in.config.sl.launch_blocking, strcmp(rows[i].framework, "megatron-deepspeed") == 0);
    done(&in);
  }
}

/* DeepSpeed adds gradients up and reduces them in fp32 beside bf16 parameters, in fp16 beside fp16 ones. */
static void sums_of_deepspeed_by_precision(void **state) {
  (void)state;
  static const enum sl_dtype types[] = {SL_F16, SL_F32, SL_F16, SL_F32};
  for (int i = 0; i < 4; i++) {
    struct sl_strategy s;
    struct sl_table_inputs in = inputs_of(CHANGES("framework", "megatron-deepspeed", "zero_stage", i < 2 ? "1" : "0",
                                                  "precision", i % 2 == 0 ? "fp16" : "bf16"));
    assert_int_equal(in.config.grad_accum_dtype, types[i]);
    assert_int_equal(in.config.communication_data_type, types[i]);
    assert_string_equal(in.config.sl.preset, "deepspeed-pipeline");
    assert_true(in.config.gradient_clipping == 1);
    assert_int_equal(sl_strategy_choose(&s, &in.config, 4), SL_OK);
    assert_int_equal(in.config.grad_accum_dtype, types[i]);
    assert_int_equal(s.shard_optimizer, i != 2);
    done(&in);
  }
}

/* Embedding and head count as a layer each where only so the pipeline of DeepSpeed comes out even. */
static void deepspeed_counts_its_ends(void **state) {
  (void)state;
  static const int64_t want[] = {5, 6, 6, 5};
  struct sl_table_inputs in = inputs_of(CHANGES("framework", "megatron-deepspeed", "n_layers", "22"));
  assert_int_equal(in.config.sl.stages_by, SL_STAGES_LIST);
  assert_int_equal(in.config.sl.stage_count, 4);
  for (int i = 0; i < 4; i++) assert_int_equal(in.config.sl.stage_layers[i], want[i]);
  done(&in);
  in = inputs_of(CHANGES("framework", "megatron-deepspeed"));
  assert_int_equal(in.config.sl.stages_by, SL_STAGES_UNIFORM);
  done(&in);
  static const int64_t filled[] = {6, 6, 6, 3};
  in = inputs_of(CHANGES("framework", "megatron-deepspeed", "n_layers", "21"));
  assert_int_equal(in.config.sl.stages_by, SL_STAGES_LIST);
  for (int i = 0; i < 4; i++) assert_int_equal(in.config.sl.stage_layers[i], filled[i]);
  done(&in);
}

/* What ran in an installation of its own framework is what its rows call megatron. Embedding, last norm and head are
 * dealt to the stages beside the blocks. */
static void installations_have_frameworks(void **state) {
  (void)state;
  const char *const row[] = {"cluster", "alephalpha-a100", "gpu", "a100-sxm-80g", "arch", "llama",      "precision",
                             "bf16",    "n_layers",        "40",  "tp",           "2",    "zero_stage", "1",
                             NULL};
  static const int64_t want[] = {10, 11, 11, 8}; /* of 43: 11, 11, 11, 10 */
  struct sl_table_inputs in = inputs_of(row);
  assert_string_equal(in.config.sl.preset, "aleph-alpha-scaling");
  assert_int_equal(in.config.sl.kernels, SL_KERNELS_ALEPH_ALPHA_SCALING);
  assert_int_equal(in.config.sl.stage_count, 4);
  for (int i = 0; i < 4; i++) assert_int_equal(in.config.sl.stage_layers[i], want[i]);
  done(&in);
  in = inputs_of(CHANGES("cluster", "alephalpha-a100", "gpu", "a100-sxm-80g", "precision", "bf16", "zero_stage", "0"));
  assert_string_equal(in.config.sl.preset, "megatron-lm"); /* it has no such sharding */
  done(&in);
}

/* A pipeline of nanotron is cut by cost, and may have more ranks than layers. */
static void nanotron_cuts_by_cost(void **state) {
  (void)state;
  struct sl_prediction p;
  struct sl_table_inputs in =
      inputs_of(CHANGES("framework", "nanotron", "arch", "llama", "n_layers", "5", "tp", "1", "pp", "8"));
  assert_int_equal(in.config.sl.stages_by, SL_STAGES_COST);
  if (sl_predict_step(&p, &in.model, &in.config, &in.cluster, in.world) != SL_OK) fail_msg("%s", sl_error_message());
  done(&in);
  in = inputs_of(CHANGES("n_layers", "5", "tp", "1", "pp", "8"));
  assert_int_equal(sl_predict_step(&p, &in.model, &in.config, &in.cluster, in.world), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "shardlab.pp: 8 pipeline stages for the 5 layers"));
  done(&in);
}

/* torchtitan's have that of the rank that needs most. Its stages are cut by its own rule, and its "selective" is by
 * op. */
static void torchtitan_has_ways_of_its_own(void **state) {
  (void)state;
  static const int64_t thin[] = {4, 5, 5, 4};
  struct sl_prediction p;
  struct sl_table_inputs in = inputs_of(CHANGES("framework", "torchtitan", "zero_stage", "3", "arch", "llama",
                                                "recompute", "selective", "n_layers", "18", "fused_norm", "1"));
  assert_int_equal(in.config.sl.recompute[0], SL_RECOMPUTE_SELECTIVE_OP);
  assert_int_equal(in.config.sl.kernels, SL_KERNELS_TORCH_COMPILE_BLOCKS);
  assert_int_equal(in.config.sl.stage_count, 4);
  for (int i = 0; i < 4; i++) assert_int_equal(in.config.sl.stage_layers[i], thin[i]);
  assert_int_equal(in.memory, SL_MEMORY_LOGGED_MOST);
  assert_int_equal(sl_predict_step(&p, &in.model, &in.config, &in.cluster, in.world), SL_OK);
  assert_true(p.most_logged_bytes >= p.logged_bytes);
  assert_true(p.most_logged_bytes < p.memory_bytes - in.cluster.device.context_bytes);
  done(&in);
}

/* Its ends count as a layer each since April 2025. */
static void torchtitan_counts_its_ends(void **state) {
  (void)state;
  static const struct {
    const char *version, *layers;
    int64_t want[4];
  } rows[] = {{"2025-03", "18", {4, 5, 5, 4}},
              {"2025-05", "18", {4, 5, 5, 4}},
              {"2025-07", "32", {8, 9, 8, 7}},
              {"2026-01", "22", {5, 6, 6, 5}},
              {"2026-01", "23", {6, 6, 6, 5}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct sl_table_inputs in =
        inputs_of(CHANGES("framework", "torchtitan", "zero_stage", "3", "arch", "llama", "n_layers", rows[i].layers,
                          "fused_norm", "1", "framework_version", rows[i].version));
    assert_int_equal(in.config.sl.stage_count, 4);
    for (int k = 0; k < 4; k++) assert_int_equal(in.config.sl.stage_layers[k], rows[i].want[k]);
    done(&in);
  }
}

/* Megatron-LM runs on Transformer Engine where a row says so by its precision, attention, version or framework's name, or
 * by a GPU that came when it was there. */
static void megatron_on_transformer_engine(void **state) {
  (void)state;
  static const struct {
    const char *framework, *gpu, *precision, *attention, *version, *kernels;
  } rows[] = {
      {"megatron", "a100-sxm-80g", "bf16", "flash2", "", "megatron-unfused"},
      {"megatron", "a100-sxm-80g", "bf16", "cudnn", "", "megatron-core"},
      {"megatron", "a100-sxm-80g", "fp8", "flash2", "", "megatron-core"},
      {"megatron", "a100-sxm-80g", "bf16", "flash2", "2024-03", "megatron-core"},
      {"megatron-lm", "a100-sxm-80g", "bf16", "flash2", "2023-03", "megatron-unfused"},
      {"nemo", "a100-sxm-80g", "bf16", "flash2", "", "megatron-core"},
      {"nemo", "a100-sxm-80g", "bf16", "flash2", "2022-03", "megatron-unfused"},
      {"megatron", "h100-sxm-80g", "bf16", "flash2", "", "megatron-core"},
      {"megatron", "h100-sxm-80g", "bf16", "flash2", "2023-03", "megatron-unfused"},
      {"megatron-core", "b200", "bf16", "flash2", "", "megatron-core"},
      {"megatron", "mi300x", "bf16", "flash2", "", "megatron-core"},
      {"nemo", "h100-sxm-80g", "fp8", "cudnn", "", "megatron-core"},
      {"megatron-bridge", "h100-sxm-80g", "fp8", "cudnn", "", "megatron-core"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct sl_table_inputs in = inputs_of(
        CHANGES("framework", rows[i].framework, "cluster", "", "gpu", rows[i].gpu, "gpus_per_node", "8", "precision",
                rows[i].precision, "attention", rows[i].attention, "framework_version", rows[i].version, "arch",
                "llama", "d_ff", "4096", "zero_stage", "1", "grad_reduce_dtype", i == 5 ? "bf16" : ""));
    assert_string_equal(sl_kernel_set(in.config.sl.kernels)->name, rows[i].kernels);
    const bool nemo = strcmp(rows[i].framework, "nemo") == 0 || strcmp(rows[i].framework, "megatron-bridge") == 0;
    assert_int_equal(in.config.sl.cross_entropy_loss_fusion, nemo);
    assert_int_equal(in.config.sl.fp8_param_gather, nemo && strcmp(rows[i].precision, "fp8") == 0);
    assert_string_equal(in.config.sl.preset, "megatron-distributed-optimizer");
    const json_t *sums = sl_config_at(&in.config, "data_types.grad_accum_dtype"); /* unsaid they would be fp32 */
    if (i == 5) assert_string_equal(json_string_value(sums), "bf16");
    done(&in);
  }
}

/* Its embedding and its loss count as a layer each where only so the stages come out even: two layers fewer than stages
 * leave none at the ends. */
static void megatron_counts_its_ends(void **state) {
  (void)state;
  static const int64_t want[] = {5, 6, 6, 5}, thin[] = {0, 1, 1, 1, 1, 1, 1, 0};
  struct sl_table_inputs in = inputs_of(CHANGES("framework", "nemo", "precision", "bf16", "n_layers", "22"));
  assert_int_equal(in.config.sl.stage_count, 4);
  for (int i = 0; i < 4; i++) assert_int_equal(in.config.sl.stage_layers[i], want[i]);
  done(&in);
  in = inputs_of(CHANGES("framework", "nemo", "precision", "bf16", "n_layers", "6", "virtual_stages", "2"));
  assert_int_equal(in.config.sl.stage_count, 8);
  for (int i = 0; i < 8; i++) assert_int_equal(in.config.sl.stage_layers[i], thin[i]);
  done(&in);
  in = inputs_of(CHANGES("framework", "nemo", "precision", "bf16", "n_layers", "21"));
  assert_int_equal(in.config.sl.stages_by, SL_STAGES_UNIFORM);
  done(&in);
}

static void other_names_mean_the_same(void **state) {
  (void)state;
  static const struct {
    const char *framework, *stage, *preset, *kernels;
    bool no_sync; /* accelerator.py, accumulate */
  } rows[] = {{"llm-foundry", "3", "fsdp", "llm-foundry", false},
              {"fsdp2", "3", "fsdp2", "torch-eager", false},
              {"accelerate", "3", "fsdp", "torch-eager", true},
              {"huggingface", "2", "fsdp-shard-grad-op", "torch-eager", true},
              {"huggingface", "0", "ddp", "torch-eager", false},
              {"gpt-neox", "1", "deepspeed-pipeline", "megatron-unfused", false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct sl_table_inputs in = inputs_of(CHANGES(
        "framework", rows[i].framework, "zero_stage", rows[i].stage, "tp", "1", "pp", "1", "dp", "", "grad_accum", "1",
        "global_batch_seqs", "", "arch", "llama", "d_ff", "4096", "precision", "bf16", "fused_norm", "0"));
    assert_string_equal(in.config.sl.preset, rows[i].preset);
    assert_string_equal(sl_kernel_set(in.config.sl.kernels)->name, rows[i].kernels);
    assert_true(in.config.sl.no_sync == rows[i].no_sync);
    done(&in);
  }
}

/* Hybrid sharding is a preset of FSDP's and a size of others; all data-parallel ranks, or no size, mean none. */
static void rows_may_shard_in_groups(void **state) {
  (void)state;
  static const struct {
    const char *framework, *stage, *size, *preset;
    int64_t want;
  } rows[] = {{"fsdp", "3", "4", "fsdp-hybrid-shard", 4},
              {"fsdp", "2", "4", "fsdp-hybrid-shard-zero2", 4},
              {"torchtitan", "3", "4", "fsdp2", 4},
              {"fsdp", "3", "8", "fsdp", 0},
              {"fsdp", "3", "", "fsdp", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct sl_prediction p;
    struct sl_table_inputs in = inputs_of(
        CHANGES("framework", rows[i].framework, "zero_stage", rows[i].stage, "n_gpus", "8", "tp", "1", "pp", "1", "dp",
                "", "grad_accum", "1", "global_batch_seqs", "", "shard_size", rows[i].size, "precision", "bf16"));
    assert_string_equal(in.config.sl.preset, rows[i].preset);
    assert_int_equal(in.config.sl.shard_size, rows[i].want);
    if (sl_predict_step(&p, &in.model, &in.config, &in.cluster, in.world) != SL_OK) fail_msg("%s", sl_error_message());
    done(&in);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frameworks_choose_presets),      cmocka_unit_test(frameworks_behave_as_they_do),
      cmocka_unit_test(sums_of_deepspeed_by_precision), cmocka_unit_test(deepspeed_counts_its_ends),
      cmocka_unit_test(installations_have_frameworks),  cmocka_unit_test(nanotron_cuts_by_cost),
      cmocka_unit_test(torchtitan_has_ways_of_its_own), cmocka_unit_test(megatron_on_transformer_engine),
      cmocka_unit_test(megatron_counts_its_ends),       cmocka_unit_test(other_names_mean_the_same),
      cmocka_unit_test(rows_may_shard_in_groups),       cmocka_unit_test(torchtitan_counts_its_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
