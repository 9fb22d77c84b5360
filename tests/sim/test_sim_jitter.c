/* label: property
   libs: sim
 * Noise and stragglers: seeded, of the mean and the deviation that were asked for, the same whether ranks are folded, run at
 * once or by events; nothing assumed is the same bits as before. */
#include "tests/support/job_fixture.h"
#include "tests/support/sim_world.h"

/* Ends of every issue of every simulated rank, in order. */
struct ends {
  double *at;
  size_t count, capacity;
};

static void keep(void *context, int local, int64_t step, const struct sl_program *program,
                 const struct sl_completion *done) {
  struct ends *e = context;
  (void)program;
  assert_int_equal(sl_grow(&e->at, &e->capacity, e->count + 4, sizeof *e->at), SL_OK);
  e->at[e->count++] = local;
  e->at[e->count++] = (double)step;
  e->at[e->count++] = done->start_s;
  e->at[e->count++] = done->end_s;
}

static void open_job(struct fixture *f, int stage, int world) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3, "
           "\"zero_optimization\": {\"stage\": %d}, \"optimizer\": {\"type\": \"AdamW\"}, "
           "\"shardlab\": {\"tp\": 2, \"pp\": 2, \"seq_len\": 64}}",
           stage);
  if (fixture_open(f, "gpt2", config, "dgx-a100-80g", world, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

/* The end of the second step; `e` NULL: nobody looks, and the program may run at once. */
static double run(const struct fixture *f, struct sl_exec_assumptions assume, bool fold, struct ends *e) {
  struct sl_run r = {.exec = &sl_exec_sim,
                     .job = &f->job,
                     .steps = 2,
                     .observe = e != NULL ? keep : NULL,
                     .observe_context = e,
                     .options = {.fold = fold, .fail_rank = -1, .assume = assume}};
  if (sl_run_execute(&r) != SL_OK) fail_msg("%s", sl_error_message());
  const double end = r.results[1].end_s;
  sl_run_close(&r);
  return end;
}

static void one_seed_is_one_trace(void **state) {
  (void)state;
  struct fixture f;
  struct ends a = {0}, b = {0}, c = {0};
  open_job(&f, 1, 16);
  run(&f, (struct sl_exec_assumptions){.jitter = 0.07, .seed = 5}, true, &a);
  run(&f, (struct sl_exec_assumptions){.jitter = 0.07, .seed = 5}, true, &b);
  run(&f, (struct sl_exec_assumptions){.jitter = 0.07, .seed = 6}, true, &c);
  assert_int_equal(a.count, b.count);
  assert_memory_equal(a.at, b.at, a.count * sizeof *a.at);
  assert_true(a.count != c.count || memcmp(a.at, c.at, a.count * sizeof *a.at) != 0);
  free(a.at), free(b.at), free(c.at);
  fixture_close(&f);
}

static void no_noise_and_a_factor_of_one_change_no_bit(void **state) {
  (void)state;
  const struct sl_straggler same = {.rank = 3, .factor = 1};
  for (int stage = 0; stage < 4; stage += 3) {
    struct fixture f;
    struct ends a = {0}, b = {0};
    open_job(&f, stage, 16);
    run(&f, (struct sl_exec_assumptions){0}, true, &a);
    run(&f, (struct sl_exec_assumptions){.seed = 9, .stragglers = &same, .straggler_count = 1}, true, &b);
    assert_int_equal(a.count, b.count);
    assert_memory_equal(a.at, b.at, a.count * sizeof *a.at);
    free(a.at), free(b.at);
    fixture_close(&f);
  }
}

/* Ranks that are slower are folded with none that are not. */
static void a_straggler_holds_up_those_that_meet_it(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, 1, 16);
  const double usual = run(&f, (struct sl_exec_assumptions){0}, true, NULL);
  double before = usual;
  for (int i = 1; i < 5; i++) {
    const struct sl_straggler slow = {.rank = 6, .factor = 1 + 0.3 * i};
    const struct sl_exec_assumptions assume = {.stragglers = &slow, .straggler_count = 1};
    const double folded = run(&f, assume, true, NULL), all = run(&f, assume, false, NULL);
    struct ends e = {0};
    assert_true(folded == all && folded == run(&f, assume, false, &e)); /* at once, and by events */
    assert_true(folded > before && folded <= usual * slow.factor);
    before = folded;
    free(e.at);
  }
  fixture_close(&f);
}

static void the_noise_has_mean_one_and_the_deviation_asked_for(void **state) {
  (void)state;
  enum { OPS = 20000, SECONDS = 3 };
  static const double jitters[] = {0.03, 0.4};
  for (int k = 0; k < 2; k++) {
    struct world w;
    world_init(&w, 1, 1, 1);
    for (int i = 0; i < OPS; i++) add_work(step_of(&w, 0), SECONDS);
    struct ends e = {0};
    struct sl_run r = {.exec = &sl_exec_sim,
                       .job = &w.job,
                       .steps = 1,
                       .observe = keep,
                       .observe_context = &e,
                       .options = {.fail_rank = -1, .assume = {.jitter = jitters[k], .seed = 11}}};
    if (sl_run_execute(&r) != SL_OK) fail_msg("%s", sl_error_message());
    double sum = 0, squares = 0;
    for (size_t i = 0; i < e.count; i += 4) {
      const double seconds = (e.at[i + 3] - e.at[i + 2]) / SECONDS;
      assert_true(seconds > 0);
      sum += seconds, squares += seconds * seconds;
    }
    const double mean = sum / OPS, deviation = sqrt(squares / OPS - mean * mean);
    assert_true(fabs(mean - 1) < 4 * jitters[k] / sqrt(OPS)); /* of the mean of as many */
    assert_true(fabs(deviation - jitters[k]) < 0.04 * jitters[k]);
    sl_run_close(&r);
    world_free(&w);
    free(e.at);
  }
}

static void ranks_ops_and_steps_have_each_their_own_noise(void **state) {
  (void)state;
  struct world w;
  struct ends e = {0};
  world_init(&w, 1, 2, 1);
  for (int i = 0; i < 2; i++) add_work(step_of(&w, 0), 1);
  struct sl_run r = {.exec = &sl_exec_sim,
                     .job = &w.job,
                     .steps = 2,
                     .observe = keep,
                     .observe_context = &e,
                     .options = {.fold = true, .fail_rank = -1, .assume = {.jitter = 0.2, .seed = 3}}};
  if (sl_run_execute(&r) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(e.count, 4 * 2 * 2 * 2);
  for (size_t i = 0; i < e.count; i += 4)
    for (size_t j = 0; j < i; j += 4) assert_true(e.at[i + 3] - e.at[i + 2] != e.at[j + 3] - e.at[j + 2]);
  sl_run_close(&r);
  world_free(&w);
  free(e.at);
}

/* Ranks that wait for each other are as slow as the slowest: a step is longer by noise, though its mean is 1. */
static void noise_makes_a_step_of_many_ranks_longer(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, 1, 16);
  const double usual = run(&f, (struct sl_exec_assumptions){0}, true, NULL);
  const double noisy = run(&f, (struct sl_exec_assumptions){.jitter = 0.3, .seed = 2}, true, NULL);
  assert_true(noisy > usual);
  assert_true(noisy == run(&f, (struct sl_exec_assumptions){.jitter = 0.3, .seed = 2}, false, NULL));
  fixture_close(&f);
}

static void wrong_assumptions_are_refused(void **state) {
  (void)state;
  struct fixture f;
  const struct sl_straggler none = {.rank = 8, .factor = 2};
  open_job(&f, 0, 8);
  struct sl_run r = {.exec = &sl_exec_sim, .job = &f.job, .steps = 1, .options = {.fail_rank = -1}};
  r.options.assume = (struct sl_exec_assumptions){.stragglers = &none, .straggler_count = 1};
  assert_int_equal(sl_run_execute(&r), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "--straggler: names rank 8; expected 0 to 7");
  sl_run_close(&r);
  sl_error_clear();
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_seed_is_one_trace),
      cmocka_unit_test(no_noise_and_a_factor_of_one_change_no_bit),
      cmocka_unit_test(a_straggler_holds_up_those_that_meet_it),
      cmocka_unit_test(the_noise_has_mean_one_and_the_deviation_asked_for),
      cmocka_unit_test(ranks_ops_and_steps_have_each_their_own_noise),
      cmocka_unit_test(noise_makes_a_step_of_many_ranks_longer),
      cmocka_unit_test(wrong_assumptions_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
