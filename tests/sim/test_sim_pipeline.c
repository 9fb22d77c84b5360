/* label: property
   libs: sim
 * Pipelines on the exact clock: lowered programs of every builder, with their compute replaced by ticks (F, I and W one, B
 * two) and free transfers, take what the closed forms say, slots and waits included; transfers hide behind compute but for
 * the fill of the pipeline; one rank of a class stands for all of them; 1F1B holds min(p - r, m) micro-batches on rank r. */
#include "core/program/memory_report.h"
#include "sim/sim.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What one op of a segment takes; the unit is large so that sums of it are exact and rounding is none. */
static const int64_t TICK = 1 << 20;

static int ticks_of(enum sl_action_kind kind) {
  switch (kind) {
  case SL_ACTION_FORWARD:
  case SL_ACTION_BACKWARD_INPUT:
  case SL_ACTION_BACKWARD_WEIGHT:
    return 1;
  case SL_ACTION_BACKWARD:
    return 2;
  default:
    return 0;
  }
}

/* The op that makes what the next stage waits for; without one, the last. All before it, which reads what came from the
 * stage before, is done first on the same lane. */
static int32_t op_with_time(const struct sl_program *p, const struct sl_instance *n) {
  int32_t last = -1, output = -1;
  for (int32_t o = n->first_op; o < n->first_op + n->op_count; o++) {
    const struct sl_op *op = &p->ops[o];
    if (op->lane != SL_LANE_COMPUTE || op->kind == SL_OP_JOIN) continue;
    last = o;
    for (int i = 0; i < op->slice_count; i++) {
      const struct sl_slice *s = &p->slices[op->slice + i];
      if (s->access & SL_WRITE && (s->slot == SL_SLOT_OUT || s->slot == SL_SLOT_DX)) output = o;
    }
  }
  return output >= 0 ? output : last;
}

static void set_bytes(struct sl_program *p, struct sl_op *op, int64_t bytes) {
  for (int i = 0; i < op->slice_count; i++) {
    p->slices[op->slice + i].bytes = i == 0 ? bytes : 0;
    p->slices[op->slice + i].access = SL_WRITE;
  }
}

/* Compute becomes ticks, calls become small. */
static void replace_costs(struct sl_program *p) {
  for (size_t o = 0; o < p->op_count; o++) {
    struct sl_op *op = &p->ops[o];
    if (sl_op_is_comm(op->kind) || op->kind == SL_OP_JOIN) continue;
    op->kind = SL_OP_FILL;
    op->flags = 0;
    set_bytes(p, op, 0);
  }
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *n = &p->instances[i];
    const int ticks = ticks_of(n->action.kind);
    if (ticks > 0) set_bytes(p, &p->ops[op_with_time(p, n)], ticks * TICK);
  }
}

static void open_plan(struct fixture *f, const char *schedule, int pp, int v, int m, int tp, int dp, const char *more) {
  char config[640];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d,"
           " \"optimizer\": {\"type\": \"SGD\", \"params\": {\"lr\": 1e-3}},"
           " \"shardlab\": {\"seq_len\": 16, \"tp\": %d, \"pp\": %d, \"virtual_stages\": %d, \"schedule\": \"%s\"}%s}",
           m, tp, pp, v, schedule, more);
  if (fixture_open(f, "gpt2-large", config, "dgx-a100-80g", pp * tp * dp, NULL) != SL_OK) {
    fail_msg("%s p=%d v=%d m=%d: %s", schedule, pp, v, m, sl_error_message());
  }
}

/* A device of 1 byte/s; transfers of any size take `transfer` ticks, collectives none. */
static void unit_device(struct fixture *f, double transfer) {
  f->cluster.device = (struct sl_device){.name = "unit",
                                         .kind = SL_DEVICE_GPU,
                                         .memory_bandwidth = 1,
                                         .gemm_efficiency = 1,
                                         .attention_efficiency = 1,
                                         .elementwise_efficiency = 1};
  f->cluster.n_link = 1;
  f->cluster.link[0] =
      (struct sl_link){.name = "wire", .span = 1 << 20, .bandwidth = 1e60, .latency = transfer * (double)TICK};
  for (int c = 0; c < f->job.class_count; c++) replace_costs(&f->job.classes[c].programs[SL_PROGRAM_STEP]);
}

/* From the first to the last op that takes ticks: the step's end has communication of its own. */
struct span {
  double start, end;
};

