/* label: unit
   libs: table
 * Rows of a table and what they become: model, configuration and cluster. */
#include "core/cluster/provenance.h"
#include "core/plan/kernels.h"
#include "table/predict.h"
#include "tests/support/table_row.h"

#include <math.h>
#include <stdlib.h>

static void numbers_reach_their_places(void **state) {
  (void)state;
  struct sl_table_inputs in = inputs_of(USUAL);
  assert_string_equal(table.rows[0].id, "odd, one");
  assert_int_equal(in.world, 16);
  assert_int_equal(in.model.type, SL_MODEL_GPT2);
  assert_int_equal(in.model.n_layer, 24);
  assert_int_equal(in.model.n_embd, 1536);
  assert_int_equal(in.model.n_head, 24);
  assert_int_equal(in.model.n_inner, 6144);
  assert_int_equal(in.model.vocab_size, 51200);
  assert_int_equal(in.model.n_positions, 512);
  assert_true(in.model.tied_head);
  assert_true(in.model.resid_pdrop == 0.1 && in.config.sl.store_dropout_masks);
  assert_int_equal(in.config.sl.tp, 2);
  assert_int_equal(in.config.sl.pp, 4);
  assert_int_equal(in.config.sl.virtual_stages, 1);
  assert_string_equal(in.config.sl.schedule, "1f1b");
  assert_string_equal(in.config.sl.preset, "megatron-local-ddp"); /* as in fp16 */
  assert_int_equal(in.config.sl.vocab_multiple, 128);
  assert_int_equal(in.config.sl.seq_len, 512);
  assert_int_equal(in.config.train_micro_batch_size_per_gpu, 3);
  assert_int_equal(in.config.gradient_accumulation_steps, 5);
  assert_int_equal(in.config.param_dtype, SL_F16);
  assert_int_equal(in.config.sl.recompute[0], SL_RECOMPUTE_FULL);
  assert_int_equal(in.config.sl.attention, SL_ATTENTION_FLASH);
  assert_false(in.config.sl.sequence_parallel);
  assert_string_equal(in.cluster.name, "selene-a100");
  done(&in);
}

static void a_llama_is_a_llama(void **state) {
  (void)state;
  struct sl_table_inputs in = inputs_of(CHANGES("arch", "llama", "n_kv_heads", "6", "d_ff", "4096", "tied_embeddings",
                                                "0", "sequence_parallel", "1", "virtual_stages", "3", "recompute",
                                                "selective", "attention", "materialised_fused_softmax"));
  assert_int_equal(in.model.type, SL_MODEL_LLAMA);
  assert_int_equal(in.model.n_kv_head, 6);
  assert_int_equal(in.model.n_inner, 4096);
  assert_false(in.model.tied_head);
  assert_true(in.model.resid_pdrop == 0);
  assert_true(in.config.sl.sequence_parallel);
  assert_int_equal(in.config.sl.virtual_stages, 3);
  assert_string_equal(in.config.sl.schedule, "interleaved");
  assert_int_equal(in.config.sl.recompute[0], SL_RECOMPUTE_SELECTIVE);
  assert_int_equal(in.config.sl.attention, SL_ATTENTION_MATERIALISED);
  done(&in);
}

static void empty_cells_have_a_meaning(void **state) {
  (void)state;
  struct sl_table_inputs in =
      inputs_of(CHANGES("n_heads", "", "n_kv_heads", "", "d_ff", "", "tied_embeddings", "", "dp", "", "virtual_stages",
                        "", "grad_accum", "", "sequence_parallel", "", "gpus_per_node", "", "cluster", ""));
  assert_int_equal(in.model.n_head, 12); /* 1536 / 128 */
  assert_int_equal(in.model.n_inner, 6144);
  assert_true(in.model.tied_head);
  assert_int_equal(in.config.gradient_accumulation_steps, 5);
  assert_int_equal(in.cluster.devices_per_node, 8);
  assert_string_equal(in.cluster.name, "dgx-a100-80g");
  done(&in);
  in = inputs_of(
      CHANGES("global_batch_seqs", "", "cluster", "somebody's", "gpu", "h100-pcie-80g", "gpus_per_node", "4"));
  assert_string_equal(in.cluster.name, "h100-pcie-8");
  assert_int_equal(in.cluster.devices_per_node, 4);
  assert_int_equal(in.cluster.link[0].span, 4);
  done(&in);
  refuse(CHANGES("d_model", ""), "d_model: is empty; a prediction needs it");
  refuse(CHANGES("n_heads", "", "n_kv_heads", "", "d_model", "1001"), "n_heads: is empty; a prediction needs it");
  in = inputs_of(CHANGES("n_heads", "", "n_kv_heads", "", "tp", "8", "pp", "1", "d_model", "13824"));
  assert_int_equal(in.model.n_head, 96); /* 108 are no multiple of 8 */
  done(&in);
  refuse(CHANGES("arch", "llama", "d_ff", ""), "d_ff: is empty; a prediction needs it");
  refuse(CHANGES("zero_stage", ""), "zero_stage: is empty; a prediction needs it");
}

