/* label: property
 * What repeats in a step is placed once, and stored once where that is asked for: with and without that, and on one
 * thread and on three, the programs are the same, byte for byte, over schedules, strategies and numbers of
 * micro-batches; and what placing takes, counted in steps, grows no faster than the configuration. */
#include "core/job/draft.h"
#include "core/job/programs.h"
#include "core/place/waits.h"
#include "core/program/memory_report.h"
#include "tests/core/place/same_program.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct point {
  const char *schedule;
  int pp, v, m;
  const char *model, *more; /* more keys of the shardlab section */
  int tp, dp, zero;
};

/* More keys for deep pipelines whose checkpointed activations are kept in host memory: its lanes lag behind compute. */
#define HOST_CHECKPOINTS                                                                                               \
  ", \"recompute\": \"full\"}, \"activation_checkpointing\": {\"partition_activations\": true, "                       \
  "\"cpu_checkpointing\": true"

/* A curve: nothing is left out. Else what repeats is copied, or stored once. */
enum form { CURVE, COPIED, STORED_ONCE };

static void open_point(struct fixture *f, const struct point *p, enum form form) {
  const struct sl_build_options options = {.memory_curve = form == CURVE,
                                           .save_params = true,
                                           .repeated = form == STORED_ONCE,
                                           .threads = form == CURVE ? 1 : 3};
  char config[800];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": true},"
           " \"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": {\"stage\": %d, \"reduce_bucket_size\": 2e7},"
           " \"shardlab\": {\"seq_len\": 64, \"tp\": %d, \"pp\": %d, \"virtual_stages\": %d, \"schedule\": \"%s\"%s}}",
           p->m, p->zero, p->tp, p->pp, p->v, p->schedule, p->more);
  if (fixture_open(f, p->model, config, "dgx-a100-80g", p->pp * p->tp * p->dp, &options) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
}

/* Of all, by number and one behind the other. */
static void same_issues(const struct sl_program *a, const struct sl_program *once) {
  struct sl_issue_ref next = sl_issue_find(once, 0);
  assert_int_equal(a->issue_count, once->issue_count);
  assert_memory_equal(a->lane_ops, once->lane_ops, sizeof a->lane_ops);
  for (size_t i = 0; i < a->issue_count; i++, sl_issue_next(once, &next)) {
    const struct sl_issue_ref at = sl_issue_find(once, i);
    const struct sl_issue *e = &a->issues[i];
    assert_true(at.stored == next.stored && at.turn == next.turn);
    assert_int_equal(at.stored->op, e->op);
    assert_int_equal(sl_issue_instance(once, at), e->instance);
    assert_int_equal(sl_issue_lane_index(once, at), e->lane_index);
    assert_int_equal(at.stored->wait_count, e->wait_count);
    for (uint32_t k = 0; k < e->wait_count; k++) {
      const struct sl_wait wait = sl_issue_wait(once, at, k);
      assert_memory_equal(&wait, &a->waits[e->wait + k], sizeof wait);
    }
  }
}

static void same_memory(const struct sl_class *a, const struct sl_class *b) {
  assert_int_equal(a->slot_count, b->slot_count);
  assert_memory_equal(a->slot_offsets, b->slot_offsets, a->slot_count * sizeof *a->slot_offsets);
  for (int space = 0; space < SL_SPACE_COUNT; space++) {
    struct sl_memory_report x = a->memory[space], y = b->memory[space];
    x.curve = y.curve = NULL;
    x.curve_count = y.curve_count = 0;
    assert_int_equal(x.peak_bytes, y.peak_bytes);
    assert_int_equal(x.live_peak_bytes, y.live_peak_bytes);
    assert_int_equal(x.peak_phase, y.peak_phase);
    assert_memory_equal(x.at_peak, y.at_peak, sizeof x.at_peak);
    assert_memory_equal(x.category_max, y.category_max, sizeof x.category_max);
    assert_memory_equal(x.phase_peak, y.phase_peak, sizeof x.phase_peak);
    assert_int_equal(x.reserved_bytes, y.reserved_bytes);
    assert_int_equal(x.needed_bytes, y.needed_bytes);
  }
}

/* A curve needs every life, so nothing is left out where one is asked for. Returns whether anything was left out
 * without. */
static bool same_with_repeats(const struct point *p) {
  struct fixture whole, short_cut, once;
  uint64_t derived[2] = {0};
  size_t stored[2] = {0};
  open_point(&whole, p, CURVE);
  open_point(&short_cut, p, COPIED);
  open_point(&once, p, STORED_ONCE);
  for (int i = 0; i < whole.job.class_count; i++) {
    const struct sl_class *a = &whole.job.classes[i], *b = &short_cut.job.classes[i], *c = &once.job.classes[i];
    for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
      same_program(&a->programs[kind], &b->programs[kind]);
      same_issues(&a->programs[kind], &c->programs[kind]);
      stored[0] += a->programs[kind].issue_count;
      stored[1] += c->programs[kind].issue_count - sl_issues_repeated(&c->programs[kind]);
    }
    same_memory(a, b);
    same_memory(a, c);
    derived[0] += a->work.derived, derived[1] += b->work.derived;
  }
  fixture_close(&whole);
  fixture_close(&short_cut);
  fixture_close(&once);
  if (stored[1] < stored[0]) assert_true(derived[1] < derived[0]);
  return derived[1] < derived[0];
}

