/* label: unit
   libs: sim
 * The exact clock on hand-built programs: lanes, waits, sends and collectives against closed forms, and what is
 * reported of a step. */
#include "core/plan/communicators.h"
#include "core/run/traffic.h"
#include "tests/support/sim_world.h"

/* What a step takes beside its ops stands at its end, and at that of no other program. */
static void a_step_ends_with_its_overhead(void **state) {
  (void)state;
  const struct sl_op join = {.kind = SL_OP_JOIN, .lane = SL_LANE_COMPUTE, .group = SL_GROUP_NONE};
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
    struct world w;
    struct drive d;
    world_init(&w, 1, 1, 1);
    w.cluster.device.step_overhead = 5;
    struct sl_program *p = &w.job.classes[0].programs[kind];
    add_work(p, 3);
    add_op(p, join, NULL, 0, SL_ACTION_STEP, 0, -1);
    assert_int_equal(drive_open(&d, &w, true, 64), SL_OK);
    assert_int_equal(drive_run(&d, (enum sl_program_kind)kind, 1), SL_OK);
    assert_time(end_of(&d, 0, 1), sl_program_is_step((enum sl_program_kind)kind) ? 8 : 3);
    drive_close(&d);
    world_free(&w);
  }
}

/* 3 s of compute, known exactly, and 4 s of an all-reduce over tp, known to 10 %: each collective counts as one of its
 * own group, though dp has one member. */
static void an_error_bar_knows_the_group_of_each_call(void **state) {
  (void)state;
  struct sl_op_cost entries[] = {
      {.kind = SL_OP_FILL, .ranks = 2, .seconds = {[SL_TERM_LAUNCH] = 3}},
      {.kind = SL_OP_ALL_REDUCE, .dtype = SL_U8, .ranks = 2, .seconds = {[SL_TERM_LAUNCH] = 4}, .scatter = 0.1}};
  struct world w;
  struct drive d;
  struct sl_exec_report report;
  world_init(&w, 1, 1, 2);
  w.cluster.op_costs = (struct sl_op_costs){.count = 2, .items = entries};
  add_work(step_of(&w, 0), 1);
  add_collective(step_of(&w, 0), SL_OP_ALL_REDUCE, SL_GROUP_TP, 10, 2);
  assert_int_equal(drive_open(&d, &w, true, 64), SL_OK);
  assert_int_equal(sl_exec_sim.report(d.state, 0, &report), SL_OK);
  assert_time(report.step_error, 0.1 * 4 / 7);
  free(report.traffic);
  drive_close(&d);
  world_free(&w);
}

static void a_lane_runs_in_order(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 1, 1, 1);
  w.cluster.device.launch_latency = 0.25;
  const int64_t seconds[] = {7, 3, 11, 1, 5};
  for (int i = 0; i < 5; i++) add_work(step_of(&w, 0), seconds[i]);
  struct drive d;
  drive_one_step(&d, &w, true);
  double t = 0;
  for (uint32_t i = 0; i < 5; i++) {
    assert_time(start_of(&d, 0, i), t);
    t += 0.25 + (double)seconds[i];
    assert_time(end_of(&d, 0, i), t);
  }
  assert_time(sl_exec_sim.now(d.state), t);
  drive_close(&d);
  world_free(&w);
}

static void lanes_overlap_until_a_wait_joins_them(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 1, 2, 1);
  struct sl_program *p = step_of(&w, 0);
  uint32_t a = add_work(p, 5);
  uint32_t reduce = add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 9, 2); /* 2 members: 9 s */
  wait_for(p, a);
  uint32_t b = add_work(p, 3);
  uint32_t c = add_work(p, 2);
  wait_for(p, reduce);
  struct drive d;
  drive_one_step(&d, &w, true);
  assert_time(end_of(&d, 0, reduce), 14);
  assert_time(end_of(&d, 0, b), 8);
  assert_time(start_of(&d, 0, c), 14);
  assert_time(end_of(&d, 0, c), 16);
  drive_close(&d);
  world_free(&w);
}

/* Layer i's gather may start when layer i-2 has been computed (one gathered layer ahead): g + L c when compute is the
 * longer, L g + c when the gather is. */