#define GPUS                                                                                                           \
  "; expected v100, v100-16g, a100-40g, a100-80g, a100-pcie-40g, a100-pcie-80g, h100-sxm-80g, h100-sxm-96g, "          \
  "h100-pcie, "                                                                                                        \
  "h200, b200, b300, gb200, gb300 or mi300x"
static void gpus_choose_clusters(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"v100-sxm2-32g", "dgx2-v100"},
      {"a100-sxm-40g", "dgx-a100-40g"},
      {"a100", "dgx-a100-80g"},
      {"h100-sxm-80g", "dgx-h100"},
      {"h100-sxm-96g", "torchtitan-h100"},
      {"h100-pcie-80g", "h100-pcie-8"},
      {"h200-sxm-141g", "dgx-h200"},
      {"b200-sxm-192g", "dgx-b200"},
      {"gb200-186g", "gb200-nvl72"},
      {"mi300x-192g", "mi300x-8"},
      {"H100-PCIe-80GB", "h100-pcie-8"},
      {"a100-pcie-80g", "a100-pcie-8"},
      {"A100-PCIE-40GB", "a100-pcie-40g-8"},
      {"v100-sxm-16g", "dgx1-v100"},
      {"b300", "dgx-b300"},
      {"gb300", "gb300-nvl72"},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct sl_table_inputs in = inputs_of(CHANGES("cluster", "unheard of", "gpu", names[i][0], "gpus_per_node", ""));
    assert_string_equal(in.cluster.name, names[i][1]);
    done(&in);
  }
  refuse(CHANGES("gpu", "v100-sxm-64g"),
         "gpu: \"v100-sxm-64g\" has no description in profiles/devices" GPUS ", or a cluster's file");
  refuse(CHANGES("gpu", "h1000-80g"),
         "gpu: \"h1000-80g\" has no description in profiles/devices" GPUS ", or a cluster's file");
}

/* A row's network takes the place of its cluster's, shared by a node's devices; NVLink stays. */
static void rows_may_name_their_network(void **state) {
  (void)state;
  struct sl_table_inputs in = inputs_of(USUAL);
  const double near = in.cluster.link[0].bandwidth;
  assert_true(in.cluster.link[1].bandwidth > 10e9);
  done(&in);
  in = inputs_of(CHANGES("node_gbps", "100"));
  assert_int_equal(in.cluster.n_link, 2);
  assert_true(fabs(in.cluster.link[1].bandwidth - 1.5e9) < 1);
  assert_true(in.cluster.link[0].bandwidth == near);
  done(&in);
}

static void types_of_numbers(void **state) {
  (void)state;
  struct sl_table_inputs in =
      inputs_of(CHANGES("framework", "fsdp", "zero_stage", "3", "tp", "1", "pp", "1", "dp", "16", "global_batch_seqs",
                        "", "precision", "fp8", "grad_reduce_dtype", "fp32"));
  assert_int_equal(in.config.param_dtype, SL_BF16);
  assert_int_equal(sl_config_product_dtype(&in.config), SL_F8);
  assert_int_equal(in.config.communication_data_type, SL_F32);
  assert_int_equal(in.config.grad_accum_dtype, SL_F32);
  done(&in);
  in = inputs_of(CHANGES("framework", "fsdp", "zero_stage", "3", "tp", "1", "pp", "1", "dp", "16", "global_batch_seqs",
                         "", "precision", "bf16", "grad_reduce_dtype", "bf16"));
  assert_int_equal(in.config.communication_data_type, SL_BF16);
  assert_int_equal(sl_config_product_dtype(&in.config), SL_BF16);
  done(&in);
  in = inputs_of(CHANGES("precision", "tf32"));
  assert_int_equal(sl_config_product_dtype(&in.config), SL_TF32);
  done(&in);
  in = inputs_of(CHANGES("framework", "ddp", "zero_stage", "0", "tp", "1", "pp", "1", "dp", "16", "global_batch_seqs",
                         "", "precision", "fp16-autocast"));
  assert_int_equal(in.config.param_dtype, SL_F32);
  assert_int_equal(in.config.autocast_dtype, SL_F16);
  done(&in);
  refuse(CHANGES("precision", "bf16", "grad_reduce_dtype", "bf16"),
         "grad_reduce_dtype: is bf16; megatron is modelled with fp32 alone");
}