static void the_same_over_schedules_and_strategies(void **state) {
  (void)state;
  static const struct point points[] = {
      {"1f1b", 1, 1, 30, "gpt2-tiny", "", 1, 1, 0},
      {"1f1b", 1, 1, 24, "gpt2-tiny", "", 2, 2, 1},
      {"1f1b", 1, 1, 25, "gpt2-tiny", "", 1, 4, 2},
      {"1f1b", 1, 1, 26, "gpt2-tiny", ", \"recompute\": \"full\"", 1, 4, 3},
      {"1f1b", 1, 1, 24, "gpt2-tiny", ", \"sequence_parallel\": true", 4, 2, 3},
      {"1f1b", 2, 1, 61, "gpt2-mini", "", 1, 1, 0},
      {"1f1b", 3, 1, 130, "gpt2-mini", "", 2, 1, 0},
      {"1f1b", 4, 1, 250, "gpt2-mini", ", \"recompute\": \"selective\"", 1, 2, 2},
      {"1f1b", 2, 1, 90, "gpt2-mini", "", 1, 2, 3},
      {"1f1b", 8, 1, 70, "gpt2", "", 1, 1, 0},
      {"1f1b", 12, 1, 64, "gpt2", ", \"recompute\": \"full\"", 1, 1, 0},
      {"1f1b", 9, 1, 47, "gpt2", "", 2, 1, 0},
      {"1f1b", 24, 1, 90, "gpt2-xl", "", 1, 1, 0},
      {"1f1b", 16, 1, 75, "gpt2-xl", ", \"recompute\": \"selective\"", 5, 2, 1},
      {"1f1b", 6, 1, 90, "gpt2", ", \"sequence_parallel\": true", 2, 2, 1},
      {"1f1b", 5, 1, 120, "gpt2", "", 1, 2, 2},
      {"zb-h1", 7, 1, 110, "gpt2", "", 1, 1, 0},
      {"zb-h1", 8, 1, 60, "gpt2", HOST_CHECKPOINTS, 1, 2, 0},
      {"zbv", 6, 2, 60, "gpt2", HOST_CHECKPOINTS, 2, 2, 0},
      {"1f1b", 12, 1, 60, "gpt2", HOST_CHECKPOINTS, 1, 2, 0},
      {"zbv", 6, 2, 100, "gpt2", "", 1, 1, 0},
      {"interleaved", 4, 3, 96, "gpt2", "", 1, 1, 0},
      {"interleaved", 6, 2, 96, "gpt2", "", 1, 2, 0},
      {"interleaved-zb", 4, 2, 80, "gpt2", "", 1, 1, 0},
      {"zb-h1", 3, 1, 150, "gpt2-mini", "", 1, 1, 0},
      {"zb-h1", 2, 1, 80, "gpt2-mini", "", 2, 2, 1},
      {"zbv", 2, 2, 90, "gpt2-mini", "", 1, 2, 0},
      {"interleaved", 2, 2, 96, "gpt2-mini", "", 1, 1, 0},
      {"interleaved", 2, 2, 64, "gpt2-mini", "", 1, 2, 3},
      {"interleaved-zb", 2, 2, 64, "gpt2-mini", "", 1, 1, 0},
      {"gpipe", 2, 1, 40, "gpt2-mini", "", 1, 1, 0},
      {"gpipe", 4, 1, 30, "gpt2", ", \"recompute\": \"full\"", 2, 2, 1},
      {"1f1b", 12, 1, 17, "gpt2", "", 1, 2, 2},
      {"1f1b", 24, 1, 30, "gpt2-xl", ", \"recompute\": \"full\"", 1, 1, 0},
      {"gpipe", 4, 1, 30, "gpt2", ", \"kernels\": \"torch-eager\"", 1, 2, 0},
      {"1f1b", 12, 1, 60, "gpt2", ", \"kernels\": \"megatron-fused\"", 1, 2, 1},
      {"interleaved", 6, 2, 18, "gpt2", "", 2, 1, 0},
      {"looped-bfs", 2, 2, 30, "gpt2-mini", "", 1, 2, 3},
  };
  int left_out = 0;
  for (size_t i = 0; i < sizeof points / sizeof *points; i += SL_EVERY) left_out += same_with_repeats(&points[i]);
  assert_true(left_out * SL_EVERY >= 10);
}

