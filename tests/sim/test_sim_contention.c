/* label: property
   libs: sim
 * Transfers that share links: closed forms of two and three on one card, nothing faster than without, folded as unfolded, and where
 * nothing meets the same bits. */
#include "tests/support/job_fixture.h"
#include "tests/support/sim_world.h"

#include "sim/contention.h"

/* Devices with a card of 2 byte/s of their own, one a node. */
static void open_world(struct world *w, int pp, int dp) {
  world_init(w, pp, dp, 1);
  w->cluster.devices_per_node = 1;
  w->cluster.link[0] = (struct sl_link){.name = "card", .span = INT64_MAX, .bandwidth = 2};
}

static struct drive run_world(const struct world *w, bool share, bool fold) {
  const struct sl_exec_options options = {.fold = fold, .fail_rank = -1, .assume = {.share_links = share}};
  struct drive d = {.job = &w->job, .batch = 64};
  assert_int_equal(sl_exec_sim.open(&d.state, &w->job, &options, &d.ranks, &d.count), SL_OK);
  assert_int_equal(sl_calloc(&d.handed, (size_t)d.count, sizeof *d.handed), SL_OK);
  assert_int_equal(sl_calloc(&d.done, (size_t)d.count, sizeof *d.done), SL_OK);
  assert_int_equal(sl_calloc(&d.step, (size_t)d.count, sizeof *d.step), SL_OK);
  if (drive_run(&d, SL_PROGRAM_STEP, 1) != SL_OK) fail_msg("%s", sl_error_message());
  return d;
}

/* An all_reduce of S bytes over two puts S bytes on each card, each way. */
static void two_on_one_card_have_half_each(void **state) {
  (void)state;
  for (int fold = 0; fold < 2; fold++) {
    struct world w;
    open_world(&w, 1, 2);
    add_collective(step_of(&w, 0), SL_OP_ALL_REDUCE, SL_GROUP_DP, 60, 2);
    add_collective(step_of(&w, 0), SL_OP_ALL_REDUCE, SL_GROUP_SHARD, 60, 2);
    struct drive alone = run_world(&w, false, fold), shared = run_world(&w, true, fold);
    for (uint32_t i = 0; i < 2; i++) assert_time(end_of(&alone, 0, i), 30);
    for (uint32_t i = 0; i < 2; i++) assert_time(end_of(&shared, 0, i), 60);
    drive_close(&alone);
    drive_close(&shared);
    world_free(&w);
  }
}

/* 12, 40 and 80 bytes: thirds until the first is over at 18, halves until 28 bytes more of the second are at 46, then
 * all. */
static void a_short_third_gives_way_to_the_others(void **state) {
  (void)state;
  struct world w;
  open_world(&w, 1, 2);
  add_collective(step_of(&w, 0), SL_OP_ALL_REDUCE, SL_GROUP_DP, 12, 2);
  add_collective(step_of(&w, 0), SL_OP_ALL_REDUCE, SL_GROUP_SHARD, 40, 2);
  add_collective(step_of(&w, 0), SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 80, 2);
  struct drive d = run_world(&w, true, true);
  assert_time(end_of(&d, 0, 0), 18);
  assert_time(end_of(&d, 0, 1), 46);
  assert_time(end_of(&d, 0, 2), (12 + 40 + 80) / 2.0);
  drive_close(&d);
  world_free(&w);
}

/* One begins while another is under way: 20 of 60 bytes are over at 10, then each has half until the second, of 10, is
 * over at 20. */
static void one_that_begins_later_takes_half_from_then_on(void **state) {
  (void)state;
  struct world w;
  open_world(&w, 1, 2);
  struct sl_program *p = step_of(&w, 0);
  add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 60, 2);
  const uint32_t work = add_work(p, 10);
  add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_SHARD, 10, 2);
  wait_for(p, work);
  struct drive d = run_world(&w, true, true);
  assert_time(end_of(&d, 0, 2), 20);
  assert_time(end_of(&d, 0, 0), (60 + 10) / 2.0);
  drive_close(&d);
  world_free(&w);
}

/* A card sends and receives at once: messages that cross do not meet; those that go out together do. */
static void a_card_has_two_ways(void **state) {
  (void)state;
  struct world w;
  open_world(&w, 2, 1);
  add_p2p(step_of(&w, 0), SL_LANE_SEND_F, 0, 1, 30, 0);
  add_p2p(step_of(&w, 0), SL_LANE_RECV_B, 0, 1, 30, 0);
  add_p2p(step_of(&w, 1), SL_LANE_RECV_F, 1, 0, 30, 0);
  add_p2p(step_of(&w, 1), SL_LANE_SEND_B, 1, 0, 30, 0);
  struct drive crossing = run_world(&w, true, true);
  for (uint32_t i = 0; i < 2; i++) assert_time(end_of(&crossing, 0, i), 15);
  drive_close(&crossing);
  world_free(&w);
  open_world(&w, 3, 1);
  add_p2p(step_of(&w, 1), SL_LANE_SEND_F, 1, 2, 30, 0);
  add_p2p(step_of(&w, 1), SL_LANE_SEND_B, 1, 0, 30, 0);
  add_p2p(step_of(&w, 2), SL_LANE_RECV_F, 2, 1, 30, 0);
  add_p2p(step_of(&w, 0), SL_LANE_RECV_B, 0, 1, 30, 0);
  struct drive together = run_world(&w, true, true);
  for (uint32_t i = 0; i < 2; i++) assert_time(end_of(&together, 1, i), 30);
  drive_close(&together);
  world_free(&w);
}