static void rows_that_cannot_be(void **state) {
  (void)state;
  refuse(CHANGES("arch", "bert"), "arch: is \"bert\"; expected one of gpt, llama, nemotron");
  refuse(CHANGES("attention", "flash9"),
         "attention: is \"flash9\"; expected one of materialised, materialised_fused_softmax, flash1, flash2, flash3, "
         "cudnn");
  refuse(CHANGES("recompute", ""), "recompute: is \"\"; expected one of none, selective, full, unknown");
  refuse(CHANGES("framework", "fsdpp"),
         "framework: is \"fsdpp\"; expected megatron, megatron-deepspeed, deepspeed, fsdp, "
         "torchtitan, nanotron, ddp, accelerate or aleph-alpha-scaling; did you mean fsdp?");
  refuse(CHANGES("zero_stage", "2"), "zero_stage: is 2; megatron has no such sharding");
  refuse(CHANGES("dp", "3"), "n_gpus: is 16; expected tp 2 x pp 4 x dp 3 = 24");
  refuse(CHANGES("tp", "65536", "pp", "65536", "dp", "1048576"),
         "n_gpus: is 16; expected tp 65536 x pp 65536 x dp 1048576 = 4503599627370496");
  refuse(CHANGES("global_batch_seqs", "31"), "global_batch_seqs: is 31; expected micro_batch 3 x grad_accum 5 x dp 2");
  refuse(CHANGES("n_kv_heads", "12"), "n_kv_heads: is 12; expected the 24 heads: a gpt has no grouped attention");
  refuse(CHANGES("gpu", "h200-sxm-141g"), "gpu: is h200-sxm-141g; cluster selene-a100 has A100-SXM4-80GB");
  refuse(CHANGES("gpu", "a100-sxm-4294967376g"), /* 2^32 + 80 */
         "gpu: \"a100-sxm-4294967376g\" has no description in profiles/devices" GPUS ", or a cluster's file");
  refuse(CHANGES("gpu", "tpu"), "gpu: \"tpu\" has no description in profiles/devices" GPUS ", or a cluster's file");
  refuse(CHANGES("gpu", "", "cluster", "nowhere"),
         "cluster: \"nowhere\" is not known, and there is no gpu to choose one by" GPUS
         " as gpu, or the cluster's name (`shardlab show presets`) or file");
}

static void broken(const char *whole, const char *message) {
  sl_error_clear();
  assert_int_equal(sl_table_parse(&table, "t.csv", whole, strlen(whole)), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), message);
  assert_null(table.rows);
}