/* ---- growth ---- */

static struct sl_place_work work_of(const struct point *p) {
  struct fixture f;
  struct sl_place_work sum = {0};
  open_point(&f, p, STORED_ONCE);
  for (int i = 0; i < f.job.class_count; i++) {
    const struct sl_place_work *w = &f.job.classes[i].work;
    sum.derived += w->derived, sum.lives += w->lives, sum.compared += w->compared;
  }
  fixture_close(&f);
  return sum;
}

static void grows_at_most(const struct point *p, const struct point *q, double most, double most_compared) {
  const struct sl_place_work a = work_of(p), b = work_of(q);
  const double growth[] = {(double)b.derived / (double)a.derived, (double)b.lives / (double)a.lives,
                           (double)b.compared / (double)a.compared};
  for (int i = 0; i < 3; i++)
    if (growth[i] > (i < 2 ? most : most_compared))
      fail_msg("count %d grows by %.2f, at most %.2f (%s, pp %d, m %d)", i, growth[i], i < 2 ? most : most_compared,
               p->model, p->pp, p->m);
}

static void micro_batches_cost_nothing_once_they_repeat(void **state) {
  (void)state;
  grows_at_most(&(struct point){"1f1b", 1, 1, 64, "gpt2", "", 2, 1, 0},
                &(struct point){"1f1b", 1, 1, 512, "gpt2", "", 2, 1, 0}, 1.0, 1.0);
  grows_at_most(&(struct point){"1f1b", 2, 1, 128, "gpt2", "", 1, 2, 1},
                &(struct point){"1f1b", 2, 1, 512, "gpt2", "", 1, 2, 1}, 1.1, 1.1);
}

/* Over eight times the layers: comparisons for places come in steps from one doubling to the next. */
static void layers_cost_no_more_than_in_proportion(void **state) {
  (void)state;
  static const char *const model = "{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_head\": 4, \"n_layer\": %d, "
                                   "\"n_positions\": 64, \"vocab_size\": 512}";
  char path[2][64];
  for (int i = 0; i < 2; i++) {
    snprintf(path[i], sizeof path[i], "test_repeat_%d.json", i);
    FILE *file = fopen(path[i], "w");
    assert_non_null(file);
    fprintf(file, model, 32 << (3 * i));
    fclose(file);
  }
  grows_at_most(&(struct point){"1f1b", 1, 1, 4, path[0], "", 1, 1, 0},
                &(struct point){"1f1b", 1, 1, 4, path[1], "", 1, 1, 0}, 8.4, 9.2);
  for (int i = 0; i < 2; i++) remove(path[i]);
}

/* Of a deep pipeline a few periods are derived: of what fills it, of its steady part and of what empties it. Slots that
 * hold a micro-batch from its forward to its backward need not have taken all their turns. */
static void no_turn_is_waited_for(void **state) {
  (void)state;
  enum { RANKS = 48, FEW = 28 };
  const struct point p = {"1f1b", RANKS, 1, 400, "gpt2-xl", "", 1, 1, 0};
  struct fixture f;
  open_point(&f, &p, STORED_ONCE);
  const struct sl_class *second = &f.job.classes[1];
  const size_t of_micro_batch = second->programs[SL_PROGRAM_STEP].issue_count / (size_t)p.m;
  assert_true(second->work.derived < of_micro_batch * FEW + second->programs[SL_PROGRAM_INIT].issue_count);
  fixture_close(&f);
}

/* What fills a pipeline, or all its micro-batches before the first is emptied, is derived once, too. */
static void filling_costs_nothing_once_it_repeats(void **state) {
  (void)state;
  static const struct point points[][2] = {
      {{"gpipe", 4, 1, 30, "gpt2", "", 1, 1, 0}, {"gpipe", 4, 1, 240, "gpt2", "", 1, 1, 0}},
      {{"1f1b", 12, 1, 300, "gpt2-xl", "", 1, 1, 0}, {"1f1b", 48, 1, 300, "gpt2-xl", "", 1, 1, 0}}};
  for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
    const struct sl_place_work few = work_of(&points[i][0]), many = work_of(&points[i][1]);
    if ((double)many.derived > 1.1 * (double)few.derived)
      fail_msg("%s, pp %d, m %d: %llu issues are derived; pp %d, m %d: %llu", points[i][0].schedule, points[i][0].pp,
               points[i][0].m, (unsigned long long)few.derived, points[i][1].pp, points[i][1].m,
               (unsigned long long)many.derived);
  }
}

