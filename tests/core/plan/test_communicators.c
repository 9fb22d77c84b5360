/* label: unit
   libs: sim
 * How many communicators a rank takes part in: each holds memory of its device. */
#include "core/plan/communicators.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int communicators(const char *model, const char *preset, const char *more, int world, int rank) {
  char config[512];
  struct fixture f;
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 4, \"bf16\": {\"enabled\": true}, "
           "\"shardlab\": {\"preset\": \"%s\", \"attention\": \"flash\", \"seq_len\": 64%s}}",
           preset, more);
  if (fixture_open(&f, model, config, "dgx-a100-80g", world, NULL) != SL_OK) fail_msg("%s", sl_error_message());
  const int count = sl_plan_communicators(&f.plan, rank);
  fixture_close(&f);
  return count;
}

/* tp, dp, pipeline; the model's (tp x pp) and the world's where they are none of these; a tied embedding at both
 * ends. */
static void one_for_each_group_of_ranks(void **state) {
  (void)state;
  assert_int_equal(communicators("gpt2", "ddp", "", 1, 0), 0);
  assert_int_equal(communicators("gpt2", "ddp", "", 3, 2), 1);
  assert_int_equal(communicators("gpt2", "megatron-lm", ", \"tp\": 2", 2, 1), 1);
  assert_int_equal(communicators("gpt2", "megatron-lm", ", \"tp\": 2", 6, 1), 3);
  assert_int_equal(communicators("gpt2", "megatron-lm", ", \"pp\": 3", 3, 1), 1);
  assert_int_equal(communicators("gpt2", "megatron-lm", ", \"pp\": 3", 3, 2), 2);
  assert_int_equal(communicators("gpt2", "megatron-lm", ", \"tp\": 2, \"pp\": 3", 18, 6), 5);
  assert_int_equal(communicators("gpt2", "megatron-lm", ", \"tp\": 2, \"pp\": 3", 18, 0), 6);
}

static void hybrid_sharding_cuts_dp_in_two_ways(void **state) {
  (void)state;
  assert_int_equal(communicators("gpt2", "fsdp2", "", 6, 0), 1);
  assert_int_equal(communicators("gpt2", "fsdp2", ", \"shard_size\": 2", 6, 0), 3);
}

/* Its grid has a group of slices beside tp, and torch makes a communicator for either neighbour. */
static void a_pipeline_engine_has_its_own(void **state) {
  (void)state;
  const char *const three = ", \"tp\": 2, \"pp\": 3";
  assert_int_equal(communicators("gpt2", "deepspeed-pipeline", three, 18, 6), 8); /* between two others */
  assert_int_equal(communicators("gpt2", "deepspeed-pipeline", three, 18, 0),
                   8); /* a neighbour less, the embedding more */
  assert_int_equal(communicators("gpt2", "deepspeed-pipeline", three, 18, 17), 8);
  assert_int_equal(communicators("gpt2", "deepspeed-pipeline", "", 3, 0), 1); /* no pipeline */
}

static void messages_without_a_group_make_pairs(void **state) {
  (void)state;
  assert_int_equal(communicators("gpt2", "aleph-alpha-scaling", ", \"tp\": 2, \"pp\": 3", 18, 6), 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_for_each_group_of_ranks),
      cmocka_unit_test(hybrid_sharding_cuts_dp_in_two_ways),
      cmocka_unit_test(a_pipeline_engine_has_its_own),
      cmocka_unit_test(messages_without_a_group_make_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