/* A table that is none is one error; nothing of it is predicted. */
static void broken_tables_say_where(void **state) {
  (void)state;
  text[0] = '\0';
  put_names(text, "pp");
  put_cells(text, USUAL);
  broken(text, "t.csv:2:1: has 30 cells; expected 29, one a column of the first line");
  text[0] = '\0';
  put_names(text, "pp");
  broken(text, "t.csv:1:1: column pp is missing; expected it in the first line: pipeline ranks "
               "('shardlab show columns' lists all)");
  text[0] = '\0'; /* a name of the reader's own is none of the table's, one that misspells an optional column is */
  put_names(text, NULL);
  strcpy(strchr(text, '\n'), ",shard_sizes\n");
  const int at = (int)(strstr(text, "shard_sizes") - text) + 1;
  char message[128];
  snprintf(message, sizeof message, "t.csv:1:%d: column shard_sizes: is not known; did you mean shard_size?", at);
  broken(text, message);
  strcpy(strstr(text, "shard_sizes"), "my_own_remark\n");
  assert_int_equal(sl_table_parse(&table, "t.csv", text, strlen(text)), SL_OK);
  sl_table_free(&table);
  assert_int_equal(read_row(CHANGES("tp", "two")), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), ": tp: is \"two\"; expected a whole number from 1 to 65536, or nothing"));
  assert_memory_equal(sl_error_message(), "t.csv:2:", 8);
  assert_int_equal(read_row(CHANGES("seq_len", "1.5")), SL_ERR_INPUT);
  assert_int_equal(read_row(CHANGES("seq_len", "0")), SL_ERR_INPUT);
  assert_int_equal(read_row(CHANGES("seq_len", "nan")), SL_ERR_INPUT);
  assert_int_equal(read_row(CHANGES("seq_len", "1e300")), SL_ERR_INPUT);
  assert_int_equal(read_row(CHANGES("id", "")), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "t.csv:2:1: id: is empty; expected a name for each row");
  text[0] = '\0';
  put_names(text, NULL);
  put_cells(text, USUAL);
  put_cells(text, CHANGES("id", "another"));
  put_cells(text, USUAL);
  broken(text, "t.csv:4:1: id: is \"odd, one\", as in line 2; expected a name of its own");
}

/* A framework's allocator gives back what it does not use before it runs out: a little less memory than it would
 * reserve is enough. More memory never turns what fits into what does not, and what fits is within the memory. */
static void more_memory_always_fits(void **state) {
  (void)state;
  struct sl_table_inputs in = inputs_of(USUAL);
  struct sl_prediction p;
  bool fitted = false;
  assert_int_equal(sl_predict_step(&p, &in.model, &in.config, &in.cluster, in.world), SL_OK);
  const int64_t whole = p.memory_bytes;
  for (int i = 0; i <= 24; i++) {
    in.cluster.device.memory = whole / 2 + whole * i / 40;
    assert_int_equal(sl_predict_step(&p, &in.model, &in.config, &in.cluster, in.world), SL_OK);
    assert_true(p.fits == (p.memory_bytes <= in.cluster.device.memory));
    assert_true(p.fits || !fitted);
    fitted = p.fits;
  }
  assert_true(fitted && p.memory_bytes == whole);
  done(&in);
}

/* nanotron's tables have what PyTorch on rank 0 counts: no context, and of a pipeline not the stage that needs most. */
static void rank_0_logs_its_memory(void **state) {
  (void)state;
  struct sl_table_inputs in = inputs_of(CHANGES("framework", "nanotron"));
  struct sl_prediction p;
  assert_int_equal(in.memory, SL_MEMORY_LOGGED_FIRST);
  assert_int_equal(sl_predict_step(&p, &in.model, &in.config, &in.cluster, in.world), SL_OK);
  assert_true(p.logged_bytes > 0 && p.logged_bytes + in.cluster.device.context_bytes <= p.memory_bytes);
  struct sl_prediction more;
  in.cluster.device.communicator_bytes += 1 << 20;
  assert_int_equal(sl_predict_step(&more, &in.model, &in.config, &in.cluster, in.world), SL_OK);
  assert_true(more.logged_bytes == p.logged_bytes && more.memory_bytes >= p.memory_bytes + (3 << 20));
  done(&in);
  in = inputs_of(USUAL);
  assert_int_equal(in.memory, SL_MEMORY_OF_DEVICE);
  done(&in);
}

