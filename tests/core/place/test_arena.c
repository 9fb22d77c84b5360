/* label: property
 * The arena of pipelines with many stages a rank: at most 1.05 times the most bytes that are live at once, over
 * schedules, stages, micro-batches and strategies; and activations that take as many slots as the rank has
 * micro-batches in flight, counted over all of its stages. */
#include "core/check/rendezvous.h"
#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct point {
  const char *schedule;
  int pp, v, m;
  const char *model, *more; /* more keys of the shardlab section */
  int tp, dp, zero;
};

static enum sl_status try_point(struct fixture *f, const struct point *p, const struct sl_build_options *options) {
  char config[800];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d,"
           " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, \"zero_optimization\": {\"stage\": %d, "
           "\"reduce_bucket_size\": 2e7},"
           " \"shardlab\": {\"seq_len\": 512, \"tp\": %d, \"pp\": %d, \"virtual_stages\": %d, \"schedule\": \"%s\"%s}}",
           p->m, p->zero, p->tp, p->pp, p->v, p->schedule, p->more);
  return fixture_open(f, p->model, config, "dgx-a100-80g", p->pp * p->tp * p->dp, options);
}

static void open_point(struct fixture *f, const struct point *p) {
  if (try_point(f, p, NULL) != SL_OK) fail_msg("%s: %s", p->schedule, sl_error_message());
}

static void holds_what_is_live(const struct point *p) {
  struct fixture f;
  open_point(&f, p);
  for (int r = 0; r < f.job.class_count; r++) {
    const struct sl_class *c = &f.job.classes[r];
    const double arena = (double)c->arena_bytes[SL_SPACE_DEVICE], live = (double)c->memory->live_peak_bytes;
    assert_true(arena >= live);
    if (arena > 1.05 * live)
      fail_msg("%s pp=%d v=%d m=%d tp=%d dp=%d ZeRO-%d %s%s, rank %d: the arena is %.4f times the live bytes, %.0f",
               p->schedule, p->pp, p->v, p->m, p->tp, p->dp, p->zero, p->model, p->more, r, arena / live, live);
  }
  fixture_close(&f);
}

static void over_schedules_stages_and_micro_batches(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int stages[8]; /* ended by 0 */
  } schedules[] = {{"gpipe", {1}},
                   {"1f1b", {1}},
                   {"zb-h1", {1}},
                   {"zbv", {2}},
                   {"interleaved", {2, 3, 4, 5, 6, 12}},
                   {"interleaved-zb", {2, 5, 12}},
                   {"looped-bfs", {2, 7, 12}}};
  static const int ranks[] = {2, 4};
  for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++) {
    for (const int *v = schedules[s].stages; *v > 0; v++) {
      for (int i = 0; i < 2; i++) {
        for (int m = ranks[i]; m <= 9 * ranks[i]; m *= 3)
          holds_what_is_live(&(struct point){schedules[s].name, ranks[i], *v, m, "gpt2-xl", "", 1, 1, 0});
      }
    }
  }
}

static void over_strategies(void **state) {
  (void)state;
  static const struct point points[] = {
      {"interleaved", 8, 12, 24, "gpt3-175b", "", 8, 1, 0},
      {"interleaved", 4, 8, 12, "llama2-7b", ", \"sequence_parallel\": true", 2, 1, 0},
      {"interleaved", 4, 12, 16, "gpt2-xl", ", \"recompute\": \"selective\"", 1, 2, 1},
      {"interleaved", 4, 5, 12, "llama2-7b", ", \"recompute\": \"full\", \"recompute_every\": 2", 2, 2, 0},
      {"interleaved", 4, 4, 20, "llama2-7b", ", \"attention\": \"flash\"", 2, 2, 3},
      {"interleaved", 4, 8, 12, "llama2-7b", "", 1, 4, 3},
      {"zbv", 4, 2, 12, "gpt2-xl", "", 1, 2, 3},
      {"interleaved", 4, 6, 12, "gpt2-xl", ", \"recompute\": \"full\"", 1, 2, 2},
      {"interleaved-zb", 4, 8, 12, "llama2-7b", "", 1, 2, 1},
      {"looped-bfs", 3, 12, 12, "gpt2-large", "", 2, 2, 3},
      {"zb-h1", 4, 1, 15, "gpt2-xl", ", \"attention\": \"flash\"", 1, 1, 0},
      {"zbv", 4, 2, 21, "llama2-7b", ", \"sequence_parallel\": true", 4, 1, 0},
      {"zbv", 3, 2, 11, "llama2-7b", ", \"stages\": \"parameters\"", 2, 1, 0},
      {"zbv", 8, 2, 40, "llama3-8b", ", \"attention\": \"flash\"", 1, 2, 1},
  };
  for (size_t i = 0; i < sizeof points / sizeof *points; i++) holds_what_is_live(&points[i]);
}

