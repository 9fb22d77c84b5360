/* label: unit
   libs: sim
 * How the exact clock fails: wrong use, deadlocks and ranks that disagree, each said with rank, op and time. */
#include "tests/support/sim_world.h"

static void wrong_use_is_refused(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 1, 1, 1);
  struct sl_program *p = step_of(&w, 0);
  add_work(p, 1);
  add_work(p, 1);
  struct drive d;
  assert_int_equal(drive_open(&d, &w, true, 8), SL_OK);
  assert_int_equal(sl_exec_sim.begin(d.state, 0, SL_PROGRAM_STEP, 0), SL_OK);
  int count;
  struct sl_completion out[8];
  assert_int_equal(sl_exec_sim.advance(d.state, out, 8, &count), SL_DONE);
  assert_int_equal(count, 0);
  assert_int_equal(drive_issue(&d, 0, p, 1), SL_ERR_INTERNAL); /* before its lane predecessor */
  sl_error_clear();
  assert_int_equal(drive_issue(&d, 0, p, 0), SL_OK);
  assert_int_equal(sl_exec_sim.begin(d.state, 0, SL_PROGRAM_STEP, 1), SL_ERR_INTERNAL); /* while op 0 runs */
  sl_error_clear();
  drive_close(&d);
  p->ops[1].kind = SL_OP_ALL_REDUCE;
  p->ops[1].group = SL_GROUP_DP; /* still on the compute lane */
  assert_int_equal(drive_open(&d, &w, true, 8), SL_ERR_INTERNAL);
  assert_non_null(strstr(sl_error_message(), "all_reduce"));
  sl_error_clear();
  drive_close(&d);
  world_free(&w);
}

static void assert_fails(const struct world *w, bool fold, const char *message) {
  struct drive d;
  assert_int_equal(drive_open(&d, w, fold, 64), SL_OK);
  assert_int_equal(drive_run(&d, SL_PROGRAM_STEP, 1), SL_ERR_CHECK);
  assert_string_equal(sl_error_message(), message);
  sl_error_clear();
  drive_close(&d);
}

static void a_send_without_receive_is_a_deadlock(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 2, 3, 1);
  struct sl_program *p = step_of(&w, 0);
  uint32_t work = add_work(p, 3);
  add_p2p(p, SL_LANE_SEND_F, 0, 1, 5, 2);
  wait_for(p, work);
  add_work(step_of(&w, 1), 1);
  assert_fails(&w, true,
               "deadlock at t=3 s\n"
               "  rank 0 waits at #1 send (0SEND_F2): nothing left on lane recv_f of rank 3");
  world_free(&w);
}

/* Both sides send before they receive: sends wait for their receive, so neither goes on. */
static void sends_that_cross_are_a_deadlock(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 2, 1, 1);
  struct sl_program *a = step_of(&w, 0), *b = step_of(&w, 1);
  uint32_t sent = add_p2p(a, SL_LANE_SEND_F, 0, 1, 5, 0);
  add_p2p(a, SL_LANE_RECV_B, 0, 1, 5, 0);
  wait_for(a, sent);
  sent = add_p2p(b, SL_LANE_SEND_B, 1, 0, 5, 0);
  add_p2p(b, SL_LANE_RECV_F, 1, 0, 5, 0);
  wait_for(b, sent);
  assert_fails(&w, true,
               "deadlock at t=0 s\n"
               "  rank 0 waits at #0 send (0SEND_F0): lane recv_f of rank 1 is at #1 recv (1RECV_F0)\n"
               "  rank 1 waits at #0 send (1SEND_B0): lane recv_b of rank 0 is at #1 recv (0RECV_B0)");
  world_free(&w);
}

static void a_collective_that_some_do_not_call_is_a_deadlock(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 2, 2, 1);
  add_collective(step_of(&w, 1), SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 5, 4);
  add_work(step_of(&w, 0), 2);
  assert_fails(&w, false,
               "deadlock at t=2 s\n"
               "  rank 2 waits at #0 all_reduce (0REDUCE_GRAD): group world lacks rank 0 1\n"
               "  rank 3 waits at #0 all_reduce (0REDUCE_GRAD): group world lacks rank 0 1");
  world_free(&w);
}

static void a_wait_for_an_op_that_never_comes_is_a_deadlock(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 1, 2, 1);
  struct sl_program *p = step_of(&w, 0);
  uint32_t reduce = add_collective(p, SL_OP_ALL_REDUCE, SL_GROUP_DP, 3, 2);
  add_work(p, 2);
  wait_for(p, reduce);
  p->waits[p->wait_count - 1].count = 2;
  assert_fails(&w, true,
               "deadlock at t=3 s\n  rank 0 waits at #1 fill (0F0): lane dp has completed 1 of the 2 ops it waits "
               "for, and was handed 1");
  world_free(&w);
}

static void ranks_that_disagree_on_a_call_are_named(void **state) {
  (void)state;
  struct world w;
  world_init(&w, 2, 1, 1);
  add_collective(step_of(&w, 0), SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 5, 2);
  add_collective(step_of(&w, 1), SL_OP_ALL_REDUCE, SL_GROUP_WORLD, 6, 2);
  struct drive d;
  assert_int_equal(drive_open(&d, &w, true, 64), SL_OK);
  assert_int_equal(drive_run(&d, SL_PROGRAM_STEP, 1), SL_ERR_CHECK);
  assert_string_equal(sl_error_message(), "ranks disagree at t=0 s\n"
                                          "  rank 1 is at #0 all_reduce (0REDUCE_GRAD) with 6 bytes\n"
                                          "  rank 0 is at #0 all_reduce (0REDUCE_GRAD) with 5 bytes");
  sl_error_clear();
  drive_close(&d);
  step_of(&w, 1)->ops[0].dim[0] = 5;
  step_of(&w, 1)->ops[0].kind = SL_OP_BROADCAST;
  assert_int_equal(drive_open(&d, &w, true, 64), SL_OK);
  assert_int_equal(drive_run(&d, SL_PROGRAM_STEP, 1), SL_ERR_CHECK);
  assert_non_null(strstr(sl_error_message(), "rank 1 is at #0 broadcast"));
  sl_error_clear();
  drive_close(&d);
  world_free(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_use_is_refused),
      cmocka_unit_test(a_send_without_receive_is_a_deadlock),
      cmocka_unit_test(sends_that_cross_are_a_deadlock),
      cmocka_unit_test(a_collective_that_some_do_not_call_is_a_deadlock),
      cmocka_unit_test(a_wait_for_an_op_that_never_comes_is_a_deadlock),
      cmocka_unit_test(ranks_that_disagree_on_a_call_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
