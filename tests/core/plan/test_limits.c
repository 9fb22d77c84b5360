/* label: unit
 * Numbers that are too large: products and sums saturate, and every limit of a micro-batch, a step, a buffer and a
 * rank's memory is refused at its first value beyond, with the key, the value and the limit, however far that value is
 * from fitting. */
#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/lower/build.h"
#include "core/op/workspace.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void numbers_that_do_not_fit_saturate(void **state) {
  (void)state;
  assert_int_equal(sl_product(3037000499, 3037000499), INT64_C(9223372030926249001));
  assert_true(sl_product(3037000500, 3037000500) == SL_HUGE);
  assert_true(sl_product(INT64_C(1) << 55, INT64_C(1) << 9) == SL_HUGE); /* 2^64, which wraps to 0 */
  assert_int_equal(sl_product(SL_HUGE, 0), 0);
  assert_true(sl_sum(SL_HUGE - 7, 8) == SL_HUGE);
  assert_true(sl_sum(sl_product(SL_HUGE, 3), 5) == SL_HUGE);
  assert_string_equal(sl_count_text(SL_HUGE).text, "2^63 or more");
  assert_string_equal(sl_count_text(77).text, "77");
}

static const char *const mlp = "{\"model_type\": \"mlp\", \"dims\": [6, 10, 4]}";
static const char *const wide = "{\"model_type\": \"mlp\", \"dims\": [4194304, 4194304, 4194304, 4194304, 4194304]}";
static const char *const gpt2 =
    "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 64, \"n_head\": 8, \"vocab_size\": 131, "
    "\"n_positions\": 67108864}";
static const char *const large = "{\"model_type\": \"gpt2\", \"n_layer\": 64, \"n_embd\": 1048576, \"n_head\": 64, "
                                 "\"n_inner\": 4194304, \"vocab_size\": 131, \"n_positions\": 67108864}";

/* 31 linears. */
#define FOUR "4194304, 4194304, 4194304, 4194304, "
static const char *const deep =
    "{\"model_type\": \"mlp\", \"dims\": [" FOUR FOUR FOUR FOUR FOUR FOUR FOUR "4194304, 4194304, 4194304, 4194304]}";

static enum sl_status build(const char *model, const char *config, int world) {
  struct fixture f = {0};
  struct sl_json doc;
  char text[1024];
  snprintf(text, sizeof text, "{\"optimizer\": {\"type\": \"AdamW\"}, %s}", config);
  sl_error_clear();
  assert_int_equal(sl_json_parse(&doc, "model.json", model, strlen(model)), SL_OK);
  assert_int_equal(sl_model_from_json(&f.model, &doc), SL_OK);
  sl_json_free(&doc);
  assert_int_equal(sl_config_parse(&f.config, "ds.json", text, strlen(text), false), SL_OK);
  assert_int_equal(sl_cluster_load(&f.cluster, "localhost"), SL_OK);
  enum sl_status status = sl_plan_build(&f.plan, &f.model, &f.config, &f.cluster, world);
  if (status == SL_OK) status = sl_job_build(&f.job, &f.plan, &(struct sl_build_options){0});
  fixture_close(&f);
  return status;
}

static void refused(const char *model, const char *config, int world, const char *says) {
  const enum sl_status status = build(model, config, world);
  if (status != SL_ERR_INPUT || strstr(sl_error_message(), says) == NULL)
    fail_msg("%s on %d ranks: status %d, \"%s\"; expected \"%s\"", config, world, status, sl_error_message(), says);
}

static void accepted(const char *model, const char *config, int world) {
  if (build(model, config, world) != SL_OK) fail_msg("%s: %s", config, sl_error_message());
}

#define MICRO "\"train_micro_batch_size_per_gpu\": "
#define ACCUMULATE ", \"gradient_accumulation_steps\": "
#define SECTION ", \"shardlab\": "
#define FLASH SECTION "{\"attention\": \"flash\"}"

static void a_micro_batch_has_a_most(void **state) {
  (void)state;
  accepted(mlp, MICRO "536870911", 1);
  refused(mlp, MICRO "536870912", 1,
          "train_micro_batch_size_per_gpu: gives 536870912 tokens (mlp: samples) of a micro-batch; "
          "expected at most 536870911");
  accepted(gpt2, MICRO "1048575" SECTION "{\"seq_len\": 512}", 1);
  refused(gpt2, MICRO "1048576" SECTION "{\"seq_len\": 512}", 1, "gives 536870912 tokens");
  refused(gpt2, MICRO "36028797018963968" SECTION "{\"seq_len\": 512}", 1, "gives 2^63 or more tokens"); /* 2^64 */
}

