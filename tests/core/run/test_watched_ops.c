/* label: unit
 * Phases of a step and rows of messages, from completions of a program made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/op/wire.h"
#include "core/run/comm_log.h"
#include "core/run/phases.h"
#include "tests/support/job_fixture.h"

/* Ops on lanes, an instance each action: F on compute, a gather beside it; B on compute, a reduction that ends later;
 * STEP. */
static struct sl_op ops[] = {{.kind = SL_OP_GEMM, .lane = SL_LANE_COMPUTE},
                             {.kind = SL_OP_ALL_GATHER, .lane = SL_LANE_DP},
                             {.kind = SL_OP_GEMM, .lane = SL_LANE_COMPUTE},
                             {.kind = SL_OP_REDUCE_SCATTER, .lane = SL_LANE_DP},
                             {.kind = SL_OP_ADAMW, .lane = SL_LANE_COMPUTE}};
static struct sl_instance instances[] = {{.action = {.kind = SL_ACTION_FORWARD}},
                                         {.action = {.kind = SL_ACTION_BACKWARD}},
                                         {.action = {.kind = SL_ACTION_STEP}},
                                         {.action = {.kind = SL_ACTION_SEND_F}}};
static struct sl_issue issues[] = {{.op = 0, .instance = 0}, {.op = 1, .instance = 0}, {.op = 2, .instance = 1},
                                   {.op = 3, .instance = 1}, {.op = 4, .instance = 2}, {.op = 0, .instance = 3}};
static const struct sl_program program = {.kind = SL_PROGRAM_STEP,
                                          .ops = ops,
                                          .instances = instances,
                                          .issues = issues,
                                          .op_count = 5,
                                          .instance_count = 4,
                                          .issue_count = 6};

static void near(double a, double b) {
  assert_true(a - b < 1e-12 && b - a < 1e-12);
}

static void phases_of_a_step(void **state) {
  static const struct sl_completion done[] = {{0, 0, 1.0, 1.5},  {0, 1, 0.75, 1.25}, {0, 2, 2.0, 3.0},
                                              {0, 3, 2.5, 3.75}, {0, 4, 4.0, 4.125}, {0, 5, 5.0, 9.0}};
  struct sl_phases p = {0};
  (void)state;
  for (int64_t step = 0; step < 2; step++) { /* the second does not add to the first */
    for (size_t i = 0; i < 6; i++) sl_phases_add(&p, step, &program, &done[i]);
    const struct sl_phase_times t = sl_phases_times(&p);
    near(t.forward_s, 0.75);       /* 0.75 to 1.5 */
    near(t.backward_s, 1.75);      /* 2.0 to 3.75 */
    near(t.backward_inner_s, 1.0); /* 2.0 to 3.0 */
    near(t.backward_reduce_s, 0.75);
    near(t.step_s, 0.125); /* the message between stages is in none */
  }
  sl_phases_free(&p);
}

static void bandwidths(void **state) {
  static const struct {
    enum sl_op_kind op;
    int members;
    double busbw; /* of 3 calls of 1000 bytes in 2 s */
  } cases[] = {{SL_OP_ALL_REDUCE, 2, 1500},       {SL_OP_ALL_REDUCE, 8, 2625}, {SL_OP_ALL_GATHER, 4, 1125},
               {SL_OP_REDUCE_SCATTER, 8, 1312.5}, {SL_OP_SEND, 2, 1500},       {SL_OP_BROADCAST, 8, 1500}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct sl_comm_row row = {
        .op = cases[i].op, .members = cases[i].members, .bytes = 1000, .calls = 3, .time_s = 2};
    near(sl_comm_log_algbw(&row), 1500);
    near(sl_comm_log_busbw(&row), cases[i].busbw);
  }
  const struct sl_comm_row none = {.op = SL_OP_SEND, .members = 2, .bytes = 8, .calls = 1};
  near(sl_comm_log_busbw(&none), 0);
}

/* Every message of a job's step, twice: rows by size whose bytes are those of the record's traffic. */
static void rows_by_size(void **state) {
  struct fixture f;
  struct sl_comm_log log = {0};
  (void)state;
  assert_int_equal(
      fixture_open(
          &f, "gpt2",
          "{\"train_micro_batch_size_per_gpu\": 1, \"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": "
          "{\"stage\": 2, \"reduce_bucket_size\": 9000}}",
          "localhost", 4, NULL),
      SL_OK);
  const struct sl_program *step = &f.job.classes[0].programs[SL_PROGRAM_STEP];
  int64_t bytes = 0, calls = 0, logged = 0, counted = 0;
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < step->issue_count; i++) {
      const struct sl_op *op = &step->ops[step->issues[i].op];
      sl_comm_log_add(&log, &f.plan, 0, step, &(struct sl_completion){.index = (uint32_t)i, .start_s = 1, .end_s = 1.5},
                      NULL);
      if (sl_op_is_comm(op->kind)) bytes += sl_op_comm_bytes(op), calls++;
    }
  for (size_t i = 0; i < log.count; i++) {
    const struct sl_comm_row *row = &log.rows[i];
    logged += row->bytes * row->calls;
    counted += row->calls;
    near(row->time_s, 0.5 * (double)row->calls);
    assert_int_equal(row->members, 4);
    for (size_t k = 0; k < i; k++)
      assert_false(log.rows[k].op == row->op && log.rows[k].group == row->group && log.rows[k].bytes == row->bytes);
  }
  assert_true(log.count > 2 && calls > 8);
  assert_int_equal(logged, bytes);
  assert_int_equal(counted, calls);
  sl_comm_log_free(&log);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(phases_of_a_step), cmocka_unit_test(bandwidths),
                                     cmocka_unit_test(rows_by_size)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
