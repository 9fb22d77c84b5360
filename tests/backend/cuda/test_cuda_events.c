/* label: unit
   libs: cuda_plain
 * Streams, events, pipeline communicators and workspace of real jobs, without a GPU: every wait of the program is
 * covered by events and FIFO order, no event is waited for that others imply, and pairs of stages meet on
 * communicators of their own. */
#include "backend/cuda/comm/links.h"
#include "backend/cuda/events.h"
#include "backend/cuda/workspace.h"
#include "core/op/operands.h"
#include "core/op/workspace.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct job {
  const char *model, *cluster, *config;
  int world;
} jobs[] = {
    {"gpt2", "dgx-h100", "\"shardlab\": {\"seq_len\": 129}", 1},
    {"gpt2", "dgx-h100", "\"zero_optimization\": {\"stage\": 2}, \"shardlab\": {\"seq_len\": 129}", 4},
    {"gpt2", "dgx-h100",
     "\"zero_optimization\": {\"stage\": 3, \"overlap_comm\": true}, \"bf16\": {\"enabled\": true},"
     " \"shardlab\": {\"seq_len\": 129}",
     3},
    {"gpt2", "dgx-h100", "\"shardlab\": {\"seq_len\": 128, \"tp\": 2, \"pp\": 3, \"schedule\": \"1f1b\"}", 12},
    {"gpt2", "dgx-h100",
     "\"shardlab\": {\"seq_len\": 128, \"pp\": 2, \"virtual_stages\": 3, \"schedule\": \"interleaved\"}", 2},
    {"gpt2", "dgx-h100", "\"shardlab\": {\"seq_len\": 128, \"pp\": 4, \"schedule\": \"zb-h1\"}", 4},
};

static void open_job(struct fixture *f, const struct job *j) {
  char config[1024];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 6, \"gradient_clipping\": 0.7,"
           " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, %s}",
           j->config);
  if (fixture_open(f, j->model, config, j->cluster, j->world, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

/* ---- events ---- */

typedef uint32_t clock_row[SL_LANE_COUNT];

static void raise_row(uint32_t *row, const uint32_t *by) {
  for (int i = 0; i < SL_LANE_COUNT; i++)
    if (by[i] > row[i]) row[i] = by[i];
}

/* What is complete for certain once each op starts, from streams and events alone; `skip`: leave this wait out. */
static void clocks_of(const struct sl_program *p, const struct sl_cuda_events *e, size_t skip, const uint32_t *issue_of,
                      clock_row *at) {
  int64_t newest[SL_LANE_COUNT];
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) newest[lane] = -1;
  for (uint32_t i = 0; i < p->issue_count; i++) {
    const enum sl_lane lane = p->ops[p->issues[i].op].lane;
    memset(at[i], 0, sizeof at[i]);
    if (newest[lane] >= 0) raise_row(at[i], at[newest[lane]]);
    at[i][lane] = p->issues[i].lane_index;
    for (uint32_t w = e->wait_first[i]; w < e->wait_first[i + 1]; w++) {
      const uint32_t other = issue_of[e->waits[w]];
      assert_true(other < i);
      if (w == skip) continue;
      raise_row(at[i], at[other]);
      uint32_t *known = &at[i][p->ops[p->issues[other].op].lane];
      const uint32_t index = p->issues[other].lane_index;
      if (index + 1 > *known) *known = index + 1;
    }
    newest[lane] = i;
  }
}

/* Does every op start after what its waits name? */
static bool covers(const struct sl_program *p, clock_row *at) {
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_issue *e = &p->issues[i];
    for (unsigned w = 0; w < e->wait_count; w++)
      if (at[i][p->waits[e->wait + w].lane] < p->waits[e->wait + w].count) return false;
  }
  return true;
}