/* Of the 1.25 s of an all_reduce of 2 bytes a fifth is latency, so alone it takes 0.8 of the card; of two, each has
 * half of it. */
static void a_call_takes_no_more_than_it_moves(void **state) {
  (void)state;
  struct world w;
  open_world(&w, 1, 2);
  w.cluster.link[0].latency = 0.125;
  add_collective(step_of(&w, 0), SL_OP_ALL_REDUCE, SL_GROUP_DP, 2, 2);
  add_collective(step_of(&w, 0), SL_OP_ALL_REDUCE, SL_GROUP_SHARD, 2, 2);
  struct drive d = run_world(&w, true, true);
  for (uint32_t i = 0; i < 2; i++) assert_time(end_of(&d, 0, i), 1.25 * 0.8 / 0.5);
  drive_close(&d);
  world_free(&w);
}

static uint32_t draw(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

/* Random programs of collectives and work: shared is never before unshared, for any op, and folded is unfolded. */
static void no_op_ends_earlier_than_without_sharing(void **state) {
  (void)state;
  static const enum sl_group groups[] = {SL_GROUP_DP, SL_GROUP_SHARD, SL_GROUP_TP, SL_GROUP_WORLD};
  uint32_t seed = 3;
  int later = 0;
  for (int round = 0; round < 200; round++) {
    struct world w;
    world_init(&w, 1, 4, 2);
    w.cluster.devices_per_node = 2;
    w.cluster.n_link = 2;
    w.cluster.link[0] = (struct sl_link){.name = "inside", .span = 2, .bandwidth = 9, .latency = 0.25};
    w.cluster.link[1] = (struct sl_link){.name = "between", .span = INT64_MAX, .bandwidth = 2, .half_bytes = 5};
    struct sl_program *p = step_of(&w, 0);
    for (int i = 0; i < 12; i++) {
      const uint32_t before = p->issue_count > 0 ? draw(&seed) % (uint32_t)p->issue_count : 0;
      const enum sl_group group = groups[draw(&seed) % 4];
      if (draw(&seed) % 4 == 0)
        add_work(p, 1 + draw(&seed) % 9);
      else
        add_collective(p, SL_OP_ALL_REDUCE, group, 8 * (1 + draw(&seed) % 40), 2);
      if (i > 0 && draw(&seed) % 2 == 0) wait_for(p, before);
    }
    struct drive alone = run_world(&w, false, true), shared = run_world(&w, true, true),
                 all = run_world(&w, true, false);
    for (uint32_t i = 0; i < p->issue_count; i++) {
      assert_true(end_of(&shared, 0, i) >= end_of(&alone, 0, i) * (1 - 1e-12));
      assert_true(fabs(end_of(&all, 5, i) / end_of(&shared, 0, i) - 1) < 1e-9);
      later += end_of(&shared, 0, i) > end_of(&alone, 0, i);
    }
    drive_close(&alone);
    drive_close(&shared);
    drive_close(&all);
    world_free(&w);
  }
  assert_true(later > 500);
}

static double step_end(const struct fixture *f, bool share, bool fold) {
  struct sl_run run = {.exec = &sl_exec_sim,
                       .job = &f->job,
                       .options = {.fold = fold, .fail_rank = -1, .assume = {.share_links = share}},
                       .steps = 2};
  if (sl_run_execute(&run) != SL_OK) fail_msg("%s", sl_error_message());
  const double end = run.results[1].end_s;
  sl_run_close(&run);
  return end;
}

/* ZeRO-2's reductions beside a pipeline's messages, on several nodes; with one rank a group nothing meets. */
static void real_programs_are_later_and_fold(void **state) {
  (void)state;
  static const struct {
    const char *sl;
    int stage, world;
    bool meets;
  } cases[] = {{"\"tp\": 2, \"pp\": 2", 1, 16, true},
               {"\"tp\": 4, \"pp\": 2", 1, 24, true},
               {"\"tp\": 2, \"rank_order\": \"dp-tp-pp\"", 3, 16, true},
               {"\"tp\": 8", 0, 8, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char config[512];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 4, "
             "\"zero_optimization\": {\"stage\": %d, \"overlap_comm\": true, \"reduce_bucket_size\": 3e6}, "
             "\"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"seq_len\": 256, %s}}",
             cases[i].stage, cases[i].sl);
    if (fixture_open(&f, "llama3-8b", config, "dgx-a100-80g", cases[i].world, NULL) != SL_OK)
      fail_msg("%s", sl_error_message());
    const double alone = step_end(&f, false, true), shared = step_end(&f, true, true);
    print_message("%s: %.6g s alone, %.6g s shared\n", cases[i].sl, alone, shared);
    assert_true(cases[i].meets ? shared >= alone : shared == alone);
    assert_true(fabs(step_end(&f, true, false) / shared - 1) < 1e-9);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_on_one_card_have_half_each),
      cmocka_unit_test(a_short_third_gives_way_to_the_others),
      cmocka_unit_test(one_that_begins_later_takes_half_from_then_on),
      cmocka_unit_test(a_card_has_two_ways),
      cmocka_unit_test(a_call_takes_no_more_than_it_moves),
      cmocka_unit_test(no_op_ends_earlier_than_without_sharing),
      cmocka_unit_test(real_programs_are_later_and_fold),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