static void widen(void *context, int local, int64_t step, const struct sl_program *program,
                  const struct sl_completion *done) {
  struct span *span = context;
  const struct sl_instance *n = &program->instances[program->issues[done->index].instance];
  (void)local;
  (void)step;
  if (program->kind != SL_PROGRAM_STEP || ticks_of(n->action.kind) == 0) return;
  if (program->ops[program->issues[done->index].op].lane != SL_LANE_COMPUTE || done->end_s == done->start_s) return;
  if (span->end == 0 || done->start_s < span->start) span->start = done->start_s;
  if (done->end_s > span->end) span->end = done->end_s;
}

static struct sl_run run_job(const struct fixture *f, bool fold, struct span *span) {
  struct sl_run run = {.exec = &sl_exec_sim, .job = &f->job, .options = {.fold = fold, .fail_rank = -1}, .steps = 1};
  if (span != NULL) run.observe = widen;
  run.observe_context = span;
  if (sl_run_execute(&run) != SL_OK) fail_msg("%s", sl_error_message());
  return run;
}

/* Ticks of the step. */
static double makespan(const struct fixture *f) {
  struct span span = {0};
  struct sl_run run = run_job(f, true, &span);
  sl_run_close(&run);
  return (span.end - span.start) / (double)TICK;
}

/* The idle share of the ranks, at most `late` ticks beyond the closed form. */
static void assert_bubble(const char *name, int p, int v, int m, int numerator, int denominator, int late) {
  struct fixture f;
  open_plan(&f, name, p, v, m, 1, 1, "");
  unit_device(&f, 0);
  const double work = 3.0 * v * m, want = work / (1 - (double)numerator / denominator), got = makespan(&f);
  if (got < want * (1 - 1e-12) || got > (want + late) * (1 + 1e-12))
    fail_msg("%s p=%d v=%d m=%d: %.6f ticks, bubble %.6f, expected %d/%d", name, p, v, m, got, 1 - work / got,
             numerator, denominator);
  fixture_close(&f);
}

static void simulated_bubbles_are_the_closed_forms(void **state) {
  (void)state;
  const int ranks[] = {2, 3, 5, 8};
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
    const int p = ranks[i];
    for (int m = p; m <= 3 * p; m += p) {
      assert_bubble("gpipe", p, 1, m, p - 1, m + p - 1, 0);
      assert_bubble("1f1b", p, 1, m, p - 1, m + p - 1, 0);
      assert_bubble("zb-h1", p, 1, m, p - 1, 3 * m + p - 1, 0);
      assert_bubble("interleaved", p, 2, m, p - 1, 2 * m + p - 1, 0);
      assert_bubble("interleaved", p, 4, m, p - 1, 4 * m + p - 1, 0);
      assert_bubble("interleaved-zb", p, 3, m, p - 1, 9 * m + p - 1, 0);
      assert_bubble("looped-bfs", p, 3, m, p - 1, 3 * m + p - 1, 0);
      /* the V sends both ways on one lane, in the order of PyTorch's list: with an odd p some wait their turn */
      if (m >= 2 * p - 1) assert_bubble("zbv", p, 2, m, p - 1, 6 * m + p - 1, 0);
    }
    assert_bubble("gpipe", p, 1, 1, p - 1, p, 0);
  }
}

/* A transfer of c < 1 ticks delays the first micro-batch of each stage, and no other: forwards end on the last stage
 * (p - 1)(1 + c) + m ticks after the start, backwards 2 m + (p - 1)(2 + c) later. */
static void transfers_hide_behind_compute_but_for_the_fill(void **state) {
  (void)state;
  const int sizes[][2] = {{2, 3}, {3, 7}, {5, 4}, {8, 9}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int p = sizes[i][0], m = sizes[i][1];
    const double c = 0.375, want = 3.0 * (m + p - 1) + 2 * (p - 1) * c;
    struct fixture f;
    open_plan(&f, "gpipe", p, 1, m, 1, 1, "");
    unit_device(&f, c);
    const double got = makespan(&f);
    if (got < want * (1 - 1e-12) || got > want * (1 + 1e-12))
      fail_msg("gpipe p=%d m=%d, transfers of %g ticks: %.6f ticks, expected %.6f", p, m, c, got, want);
    fixture_close(&f);
  }
}

/* Transfers longer than compute are the pace: a lane carries one at a time, and a rank sends while it computes. */
static void slow_transfers_are_the_pace(void **state) {
  (void)state;
  const int m = 6;
  const double c = 4;
  struct fixture f;
  open_plan(&f, "gpipe", 2, 1, m, 1, 1, "");
  unit_device(&f, c);
  /* forward: 1 + m c, then 1 on the last rank; backward: the first gradient 2 later, m c of transfers, then 2 */
  const double got = makespan(&f), want = 1 + m * c + 1 + 2 + m * c + 2;
  if (got < want * (1 - 1e-12) || got > want * (1 + 1e-12)) fail_msg("%.6f ticks, expected %.6f", got, want);
  fixture_close(&f);
}

