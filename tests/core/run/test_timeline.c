/* label: unit
 * Where a step's seconds go: busy by class, exposed communication by group, idle time; and which rank was slowest. */
#include "core/run/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { GEMM, ADAMW, REDUCE, GATHER, SEND, EMBED, CAST, UPDATE, DOWN, WRITE, KINDS };

/* One op of each kind, and an issue for each. */
static struct sl_op ops[KINDS] = {
    [GEMM] = {.kind = SL_OP_GEMM, .lane = SL_LANE_COMPUTE, .group = SL_GROUP_NONE},
    [ADAMW] = {.kind = SL_OP_ADAMW, .lane = SL_LANE_COMPUTE, .group = SL_GROUP_NONE},
    [REDUCE] = {.kind = SL_OP_REDUCE_SCATTER, .lane = SL_LANE_DP, .group = SL_GROUP_DP},
    [GATHER] = {.kind = SL_OP_ALL_GATHER, .lane = SL_LANE_SHARD, .group = SL_GROUP_SHARD},
    [SEND] = {.kind = SL_OP_SEND, .lane = SL_LANE_SEND_F, .group = SL_GROUP_NONE},
    [EMBED] = {.kind = SL_OP_ALL_REDUCE, .lane = SL_LANE_EMBED, .group = SL_GROUP_EMBED},
    [CAST] = {.kind = SL_OP_COPY, .lane = SL_LANE_SHARD, .group = SL_GROUP_NONE},
    [UPDATE] = {.kind = SL_OP_ADAMW, .lane = SL_LANE_HOST, .group = SL_GROUP_NONE},
    [DOWN] = {.kind = SL_OP_COPY, .lane = SL_LANE_D2H, .group = SL_GROUP_NONE},
    [WRITE] = {.kind = SL_OP_COPY, .lane = SL_LANE_NVME_WRITE, .group = SL_GROUP_NONE},
};
static struct sl_issue issues[KINDS] = {{.op = GEMM},  {.op = ADAMW}, {.op = REDUCE}, {.op = GATHER}, {.op = SEND},
                                        {.op = EMBED}, {.op = CAST},  {.op = UPDATE}, {.op = DOWN},   {.op = WRITE}};
static struct sl_program step = {.kind = SL_PROGRAM_STEP, .ops = ops, .issues = issues};
static struct sl_program init = {.kind = SL_PROGRAM_INIT, .ops = ops, .issues = issues};

static void add(struct sl_timeline *t, int local, int64_t number, uint32_t issue, double start, double end) {
  const struct sl_completion done = {.local = local, .index = issue, .start_s = start, .end_s = end};
  sl_timeline_add(t, local, number, &step, &done);
}

static void near(double is, double expected) {
  assert_true(is - expected < 1e-12 && expected - is < 1e-12);
}

/* compute  [10 ---- 12]      [13 -- 14.5]        [17 18]
 * dp            [11 ------- 13.5]
 * shard                               [14 ---- 16]
 * send                                     [15 -- 16.5]   */
static void exposed_is_what_no_compute_hides(void **state) {
  (void)state;
  struct sl_timeline t = {0};
  struct sl_breakdown b;
  add(&t, 0, 4, GEMM, 10, 12);
  add(&t, 0, 4, REDUCE, 11, 13.5);
  add(&t, 0, 4, GEMM, 13, 14.5);
  add(&t, 0, 4, GATHER, 14, 16);
  add(&t, 0, 4, SEND, 15, 16.5);
  add(&t, 0, 4, ADAMW, 17, 18);
  assert_int_equal(sl_timeline_breakdown(&t, 0, &b), SL_OK);
  near(b.step_s, 8);
  near(b.compute_s, 4.5);
  near(b.busy_s[SL_CLASS_GEMM], 3.5);
  near(b.busy_s[SL_CLASS_OPTIMIZER], 1);
  near(b.busy_s[SL_CLASS_COLLECTIVE], 4.5);
  near(b.busy_s[SL_CLASS_P2P], 1.5);
  near(b.exposed_s[SL_GROUP_DP], 1);
  near(b.exposed_s[SL_GROUP_SHARD], 1.5);
  near(b.exposed_s[SL_GROUP_NONE], 1.5);
  near(b.exposed_all_s, 3); /* 12..13 and 14.5..16.5: where two groups overlap it counts once */
  near(b.idle_s, 0.5);
  double compute, bubble;
  near(b.bubble_s, 1); /* 16..17: the send counts, the collectives do not */
  assert_int_equal(sl_timeline_bubble(&t, 0, &compute, &bubble), SL_OK);
  near(compute, b.compute_s);
  near(bubble, b.bubble_s);
  sl_timeline_free(&t);
}

