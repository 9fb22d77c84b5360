/* label: property
   libs: sim
 * NCCL's choice in whole steps: asked for, it changes their time; folded as unfolded; a device that NCCL does not run on is refused. */
#include "sim/sim.h"
#include "tests/support/job_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void open_job(struct fixture *f, const char *order, const char *cluster, int world) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 4, \"bf16\": {\"enabled\": true}, "
           "\"zero_optimization\": {\"stage\": 1}, \"optimizer\": {\"type\": \"AdamW\"}, "
           "\"shardlab\": {\"tp\": 4, \"pp\": 2, \"seq_len\": 256, \"rank_order\": \"%s\"}}",
           order);
  if (fixture_open(f, "llama3-8b", config, cluster, world, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

static double step_end(const struct fixture *f, struct sl_exec_assumptions assume, bool fold) {
  struct sl_run run = {
      .exec = &sl_exec_sim, .job = &f->job, .options = {.fold = fold, .fail_rank = -1, .assume = assume}, .steps = 1};
  if (sl_run_execute(&run) != SL_OK) fail_msg("%s", sl_error_message());
  const double end = run.results[0].end_s;
  sl_run_close(&run);
  return end;
}

static void folded_and_unfolded_agree(void **state) {
  (void)state;
  static const char *const orders[] = {"tp-dp-pp", "pp-tp-dp", "dp-tp-pp"};
  for (int i = 0; i < 3; i++) {
    struct fixture f;
    open_job(&f, orders[i], "dgx-h100", 24);
    const double ring = step_end(&f, (struct sl_exec_assumptions){0}, true);
    const double chosen = step_end(&f, (struct sl_exec_assumptions){.nccl_choice = true}, true);
    assert_true(chosen == step_end(&f, (struct sl_exec_assumptions){.nccl_choice = true}, false));
    assert_true(chosen != ring);
    const struct sl_exec_assumptions both = {.nccl_choice = true, .share_links = true};
    assert_true(step_end(&f, both, true) >= chosen * (1 - 1e-12));
    assert_true(fabs(step_end(&f, both, true) / step_end(&f, both, false) - 1) < 1e-9);
    fixture_close(&f);
  }
}

static void devices_without_nccl_are_refused(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "tp-dp-pp", "localhost", 8);
  struct sl_run run = {.exec = &sl_exec_sim, .job = &f.job, .steps = 1, .options = {.fail_rank = -1}};
  run.options.assume.nccl_choice = true;
  assert_int_equal(sl_run_execute(&run), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "--nccl-algo: choice is NCCL's; device"));
  sl_run_close(&run);
  sl_error_clear();
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(folded_and_unfolded_agree),
      cmocka_unit_test(devices_without_nccl_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