static void scores_have_a_most(void **state) {
  (void)state;
  accepted(gpt2, MICRO "7" FLASH, 1);
  refused(gpt2, MICRO "7", 1,
          "shardlab.seq_len: gives 252201579132747776 attention scores of a micro-batch; expected at most "
          "144115188075855872");
  accepted(gpt2, MICRO "2", 1);
}

static void a_step_has_a_most(void **state) {
  (void)state;
  refused(mlp, MICRO "2" ACCUMULATE "1048577", 1,
          "gradient_accumulation_steps: gives 1048577 micro-batches of a step; "
          "expected at most 1048576");
  refused(mlp, MICRO "2" ACCUMULATE "4294967297", 1, "gives 4294967297 micro-batches");
  accepted(mlp, MICRO "67108864" ACCUMULATE "64", 1);
  refused(mlp, MICRO "67108865" ACCUMULATE "64", 1,
          "gives 4294967360 sequences of a step; expected at most 4294967296");
}

static void a_world_has_a_most(void **state) {
  (void)state;
  refused(mlp, MICRO "1", 1048577, "world = 1048577: expected 1 to 1048576 ranks");
  refused(mlp, MICRO "1" SECTION "{\"tp\": 65536, \"pp\": 65536}", 1,
          "tp 65536 x pp 65536 does not divide the world of 1 ranks; expected a multiple of 4294967296");
  refused(mlp, MICRO "1" SECTION "{\"tp\": 65536, \"pp\": 65535}", 65536, "expected a multiple of 4294901760");
}

static void memory_and_traffic_have_a_most(void **state) {
  (void)state;
  refused(large, MICRO "7" FLASH, 1, "bytes of buffers; expected at most 1152921504606846976 (1 EiB)");
  accepted(deep, MICRO "4194304" ACCUMULATE "1000", 1);
  refused(deep, MICRO "4194304" ACCUMULATE "1000" SECTION "{\"schedule\": \"gpipe\"}", 1,
          "bytes of buffers; expected at most");
  accepted(wide,
           MICRO "8" ACCUMULATE "500"
                 ", \"zero_optimization\": {\"stage\": 2}",
           2);
  refused(wide,
          MICRO "8" ACCUMULATE "5000"
                ", \"zero_optimization\": {\"stage\": 2}",
          2, "bytes of traffic in a step; expected at most 1152921504606846976 (1 EiB)");
}

/* Of one op the scratch goes by threads, which no limit of a micro-batch knows. */
static void a_buffer_has_a_most(void **state) {
  (void)state;
  const struct sl_op op = {.kind = SL_OP_ATTENTION_BWD, .dtype = SL_F32, .dim = {1, 67108864, 1, 1048576, 1}};
  assert_true(sl_op_workspace(&op, 100000) == SL_HUGE);
  struct sl_class rank_class = {.pp_rank = 3};
  struct sl_lowering lowering = {.rank_class = &rank_class};
  int32_t buffer;
  sl_error_clear();
  assert_int_equal(
      sl_build_buffer(&lowering, &buffer, SL_SCOPE_MICRO, SL_CATEGORY_WORKSPACE, SL_F64, SL_MAX_ELEMENTS, "a"), SL_OK);
  assert_int_equal(rank_class.buffers[buffer].bytes, SL_MAX_BYTES);
  assert_int_equal(sl_build_buffer(&lowering, &buffer, SL_SCOPE_MICRO, SL_CATEGORY_WORKSPACE, SL_F64,
                                   SL_MAX_ELEMENTS + 1, "b.%d", 5),
                   SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "b.5 of pipeline rank 3: has 144115188075855873 elements; expected at most "
                                          "144115188075855872 in a buffer");
  free(rank_class.buffers);
  free(lowering.scopes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_that_do_not_fit_saturate),
      cmocka_unit_test(a_micro_batch_has_a_most),
      cmocka_unit_test(scores_have_a_most),
      cmocka_unit_test(a_step_has_a_most),
      cmocka_unit_test(a_world_has_a_most),
      cmocka_unit_test(memory_and_traffic_have_a_most),
      cmocka_unit_test(a_buffer_has_a_most),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