/* The last ranks hold few micro-batches, some of whose buffers live through no period: their cycles need not repeat all
 * at once either. */
static void few_in_flight_turn_twice(void **state) {
  (void)state;
  enum { MOST = 80 }; /* micro-batches that are derived */
  const struct point p = {"1f1b", 16, 1, 400, "gpt2-xl", "", 1, 1, 0};
  struct fixture f;
  open_point(&f, &p, STORED_ONCE);
  for (int c = 0; c < f.job.class_count; c++) {
    const struct sl_class *own = &f.job.classes[c];
    const size_t of_micro_batch = own->programs[SL_PROGRAM_STEP].issue_count / (size_t)p.m;
    assert_true(own->work.derived < MOST * of_micro_batch);
  }
  fixture_close(&f);
}

/* ---- lifetimes ---- */

/* A class as it is before it is placed, and the lifetimes of its step. */
struct derived {
  struct sl_job job;
  struct sl_lives lives;
};

static void derive(struct derived *d, const struct sl_plan *plan, const struct sl_class *like, bool all) {
  const struct sl_build_options options = {.memory_curve = all, .repeated = !all};
  const struct sl_class ranks = {.pp_rank = like->pp_rank,
                                 .rank_count = like->rank_count,
                                 .first_rank = like->first_rank,
                                 .last_rank = like->last_rank};
  struct sl_lowering drafted;
  enum sl_scope *scopes = NULL;
  *d = (struct derived){.job = {.classes = calloc(1, sizeof ranks), .class_count = 1}};
  struct sl_class *c = d->job.classes;
  assert_non_null(c);
  *c = ranks;
  assert_int_equal(sl_job_draft(&drafted, plan, &options, c, -1), SL_OK);
  assert_int_equal(sl_job_lower(c, &scopes, &drafted), SL_OK);
  assert_int_equal(sl_waits_derive(plan, c, scopes, &options, &c->programs[SL_PROGRAM_STEP], &d->lives), SL_OK);
  free(scopes);
  sl_job_draft_free(&drafted);
}

static void forget(struct derived *d) {
  sl_job_free(&d->job);
  free(d->lives.items);
}

static int by_slot(const void *a, const void *b) {
  const struct sl_life *x = a, *y = b;
  if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
  return (x->first > y->first) - (x->first < y->first);
}

/* Lifetimes that were put together, or moved behind copies, are those that would have been derived. */
static void every_lifetime_is_one_of_all(void **state) {
  (void)state;
  static const struct point points[] = {
      {"1f1b", 12, 1, 64, "gpt2", "", 1, 1, 0},  {"1f1b", 6, 1, 41, "gpt2", ", \"recompute\": \"selective\"", 2, 2, 1},
      {"zb-h1", 7, 1, 110, "gpt2", "", 1, 1, 0}, {"gpipe", 4, 1, 30, "gpt2", ", \"recompute\": \"full\"", 2, 2, 1},
      {"1f1b", 12, 1, 17, "gpt2", "", 1, 2, 2},  {"1f1b", 12, 1, 60, "gpt2", HOST_CHECKPOINTS, 1, 2, 0}};
  for (size_t i = 0; i < sizeof points / sizeof *points; i += SL_EVERY) {
    struct fixture f;
    size_t left_out = 0;
    open_point(&f, &points[i], STORED_ONCE);
    for (int k = 0; k < f.job.class_count; k++) {
      struct derived all, some;
      derive(&all, &f.plan, &f.job.classes[k], true);
      derive(&some, &f.plan, &f.job.classes[k], false);
      left_out += all.lives.count - some.lives.count;
      qsort(all.lives.items, all.lives.count, sizeof *all.lives.items, by_slot);
      for (size_t j = 0; j < some.lives.count; j++) {
        struct sl_life *own = &some.lives.items[j];
        struct sl_life *same = bsearch(own, all.lives.items, all.lives.count, sizeof *own, by_slot);
        assert_non_null(same);
        own->before = same->before; /* their numbers */
        assert_memory_equal(own, same, sizeof *own);
      }
      forget(&all);
      forget(&some);
    }
    assert_true(left_out > 0);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_over_schedules_and_strategies),
      cmocka_unit_test(micro_batches_cost_nothing_once_they_repeat),
      cmocka_unit_test(layers_cost_no_more_than_in_proportion),
      cmocka_unit_test(no_turn_is_waited_for),
      cmocka_unit_test(filling_costs_nothing_once_it_repeats),
      cmocka_unit_test(few_in_flight_turn_twice),
      cmocka_unit_test(every_lifetime_is_one_of_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