static double prefetch_seconds(int64_t gather, int64_t compute, int layers) {
  struct world w;
  world_init(&w, 1, 2, 1);
  struct sl_program *p = step_of(&w, 0);
  uint32_t done[64];
  for (int i = 0; i < layers; i++) {
    uint32_t g = add_collective(p, SL_OP_ALL_GATHER, SL_GROUP_SHARD, 2 * gather, 2); /* half of it on the wire */
    if (i >= 2) wait_for(p, done[i - 2]);
    done[i] = add_work(p, compute);
    wait_for(p, g);
  }
  double seconds = step_seconds(&w);
  world_free(&w);
  return seconds;
}

static void a_gather_one_layer_ahead_hides_behind_compute(void **state) {
  (void)state;
  assert_time(prefetch_seconds(3, 7, 13), 3 + 13 * 7);
  assert_time(prefetch_seconds(7, 3, 13), 13 * 7 + 3);
}

static void add_stage_forward(struct sl_program *p, int stage, int stages, int micro, int64_t bytes, int64_t seconds) {
  uint32_t got = 0;
  if (stage > 0) got = add_p2p(p, SL_LANE_RECV_F, stage, stage - 1, bytes, micro);
  uint32_t work = add_work(p, seconds);
  if (stage > 0) wait_for(p, got);
  if (stage == stages - 1) return;
  add_p2p(p, SL_LANE_SEND_F, stage, stage + 1, bytes, micro);
  wait_for(p, work);
}

static void add_stage_backward(struct sl_program *p, int stage, int stages, int micro, int64_t bytes, int64_t seconds) {
  uint32_t got = 0;
  if (stage < stages - 1) got = add_p2p(p, SL_LANE_RECV_B, stage, stage + 1, bytes, micro);
  uint32_t work = add_work(p, seconds);
  if (stage < stages - 1) wait_for(p, got);
  if (stage == 0) return;
  add_p2p(p, SL_LANE_SEND_B, stage, stage - 1, bytes, micro);
  wait_for(p, work);
}

/* One forward, one backward (arXiv:2006.15704, figure 4 of arXiv:2104.04473): stage s runs stages - 1 - s forwards
 * ahead. */
static void add_1f1b(struct world *w, int stages, int micros, int64_t bytes, int64_t forward, int64_t backward) {
  for (int s = 0; s < stages; s++) {
    struct sl_program *p = step_of(w, s);
    int ahead = stages - 1 - s < micros ? stages - 1 - s : micros, f = 0;
    while (f < ahead) add_stage_forward(p, s, stages, f++, bytes, forward);
    for (int b = 0; b < micros; b++) {
      if (f < micros) add_stage_forward(p, s, stages, f++, bytes, forward);
      add_stage_backward(p, s, stages, b, bytes, backward);
    }
  }
}

static void the_bubble_of_1f1b_is_the_closed_form(void **state) {
  (void)state;
  const int cases[][2] = {{4, 8}, {4, 10}, {3, 5}, {5, 3}};
  for (int i = 0; i < 4; i++) {
    int stages = cases[i][0], micros = cases[i][1];
    struct world w;
    world_init(&w, stages, 3, 1);
    add_1f1b(&w, stages, micros, 0, 3, 5);
    double total = step_seconds(&w), busy = micros * (3 + 5);
    assert_true(total == (micros + stages - 1) * (3 + 5));
    assert_true((total - busy) / total == (stages - 1.0) / (micros + stages - 1));
    world_free(&w);
  }
}