static size_t check_program(const struct sl_program *p) {
  struct sl_cuda_events e;
  assert_int_equal(sl_cuda_events_plan(&e, p), SL_OK);
  clock_row *at = calloc(p->issue_count + 1, sizeof *at);
  uint32_t *issue_of = calloc((size_t)e.event_count + 1, sizeof *issue_of);
  int seen = 0;
  for (uint32_t i = 0; i < p->issue_count; i++) {
    assert_true(e.uses[p->ops[p->issues[i].op].lane]);
    if (sl_op_is_comm(p->ops[p->issues[i].op].kind)) assert_true(e.event_of[i] >= 0);
    if (e.event_of[i] < 0) continue;
    assert_true(e.event_of[i] < e.event_count);
    issue_of[e.event_of[i]] = i;
    seen++;
  }
  assert_int_equal(seen, e.event_count); /* one op an event, one event an op */
  clocks_of(p, &e, SIZE_MAX, issue_of, at);
  assert_true(covers(p, at));
  /* none superfluous: without any one of them some wait is open. All of a small program, every 7th of a large one */
  const size_t stride = p->issue_count > 2000 ? e.wait_count / 150 + 1 : 1;
  for (size_t w = 0; w < e.wait_count; w += stride) {
    clocks_of(p, &e, w, issue_of, at);
    if (covers(p, at)) fail_msg("wait %zu of %zu is implied by the others", w, e.wait_count);
  }
  const size_t waits = e.wait_count;
  free(at);
  free(issue_of);
  sl_cuda_events_free(&e);
  return waits;
}

static void every_wait_is_covered_and_none_is_superfluous(void **state) {
  (void)state;
  for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
    struct fixture f;
    size_t waits = 0;
    open_job(&f, &jobs[j]);
    for (int c = 0; c < f.job.class_count; c++)
      for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) waits += check_program(&f.job.classes[c].programs[kind]);
    if (jobs[j].world > 1) assert_true(waits > 0);
    fixture_close(&f);
  }
}

static void a_wait_for_what_comes_later_is_refused(void **state) {
  (void)state;
  struct sl_op ops[] = {{.kind = SL_OP_FILL, .lane = SL_LANE_COMPUTE}, {.kind = SL_OP_ALL_REDUCE, .lane = SL_LANE_DP}};
  struct sl_issue issues[] = {{.op = 0, .wait = 0, .wait_count = 1}, {.op = 1}};
  struct sl_wait waits[] = {{SL_LANE_DP, 1}};
  struct sl_program p = {
      .ops = ops, .issues = issues, .waits = waits, .op_count = 2, .issue_count = 2, .wait_count = 1};
  struct sl_cuda_events e;
  p.lane_ops[SL_LANE_COMPUTE] = p.lane_ops[SL_LANE_DP] = 1;
  sl_error_clear();
  assert_int_equal(sl_cuda_events_plan(&e, &p), SL_ERR_INTERNAL);
}

/* ---- links ---- */

static void pairs_of_stages_meet_on_their_own_communicator(void **state) {
  (void)state;
  for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
    struct fixture f;
    struct sl_cuda_links links;
    open_job(&f, &jobs[j]);
    assert_int_equal(sl_cuda_links_plan(&links, &f.job), SL_OK);
    const int pp = f.plan.pp;
    if (pp == 1) assert_int_equal(links.count, 0);
    for (int stage = 0; stage + 1 < pp; stage++) {
      const struct sl_op there = {.kind = SL_OP_SEND, .lane = SL_LANE_SEND_F, .peer = stage + 1};
      const struct sl_op back = {.kind = SL_OP_RECV, .lane = SL_LANE_RECV_B, .peer = stage + 1};
      assert_true(sl_cuda_links_of(&links, stage, &there) >= 0);
      assert_true(sl_cuda_links_of(&links, stage, &back) >= 0);
      assert_true(sl_cuda_links_of(&links, stage, &there) != sl_cuda_links_of(&links, stage, &back));
    }
    for (size_t a = 0; a < links.count; a++) {
      assert_true(links.items[a].round < links.rounds && links.items[a].from != links.items[a].to);
      for (size_t b = a + 1; b < links.count; b++) {
        const struct sl_cuda_link *x = &links.items[a], *y = &links.items[b];
        assert_false(x->from == y->from && x->to == y->to && x->backward == y->backward);
        if (x->round == y->round)
          assert_true(x->from != y->from && x->to != y->to && x->from != y->to && x->to != y->from);
      }
    }
    /* both ends of every message name the same link */
    for (int c = 0; c < f.job.class_count; c++) {
      const struct sl_program *p = &f.job.classes[c].programs[SL_PROGRAM_STEP];
      for (size_t i = 0; i < p->op_count; i++) {
        if (p->ops[i].kind != SL_OP_SEND) continue;
        const bool backward = p->ops[i].lane == SL_LANE_SEND_B;
        const struct sl_op other = {
            .kind = SL_OP_RECV, .lane = backward ? SL_LANE_RECV_B : SL_LANE_RECV_F, .peer = f.job.classes[c].pp_rank};
        const int own = sl_cuda_links_of(&links, f.job.classes[c].pp_rank, &p->ops[i]);
        assert_true(own >= 0);
        assert_int_equal(own, sl_cuda_links_of(&links, p->ops[i].peer, &other));
      }
    }
    sl_cuda_links_free(&links);
    fixture_close(&f);
  }
}

