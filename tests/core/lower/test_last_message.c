/* label: unit
 * In a pipeline no rank waits for its reductions before its last gradient is on its way to the stage in front. */
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Ops of backward passes of the class's step that stand behind a reduction which the next compute op waits for, and
 * reductions in all. */
static void count_held_up(const struct sl_program *step, int *held_up, int *reductions) {
  *held_up = *reductions = 0;
  for (size_t i = 0; i < step->instance_count; i++) {
    const struct sl_instance *instance = &step->instances[i];
    if (instance->action.kind != SL_ACTION_BACKWARD) continue;
    const int32_t end = instance->first_op + instance->op_count;
    for (int32_t k = instance->first_op; k < end; k++) {
      const struct sl_op *op = &step->ops[k];
      if (op->payload != SL_PAYLOAD_GRADIENT || op->group == SL_GROUP_NONE) continue;
      ++*reductions;
      if (op->flags & SL_OP_BLOCKING) *held_up += end - 1 - k;
    }
  }
}

static void the_last_gradient_is_not_held_up(void **state) {
  (void)state;
  struct fixture f;
  const char *config =
      "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3, \"fp16\": {\"enabled\": true},"
      " \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"tp\": 2, \"pp\": 2, \"preset\": \"megatron-local-ddp\","
      " \"kernels\": \"megatron-fused\", \"scatter_gather_tensors_in_pipeline\": true, \"seq_len\": 64}}";
  if (fixture_open(&f, "gpt2", config, "dgx-a100-80g", 8, NULL) != SL_OK) fail_msg("%s", sl_error_message());
  for (int c = 0; c < f.job.class_count; c++) {
    int held_up, reductions;
    count_held_up(&f.job.classes[c].programs[SL_PROGRAM_STEP], &held_up, &reductions);
    assert_true(reductions > 0);
    assert_int_equal(held_up, 0);
  }
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_last_gradient_is_not_held_up)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
