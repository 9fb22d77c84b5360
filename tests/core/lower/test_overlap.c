/* label: unit
 * Reductions beside the backward: with overlap_comm no kernel of the only micro-batch waits for one where gradients stay
 * whole, since what is reduced is complete and what is still to be written is elsewhere. (At stage 2 a bucket waits for
 * one of DeepSpeed's two buffers.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "tests/support/job_fixture.h"

/* Kernels of a backward behind the first reduction, and those of them that wait for one. */
struct seen {
  int reductions, kernels, waiting;
};

static struct seen look(const struct sl_program *p) {
  struct seen s = {0};
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_issue *e = &p->issues[i];
    const struct sl_op *op = &p->ops[e->op];
    if (sl_op_is_comm(op->kind)) s.reductions += op->payload == SL_PAYLOAD_GRADIENT;
    if (op->lane != SL_LANE_COMPUTE || op->phase != SL_PHASE_BACKWARD || s.reductions == 0) continue;
    s.kernels++;
    for (uint32_t w = 0; w < e->wait_count; w++) s.waiting += p->waits[e->wait + w].lane == SL_LANE_DP;
  }
  return s;
}

static void no_kernel_waits_for_a_reduction(void **state) {
  (void)state;
  static const char *const types[] = {"", "\"bf16\": {\"enabled\": true}, "};
  for (int stage = 0; stage < 2; stage++) {
    for (int world = 2; world <= 5; world++) {
      char config[512];
      struct fixture f;
      snprintf(config, sizeof config,
               "{\"train_micro_batch_size_per_gpu\": 1, %s\"optimizer\": {\"type\": \"AdamW\"}, "
               "\"zero_optimization\": {\"stage\": %d, \"overlap_comm\": true, \"reduce_bucket_size\": 3000}, "
               "\"shardlab\": {\"seq_len\": 8}}",
               types[world % 2], stage);
      if (fixture_open(&f, SL_SOURCE_DIR "/tests/mpi/grid_llama.json", config, "dgx-a100-80g", world, NULL) != SL_OK)
        fail_msg("%s", sl_error_message());
      if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
      const struct seen s = look(fixture_step(&f));
      if (s.reductions < 4 || s.kernels < 20) fail_msg("%d reductions, %d kernels", s.reductions, s.kernels);
      if (s.waiting > 0) fail_msg("stage %d, %d ranks: %d of %d kernels wait", stage, world, s.waiting, s.kernels);
      fixture_close(&f);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_kernel_waits_for_a_reduction)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
