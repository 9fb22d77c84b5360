/* label: property
   libs: sim
 * A program at once and handed over op by op: over schedules, strategies, worlds, hosts, folded and not, every op starts
 * and ends at the same time to the last bit, and traffic, breakdowns and messages of failure agree. */
#include "core/run/timeline.h"
#include "sim/sim.h"
#include "tests/support/job_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Of what the release build runs, a sanitizer of threads sees a part, of each kind some (SL_EVERY): most of it is one
 * thread's. */
enum { STEPS = 2, THREADS = 3 };

struct point {
  const char *schedule;
  int pp, v, m;
  const char *model, *more; /* more keys of the shardlab section */
  int tp, dp, zero;
  const char *cluster;
};

static int tokens = 64; /* of a sequence */

static void open_stored(struct fixture *f, const struct point *p, bool repeated) {
  const struct sl_build_options options = {.repeated = repeated};
  char config[800];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": true},"
           " \"optimizer\": {\"type\": \"AdamW\"}, \"gradient_clipping\": 0.7,"
           " \"zero_optimization\": {\"stage\": %d, \"reduce_bucket_size\": 2e7},"
           " \"shardlab\": {\"seq_len\": %d, \"tp\": %d, \"pp\": %d, \"virtual_stages\": %d, \"schedule\": \"%s\"%s}}",
           p->m, p->zero, tokens, p->tp, p->pp, p->v, p->schedule, p->more);
  if (fixture_open(f, p->model, config, p->cluster, p->pp * p->tp * p->dp, &options) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
}

static void open_point(struct fixture *f, const struct point *p) {
  open_stored(f, p, false);
}

/* All that an observer is told of the steps. */
struct seen {
  const struct sl_job *job;
  const int *ranks;
  struct sl_completion *of_rank[64]; /* by local rank: of step s, op i: [s * issues + i] */
  pthread_t by[64];                  /* which thread told of a step of the rank first ... */
  bool told[64];                     /* ... if one has */
  struct sl_timeline timeline;
  int forgotten;
  struct sl_run_hooks hooks;
};

static void keep(struct seen *s, int64_t step, const struct sl_program *program, const struct sl_completion *done) {
  if (program->kind != SL_PROGRAM_STEP) return;
  assert_in_range(done->local, 0, 63);
  struct sl_completion **of_rank = &s->of_rank[done->local];
  if (*of_rank == NULL) *of_rank = calloc(STEPS * program->issue_count, sizeof **of_rank);
  assert_non_null(*of_rank);
  (*of_rank)[(size_t)step * program->issue_count + done->index] = *done;
}

static void see(void *context, int local, int64_t step, const struct sl_program *program,
                const struct sl_completion *done) {
  struct seen *s = context;
  sl_timeline_add(&s->timeline, local, step, program, done);
  keep(s, step, program, done);
}

/* All issues of these programs are stored. */
static void see_many(void *context, int local, int64_t step, const struct sl_program *program,
                     const struct sl_stretch *stretches, uint32_t count) {
  struct seen *s = context;
  if (program->kind == SL_PROGRAM_STEP && !s->told[local]) s->told[local] = true, s->by[local] = pthread_self();
  sl_timeline_add_many(&s->timeline, local, step, program, stretches, count);
  for (const struct sl_stretch *at = stretches; at < stretches + count; at++) {
    const uint32_t first = (uint32_t)(at->issues - program->issues);
    for (uint32_t i = 0; i < at->count; i++)
      keep(s, step, program, &(struct sl_completion){local, first + i, at->times[i], at->times[i + 1]});
  }
}

static void forget(void *context) {
  struct seen *s = context;
  sl_timeline_forget(&s->timeline);
  s->forgotten++;
}

static enum sl_status opened(void *context, const struct sl_run *run) {
  return sl_timeline_room(&((struct seen *)context)->timeline, run->local_count);
}

static struct sl_exec_assumptions assumed; /* of all runs */