/* Columns that may be missing: as if their cells were empty; else they are read. */
static void columns_that_may_be_missing(void **state) {
  (void)state;
  text[0] = '\0';
  put_names(text, NULL);
  text[strlen(text) - 1] = '\0';
  strcat(text, ",framework_version,cp\n");
  put_cells(text, CHANGES("framework", "torchtitan", "zero_stage", "3", "arch", "llama", "fused_norm", "1"));
  text[strlen(text) - 1] = '\0';
  strcat(text, ",2025-06,2\n");
  assert_int_equal(sl_table_parse(&table, "t.csv", text, strlen(text)), SL_OK);
  assert_int_equal(table.rows[0].cp, 2);
  assert_string_equal(table.rows[0].framework_version, "2025-06");
  assert_int_equal(table.rows[0].async_tp, SL_TABLE_UNKNOWN);
  assert_string_equal(table.rows[0].fp8_recipe, "");
  table.rows[0].cp = 1;
  struct sl_table_inputs in;
  if (sl_table_inputs(&in, &table.rows[0], NULL) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(in.config.sl.kernels, SL_KERNELS_TORCH_COMPILE);
  sl_table_inputs_free(&in);
  struct sl_table_row *row = &table.rows[0];
  row->tp = row->pp = row->cp = 1 << 16, row->dp = 1 << 20; /* 2^68 ranks */
  assert_int_equal(sl_table_inputs(&in, row, NULL), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(),
                      "n_gpus: is 16; expected tp 65536 x pp 65536 x cp 65536 x dp 1048576 = 2^63 or more");
  sl_table_free(&table);
}

/* The prediction of a row is that of the command: the same function of plan, program and clock. */
static void a_prediction_adds_up(void **state) {
  (void)state;
  struct sl_table_inputs in = inputs_of(USUAL);
  struct sl_prediction p, more;
  if (sl_predict_step(&p, &in.model, &in.config, &in.cluster, in.world) != SL_OK) fail_msg("%s", sl_error_message());
  assert_true(p.step_s > 0 && p.compute_s > 0 && p.compute_s < p.step_s);
  assert_true(p.bubble_s > 0 && p.exposed_tp_s > 0 && p.optimizer_s > 0);
  assert_true(p.fits && p.memory_bytes > in.cluster.device.context_bytes);
  const double scatter = in.cluster.device.formula_scatter, sd = log(p.high_s / p.step_s) / 1.645;
  assert_true(scatter > 0.01 && sd > 1.1 * scatter && sd < 0.5); /* what fitted numbers leave open of so small a step */
  assert_true(fabs(p.step_s / p.low_s - p.high_s / p.step_s) < 1e-9);
  sl_annotation_set_all(in.cluster.annotations, "as if nothing was fitted");
  assert_int_equal(sl_predict_step(&more, &in.model, &in.config, &in.cluster, in.world), SL_OK);
  const double away = in.cluster.device.installation_scatter;
  const double wide = log(more.high_s / more.step_s) / 1.645; /* the kernel set's own error is left */
  assert_true(away > 1.5 * scatter && wide >= away && wide < 1.1 * away);
  in.cluster.device.installation_scatter = in.cluster.device.formula_scatter = 0; /* a GPU of which nothing is known */
  assert_int_equal(sl_predict_step(&more, &in.model, &in.config, &in.cluster, in.world), SL_OK);
  assert_true(fabs(log(more.high_s / more.step_s) / 1.645 - SL_STEP_ERROR_UNKNOWN) < 1e-9);
  in.cluster.device.memory = p.memory_bytes / 2;
  struct sl_op_cost elsewhere = {.kind = SL_OP_GEMM, .dtype = SL_F64, .ranks = 1, .seconds = {[SL_TERM_LAUNCH] = 1}};
  in.cluster.op_costs = (struct sl_op_costs){.items = &elsewhere, .count = 1}; /* a profile that knows its errors */
  assert_int_equal(sl_predict_step(&more, &in.model, &in.config, &in.cluster, in.world), SL_OK);
  assert_false(more.fits);
  assert_true(more.step_s == p.step_s && more.memory_bytes <= p.memory_bytes);
  assert_true(more.memory_bytes > in.cluster.device.memory);
  assert_true(more.low_s > 0 && more.low_s < p.step_s && more.high_s > p.step_s);
  in.cluster.op_costs = (struct sl_op_costs){0};
  done(&in);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_reach_their_places),  cmocka_unit_test(a_llama_is_a_llama),
      cmocka_unit_test(empty_cells_have_a_meaning),  cmocka_unit_test(gpus_choose_clusters),
      cmocka_unit_test(rows_may_name_their_network), cmocka_unit_test(types_of_numbers),
      cmocka_unit_test(columns_that_may_be_missing), cmocka_unit_test(rows_that_cannot_be),
      cmocka_unit_test(broken_tables_say_where),     cmocka_unit_test(a_prediction_adds_up),
      cmocka_unit_test(more_memory_always_fits),     cmocka_unit_test(rank_0_logs_its_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
