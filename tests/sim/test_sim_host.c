/* label: unit
   libs: sim
 * A host that launches ops: it runs ahead of the device, so a step takes the longer of the two; a send or receive ends its
 * lead. */
#include "core/program/memory_report.h"
#include "tests/support/sim_world.h"

/* The host takes 2 s an op. Ops of 5, 1, 1 and 1 s: its lead from the first hides two launches, not three. */
static void the_host_runs_ahead(void **state) {
  (void)state;
  struct world w;
  struct drive d;
  world_init(&w, 1, 1, 1);
  w.plan.kernel_costs.host_launch = 2;
  const int64_t seconds[] = {5, 1, 1, 1};
  const double starts[] = {2, 7, 8, 9};
  for (int i = 0; i < 4; i++) add_work(step_of(&w, 0), seconds[i]);
  drive_one_step(&d, &w, true);
  for (uint32_t i = 0; i < 4; i++) {
    assert_time(start_of(&d, 0, i), starts[i]);
    assert_time(end_of(&d, 0, i), starts[i] + (double)seconds[i]);
  }
  drive_close(&d);
  world_free(&w);
}

static double seconds_of(int ops, int64_t each, double host) {
  struct world w;
  world_init(&w, 1, 1, 1);
  w.plan.kernel_costs.host_launch = host;
  for (int i = 0; i < ops; i++) add_work(step_of(&w, 0), each);
  const double seconds = step_seconds(&w);
  world_free(&w);
  return seconds;
}

/* Through a list of tensors the host goes at a price of its own, whatever kernels come of it. */
static void a_list_costs_the_host_by_its_tensors(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 1, 1, 1);
  w.plan.kernel_costs.host_launch = 10;
  w.plan.kernel_costs.host_piece = 2;
  struct sl_program *p = step_of(&w, 0);
  const uint32_t list = add_work(p, 0);
  p->ops[list].kind = SL_OP_PASS;
  p->ops[list].dim[1] = 1, p->ops[list].dim[2] = 7;
  assert_time(step_seconds(&w), 7 * 2);
  world_free(&w);
}

/* n equal ops: bound by the host, n launches and the last op; by the device, the first launch and n ops. */
static void a_step_takes_the_longer_of_host_and_device(void **state) {
  (void)state;
  for (int n = 1; n < 20; n++) {
    assert_time(seconds_of(n, 1, 3), 3.0 * n + 1);
    assert_time(seconds_of(n, 3, 1), 1 + 3.0 * n);
    assert_time(seconds_of(n, 3, 0), 3.0 * n);
  }
}

/* A rank that waited for its neighbour has no lead: its next op is launched from then on. */
static void a_message_ends_the_lead(void **state) {
  (void)state;
  struct world w;
  struct drive d;
  world_init(&w, 2, 1, 1);
  w.plan.kernel_costs.host_launch = 2;
  struct sl_program *a = step_of(&w, 0), *b = step_of(&w, 1);
  const uint32_t work = add_work(a, 10), sent = add_p2p(a, SL_LANE_SEND_F, 0, 1, 4, 0);
  wait_for(a, work);
  add_work(b, 1);
  const uint32_t received = add_p2p(b, SL_LANE_RECV_F, 1, 0, 4, 0), next = add_work(b, 1);
  wait_for(b, received);
  drive_one_step(&d, &w, true);
  assert_time(end_of(&d, 0, work), 12);
  assert_time(end_of(&d, 0, sent), 16);
  assert_time(start_of(&d, 1, next), 18);
  drive_close(&d);
  world_free(&w);
}

/* One rank of two works for 3 s, calls a collective of 4 s and works for 1 s. When does each of them end? The host
 * takes 2 s for a kernel and 5 for a call. */
static void ends_with_a_call(bool blocking, double ends[3]) {
  struct world w;
  struct drive d;
  world_init(&w, 1, 2, 1);
  w.plan.kernel_costs.host_launch = 2;
  w.plan.kernel_costs.host_collective = 5;
  w.plan.kernel_costs.launch_blocking = blocking;
  struct sl_program *p = step_of(&w, 0);
  const uint32_t first = add_work(p, 3), call = add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 4, 2);
  wait_for(p, first);
  const uint32_t last = add_work(p, 1);
  wait_for(p, call);
  drive_one_step(&d, &w, true);
  ends[0] = end_of(&d, 0, first), ends[1] = end_of(&d, 0, call), ends[2] = end_of(&d, 0, last);
  drive_close(&d);
  world_free(&w);
}

/* It is called at 2 + 5 s, when the work has long ended; the host then launches the last op while bytes move. */
static void the_host_calls_collectives(void **state) {
  (void)state;
  double ends[3];
  ends_with_a_call(false, ends);
  assert_time(ends[0], 5);
  assert_time(ends[1], 11);
  assert_time(ends[2], 12);
}

static void where_launches_block_host_and_device_add_up(void **state) {
  (void)state;
  double ends[3];
  ends_with_a_call(true, ends);
  assert_time(ends[0], 5);
  assert_time(ends[1], 5 + 5 + 4);
  assert_time(ends[2], 14 + 2 + 1);
}

