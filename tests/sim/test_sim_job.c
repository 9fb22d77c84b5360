/* label: property
   libs: sim
 * The exact clock on real programs: every ZeRO stage, several worlds, accumulation; folded and unfolded agree to the last bit,
 * and a step lies between its longest lane and the sum of all its ops. */
#include "sim/sim.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void open_job(struct fixture *f, const char *cluster, int stage, int accumulation, bool overlap, int world) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 3, \"gradient_accumulation_steps\": %d, \"gradient_clipping\": 0.7,"
           " \"zero_optimization\": {\"stage\": %d, \"overlap_comm\": %s, \"reduce_bucket_size\": 7e6,"
           " \"stage3_prefetch_bucket_size\": 5e6, \"stage3_max_live_parameters\": 2e7},"
           " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, \"shardlab\": {\"seq_len\": 129}}",
           accumulation, stage, overlap ? "true" : "false");
  if (fixture_open(f, "gpt2", config, cluster, world, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

static struct sl_run run_job(const struct fixture *f, bool fold, sl_observe_fn observe, void *context) {
  struct sl_run run = {.exec = &sl_exec_sim, .job = &f->job, .options = {.fold = fold, .fail_rank = -1}, .steps = 2};
  run.observe = observe;
  run.observe_context = context;
  if (sl_run_execute(&run) != SL_OK) fail_msg("%s", sl_error_message());
  return run;
}

static void assert_same_report(const struct sl_exec_report *a, const struct sl_exec_report *b) {
  assert_int_equal(a->call_hash, b->call_hash);
  assert_int_equal(a->traffic_count, b->traffic_count);
  for (int i = 0; i < a->traffic_count; i++) {
    assert_int_equal(a->traffic[i].group, b->traffic[i].group);
    assert_int_equal(a->traffic[i].op, b->traffic[i].op);
    assert_int_equal(a->traffic[i].calls, b->traffic[i].calls);
    assert_int_equal(a->traffic[i].bytes, b->traffic[i].bytes);
    assert_true(a->traffic[i].time_s == b->traffic[i].time_s);
  }
}

static void folded_and_unfolded_agree(const char *cluster, int stage, int accumulation, bool overlap, int world) {
  struct fixture f;
  open_job(&f, cluster, stage, accumulation, overlap, world);
  struct sl_run folded = run_job(&f, true, NULL, NULL), all = run_job(&f, false, NULL, NULL);
  assert_int_equal(folded.local_count, f.job.class_count);
  assert_int_equal(all.local_count, world);
  assert_true(folded.results[1].end_s > folded.results[1].start_s);
  for (int step = 0; step < 2; step++) {
    assert_true(folded.results[step].start_s == all.results[step].start_s);
    assert_true(folded.results[step].end_s == all.results[step].end_s);
  }
  for (int rank = 0; rank < world; rank++) assert_same_report(&folded.reports[0], &all.reports[rank]);
  assert_int_equal(folded.reports[0].arena_bytes[SL_SPACE_DEVICE], f.job.classes[0].arena_bytes[SL_SPACE_DEVICE]);
  assert_true(world == 1 || folded.reports[0].traffic_count > 0);
  sl_run_close(&folded);
  sl_run_close(&all);
  fixture_close(&f);
}

static void one_rank_stands_for_a_data_parallel_world(void **state) {
  (void)state;
  const int worlds[] = {1, 2, 3, 8, 16};
  for (int stage = 0; stage < 4; stage++) {
    for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++) {
      folded_and_unfolded_agree("dgx-a100-80g", stage, 1 + (int)w % 2 * 2, true, worlds[w]);
    }
    folded_and_unfolded_agree("localhost", stage, 2, false, 4);
  }
}

/* Tensor groups of 6 on nodes of 8 lie over the nodes' borders in several ways: one rank of each kind stands for the
 * others. */
static void groups_over_borders_agree_with_all_ranks(void **state) {
  (void)state;
  static const struct { int world, pp; } jobs[] = {{48, 1}, {96, 2}, {60, 1}};
  for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
    struct fixture f;
    char config[400];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 4, \"optimizer\": {\"type\": "
             "\"AdamW\"}, \"shardlab\": {\"tp\": 6, \"pp\": %d, \"seq_len\": 64}}",
             jobs[j].pp);
    if (fixture_open(&f, "gpt2", config, "dgx-a100-80g", jobs[j].world, NULL) != SL_OK)
      fail_msg("%s", sl_error_message());
    struct sl_run folded = run_job(&f, true, NULL, NULL), all = run_job(&f, false, NULL, NULL);
    assert_true(folded.local_count > f.job.class_count && folded.local_count < jobs[j].world / 3);
    for (int step = 0; step < 2; step++) assert_true(folded.results[step].end_s == all.results[step].end_s);
    for (int rank = 0; rank < jobs[j].world; rank++)
      assert_same_report(&folded.reports[sl_exec_sim.local_of(folded.state, rank)], &all.reports[rank]);
    sl_run_close(&folded);
    sl_run_close(&all);
    fixture_close(&f);
  }
}

