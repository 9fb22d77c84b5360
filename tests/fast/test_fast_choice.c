/* label: unit
   libs: fast
 * What is no choice is refused, and the message names it; what formulas do not cover is played as a whole, and what they do is not. */
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

static const char one_each[] =
    "{\"train_batch_size\": 4, \"shardlab\": {\"pp\": 2, \"recompute\": [\"full\", \"none\"]}}";

static void recomputation_of_ranks_is_named(void **state) {
  struct inputs in;
  (void)state;
  named(open_inputs(&in, "gpt2", one_each, "dgx-a100-80g"), "differs between pipeline ranks");
  close_inputs(&in);
}

/* Of gpt2 on dgx-a100-80g. */
static const struct {
  const char *config;
  struct sl_fast_choice choice;
  bool whole;
} ways[] = {
    {"{}", {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 2}, false},
    {"{}", {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 2, .zero_stage = 1}, false},
    {"{}", {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 2, .zero_stage = 2}, true},
    {"{}", {.world = 2, .tp = 1, .pp = 2, .micro_batch = 1, .n_micro = 2}, false},
    {"{}", {.world = 2, .tp = 1, .pp = 2, .micro_batch = 1, .n_micro = 2, .schedule = SL_FAST_ZB_H1}, true},
    {"{}", {.world = 12, .tp = 3, .pp = 1, .micro_batch = 1, .n_micro = 1}, true},
    {"{\"shardlab\": {\"preset\": \"ddp\"}}", {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 2}, true},
    {"{\"shardlab\": {\"preset\": \"fsdp\"}}", {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 2}, true},
    {"{\"shardlab\": {\"preset\": \"fsdp\"}}", {.world = 1, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 2}, false},
    {"{\"shardlab\": {\"preset\": \"megatron-distributed-optimizer\"}}",
     {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 2},
     true},
    {"{\"shardlab\": {\"kernels\": \"megatron-deepspeed\"}}",
     {.world = 2, .tp = 1, .pp = 2, .micro_batch = 1, .n_micro = 2},
     true},
    {"{\"shardlab\": {\"kernels\": \"megatron-unfused\"}}",
     {.world = 2, .tp = 1, .pp = 2, .micro_batch = 1, .n_micro = 2},
     true},
    {"{\"shardlab\": {\"stages\": \"parameters\"}}",
     {.world = 2, .tp = 1, .pp = 2, .micro_batch = 1, .n_micro = 2},
     true},
    {"{\"shardlab\": {\"rank_order\": \"pp-dp-tp\"}}",
     {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 2},
     true},
};

static void the_way_is_told(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct inputs in;
    struct sl_fast_prediction p;
    assert_int_equal(open_inputs(&in, "gpt2", ways[i].config, "dgx-a100-80g"), SL_OK);
    if (sl_fast_predict(in.fast, &ways[i].choice, &p) != SL_OK) fail_msg("%zu: %s", i, sl_error_message());
    if (p.whole != ways[i].whole) fail_msg("choice %zu: whole is %d", i, p.whole);
    close_inputs(&in);
  }
}

static void choices_are_named(void **state) {
  static const int64_t short_of_one[] = {6, 5}, without_any[] = {12, 0};
  static const struct {
    const char *config, *what;
    struct sl_fast_choice choice;
  } cases[] = {
      {"{}", "does not divide", {.world = 12, .tp = 5, .pp = 1, .micro_batch = 1, .n_micro = 1}},
      {"{}", "13 pipeline stages", {.world = 13, .tp = 1, .pp = 13, .micro_batch = 1, .n_micro = 1}},
      {"{}", "ZeRO stage 4", {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 1, .zero_stage = 4}},
      {"{}",
       "rounds",
       {.world = 4, .tp = 1, .pp = 4, .micro_batch = 1, .n_micro = 13, .schedule = SL_FAST_INTERLEAVED}},
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

/* What has no plan, or no seconds on a device, is refused with the same words when it is asked for again. */
static void refused_again(void **state) {
  static const struct {
    const char *config, *cluster, *what;
    struct sl_fast_choice choice;
  } cases[] = {
      {"{\"bf16\": {\"enabled\": true}}",
       "dgx2-v100",
       "peak_TFLOPS.bf16: is missing",
       {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 2}},
      {"{\"bf16\": {\"enabled\": true}}",
       "dgx2-v100",
       "peak_TFLOPS.bf16: is missing",
       {.world = 2, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 2, .zero_stage = 3}},
      {"{}", "dgx-a100-80g", "12 attention heads", {.world = 8, .tp = 8, .pp = 1, .micro_batch = 1, .n_micro = 2}},
      {"{}",
       "dgx-a100-80g",
       "12 attention heads",
       {.world = 16, .tp = 8, .pp = 1, .micro_batch = 1, .n_micro = 2, .zero_stage = 2}},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct inputs in;
    struct sl_fast_prediction p;
    assert_int_equal(open_inputs(&in, "gpt2", cases[i].config, cases[i].cluster), SL_OK);
    for (int k = 0; k < 3; k++) named(sl_fast_predict(in.fast, &cases[i].choice, &p), cases[i].what);
    close_inputs(&in);
  }
}

/* What is kept of one choice is not taken for another: by its last backward, a host that launches is further ahead of six
 * micro-batches than of two. */
static void a_prediction_is_that_of_its_choice(void **state) {
  static const char host[] = "{\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"reduce_bucket_size\": 5e6}, "
                             "\"shardlab\": {\"seq_len\": 448, \"kernels\": \"torch-compile\"}}";
  struct sl_fast_choice c = {.world = 2, .tp = 1, .pp = 1, .micro_batch = 2, .n_micro = 6};
  struct inputs fresh, used;
  struct sl_fast_prediction expected, p;
  (void)state;
  assert_int_equal(open_inputs(&fresh, "gpt2-medium", host, "dgx-h100"), SL_OK);
  assert_int_equal(open_inputs(&used, "gpt2-medium", host, "dgx-h100"), SL_OK);
  assert_int_equal(sl_fast_predict(fresh.fast, &c, &expected), SL_OK);
  for (c.n_micro = 2; c.n_micro <= 6; c.n_micro += 4) assert_int_equal(sl_fast_predict(used.fast, &c, &p), SL_OK);
  assert_false(p.whole);
  assert_true(p.step_time_s == expected.step_time_s);
  close_inputs(&fresh);
  close_inputs(&used);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recomputation_of_ranks_is_named),
      cmocka_unit_test(the_way_is_told),
      cmocka_unit_test(choices_are_named),
      cmocka_unit_test(refused_again),
      cmocka_unit_test(a_prediction_is_that_of_its_choice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
