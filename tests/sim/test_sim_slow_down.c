/* label: unit
   libs: sim
 * Compute beside transfers on the exact clock: it slows down while bytes of its rank move, and only then. */
#include "tests/support/sim_world.h"

static void compute_slows_down_while_bytes_move(void **state) {
  (void)state;
  struct world w;
  struct drive d;
  for (int first = 0; first < 2; first++) { /* the transfer begins under the op, or before it */
    world_init(&w, 1, 2, 1);
    w.cluster.device.comm_cpu_share = 0.25;
    struct sl_program *p = step_of(&w, 0);
    if (first) add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 4, 2);
    uint32_t work = add_work(p, 10);
    if (!first) add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 4, 2);
    uint32_t next = add_work(p, 3);
    drive_one_step(&d, &w, true);
    assert_time(end_of(&d, 0, work), 11); /* 4 s at 3/4, then the other 7 */
    assert_time(end_of(&d, 0, next), 14);
    drive_close(&d);
    world_free(&w);
  }
}

/* After 3 s of compute two reductions of 4 and 6 s begin, and more compute of `work` seconds; when does it end? */
static double end_under_two_transfers(int64_t work) {
  struct world w;
  world_init(&w, 1, 2, 1);
  w.cluster.device.comm_cpu_share = 0.25;
  struct sl_program *p = step_of(&w, 0);
  uint32_t first = add_work(p, 3);
  uint32_t reduce = add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 4, 2);
  wait_for(p, first); /* begins in the instant in which its compute op ends */
  add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 6, 2);
  wait_for(p, first);
  uint32_t second = add_work(p, work);
  struct drive d;
  drive_one_step(&d, &w, true);
  assert_time(end_of(&d, 0, first), 3);
  assert_time(end_of(&d, 0, reduce), 7);
  double end = end_of(&d, 0, second);
  drive_close(&d);
  world_free(&w);
  return end;
}

static void overlapping_transfers_slow_down_once(void **state) {
  (void)state;
  assert_time(end_under_two_transfers(10), 3 + 6 + (10 - 4.5));
  assert_time(end_under_two_transfers(4), 3 + 4 / 0.75); /* over when only the second is left */
}

static void a_send_slows_down_both_sides(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 2, 1, 1);
  w.cluster.device.comm_cpu_share = 0.5;
  struct sl_program *a = step_of(&w, 0), *b = step_of(&w, 1);
  uint32_t sent_under = add_work(a, 5);
  add_p2p(a, SL_LANE_SEND_F, 0, 1, 4, 0);
  uint32_t before = add_work(b, 2); /* so the transfer is from 2 to 6 s */
  uint32_t got_under = add_work(b, 7);
  add_p2p(b, SL_LANE_RECV_F, 1, 0, 4, 0);
  wait_for(b, before);
  struct drive d;
  drive_one_step(&d, &w, true);
  assert_time(end_of(&d, 0, sent_under), 7);
  assert_time(end_of(&d, 1, got_under), 11);
  drive_close(&d);
  world_free(&w);
}

static void waiting_for_others_does_not_slow_down(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 2, 1, 1);
  w.cluster.device.comm_cpu_share = 0.25;
  struct sl_program *early = step_of(&w, 0), *late = step_of(&w, 1);
  uint32_t reduce = add_collective(early, SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 2, 2);
  uint32_t work = add_work(early, 8);
  uint32_t before = add_work(late, 5);
  uint32_t same = add_collective(late, SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 2, 2);
  wait_for(late, before);
  struct drive d;
  drive_one_step(&d, &w, true);
  assert_time(start_of(&d, 0, reduce), 0);
  assert_time(start_of(&d, 1, same), 5);
  assert_time(end_of(&d, 0, reduce), 7);
  assert_time(end_of(&d, 0, work), 8.5); /* 5 + 2 x 3/4 + 1.5 */
  drive_close(&d);
  world_free(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compute_slows_down_while_bytes_move),
      cmocka_unit_test(overlapping_transfers_slow_down_once),
      cmocka_unit_test(a_send_slows_down_both_sides),
      cmocka_unit_test(waiting_for_others_does_not_slow_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