static void a_send_meets_its_receive(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 2, 1, 1);
  w.cluster.link[0].latency = 0.5;
  struct sl_program *a = step_of(&w, 0), *b = step_of(&w, 1);
  uint32_t s0 = add_p2p(a, SL_LANE_SEND_F, 0, 1, 2, 0), s1 = add_p2p(a, SL_LANE_SEND_F, 0, 1, 4, 1);
  uint32_t late = add_work(b, 5);
  uint32_t r0 = add_p2p(b, SL_LANE_RECV_F, 1, 0, 2, 0);
  wait_for(b, late);
  uint32_t r1 = add_p2p(b, SL_LANE_RECV_F, 1, 0, 4, 1);
  struct drive d;
  drive_one_step(&d, &w, true);
  assert_time(start_of(&d, 0, s0), 0);
  assert_time(start_of(&d, 1, r0), 5);
  assert_time(end_of(&d, 0, s0), 7.5);
  assert_time(end_of(&d, 1, r0), 7.5);
  assert_time(start_of(&d, 0, s1), 7.5);
  assert_time(end_of(&d, 0, s1), 12);
  assert_time(end_of(&d, 1, r1), 12);
  drive_close(&d);
  world_free(&w);
}

/* A receive from stage 2 is at the head while stage 0 sends: only the right pair may match. */
static void a_receive_takes_only_its_own_sender(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 3, 1, 1);
  struct sl_program *p0 = step_of(&w, 0), *p1 = step_of(&w, 1), *p2 = step_of(&w, 2);
  uint32_t soon = add_work(p0, 1);
  uint32_t s0 = add_p2p(p0, SL_LANE_SEND_F, 0, 1, 3, 0);
  wait_for(p0, soon);
  uint32_t late = add_work(p2, 7);
  uint32_t s2 = add_p2p(p2, SL_LANE_SEND_F, 2, 1, 3, 0);
  wait_for(p2, late);
  add_p2p(p1, SL_LANE_RECV_F, 1, 2, 3, 0);
  add_p2p(p1, SL_LANE_RECV_F, 1, 0, 3, 0);
  struct drive d;
  drive_one_step(&d, &w, true);
  assert_time(end_of(&d, 2, s2), 10);
  assert_time(end_of(&d, 0, s0), 13);
  drive_close(&d);
  world_free(&w);
}

/* Two pipeline ranks whose two members have programs of their own, as where each updates other parameters: a send goes
 * to the class of the same member, not to the class whose number is the pipeline rank's. */
static void a_send_goes_to_its_own_member(void **state) {
  (void)state;
  for (int fold = 0; fold < 2; fold++) {
    struct world w;
    struct drive d;
    world_init_apart(&w, 2, 2, 1, 2);
    for (int member = 0; member < 2; member++) {
      const int64_t bytes = member == 0 ? 30 : 70;
      add_p2p(&w.job.classes[member].programs[SL_PROGRAM_STEP], SL_LANE_SEND_F, 0, 1, bytes, 0);
      add_p2p(&w.job.classes[2 + member].programs[SL_PROGRAM_STEP], SL_LANE_RECV_F, 1, 0, bytes, 0);
    }
    drive_one_step(&d, &w, fold);
    assert_int_equal(d.count, 4);
    for (int i = 0; i < 4; i++) assert_time(end_of(&d, i, 0), i % 2 == 0 ? 30 : 70);
    drive_close(&d);
    world_free(&w);
  }
}

/* Stage 3 gathers and reduces in the same group on two lanes, in whatever order the ranks come to them. */
static void calls_of_a_group_on_two_lanes_are_independent(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 2, 1, 1);
  struct sl_program *a = step_of(&w, 0), *b = step_of(&w, 1);
  uint32_t work = add_work(a, 5);
  uint32_t early = add_collective(a, SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 3, 2);
  a->ops[a->issues[early].op].lane = SL_LANE_DP;
  a->lane_ops[SL_LANE_DP] = 1;
  a->lane_ops[SL_LANE_WORLD] = 0;
  uint32_t late = add_collective(a, SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 2, 2);
  wait_for(a, work);
  add_collective(b, SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 2, 2);
  uint32_t same = add_collective(b, SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 3, 2);
  b->ops[b->issues[same].op].lane = SL_LANE_DP;
  b->issues[same].lane_index = 0;
  b->lane_ops[SL_LANE_DP] = 1;
  struct drive d;
  drive_one_step(&d, &w, true);
  assert_time(end_of(&d, 0, early), 3);
  assert_time(end_of(&d, 1, same), 3);
  assert_time(end_of(&d, 0, late), 7);
  drive_close(&d);
  world_free(&w);
}

