/* label: unit
   libs: fast
 * What the fast clock does not cover is refused, and the message names it. */
#include "fast/fast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct inputs {
  struct sl_model model;
  struct sl_config config;
  struct sl_cluster cluster;
  struct sl_fast *fast;
};

static enum sl_status open_inputs(struct inputs *in, const char *model, const char *config, const char *cluster) {
  memset(in, 0, sizeof *in);
  assert_int_equal(sl_model_load(&in->model, model), SL_OK);
  assert_int_equal(sl_config_parse(&in->config, "test.json", config, strlen(config), false), SL_OK);
  assert_int_equal(sl_cluster_load(&in->cluster, cluster), SL_OK);
  return sl_fast_open(&in->fast, &in->model, &in->config, &in->cluster);
}

static void close_inputs(struct inputs *in) {
  sl_fast_close(in->fast);
  sl_cluster_free(&in->cluster);
  sl_config_free(&in->config);
  sl_model_free(&in->model);
}

static void named(enum sl_status status, const char *what) {
  assert_int_equal(status, SL_ERR_INPUT);
  if (strstr(sl_error_message(), what) == NULL) fail_msg("\"%s\" does not name %s", sl_error_message(), what);
  sl_error_clear();
}

static void inputs_are_named(void **state) {
  static const char *const cases[][4] = {
      {"gpt2", "{\"train_batch_size\": 4}", "localhost", "cpu"},
      {"gpt2", "{\"train_batch_size\": 4, \"shardlab\": {\"recompute\": \"full\", \"recompute_every\": 2}}",
       "dgx-a100-80g", "recompute_every"},
      {"gpt2", "{\"train_batch_size\": 4, \"shardlab\": {\"kernels\": \"torch-compile-blocks\"}}", "dgx-a100-80g",
       "beside the optimizer"},
      {"gpt2", "{\"train_batch_size\": 4, \"shardlab\": {\"rank_order\": \"pp-dp-tp\"}}", "dgx-a100-80g", "rank_order"},
      {"gpt2",
       "{\"train_batch_size\": 4, \"shardlab\": {\"schedule\": \"interleaved\", \"pp\": 2, \"virtual_stages\": 2}}",
       "dgx-a100-80g", "virtual_stages"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct inputs in;
    named(open_inputs(&in, cases[i][0], cases[i][1], cases[i][2]), cases[i][3]);
    close_inputs(&in);
  }
}

static void choices_are_named(void **state) {
  static const int64_t short_of_one[] = {6, 5}, without_any[] = {12, 0};
  static const struct {
    const char *config, *what;
    struct sl_fast_choice choice;
  } cases[] = {
      {"{\"shardlab\": {\"stages\": \"parameters\"}}",
       "stage_layers",
       {.world = 2, .tp = 1, .pp = 2, .micro_batch = 1, .n_micro = 1}},
      {"{}", "ZeRO stages 2 and 3", {.world = 8, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 1, .zero_stage = 2}},
      {"{\"shardlab\": {\"kernels\": \"megatron-unfused\"}}",
       "comm_compute_share",
       {.world = 2, .tp = 1, .pp = 2, .micro_batch = 1, .n_micro = 1}},
      {"{\"shardlab\": {\"kernels\": \"nanotron\"}}",
       "16-bit gradients",
       {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 1}},
      {"{\"shardlab\": {\"launch_blocking\": true}}",
       "launch_blocking",
       {.world = 2, .tp = 2, .pp = 1, .micro_batch = 1, .n_micro = 1}},
      {"{}",
       "selective_op",
       {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 1, .recompute = SL_RECOMPUTE_SELECTIVE_OP}},
      {"{}", "differently", {.world = 12, .tp = 3, .pp = 1, .micro_batch = 1, .n_micro = 1}},
      {"{}", "does not divide", {.world = 12, .tp = 5, .pp = 1, .micro_batch = 1, .n_micro = 1}},
      {"{}", "13 pipeline stages", {.world = 13, .tp = 1, .pp = 13, .micro_batch = 1, .n_micro = 1}},
      {"{\"shardlab\": {\"preset\": \"fsdp\"}}",
       "sharded gradients",
       {.world = 8, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 1}},
      {"{\"shardlab\": {\"preset\": \"aleph-alpha-scaling\"}}",
       "wait for the last backward",
       {.world = 8, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 1}},
      {"{\"shardlab\": {\"kernels\": \"aleph-alpha-scaling\"}}",
       "gather the logits",
       {.world = 2, .tp = 2, .pp = 1, .micro_batch = 1, .n_micro = 1}},
      {"{\"shardlab\": {\"preset\": \"megatron-distributed-optimizer\"}}",
       "buckets",
       {.world = 8, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 1}},
      {"{}",
       "add up to 11",
       {.world = 2, .tp = 1, .pp = 2, .micro_batch = 1, .n_micro = 1, .stage_layers = short_of_one}},
      {"{}",
       "stage 1 has 0",
       {.world = 2, .tp = 1, .pp = 2, .micro_batch = 1, .n_micro = 1, .stage_layers = without_any}},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct inputs in;
    struct sl_fast_prediction p;
    assert_int_equal(open_inputs(&in, "gpt2", cases[i].config, "dgx-a100-80g"), SL_OK);
    named(sl_fast_predict(in.fast, &cases[i].choice, &p), cases[i].what);
    close_inputs(&in);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(inputs_are_named),
      cmocka_unit_test(choices_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
