/* label: unit
   libs: sim
 * Hooks in Python: DeepSpeed's host runs them at ZeRO-3 for every module and tensor of a block, FSDP's for the block,
 * forward, backward and where a checkpoint repeats the forward. A step waits for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sim/sim.h"
#include "tests/support/job_fixture.h"

enum { LAYERS = 12, MODULES = 13, TENSORS = 12, UNIT = 5 }; /* of a block of GPT-2 */

static void open_on(struct fixture *f, int world, const char *keys, int stage, int micro_batches) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": "
           "true}, \"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": {\"stage\": %d}, \"shardlab\": "
           "{\"seq_len\": 16%s}}",
           micro_batches, stage, keys);
  if (fixture_open(f, "gpt2", config, "dgx-a100-80g", world, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

/* Hooks of a step. */
static int64_t hooks_on(int world, const char *keys, int stage, int micro_batches) {
  struct fixture f;
  int64_t hooks = 0;
  open_on(&f, world, keys, stage, micro_batches);
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[sl_issue_find(p, i).stored->op];
    hooks += op->kind == SL_OP_PASS ? op->dim[3] : 0;
  }
  fixture_close(&f);
  return hooks;
}

static int64_t hooks_of(const char *keys, int stage, int micro_batches) {
  return hooks_on(2, keys, stage, micro_batches);
}

#define EAGER ", \"kernels\": \"torch-eager\""

static void every_module_and_tensor_has_them(void **state) {
  (void)state;
  const int64_t once = LAYERS * (MODULES + TENSORS);
  assert_int_equal(hooks_of(EAGER, 3, 1), 2 * once);
  assert_int_equal(hooks_of(EAGER, 3, 5), 5 * 2 * once);
  assert_int_equal(hooks_on(1, EAGER, 3, 1), 2 * once); /* with nobody to gather from */
  assert_int_equal(hooks_on(1, EAGER, 2, 1), 0);
  assert_int_equal(hooks_of(EAGER ", \"recompute\": \"full\"", 3, 1), 3 * once);
  assert_int_equal(hooks_of(EAGER ", \"recompute\": \"selective\"", 3, 1), 2 * once);
  assert_int_equal(hooks_of(EAGER ", \"recompute\": \"full\", \"recompute_every\": 2", 3, 1), 2 * once + once / 2);
}

static void fsdp_has_those_of_a_block(void **state) {
  (void)state;
  static const char *const presets[] = {"fsdp", "fsdp-shard-grad-op", "fsdp2"};
  for (int i = 0; i < 3; i++) {
    char keys[128];
    snprintf(keys, sizeof keys, EAGER ", \"preset\": \"%s\"", presets[i]);
    assert_int_equal(hooks_of(keys, 0, 2), 2 * 2 * LAYERS * UNIT);
    assert_int_equal(hooks_on(1, keys, 0, 2), 2 * 2 * LAYERS * UNIT);
  }
}

static void others_have_none(void **state) {
  (void)state;
  assert_int_equal(hooks_of("", 3, 1), 0); /* our own kernels: no Python */
  assert_int_equal(hooks_of(", \"preset\": \"fsdp\"", 0, 1), 0);
  assert_int_equal(hooks_of(EAGER, 2, 1), 0);
  assert_int_equal(hooks_of(EAGER ", \"preset\": \"ddp\"", 0, 1), 0);
  assert_int_equal(hooks_of(EAGER ", \"preset\": \"megatron-distributed-optimizer\"", 0, 1), 0);
}

static double step_seconds(const char *keys, int stage) {
  struct fixture f;
  open_on(&f, 2, keys, stage, 1);
  struct sl_run run = {.exec = &sl_exec_sim, .job = &f.job, .options = {.fold = true, .fail_rank = -1}, .steps = 1};
  if (sl_run_execute(&run) != SL_OK) fail_msg("%s", sl_error_message());
  const double seconds = run.results[0].end_s - run.results[0].start_s;
  sl_run_close(&run);
  fixture_close(&f);
  return seconds;
}

/* Blocks this small are over before the host has run their hooks: 600 of 80 us, and launches beside them. */
static void a_step_waits_for_them(void **state) {
  (void)state;
  const double hooks = 2 * LAYERS * (MODULES + TENSORS) * 80e-6;
  const double with = step_seconds(EAGER, 3), without = step_seconds(EAGER, 2);
  assert_true(with > hooks && with < 2 * hooks);
  assert_true(with - without > 0.9 * hooks);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_module_and_tensor_has_them),
                                     cmocka_unit_test(fsdp_has_those_of_a_block), cmocka_unit_test(others_have_none),
                                     cmocka_unit_test(a_step_waits_for_them)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
