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

static void open_config(struct sl_config *config, const char *kernels, const char *preset) {
  char text[256];
  const int length = snprintf(
      text, sizeof text,
      "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\"}, "
      "\"shardlab\": {\"preset\": \"%s\", \"kernels\": \"%s\"}}",
      preset, kernels);
  if (sl_config_parse(config, "config.json", text, (size_t)length, true) != SL_OK) fail_msg("%s", sl_error_message());
}

/* What the set allocates for an element of logits while the loss runs, beside our own kernel. */
static int scratch_of_loss(const char *kernels, const char *preset, enum sl_op_kind kind) {
  struct sl_config config;
  open_config(&config, kernels, preset);
  const struct sl_op op = {.kind = kind, .dtype = SL_BF16};
  int scratch = 0;
  for (const struct sl_kernel_row *row = NULL; (row = sl_kernel_row(&config, &(struct sl_model){0}, &op, row)) != NULL;)
    scratch += row->scratch;
  sl_config_free(&config);
  return scratch;
}

/* Kernels of torch beside that of flash attention's backward. */
static int launches_behind_attention(enum sl_positions positions, unsigned flags) {
  struct sl_config config;
  open_config(&config, "torch-eager", "ddp");
  const struct sl_op op = {.kind = SL_OP_FLASH_BWD, .dtype = SL_BF16, .flags = flags};
  const struct sl_model model = {.form.positions = positions};
  int launches = 0;
  for (const struct sl_kernel_row *row = NULL; (row = sl_kernel_row(&config, &model, &op, row)) != NULL;)
    launches += row->launches;
  sl_config_free(&config);
  return launches;
}

/* As many as tests/peers/eager_kernels.py counts for transformers' OPT, GPT-2, Llama and GPT-NeoX: none; the gradients of
 * packed rows concatenated; those of what was rotated copied; both. */
static void gradients_of_attention_are_put_in_order(void **state) {
  (void)state;
  assert_int_equal(launches_behind_attention(SL_POSITIONS_TABLE, SL_OP_APART), 0);
  assert_int_equal(launches_behind_attention(SL_POSITIONS_TABLE, 0), 1);
  assert_int_equal(launches_behind_attention(SL_POSITIONS_ROTARY, SL_OP_APART), 2);
  assert_int_equal(launches_behind_attention(SL_POSITIONS_ROTARY, 0), 3);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(inductor_overwrites_its_own_logits),
                                     cmocka_unit_test(gradients_of_attention_are_put_in_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
