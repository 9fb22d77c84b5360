/* label: unit
   libs: sim
 * Folding: one rank stands for all of its class to the last bit, where all of them sit alike; and the same job gives the same
 * completions again. */
#include "tests/support/sim_world.h"

/* Two stages x 3 x 2 ranks on nodes of 4 whose programs use every group: pp 2, dp 3, tp 2. */
static void build_mixed(struct world *w) {
  world_init(w, 2, 3, 2);
  w->cluster.device.comm_cpu_share = 0.3;
  w->cluster.device.launch_latency = 0.013;
  w->cluster.device.memory_bandwidth = 3.7;
  w->cluster.link[0] = (struct sl_link){.span = 4, .bandwidth = 51, .latency = 0.0071, .half_bytes = 3};
  w->cluster.link[1] = (struct sl_link){.span = 64, .bandwidth = 7.3, .latency = 0.023};
  w->cluster.n_link = 2;
  for (int s = 0; s < 2; s++) {
    struct sl_program *p = step_of(w, s);
    for (int m = 0; m < 5; m++) {
      uint32_t got = 0;
      if (s == 1) got = add_p2p(p, SL_LANE_RECV_F, s, 0, 11, m);
      uint32_t f = add_work(p, 17 + 3 * s);
      if (s == 1) wait_for(p, got);
      uint32_t tp = add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_TP, 23, 2);
      wait_for(p, f);
      uint32_t g = add_work(p, 5 + m);
      wait_for(p, tp);
      if (s == 0) {
        add_p2p(p, SL_LANE_SEND_F, s, 1, 11, m);
        wait_for(p, g);
      }
      add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 31 + m, 3);
      wait_for(p, g);
    }
    uint32_t shard = add_collective(p, SL_OP_REDUCE_SCATTER, SL_GROUP_SHARD, 63, 3);
    uint32_t model = add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_MODEL, 7, 4);
    wait_for(p, shard);
    uint32_t world = add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 13, 12);
    wait_for(p, model);
    add_collective(p, SL_OP_BROADCAST, SL_GROUP_EMBED, 19, 2);
    wait_for(p, world);
    add_work(p, 29);
    wait_for(p, world);
  }
}

static void one_rank_of_a_class_stands_for_all(void **state) {
  (void)state;
  struct world w;
  build_mixed(&w);
  struct drive folded, all;
  assert_int_equal(drive_open(&folded, &w, true, 64), SL_OK);
  assert_int_equal(drive_open(&all, &w, false, 64), SL_OK);
  assert_int_equal(folded.count, 2);
  assert_int_equal(folded.ranks[1], 6);
  assert_int_equal(all.count, 12);
  assert_int_equal(drive_run(&folded, SL_PROGRAM_STEP, 3), SL_OK);
  assert_int_equal(drive_run(&all, SL_PROGRAM_STEP, 3), SL_OK);
  assert_int_equal(all.log_count, 6 * folded.log_count);
  for (int rank = 0; rank < 12; rank++) {
    int c = rank / 6;
    for (uint32_t i = 0; i < step_of(&w, c)->issue_count; i++) {
      struct sl_completion a = completion_of(&folded, c, i, 2), b = completion_of(&all, rank, i, 2);
      assert_true(a.start_s == b.start_s && a.end_s == b.end_s);
    }
    struct sl_exec_report a, b;
    assert_int_equal(sl_exec_sim.report(folded.state, c, &a), SL_OK);
    assert_int_equal(sl_exec_sim.report(all.state, rank, &b), SL_OK);
    assert_int_equal(a.call_hash, b.call_hash);
    assert_int_equal(a.traffic_count, b.traffic_count);
    for (int i = 0; i < a.traffic_count; i++) {
      assert_int_equal(a.traffic[i].calls, b.traffic[i].calls);
      assert_int_equal(a.traffic[i].bytes, b.traffic[i].bytes);
      assert_true(a.traffic[i].time_s == b.traffic[i].time_s);
    }
    free(a.traffic);
    free(b.traffic);
  }
  drive_close(&folded);
  drive_close(&all);
  world_free(&w);
}

/* Nodes of 4 and tensor groups of 3: ranks 0 1 2 share a node, 3 4 5 do not, so one of each is simulated. */
static void ranks_that_sit_differently_are_folded_apart(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 1, 2, 3);
  w.cluster.link[0] = (struct sl_link){.span = 4, .bandwidth = 8};
  w.cluster.link[1] = (struct sl_link){.span = 64, .bandwidth = 2};
  w.cluster.n_link = 2;
  uint32_t tp = add_collective(step_of(&w, 0), SL_OP_ALL_REDUCE, SL_GROUP_TP, 12, 3);
  struct drive d;
  drive_one_step(&d, &w, true);
  assert_int_equal(d.count, 2);
  assert_int_equal(d.ranks[1], 3);
  assert_time(end_of(&d, 0, tp), 4 / 3.0 * 12 / 8);
  assert_time(end_of(&d, 1, tp), 4 / 3.0 * 12 / 2);
  drive_close(&d);
  world_free(&w);
  world_init(&w, 2, 3, 1); /* rank 0 sends to 3 in its node, 1 and 2 to another node */
  w.cluster.link[0] = (struct sl_link){.span = 4, .bandwidth = 8};
  w.cluster.link[1] = (struct sl_link){.span = 64, .bandwidth = 2};
  w.cluster.n_link = 2;
  uint32_t send = add_p2p(step_of(&w, 0), SL_LANE_SEND_F, 0, 1, 16, 0);
  add_p2p(step_of(&w, 1), SL_LANE_RECV_F, 1, 0, 16, 0);
  drive_one_step(&d, &w, true);
  assert_int_equal(d.count, 4); /* 0, 1 and 2, 3, 4 and 5 */
  assert_time(end_of(&d, 0, send), 16 / 8.0);
  assert_time(end_of(&d, 1, send), 16 / 2.0);
  drive_close(&d);
  world_free(&w);
}

static void the_same_job_gives_the_same_completions(void **state) {
  (void)state;
  struct world w;
  build_mixed(&w);
  const int batches[] = {64, 64, 1, 7}; /* and how many are fetched at a time changes nothing */
  struct drive d[4];
  for (int i = 0; i < 4; i++) {
    assert_int_equal(drive_open(&d[i], &w, false, batches[i]), SL_OK);
    assert_int_equal(drive_run(&d[i], SL_PROGRAM_STEP, 3), SL_OK);
    assert_int_equal(d[i].log_count, d[0].log_count);
    assert_memory_equal(d[i].log, d[0].log, d[0].log_count * sizeof *d[0].log);
  }
  for (size_t i = 1; i < d[0].log_count; i++) assert_true(d[0].log[i].end_s >= d[0].log[i - 1].end_s);
  for (int i = 0; i < 4; i++) drive_close(&d[i]);
  world_free(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_rank_of_a_class_stands_for_all),
      cmocka_unit_test(ranks_that_sit_differently_are_folded_apart),
      cmocka_unit_test(the_same_job_gives_the_same_completions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
