/* label: cli
 * ZeRO++'s quantised transfers are predicted as they are measured: calls, bytes and wire of every rank, the order of
 * calls and the arenas, on 4 ranks that are two nodes of two, beside what else may be asked for. */
#include "tests/support/cli_run.h"

#include <jansson.h>

#define GATHER "\"stage3_param_persistence_threshold\": 100, \"stage3_max_reuse_distance\": 0, "
#define QUANTIZED "\"zero_quantized_weights\": true, \"zero_quantized_gradients\": true"
#define BOTH GATHER QUANTIZED

static const struct {
  const char *zero, *rest, *sl;
  bool exchanges; /* gradients: else weights alone */
} cases[] = {
    {BOTH, "", "\"preset\": \"deepspeed-3\", ", true},
    {BOTH ", \"zero_hpz_partition_size\": 2, \"overlap_comm\": false", "\"bf16\": {\"enabled\": true}, ", "", true},
    {BOTH, "\"communication_data_type\": \"fp32\", \"fp16\": {\"enabled\": true}, ", "", true},
    {GATHER "\"zero_quantized_weights\": true", "", "\"tp\": 2, ", false},
    {GATHER "\"zero_quantized_weights\": true, \"zero_hpz_partition_size\": 2", "",
     "\"pp\": 2, \"virtual_stages\": 2, \"schedule\": \"interleaved\", \"unshard_ahead\": 1, ", false},
};

static void write_config(int at) {
  char path[600];
  snprintf(path, sizeof path, "%s/c.json", scratch);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f,
          "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 2, %s\"optimizer\": {\"type\": "
          "\"AdamW\"}, \"zero_optimization\": {\"stage\": 3, %s}, \"shardlab\": {%s\"seq_len\": 16}}",
          cases[at].rest, cases[at].zero, cases[at].sl);
  assert_int_equal(fclose(f), 0);
}

static void measured_as_predicted(void **state) {
  (void)state;
  for (size_t i = 0; has_host() && i < sizeof cases / sizeof *cases; i++) {
    write_config((int)i);
    const int code = shardlab(scratch,
                              "validate --model %s/tests/mpi/gpt2_deep_narrow.json --config c.json --world 4 --steps 2 "
                              "--cluster %s/tests/mpi/nodes_of_two.json --data %s/examples/corpus.txt",
                              SL_SOURCE_DIR, SL_SOURCE_DIR, SL_SOURCE_DIR);
    if (code != 0) fail_msg("case %zu: %d\n%s%s", i, code, out, err);
    assert_true(lines_with(out, "shard all_gather parameter uint8 wire") == 1);
    assert_int_equal(lines_with(out, "node all_to_all gradient wire"), cases[i].exchanges);
    assert_int_equal(lines_with(out, "across all_to_all gradient wire"), cases[i].exchanges);
  }
}

/* On one node gradients are reduced as without the key, and that is said. */
static void one_node_quantises_no_gradient(void **state) {
  (void)state;
  write_config(0);
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --config c.json --world 4 --json p.json"), 0);
  if (strstr(err, "zero_optimization.zero_quantized_gradients: quantises nothing on one node") == NULL)
    fail_msg("%s", err);
  assert_null(strstr(out, "all_to_all"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(measured_as_predicted),
                                     cmocka_unit_test(one_node_quantises_no_gradient)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