/* Two pipeline ranks of two tensor-parallel ranks: a call holds its host up by 3 s a member where the pipeline leaves
 * the node and the model has more blocks than that has ranks. */
static void a_pipeline_across_nodes_stalls_tensor_parallel_calls(void **state) {
  (void)state;
  for (int pp = 1; pp <= 2; pp++) {
    for (int per_node = 2; per_node <= 4; per_node++) {
      for (int blocks = 2; blocks <= 3; blocks++) {
        const struct sl_model model = {.n_layer = blocks};
        struct world w;
        struct drive d;
        world_init(&w, pp, 1, 2);
        w.cluster.devices_per_node = per_node;
        w.cluster.pipeline_stall = 3;
        w.plan.model = &model;
        struct sl_program *p = step_of(&w, 0);
        const uint32_t call = add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_TP, 4, 2);
        drive_one_step(&d, &w, true);
        assert_time(end_of(&d, 0, call), pp > 1 && blocks > 2 && 2 * pp > per_node ? 2 * 3 + 4 : 4);
        drive_close(&d);
        world_free(&w);
      }
    }
  }
}

/* A transfer that begins before an op has been launched slows all of it. */
static void an_op_that_waits_for_its_launch_is_slowed_from_its_start(void **state) {
  (void)state;
  struct world w;
  struct drive d;
  world_init(&w, 1, 2, 1);
  w.plan.kernel_costs.host_launch = 3;
  w.plan.kernel_costs.comm_compute_share = 0.5;
  struct sl_program *p = step_of(&w, 0);
  add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 4, 2); /* from 0 to 4 s */
  const uint32_t work = add_work(p, 2);
  drive_one_step(&d, &w, true);
  assert_time(start_of(&d, 0, work), 3);
  assert_time(end_of(&d, 0, work), 5.5); /* one second at half speed, then the other 1.5 */
  drive_close(&d);
  world_free(&w);
}

/* Two nodes of one rank, whose network has a quarter of the bandwidth inside: the op loses a quarter as much. */
static void the_network_slows_less_than_links_inside(void **state) {
  (void)state;
  struct world w;
  struct drive d;
  world_init(&w, 1, 2, 1);
  w.cluster.devices_per_node = w.cluster.link[0].span = 1;
  w.cluster.link[0].bandwidth = 4, w.cluster.link[0].hop = SL_HOP_NVLINK;
  w.cluster.link[1] = (struct sl_link){.name = "network", .span = INT64_MAX, .bandwidth = 1, .hop = SL_HOP_NETWORK};
  w.cluster.n_link = 2;
  w.plan.kernel_costs.comm_compute_share = 0.5;
  struct sl_program *p = step_of(&w, 0);
  add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 14, 2);
  const uint32_t work = add_work(p, 7);
  drive_one_step(&d, &w, true);
  assert_time(end_of(&d, 0, work), 8);
  drive_close(&d);
  world_free(&w);
}

/* Bytes of the device beside the arena, of ops of a second each and a host that takes `host` for one. */
static int64_t beside_arena(double host) {
  struct world w;
  struct drive d;
  struct sl_exec_report report;
  struct sl_memory_report memory[SL_SPACE_COUNT] = {{.peak_bytes = 1000, .needed_bytes = 1700, .needed_at = {1700, 1700, 1700, 1700, 1200}}};
  world_init(&w, 1, 1, 1);
  w.plan.kernel_costs.host_launch = host;
  for (int i = 0; i < 9; i++) add_work(step_of(&w, 0), 1);
  w.job.classes[0].memory = memory;
  drive_one_step(&d, &w, true);
  assert_int_equal(sl_exec_sim.report(d.state, 0, &report), SL_OK);
  free(report.traffic);
  drive_close(&d);
  world_free(&w);
  return report.context_bytes - report.driver_bytes;
}

/* A host that takes nearly as long as the step is hardly ahead: of 19 s it takes 18, so it has 4/19 of its lead. */
static void a_host_behind_reserves_less(void **state) {
  (void)state;
  assert_int_equal(beside_arena(0), 700);
  assert_int_equal(beside_arena(0.5), 700);
  assert_int_equal(beside_arena(2), 200 + 500 * 4 / 19);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_host_runs_ahead),
      cmocka_unit_test(a_step_takes_the_longer_of_host_and_device),
      cmocka_unit_test(a_message_ends_the_lead),
      cmocka_unit_test(a_list_costs_the_host_by_its_tensors),
      cmocka_unit_test(the_host_calls_collectives),
      cmocka_unit_test(where_launches_block_host_and_device_add_up),
      cmocka_unit_test(a_pipeline_across_nodes_stalls_tensor_parallel_calls),
      cmocka_unit_test(an_op_that_waits_for_its_launch_is_slowed_from_its_start),
      cmocka_unit_test(the_network_slows_less_than_links_inside),
      cmocka_unit_test(a_host_behind_reserves_less),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