/* What one rank's lanes were busy with in the steps. */
struct busy {
  double lane[SL_LANE_COUNT], all;
};

static void add_busy(void *context, int local, int64_t step, const struct sl_program *program,
                     const struct sl_completion *done) {
  struct busy *busy = context;
  (void)step;
  if (program->kind != SL_PROGRAM_STEP || local != 0) return;
  double seconds = done->end_s - done->start_s;
  assert_true(seconds >= 0);
  busy->lane[program->ops[program->issues[done->index].op].lane] += seconds;
  busy->all += seconds;
}

static void a_step_lies_between_its_longest_lane_and_the_sum_of_its_ops(void **state) {
  (void)state;
  for (int stage = 0; stage < 4; stage++) {
    for (int overlap = 0; overlap < 2; overlap++) {
      struct fixture f;
      open_job(&f, "dgx-a100-80g", stage, 2, overlap, 16);
      struct busy busy = {0};
      struct sl_run run = run_job(&f, true, add_busy, &busy);
      double seconds = run.results[1].end_s - run.results[0].start_s;
      for (int lane = 0; lane < SL_LANE_COUNT; lane++) assert_true(busy.lane[lane] <= seconds * (1 + 1e-9));
      assert_true(busy.all >= seconds * (1 - 1e-9));
      assert_true(busy.lane[SL_LANE_COMPUTE] > 0);
      sl_run_close(&run);
      fixture_close(&f);
    }
  }
}

static void report_memory(int threads, bool beside, int64_t context_bytes[2]) {
  struct fixture f;
  const char *config = "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 5, \"bf16\": "
                       "{\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, "
                       "\"shardlab\": {\"seq_len\": 1024, \"pp\": 2, \"kernels\": \"torch-eager\"}}";
  const struct sl_build_options options = {.threads = threads, .repeated = true, .reserve_beside = beside};
  if (fixture_open(&f, "gpt2", config, "dgx-a100-80g", 4, &options) != SL_OK) fail_msg("%s", sl_error_message());
  struct sl_run run = run_job(&f, true, NULL, NULL);
  assert_int_equal(run.local_count, 2);
  for (int i = 0; i < 2; i++) {
    context_bytes[i] = run.reports[i].context_bytes;
    assert_true(context_bytes[i] > run.reports[i].driver_bytes);
  }
  sl_run_close(&run);
  fixture_close(&f);
}

/* What a framework's allocator reserves is in the report, whether it was found before the simulation or beside it. */
static void reserves_may_be_found_meanwhile(void **state) {
  (void)state;
  int64_t before[2], beside[2];
  report_memory(0, false, before);
  for (int threads = 1; threads <= 3; threads++) {
    report_memory(threads, true, beside);
    assert_memory_equal(before, beside, sizeof before);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_rank_stands_for_a_data_parallel_world),
      cmocka_unit_test(groups_over_borders_agree_with_all_ranks),
      cmocka_unit_test(a_step_lies_between_its_longest_lane_and_the_sum_of_its_ops),
      cmocka_unit_test(reserves_may_be_found_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