static void interleaved_stages_send_around_the_end(void **state) {
  (void)state;
  struct fixture f;
  struct sl_cuda_links links;
  open_job(&f, &jobs[4]); /* two ranks, three stages each: forward goes 0 to 1 and 1 to 0 */
  assert_int_equal(sl_cuda_links_plan(&links, &f.job), SL_OK);
  assert_int_equal(links.count, 4);
  assert_int_equal(links.rounds, 4);
  sl_cuda_links_free(&links);
  fixture_close(&f);
}

/* ---- workspace ---- */

static void workspace_is_what_the_programs_ask_for(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, &jobs[0]);
  const struct sl_cuda_workspace w = sl_cuda_workspace_plan(&f.job.classes[0]);
  assert_int_equal(w.gemm_bytes, 32 << 20);
  /* six micro-batches of 129 tokens and 129 targets of four bytes, each on a boundary of 256 */
  assert_int_equal(w.staging_bytes, 6 * 2 * 768);
  assert_int_equal(w.values_bytes, 4 << 16);
  assert_int_equal(w.scratch_bytes, 4 << 20); /* more than any op of this one needs */
  fixture_close(&f);
}

/* 30,000 rows of 20,000 columns are summed over 256 at a time; a norm leaves a double of every 4,096 numbers. */
static void a_large_op_gets_more_scratch(void **state) {
  (void)state;
  const int64_t rows = 30000, columns = 20000, sums = 118 * columns * 4;
  const struct sl_op ops[] = {
      {.kind = SL_OP_BIAS_BWD, .dim = {rows, columns}},
      {.kind = SL_OP_GEMM, .flags = SL_OP_TRANS_A | SL_OP_BGRAD_B, .dim = {64, columns, rows}},
      {.kind = SL_OP_GEMM, .flags = SL_OP_TRANS_A | SL_OP_BGRAD_A, .dim = {columns, 64, rows}},
      {.kind = SL_OP_NORM, .dim = {(int64_t)1 << 33}},
  };
  const int64_t needs[] = {sums, sums, sums, (int64_t)1 << 24};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    struct sl_op op = ops[i];
    struct sl_class rank_class = {0};
    rank_class.programs[SL_PROGRAM_STEP] = (struct sl_program){.ops = &op, .op_count = 1};
    assert_int_equal(sl_cuda_workspace_plan(&rank_class).scratch_bytes, needs[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_wait_is_covered_and_none_is_superfluous),
      cmocka_unit_test(a_wait_for_what_comes_later_is_refused),
      cmocka_unit_test(pairs_of_stages_meet_on_their_own_communicator),
      cmocka_unit_test(interleaved_stages_send_around_the_end),
      cmocka_unit_test(workspace_is_what_the_programs_ask_for),
      cmocka_unit_test(a_large_op_gets_more_scratch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
