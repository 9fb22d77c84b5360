/* label: unit
   libs: core
 * Which rows of a kernel set apply to a configuration (plan/kernels.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/config/config.h"
#include "core/plan/kernels.h"

/* What the set allocates for an element of logits while the loss runs, beside our own kernel. */
static int scratch_of_loss(const char *kernels, const char *preset, enum sl_op_kind kind) {
  struct sl_config config;
  char text[256];
  const int length = snprintf(
      text, sizeof text,
      "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\"}, "
      "\"shardlab\": {\"preset\": \"%s\", \"kernels\": \"%s\"}}",
      preset, kernels);
  if (sl_config_parse(&config, "config.json", text, (size_t)length, true) != SL_OK) fail_msg("%s", sl_error_message());
  const struct sl_op op = {.kind = kind, .dtype = SL_BF16};
  int scratch = 0;
  for (const struct sl_kernel_row *row = NULL; (row = sl_kernel_row(&config, &(struct sl_form){0}, &op, row)) != NULL;)
    scratch += row->scratch;
  sl_config_free(&config);
  return scratch;
}

/* A model compiled whole overwrites its logits with their gradient; a loss that is compiled apart, as torchtitan's, does
 * not own them. */
static void inductor_overwrites_its_own_logits(void **state) {
  (void)state;
  static const enum sl_op_kind losses[] = {SL_OP_CLASSIFIER, SL_OP_CLASSIFIER_SHARD};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(scratch_of_loss("torch-compile", "ddp", losses[i]), 0);
    assert_int_equal(scratch_of_loss("torch-compile", "fsdp", losses[i]), 0);
    assert_int_equal(scratch_of_loss("torch-compile", "accelerate-fsdp", losses[i]), 0);
    assert_int_equal(scratch_of_loss("torch-compile", "fsdp2", losses[i]), 2);
    assert_int_equal(scratch_of_loss("torch-compile", "fsdp2-no-reshard", losses[i]), 2);
    assert_true(scratch_of_loss("torch-eager", "ddp", losses[i]) > 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(inductor_overwrites_its_own_logits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
