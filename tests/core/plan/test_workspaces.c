/* label: unit
 * Workspaces of libraries beside the arena: which kernel sets have them, and how many bytes on which devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/plan/workspaces.h"
#include "tests/support/job_fixture.h"

static int64_t bytes_of(const char *kernels, const char *cluster) {
  struct fixture f;
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": "
           "\"AdamW\"}, \"shardlab\": {\"seq_len\": 32, \"kernels\": \"%s\"}}",
           kernels);
  if (fixture_open(&f, "gpt2-mini", config, cluster, 2, NULL) != SL_OK) fail_msg("%s", sl_error_message());
  const int64_t bytes = sl_plan_workspace_bytes(f.job.plan);
  fixture_close(&f);
  return bytes;
}

static void sets_have_their_libraries_workspaces(void **state) {
  (void)state;
  enum { MIB = 1 << 20, ELSEWHERE = 2 * (8 * MIB + MIB / 8) };
  static const struct {
    const char *kernels;
    int64_t sm80, sm90, sm100;
  } cases[] = {
      {"megatron-core", ELSEWHERE + 4 * MIB, 64 * MIB + 32 * MIB, ELSEWHERE + 32 * MIB},
      {"torch-eager", ELSEWHERE, 64 * MIB, ELSEWHERE},
      {"nanotron", 0, 0, 0},       /* among what its allocator is asked for */
      {"megatron-fused", 0, 0, 0}, /* PyTorch of 2022 */
      {"shardlab", 0, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(bytes_of(cases[i].kernels, "dgx-a100-80g"), cases[i].sm80);
    assert_int_equal(bytes_of(cases[i].kernels, "dgx-h100"), cases[i].sm90);
    assert_int_equal(bytes_of(cases[i].kernels, "dgx-b200"), cases[i].sm100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sets_have_their_libraries_workspaces)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