/* Nodes of 4, pp 2, dp 3, tp 2: a dp group is ranks 0 2 4, of which two share a node; a send is from rank 0 to 6. */
static void a_group_is_as_slow_as_its_slowest_link(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 2, 3, 2);
  w.cluster.link[0] = (struct sl_link){.span = 4, .bandwidth = 8};
  w.cluster.link[1] = (struct sl_link){.span = 64, .bandwidth = 2};
  w.cluster.n_link = 2;
  struct sl_program *a = step_of(&w, 0), *b = step_of(&w, 1);
  uint32_t tp = add_collective(a, SL_OP_ALL_REDUCE, SL_GROUP_TP, 16, 2);
  uint32_t dp = add_collective(a, SL_OP_ALL_REDUCE, SL_GROUP_DP, 15, 3);
  uint32_t send = add_p2p(a, SL_LANE_SEND_F, 0, 1, 14, 0);
  add_p2p(b, SL_LANE_RECV_F, 1, 0, 14, 0);
  struct drive d;
  for (int fold = 0; fold < 2; fold++) {
    drive_one_step(&d, &w, fold);
    assert_time(end_of(&d, 0, tp), 16 / 8.0);
    assert_time(end_of(&d, 0, dp), 4 / 3.0 * 15 / 2);
    assert_time(end_of(&d, 0, send), 14 / 2.0);
    drive_close(&d);
  }
  world_free(&w);
}

/* Stage 0 takes 1 s a step and waits for nobody: its third step ends at 3 s although stage 1 is in its first. */
static void a_rank_goes_on_without_the_slower_ones(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 2, 1, 1);
  add_work(step_of(&w, 0), 1);
  add_work(step_of(&w, 1), 5);
  const int batches[] = {64, 1};
  for (int i = 0; i < 2; i++) {
    struct drive d;
    assert_int_equal(drive_open(&d, &w, true, batches[i]), SL_OK);
    assert_int_equal(drive_run(&d, SL_PROGRAM_STEP, 3), SL_OK);
    for (int step = 0; step < 3; step++) {
      assert_time(completion_of(&d, 0, 0, step).end_s, 1 + step);
      assert_time(completion_of(&d, 1, 0, step).end_s, 5 + 5 * step);
    }
    drive_close(&d);
  }
  world_free(&w);
}

/* Three ranks end a step together but completions are fetched four at a time: the third must not begin its next step
 * late. */
static void fetching_in_parts_costs_no_time(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 1, 3, 1);
  struct sl_program *p = step_of(&w, 0);
  uint32_t work = add_work(p, 1);
  uint32_t reduce = add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 3, 3); /* 4 s */
  wait_for(p, work);
  struct drive d;
  assert_int_equal(drive_open(&d, &w, false, 4), SL_OK);
  assert_int_equal(drive_run(&d, SL_PROGRAM_STEP, 3), SL_OK);
  for (int rank = 0; rank < 3; rank++) {
    for (int step = 0; step < 3; step++) {
      assert_time(completion_of(&d, rank, work, step).end_s, 5 * step + 1);
      assert_time(completion_of(&d, rank, reduce, step).end_s, 5 * step + 5);
    }
  }
  drive_close(&d);
  world_free(&w);
}

static void no_queue_is_ever_full(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 1, 2, 1);
  struct sl_program *p = step_of(&w, 0);
  for (int i = 0; i < 50001; i++) add_work(p, 1);
  uint32_t reduce = add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 4, 2); /* waits for nothing: starts at once */
  struct drive d;
  drive_one_step(&d, &w, true); /* fails on SL_AGAIN */
  assert_time(end_of(&d, 0, reduce), 4);
  assert_time(sl_exec_sim.now(d.state), 50001);
  drive_close(&d);
  world_free(&w);
}

