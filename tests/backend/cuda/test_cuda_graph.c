/* Steps as CUDA graphs, on the stand-ins, which do a graph's work in a random order that its edges allow: with a graph
 * a job trains to the bit as without it, dropout and micro-batches included, alone, sharded and in a pipeline; a steady
 * step costs the host a few calls; where no graph can be, or none can be made, the steps go on op by op and say why;
 * and what goes wrong in a graph is noticed as elsewhere. */
#include "core/check/rendezvous.h"
#include "core/run/executor.h"
#include "tests/stand_ins/ranks.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { STEPS = 5, RANKS = 4, REPLAYED = STEPS - 2 }; /* the first is launched op by op, and the last is timed */
#define MODEL SL_SOURCE_DIR "/tests/backend/cuda/gpt2_dropout.json"
#define TOKENS SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin"
#define NO_GRAPH ", \"cuda_graph\": false"

const struct sl_exec_ops *sl_exec_module(void);

struct one {
  int world, stage, pp;
  const char *keys, *own; /* of the configuration, and of its section "shardlab" */
  int hangs_after;        /* the last rank, behind so many steps; 0: never */
  bool detects;
};

struct told {
  double losses[STEPS], norms[STEPS];
  long calls[STEPS]; /* of the host, until the step was over */
  int64_t bytes;
  uint64_t hash;
  int graphs, nodes, bad_waits;
  char launches[320];
};
static struct told *told; /* RANKS of them, in shared memory */

struct watcher {
  const struct one *what;
  int rank;
};

static void stepped(void *context, int64_t step, const struct sl_step_result *result) {
  const struct watcher *w = context;
  told[w->rank].losses[step] = result->loss;
  told[w->rank].norms[step] = result->grad_norm;
  told[w->rank].calls[step] = stand_in_host_calls();
  if (step + 1 == w->what->hangs_after && w->rank == w->what->world - 1) stand_in_hang_later(w->rank, 2);
}

static int train(const void *what, int rank) {
  const struct one *c = what;
  char config[1024];
  struct fixture f;
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 2, \"gradient_clipping\": 0.5%s, "
      "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.003}}, \"zero_optimization\": {\"stage\": %d%s}, "
      "\"shardlab\": {\"seq_len\": 5, \"pp\": %d%s}}",
      strstr(c->keys, "offload") ? "" : c->keys, c->stage, strstr(c->keys, "offload") ? c->keys : "", c->pp, c->own);
  if (fixture_open(&f, MODEL, config, "dgx-h200", c->world, NULL) != SL_OK || sl_check(&f.job) != SL_OK)
    return fprintf(stderr, "rank %d: %s\n", rank, sl_error_message()), 97;
  struct watcher watcher = {c, rank};
  struct sl_run run = {
      .exec = sl_exec_module(),
      .job = &f.job,
      .steps = STEPS,
      .progress = stepped,
      .progress_context = &watcher,
      .options = {
          .data = TOKENS, .threads = 1, .detect_anomaly = c->detects, .fail_rank = -1, .timed_from = STEPS - 1}};
  struct told *t = &told[rank];
  const enum sl_status status = sl_run_execute(&run);
  fprintf(stderr, "%s", fixture_warnings);
  if (status != SL_OK) return fprintf(stderr, "rank %d: %s\n", rank, sl_error_message()), 100 + (int)status;
  const struct sl_exec_report *report = &run.reports[0];
  for (int i = 0; i < report->traffic_count; i++) t->bytes += report->traffic[i].bytes * report->traffic[i].calls;
  t->hash = report->call_hash;
  t->graphs = stand_in_graphs();
  t->nodes = stand_in_graph_nodes();
  t->bad_waits = stand_in_bad_waits();
  snprintf(t->launches, sizeof t->launches, "%s", report->launches);
  sl_run_close(&run);
  fixture_close(&f);
  return 0;
}

static void run_well(const struct one *c, struct told *out) {
  int codes[RANKS];
  memset(told, 0, RANKS * sizeof *told);
  assert_true(ranks_run(c->world, train, c, codes) >= 0);
  for (int rank = 0; rank < c->world; rank++)
    if (codes[rank] != 0)
      fail_msg("world %d, zero %d: rank %d: %d\n%s", c->world, c->stage, rank, codes[rank], ranks_said);
  memcpy(out, told, RANKS * sizeof *out);
}

/* Of the same configuration with graphs and without. */
static void same(const struct one *c, const struct told *a, const struct told *b) {
  for (int rank = 0; rank < c->world; rank++) {
    for (int i = 0; i < STEPS; i++)
      if (a[rank].losses[i] != b[rank].losses[i] || a[rank].norms[i] != b[rank].norms[i])
        fail_msg("world %d, zero %d, pp %d, rank %d, step %d: loss %.17g and %.17g, norm %.17g and %.17g", c->world,
                 c->stage, c->pp, rank, i, a[rank].losses[i], b[rank].losses[i], a[rank].norms[i], b[rank].norms[i]);
    assert_true(a[rank].losses[0] != a[rank].losses[STEPS - 1]);
    assert_true(a[rank].bytes == b[rank].bytes && a[rank].hash == b[rank].hash);
    assert_int_equal(a[rank].bad_waits, 0);
  }
}