/* ---- folding ---- */

static void assert_same_traffic(const struct sl_exec_report *a, const struct sl_exec_report *b) {
  assert_int_equal(a->call_hash, b->call_hash);
  assert_int_equal(a->traffic_count, b->traffic_count);
  for (int i = 0; i < a->traffic_count; i++) {
    assert_int_equal(a->traffic[i].calls, b->traffic[i].calls);
    assert_int_equal(a->traffic[i].bytes, b->traffic[i].bytes);
    assert_true(a->traffic[i].time_s == b->traffic[i].time_s);
  }
}

static void folded_and_unfolded_agree(const char *schedule, int pp, int v, int m, int tp, int dp, const char *more) {
  struct fixture f;
  open_plan(&f, schedule, pp, v, m, tp, dp, more);
  struct sl_run folded = run_job(&f, true, NULL), all = run_job(&f, false, NULL);
  assert_int_equal(folded.local_count, f.job.class_count);
  assert_int_equal(all.local_count, pp * tp * dp);
  assert_true(folded.results[0].end_s > folded.results[0].start_s);
  assert_true(folded.results[0].start_s == all.results[0].start_s);
  assert_true(folded.results[0].end_s == all.results[0].end_s);
  for (int rank = 0; rank < all.local_count; rank++) {
    assert_same_traffic(&folded.reports[sl_plan_coord(&f.plan, rank).pp], &all.reports[rank]);
  }
  sl_run_close(&folded);
  sl_run_close(&all);
  fixture_close(&f);
}

static void one_rank_stands_for_its_class_in_three_dimensions(void **state) {
  (void)state;
  static const char *const zero[] = {"", ", \"zero_optimization\": {\"stage\": 1}",
                                     ", \"zero_optimization\": {\"stage\": 2}",
                                     ", \"zero_optimization\": {\"stage\": 3}"};
  for (int stage = 0; stage < 4; stage++) {
    folded_and_unfolded_agree("1f1b", 2, 1, 3, 2, 2, zero[stage]);
    folded_and_unfolded_agree("interleaved", 2, 3, 4, 1, 4, zero[stage]);
    folded_and_unfolded_agree("zbv", 4, 2, 7, 2, 1, zero[stage]);
    folded_and_unfolded_agree("zb-h1", 3, 1, 5, 1, 2, zero[stage]);
  }
}

/* ---- what 1F1B holds ---- */

static int activation_slots(const struct sl_class *c) {
  int most = 0;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    if (b->category == SL_CATEGORY_ACTIVATION && b->slot == SL_SLOT_ACTIVATION && b->slots > most) most = b->slots;
  }
  return most;
}

static void one_f_one_b_holds_as_many_micro_batches_as_stages_follow(void **state) {
  (void)state;
  const int sizes[][2] = {{2, 5}, {3, 2}, {4, 9}, {8, 11}, {6, 6}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int p = sizes[i][0], m = sizes[i][1];
    struct fixture f;
    open_plan(&f, "1f1b", p, 1, m, 1, 1, "");
    for (int r = 0; r < p; r++) assert_int_equal(activation_slots(&f.job.classes[r]), p - r < m ? p - r : m);
    fixture_close(&f);
  }
}

/* Middle stages of equally many layers: one micro-batch less at each step down the pipeline, so equal steps of
 * memory. */
static void activation_memory_falls_with_the_stage(void **state) {
  (void)state;
  struct fixture f;
  int64_t at[6];
  open_plan(&f, "1f1b", 6, 1, 11, 1, 1, "");
  for (int r = 0; r < 6; r++) at[r] = f.job.classes[r].memory[SL_SPACE_DEVICE].category_max[SL_CATEGORY_ACTIVATION];
  for (int r = 1; r + 1 < 5; r++) {
    assert_true(at[r] > at[r + 1]);
    assert_int_equal(at[r] - at[r + 1], at[1] - at[2]);
  }
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(simulated_bubbles_are_the_closed_forms),
      cmocka_unit_test(transfers_hide_behind_compute_but_for_the_fill),
      cmocka_unit_test(slow_transfers_are_the_pace),
      cmocka_unit_test(one_rank_stands_for_its_class_in_three_dimensions),
      cmocka_unit_test(one_f_one_b_holds_as_many_micro_batches_as_stages_follow),
      cmocka_unit_test(activation_memory_falls_with_the_stage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