static void a_report_counts_one_step(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 2, 3, 1);
  w.cluster.device.context_bytes = 12345;
  w.cluster.device.communicator_bytes = 100;
  w.job.classes[1].arena_bytes[SL_SPACE_DEVICE] = 777;
  for (int s = 0; s < 2; s++) {
    struct sl_program *init = &w.job.classes[s].programs[SL_PROGRAM_INIT];
    add_collective(init, SL_OP_BROADCAST, SL_GROUP_DP, 1000, 3);
    add_collective(&w.job.classes[s].programs[SL_PROGRAM_SAVE], SL_OP_BROADCAST, SL_GROUP_DP, 1000, 3);
    struct sl_program *p = step_of(&w, s);
    uint32_t work = add_work(p, s == 0 ? 2 : 9);
    add_p2p(p, s == 0 ? SL_LANE_SEND_F : SL_LANE_RECV_F, s, 1 - s, 5, 0);
    wait_for(p, work);
    add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 10, 3);
    add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 12, 3);
  }
  struct drive d;
  assert_int_equal(drive_open(&d, &w, true, 64), SL_OK);
  assert_int_equal(drive_run(&d, SL_PROGRAM_INIT, 1), SL_OK);
  assert_int_equal(drive_run(&d, SL_PROGRAM_STEP, 2), SL_OK);
  assert_int_equal(drive_run(&d, SL_PROGRAM_SAVE, 1), SL_OK);
  struct sl_exec_report r;
  assert_int_equal(sl_exec_sim.report(d.state, 0, &r), SL_OK);
  assert_int_equal(r.traffic_count, 2);
  assert_int_equal(r.traffic[0].group, SL_GROUP_NONE);
  assert_int_equal(r.traffic[0].op, SL_OP_SEND);
  assert_int_equal(r.traffic[0].calls, 1);
  assert_int_equal(r.traffic[0].wire_bytes, 5);
  assert_int_equal(r.traffic[1].calls, 2);
  assert_int_equal(r.traffic[1].bytes, 22);
  assert_int_equal(r.traffic[1].wire_bytes, 20 - (4 + 3) + 24 - (4 + 4)); /* rings cut 10 in 4 3 3 */
  assert_time(r.traffic[1].time_s, 4.0 / 3 * 22);
  assert_int_equal(sl_plan_communicators(w.job.plan, 0), 3); /* dp, pipeline, world */
  assert_int_equal(r.driver_bytes, 12345 + 3 * 100);
  assert_int_equal(r.context_bytes, r.driver_bytes);
  assert_int_equal(r.process_bytes, 0);
  uint64_t hash = sl_hash_call(SL_HASH_CALLS, SL_GROUP_NONE, SL_OP_SEND, 5);
  hash = sl_hash_call(hash, SL_GROUP_DP, SL_OP_ALL_REDUCE, 10);
  assert_int_equal(r.call_hash, sl_hash_call(hash, SL_GROUP_DP, SL_OP_ALL_REDUCE, 12));
  free(r.traffic);
  assert_int_equal(sl_exec_sim.report(d.state, 1, &r), SL_OK);
  assert_int_equal(r.traffic[0].op, SL_OP_RECV);
  assert_int_equal(r.traffic[0].wire_bytes, 0);
  assert_int_equal(r.arena_bytes[SL_SPACE_DEVICE], 777);
  free(r.traffic);
  drive_close(&d);
  world_free(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_ends_with_its_overhead),
      cmocka_unit_test(an_error_bar_knows_the_group_of_each_call),
      cmocka_unit_test(a_lane_runs_in_order),
      cmocka_unit_test(lanes_overlap_until_a_wait_joins_them),
      cmocka_unit_test(a_gather_one_layer_ahead_hides_behind_compute),
      cmocka_unit_test(the_bubble_of_1f1b_is_the_closed_form),
      cmocka_unit_test(a_send_meets_its_receive),
      cmocka_unit_test(a_receive_takes_only_its_own_sender),
      cmocka_unit_test(a_send_goes_to_its_own_member),
      cmocka_unit_test(calls_of_a_group_on_two_lanes_are_independent),
      cmocka_unit_test(a_group_is_as_slow_as_its_slowest_link),
      cmocka_unit_test(a_rank_goes_on_without_the_slower_ones),
      cmocka_unit_test(fetching_in_parts_costs_no_time),
      cmocka_unit_test(no_queue_is_ever_full),
      cmocka_unit_test(a_report_counts_one_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