static void a_graph_trains_to_the_bit_as_its_ops_do(void **state) {
  (void)state;
  static const struct one cases[] = {
      {1, 0, 1, ", \"fp16\": {\"enabled\": true, \"loss_scale_window\": 2}", "", 0, false},
      {2, 2, 1, ", \"bf16\": {\"enabled\": true}", "", 0, false},
      {4, 1, 2, "", ", \"schedule\": \"1f1b\"", 0, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct told with[RANKS], without[RANKS];
    struct one plain = cases[i];
    char own[128];
    snprintf(own, sizeof own, "%s" NO_GRAPH, plain.own);
    plain.own = own;
    run_well(&cases[i], with);
    run_well(&plain, without);
    same(&plain, with, without);
    for (int rank = 0; rank < plain.world; rank++) {
      assert_int_equal(with[rank].graphs, REPLAYED);
      assert_string_equal(with[rank].launches, "one CUDA graph a step, but for the first and for those timed op by op");
      assert_int_equal(without[rank].graphs, 0);
      assert_string_equal(without[rank].launches, "op by op: shardlab.cuda_graph is false");
    }
  }
}

/* The launch, the wait and the read-back of the step state; ops one by one take hundreds. */
static void a_steady_step_takes_the_host_a_few_calls(void **state) {
  (void)state;
  struct told with[RANKS], without[RANKS];
  run_well(&(struct one){1, 0, 1, "", "", 0, false}, with);
  run_well(&(struct one){1, 0, 1, "", NO_GRAPH, 0, false}, without);
  same(&(struct one){1, 0, 1, "", "", 0, false}, with, without);
  for (int i = 1; i <= REPLAYED; i++) assert_in_range(with[0].calls[i] - with[0].calls[i - 1], 2, i == 1 ? 6 : 5);
  assert_true(without[0].calls[2] - without[0].calls[1] > 100);
  assert_true(with[0].nodes > 100);
  print_message("a steady step: %ld calls of the host with a graph of %d nodes, %ld without\n",
                with[0].calls[3] - with[0].calls[2], with[0].nodes, without[0].calls[3] - without[0].calls[2]);
}

static void where_none_can_be_the_reason_is_said(void **state) {
  (void)state;
  struct told plain[RANKS], run[RANKS];
  const struct one one = {1, 0, 1, "", "", 0, false}, none = {1, 0, 1, "", NO_GRAPH, 0, false};
  const struct one looks = {1, 0, 1, "", "", 0, true};
  const struct one offloads = {1, 2, 1, ", \"offload_optimizer\": {\"device\": \"cpu\"}", "", 0, false};
  run_well(&none, plain);
  setenv("SHARDLAB_STAND_IN_NO_GRAPH", "1", 1); /* found out when one is made: a warning, and the run goes on */
  run_well(&one, run);
  unsetenv("SHARDLAB_STAND_IN_NO_GRAPH");
  same(&one, run, plain);
  assert_int_equal(run[0].graphs, 0);
  assert_non_null(strstr(run[0].launches, "op by op: a step cannot be recorded: CUDA: cudaGraphInstantiate: "));
  assert_non_null(strstr(ranks_said, "a step cannot be recorded: CUDA: cudaGraphInstantiate: "));
  run_well(&looks, run);
  same(&looks, run, plain);
  assert_string_equal(run[0].launches, "op by op: what each op has written is looked at");
  setenv("SHARDLAB_MARK_OPS", "1", 1);
  run_well(&one, run);
  unsetenv("SHARDLAB_MARK_OPS");
  same(&one, run, plain);
  assert_string_equal(run[0].launches, "op by op: launches block, or every op is marked");
  run_well(&offloads, run);
  assert_string_equal(run[0].launches, "op by op: the CPU or NVMe has ops between kernels");
}

/* A rank that stands still in a graph, in its third call, ends the job, and it is told in which of the graph's ops the
 * others wait. */
static void a_rank_that_hangs_in_a_graph_ends_the_job(void **state) {
  (void)state;
  const struct one c = {2, 1, 1, "", "", 3, false};
  int codes[RANKS];
  memset(told, 0, RANKS * sizeof *told);
  setenv("SHARDLAB_TIMEOUT_S", "2", 1);
  const double took = ranks_run(c.world, train, &c, codes);
  unsetenv("SHARDLAB_TIMEOUT_S");
  assert_true(took >= 0 && took < 30);
  assert_int_equal(codes[0], 1);
  assert_int_equal(codes[1], 1);
  if (!strstr(ranks_said, "no progress for 2 s (SHARDLAB_TIMEOUT_S sets the limit); it waits in #") ||
      !strstr(ranks_said, " all_reduce of group world (member 0 of 2) on lane world in action 0STEP"))
    fail_msg("%s", ranks_said);
  assert_true(told[0].losses[2] != 0 && told[0].losses[3] == 0);
}

/* A kernel that faults in a graph is told as one that is not known, for which the command runs the job again,
 * marked. */
static void a_fault_in_a_graph_ends_the_job(void **state) {
  (void)state;
  const struct one c = {1, 0, 1, "", "", 0, false};
  int codes[RANKS];
  memset(told, 0, RANKS * sizeof *told);
  setenv("SHARDLAB_STAND_IN_FAULT", "520", 1);
  assert_true(ranks_run(c.world, train, &c, codes) >= 0);
  unsetenv("SHARDLAB_STAND_IN_FAULT");
  assert_int_equal(codes[0], 100 + SL_ERR_DEVICE);
  if (!strstr(ranks_said, "an illegal memory access was encountered, in an op of step ")) fail_msg("%s", ranks_said);
  assert_true(told[0].losses[1] != 0); /* in the midst of the graphs */
}

int main(void) {
  told = mmap(NULL, RANKS * sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (told == MAP_FAILED) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_graph_trains_to_the_bit_as_its_ops_do),
      cmocka_unit_test(a_steady_step_takes_the_host_a_few_calls),
      cmocka_unit_test(where_none_can_be_the_reason_is_said),
      cmocka_unit_test(a_rank_that_hangs_in_a_graph_ends_the_job),
      cmocka_unit_test(a_fault_in_a_graph_ends_the_job),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