static struct sl_run start(const struct fixture *f, bool fold, bool at_once, struct seen *seen) {
  *seen = (struct seen){.job = &f->job, .hooks = {.context = seen, .opened = opened}};
  return (struct sl_run){.exec = &sl_exec_sim,
                         .job = &f->job,
                         .options = {.fold = fold, .fail_rank = -1, .assume = assumed},
                         .steps = STEPS,
                         .observe = see,
                         .hooks = &seen->hooks,
                         .observe_many = at_once ? see_many : NULL,
                         .observe_threads = THREADS,
                         .observe_context = seen,
                         .forget = at_once ? forget : NULL};
}

static void finish(struct sl_run *run, struct seen *seen) {
  for (int i = 0; i < 64; i++) free(seen->of_rank[i]);
  sl_timeline_free(&seen->timeline);
  sl_run_close(run);
}

static void same_breakdowns(struct seen *a, struct seen *b, int local) {
  struct sl_breakdown x, y;
  assert_int_equal(sl_timeline_breakdown(&a->timeline, local, &x), SL_OK);
  assert_int_equal(sl_timeline_breakdown(&b->timeline, local, &y), SL_OK);
  assert_memory_equal(&x, &y, sizeof x);
  assert_true(x.step_s > 0);
}

static void same_reports(const struct sl_exec_report *a, const struct sl_exec_report *b) {
  assert_int_equal(a->call_hash, b->call_hash);
  assert_int_equal(a->traffic_count, b->traffic_count);
  if (a->traffic_count > 0) assert_memory_equal(a->traffic, b->traffic, (size_t)a->traffic_count * sizeof *a->traffic);
}