/* Copies between memories are no element-wise kernels. */
static void copies_are_apart(void **state) {
  (void)state;
  struct sl_timeline t = {0};
  struct sl_breakdown b;
  add(&t, 0, 4, GEMM, 10, 12);
  add(&t, 0, 4, CAST, 11, 11.5);
  add(&t, 0, 4, DOWN, 11, 13);
  add(&t, 0, 4, WRITE, 13, 16);
  assert_int_equal(sl_timeline_breakdown(&t, 0, &b), SL_OK);
  near(b.busy_s[SL_CLASS_ELEMENTWISE], 0.5);
  near(b.copies_s, 2);
  near(b.nvme_s, 3);
  near(b.exposed_copies_s, 1);
  sl_timeline_free(&t);
}

/* compute [0 -- 4]
 * shard     [1 --- 5 cast, 5 - 6 gather]
 * host                 [5.5 ------- 9]       */
static void every_second_has_one_name(void **state) {
  (void)state;
  struct sl_timeline t = {0};
  struct sl_breakdown b;
  add(&t, 0, 1, GEMM, 0, 4);
  add(&t, 0, 1, CAST, 1, 5);
  add(&t, 0, 1, GATHER, 5, 6);
  add(&t, 0, 1, UPDATE, 5.5, 9);
  add(&t, 0, 1, GEMM, 10, 11);
  assert_int_equal(sl_timeline_breakdown(&t, 0, &b), SL_OK);
  near(b.exposed_s[SL_GROUP_SHARD], 2); /* what is cast on the lane of a gather is part of it */
  near(b.exposed_all_s, 2);
  near(b.host_s, 3);
  near(b.idle_s, 1);
  near(b.compute_s + b.exposed_all_s + b.host_s + b.idle_s, b.step_s);
  sl_timeline_free(&t);
}

/* Completions of two lanes arrive in any order; only the last step and only step programs count. */
static void the_last_step_counts(void **state) {
  (void)state;
  struct sl_timeline t = {0};
  struct sl_breakdown b;
  const struct sl_completion early = {.index = GEMM, .start_s = 0, .end_s = 100};
  sl_timeline_add(&t, 0, 0, &init, &early);
  add(&t, 0, 0, GEMM, 100, 150);
  add(&t, 0, 1, REDUCE, 151, 155);
  add(&t, 0, 1, GEMM, 150, 153);
  assert_int_equal(sl_timeline_breakdown(&t, 0, &b), SL_OK);
  near(b.step_s, 5);
  near(b.busy_s[SL_CLASS_GEMM], 3);
  near(b.exposed_s[SL_GROUP_DP], 2);
  near(b.idle_s, 0);
  sl_timeline_free(&t);
}

/* What joins the stages is waiting for them: neither the embed nor the world group's collectives end a bubble. */
static void waiting_for_other_stages_is_bubble(void **state) {
  (void)state;
  struct sl_timeline t = {0};
  double compute, bubble;
  add(&t, 0, 0, GEMM, 1, 3);
  add(&t, 0, 0, EMBED, 3, 8.25);
  add(&t, 0, 0, REDUCE, 8, 9);
  add(&t, 0, 0, ADAMW, 9, 9.5);
  assert_int_equal(sl_timeline_bubble(&t, 0, &compute, &bubble), SL_OK);
  near(compute, 2.5);
  near(bubble, 5);
  sl_timeline_free(&t);
}

static void the_slowest_rank(void **state) {
  (void)state;
  struct sl_timeline t = {0};
  struct sl_breakdown b;
  add(&t, 0, 0, GEMM, 0, 3);
  add(&t, 2, 0, GEMM, 5, 9);
  add(&t, 1, 0, GEMM, 2, 6);
  assert_int_equal(sl_timeline_slowest(&t), 1); /* the first at a tie */
  assert_int_equal(sl_timeline_breakdown(&t, 7, &b), SL_OK);
  near(b.step_s, 0);
  sl_timeline_free(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exposed_is_what_no_compute_hides),   cmocka_unit_test(copies_are_apart),
      cmocka_unit_test(every_second_has_one_name),          cmocka_unit_test(the_last_step_counts),
      cmocka_unit_test(waiting_for_other_stages_is_bubble), cmocka_unit_test(the_slowest_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