/* Most micro-batches between their forward and the end of their backward, over all stages of the rank. */
static int most_in_flight(const struct sl_schedule *s, int rank) {
  int now = 0, most = 0;
  for (size_t i = 0; i < s->counts[rank]; i++) {
    const enum sl_action_kind kind = s->actions[rank][i].kind;
    now += kind == SL_ACTION_FORWARD;
    if (now > most) most = now;
    now -= kind == SL_ACTION_BACKWARD || kind == SL_ACTION_BACKWARD_WEIGHT;
  }
  return most;
}

/* 48 blocks in equal stages: those of a rank differ by the embedding and the head alone. */
static void equal_stages_share_the_slots_of_all(void **state) {
  (void)state;
  static const struct point points[] = {
      {"interleaved", 4, 12, 28, "gpt2-xl", "", 1, 1, 0}, {"interleaved", 2, 3, 6, "gpt2-xl", "", 1, 1, 0},
      {"looped-bfs", 4, 6, 5, "gpt2-xl", "", 1, 1, 0},    {"interleaved-zb", 4, 3, 8, "gpt2-xl", "", 1, 1, 0},
      {"zbv", 4, 2, 17, "gpt2-xl", "", 1, 1, 0},
  };
  for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
    struct fixture f;
    open_point(&f, &points[i]);
    for (int r = 0; r < f.job.class_count; r++) {
      const struct sl_class *c = &f.job.classes[r];
      const int want = most_in_flight(&f.plan.schedule, r);
      int most = 0;
      for (size_t b = 0; b < c->buffer_count; b++) {
        if (c->buffers[b].slot == SL_SLOT_ACTIVATION && c->buffers[b].slots > most) most = c->buffers[b].slots;
      }
      assert_int_equal(most, want);
    }
    if (sl_check(&f.job) != SL_OK) fail_msg("%s: %s", points[i].schedule, sl_error_message());
    fixture_close(&f);
  }
}

/* Who asks for it gets no arena where a rank has too much that is live, and nothing else changes. */
static void a_build_ends_where_too_much_is_live(void **state) {
  (void)state;
  static const struct point point = {"1f1b", 4, 1, 6, "gpt2", "", 1, 2, 1};
  struct sl_build_options options = {0};
  struct fixture f;
  int64_t arena;
  open_point(&f, &point);
  for (int r = 0; r < f.job.class_count; r++)
    if (f.job.classes[r].memory->live_peak_bytes > options.most_live)
      options.most_live = f.job.classes[r].memory->live_peak_bytes;
  arena = f.job.classes[0].arena_bytes[SL_SPACE_DEVICE];
  fixture_close(&f);
  assert_int_equal(try_point(&f, &point, &options), SL_OK);
  assert_int_equal(f.job.classes[0].arena_bytes[SL_SPACE_DEVICE], arena);
  fixture_close(&f);
  options.most_live--;
  assert_int_equal(try_point(&f, &point, &options), SL_DONE);
  assert_string_equal(sl_error_message(), "");
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(over_schedules_stages_and_micro_batches),
      cmocka_unit_test(over_strategies),
      cmocka_unit_test(equal_stages_share_the_slots_of_all),
      cmocka_unit_test(a_build_ends_where_too_much_is_live),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