/* Returns how many threads told of the ranks. */
static int same_either_way(const struct point *p, bool fold, bool expect_events) {
  struct fixture f;
  struct seen seen[2];
  open_point(&f, p);
  struct sl_run run[2] = {start(&f, fold, false, &seen[0]), start(&f, fold, true, &seen[1])};
  for (int i = 0; i < 2; i++)
    if (sl_run_execute(&run[i]) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(run[0].local_count, run[1].local_count);
  assert_int_equal(seen[1].forgotten > 0, expect_events);
  for (int step = 0; step < STEPS; step++) {
    assert_true(run[0].results[step].start_s == run[1].results[step].start_s);
    assert_true(run[0].results[step].end_s == run[1].results[step].end_s);
  }
  for (int i = 0; i < run[0].local_count; i++) {
    const struct sl_class *c = &f.job.classes[sl_job_class_of(&f.job, run[0].local_ranks[i])];
    const size_t count = STEPS * c->programs[SL_PROGRAM_STEP].issue_count;
    assert_memory_equal(seen[0].of_rank[i], seen[1].of_rank[i], count * sizeof *seen[0].of_rank[i]);
    same_breakdowns(&seen[0], &seen[1], i);
    same_reports(&run[0].reports[i], &run[1].reports[i]);
  }
  int threads = 0;
  for (int i = 0; i < run[1].local_count && !expect_events; i++) {
    bool known = false;
    for (int k = 0; k < i; k++) known |= pthread_equal(seen[1].by[k], seen[1].by[i]) != 0;
    threads += !known;
  }
  for (int i = 0; i < 2; i++) finish(&run[i], &seen[i]);
  fixture_close(&f);
  return threads;
}

static const char gpus[] = "dgx-a100-80g";

static void the_same_over_schedules_and_strategies(void **state) {
  (void)state;
  static const struct point points[] = {
      {"1f1b", 1, 1, 1, "gpt2-tiny", "", 1, 1, 0, gpus},
      {"1f1b", 1, 1, 3, "gpt2-tiny", "", 2, 2, 1, gpus},
      {"1f1b", 1, 1, 5, "gpt2-tiny", "", 1, 4, 2, gpus},
      {"1f1b", 1, 1, 2, "gpt2-tiny", ", \"recompute\": \"full\"", 1, 4, 3, gpus},
      {"1f1b", 1, 1, 2, "gpt2-tiny", ", \"sequence_parallel\": true", 4, 2, 3, gpus},
      {"1f1b", 2, 1, 5, "gpt2", "", 3, 4, 1, gpus},
      {"1f1b", 3, 1, 13, "gpt2-mini", "", 2, 1, 0, gpus},
      {"1f1b", 4, 1, 17, "gpt2-mini", ", \"recompute\": \"selective\"", 1, 2, 2, gpus},
      {"1f1b", 2, 1, 9, "gpt2-mini", "", 1, 2, 3, gpus},
      {"zb-h1", 3, 1, 15, "gpt2-mini", "", 1, 1, 0, gpus},
      {"zb-h1", 2, 1, 8, "gpt2-mini", "", 2, 2, 1, gpus},
      {"zbv", 2, 2, 9, "gpt2-mini", "", 1, 2, 0, gpus},
      {"zbv", 3, 2, 12, "gpt2-mini", "", 1, 2, 0, gpus},
      {"interleaved", 2, 2, 12, "gpt2-mini", "", 1, 1, 0, gpus},
      {"interleaved", 2, 2, 6, "gpt2", "", 6, 2, 3, gpus},
      {"interleaved-zb", 2, 2, 8, "gpt2-mini", "", 1, 1, 0, gpus},
      {"gpipe", 2, 1, 6, "gpt2-mini", "", 1, 1, 0, gpus},
      {"looped-bfs", 2, 2, 6, "gpt2-mini", "", 1, 2, 3, gpus},
  };
  for (size_t i = 0; i < sizeof points / sizeof *points; i += SL_EVERY) {
    same_either_way(&points[i], true, false);
    same_either_way(&points[i], false, false);
  }
}

/* Where there is enough to do between two messages, each thread walks over the ranks of a part of the pipeline. */
static void several_threads_see_the_same(void **state) {
  (void)state;
  static const struct point points[] = {
      {"1f1b", 3, 1, 11, "gpt3-175b", "", 1, 2, 1, gpus},
      {"1f1b", 4, 1, 9, "gpt3-175b", "", 1, 2, 3, gpus},
      {"zb-h1", 2, 1, 8, "gpt3-175b", "", 2, 2, 1, gpus},
  };
  static const struct point unfolded[] = {
      {"interleaved", 4, 3, 8, "gpt2-xl", "", 1, 8, 0, gpus},
      {"zbv", 3, 2, 12, "gpt2-xl", "", 5, 2, 1, gpus},
      {"looped-bfs", 2, 2, 6, "gpt2-xl", "", 1, 8, 2, gpus},
  };
  for (size_t i = 0; i < sizeof points / sizeof *points; i += SL_EVERY)
    assert_in_range(same_either_way(&points[i], true, false), 2, THREADS);
  for (size_t i = 0; i < sizeof unfolded / sizeof *unfolded; i += SL_EVERY)
    assert_in_range(same_either_way(&unfolded[i], false, false), 2, THREADS);
  assert_int_equal(same_either_way(&(struct point){"1f1b", 3, 1, 11, "gpt2-mini", "", 1, 1, 1, gpus}, true, false), 1);
}

static void see_times(void *context, int local, int64_t step, const struct sl_program *program,
                      const struct sl_completion *done) {
  sl_timeline_add(context, local, step, program, done);
}

static void see_times_of_many(void *context, int local, int64_t step, const struct sl_program *program,
                              const struct sl_stretch *stretches, uint32_t count) {
  sl_timeline_add_many(context, local, step, program, stretches, count);
}

static void forget_times(void *context) {
  sl_timeline_forget(context);
}

/* What repeats is stored once, and the programs go back in it: at once as event by event, and as if all were stored. */
static void what_is_stored_once_takes_as_long(void **state) {
  (void)state;
  static const struct point points[] = {{"1f1b", 1, 1, 40, "gpt2-tiny", "", 1, 1, 0, gpus},
                                        {"1f1b", 1, 1, 40, "gpt2-tiny", "", 2, 2, 1, gpus},
                                        {"1f1b", 3, 1, 70, "gpt2-mini", "", 2, 1, 0, gpus},
                                        {"zb-h1", 2, 1, 80, "gpt2-mini", "", 2, 2, 1, gpus}};
  for (size_t k = 0; k < sizeof points / sizeof *points; k++) {
    struct seen seen[3] = {0};
    struct fixture f[3];
    struct sl_run run[3];
    for (int i = 0; i < 3; i++) {
      open_stored(&f[i], &points[k], i > 0);
      run[i] = (struct sl_run){.exec = &sl_exec_sim,
                               .job = &f[i].job,
                               .options = {.fold = true, .fail_rank = -1},
                               .steps = STEPS,
                               .observe = see_times,
                               .observe_many = i == 1 ? see_times_of_many : NULL,
                               .observe_context = &seen[i].timeline,
                               .forget = i == 1 ? forget_times : NULL};
      assert_int_equal(sl_run_execute(&run[i]), SL_OK);
      assert_true(run[i].results[STEPS - 1].end_s == run[0].results[STEPS - 1].end_s);
      assert_int_equal(run[i].local_count, run[0].local_count);
      for (int local = 0; local < run[i].local_count; local++) {
        same_breakdowns(&seen[0], &seen[i], local);
        same_reports(&run[0].reports[local], &run[i].reports[local]);
      }
      const size_t repeated = sl_issues_repeated(&f[i].job.classes[0].programs[SL_PROGRAM_STEP]);
      assert_true(i == 0 ? repeated == 0 : repeated > 0);
    }
    for (int i = 0; i < 3; i++) {
      finish(&run[i], &seen[i]);
      fixture_close(&f[i]);
    }
  }
}

/* Where a host launches ops or transfers slow compute down, events follow each other, and what nothing comes between is
 * timed at once; on cores, one thread takes the copies of offloading in turn, too. */
static void hosts_and_slow_compute_see_the_same(void **state) {
  (void)state;
  static const char selene[] = "selene-a100", hf[] = "hf-h100", cores[] = "localhost";
  static const struct point points[] = {
      {"1f1b", 2, 1, 5, "gpt2-tiny", "", 1, 2, 1, cores},
      {"gpipe", 6, 1, 8, "gpt2-mini", "", 1, 2, 1, cores},
      /* some ops end as transfers begin */
      {"looped-bfs", 6, 2, 12, "gpt2", ", \"kernels\": \"llm-foundry\"", 1, 1, 0, "torchtitan-h100"},
      {"1f1b", 1, 1, 3, "gpt2-tiny",
       ", \"recompute\": \"full\"}, \"activation_checkpointing\": {\"cpu_checkpointing\": true", 1, 2, 2, cores},
      {"1f1b", 1, 1, 4, "gpt2-mini", ", \"kernels\": \"megatron-fused\"", 2, 1, 0, selene},
      {"1f1b", 1, 1, 4, "gpt2-mini", ", \"kernels\": \"megatron-core\", \"sequence_parallel\": true", 4, 2, 1, selene},
      {"1f1b", 4, 1, 17, "gpt2-mini", ", \"kernels\": \"megatron-fused\", \"recompute\": \"full\"", 2, 2, 1, selene},
      {"1f1b", 3, 1, 11, "gpt3-175b", ", \"kernels\": \"megatron-fused\"", 8, 2, 1, selene},
      {"1f1b", 3, 1, 11, "gpt3-175b", "", 8, 2, 1, selene}, /* hosts that the pipeline stalls */
      {"1f1b", 4, 1, 9, "gpt2-xl", ", \"kernels\": \"nanotron\"", 1, 8, 1, hf},
      {"1f1b", 1, 1, 2, "gpt2-mini", ", \"kernels\": \"llm-foundry\"", 1, 4, 3, selene},
      {"1f1b", 1, 1, 3, "gpt2-mini", ", \"kernels\": \"torch-eager\"", 2, 4, 2, hf},
      {"interleaved", 2, 2, 12, "gpt2-mini", ", \"kernels\": \"megatron-unfused\"", 2, 2, 1, selene},
      {"zb-h1", 3, 1, 15, "gpt2-mini", ", \"kernels\": \"megatron-fused\"", 2, 1, 0, hf},
      {"zbv", 3, 2, 12, "gpt2-mini", ", \"kernels\": \"megatron-deepspeed\"", 1, 2, 0, selene},
      {"looped-bfs", 2, 2, 6, "gpt2-mini", ", \"kernels\": \"torch-compile\"", 1, 2, 3, selene},
  };
  for (size_t i = SL_EVERY / 2; i < sizeof points / sizeof *points; i += SL_EVERY) {
    same_either_way(&points[i], true, false);
    same_either_way(&points[i], false, false);
  }
}

/* Long sequences, beside whose compute transfers begin and end: between stages, and those of a group that no other
 * simulated rank is in. */
static void compute_beside_several_transfers_is_the_same(void **state) {
  (void)state;
  static const struct point points[] = {
      {"looped-bfs", 3, 2, 18, "llama3-8b", ", \"kernels\": \"megatron-core\"", 2, 1, 0, "mosaic-a100-40g"},
      {"1f1b", 4, 1, 12, "gpt2-xl", ", \"kernels\": \"megatron-fused\"", 5, 1, 0, "selene-a100"},
  };
  tokens = 512;
  for (size_t i = 0; i < sizeof points / sizeof *points; i += SL_EVERY) same_either_way(&points[i], true, false);
  tokens = 64;
}

/* So do noise, a rank that is slow and transfers that share links. */
static void what_is_assumed_is_the_same(void **state) {
  (void)state;
  const struct sl_straggler straggler = {1, 1.7};
  const struct sl_exec_assumptions all[] = {{.jitter = 0.1, .seed = 3},
                                            {.share_links = true},
                                            {.nccl_choice = true, .stragglers = &straggler, .straggler_count = 1}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    assumed = all[i];
    same_either_way(
        &(struct point){"1f1b", 4, 1, 9, "gpt2-mini", ", \"kernels\": \"megatron-fused\"", 2, 2, 1, "selene-a100"},
        true, false);
    same_either_way(&(struct point){"1f1b", 1, 1, 3, "gpt2-mini", "", 2, 4, 3, gpus}, true, false);
  }
  assumed = (struct sl_exec_assumptions){0};
}

/* Ranks that disagree, and ranks that wait for what never comes. */
static void same_failures(const char *model, const char *more, const char *cluster) {
  for (int k = 0; k < 2; k++) {
    char message[2][1024];
    struct fixture f;
    open_point(&f, &(struct point){"1f1b", 2, 1, 4, model, more, 1, 2, 1, cluster});
    struct sl_program *p = &f.job.classes[1].programs[SL_PROGRAM_STEP];
    for (size_t i = 0; i < p->op_count; i++)
      if (p->ops[i].kind == SL_OP_RECV) p->ops[i].dim[0] += k == 0;
    if (k == 1) p->issue_count = p->issue_count / 2;
    for (int i = 0; i < 2; i++) {
      struct seen seen;
      struct sl_run run = start(&f, true, i == 1, &seen);
      assert_int_equal(sl_run_execute(&run), SL_ERR_CHECK);
      snprintf(message[i], sizeof message[i], "%s", sl_error_message());
      sl_error_clear();
      finish(&run, &seen);
    }
    assert_string_equal(message[0], message[1]);
    assert_non_null(strstr(message[0], k == 0 ? "ranks disagree" : "deadlock"));
    fixture_close(&f);
  }
}

static void failures_are_the_same(void **state) {
  (void)state;
  same_failures("gpt2-tiny", "", gpus);
  same_failures("gpt3-175b", "", gpus); /* of two threads */
  same_failures("gpt2-tiny", ", \"kernels\": \"megatron-fused\"", "selene-a100");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_over_schedules_and_strategies),
      cmocka_unit_test(several_threads_see_the_same),
      cmocka_unit_test(what_is_stored_once_takes_as_long),
      cmocka_unit_test(hosts_and_slow_compute_see_the_same),
      cmocka_unit_test(compute_beside_several_transfers_is_the_same),
      cmocka_unit_test(what_is_assumed_is_the_same),
      cmocka_unit_test(failures_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
