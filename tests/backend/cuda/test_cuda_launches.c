/* What a step of GPT-2 124M launches: the backend's own code runs on the stand-ins, whose GPU is idle and does nothing
 * (parts.h), and what it enqueues is counted. A graph's nodes are those of a steady step; the last step, which is timed
 * and therefore launched op by op, tells which op they belong to. Prints a table, and holds its numbers to their
 * bars. */
#include "core/run/executor.h"
#include "tests/stand_ins/ranks.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { STEPS = 4, RANKS = 2, STEADY = STEPS - 2 }; /* of the steps, the second is the graph's first */
/* Of a steady step: kernels, also where products have no epilogues, and calls of the host. */
enum { MOST_KERNELS = 285, MOST_APART = 495, MOST_CALLS = 5 };
#define TEXT SL_SOURCE_DIR "/examples/corpus.txt"

const struct sl_exec_ops *sl_exec_module(void);

struct one {
  const char *name;
  int world, stage;
  const char *epilogues;
  int most; /* kernels */
};

struct told {
  int ops[SL_OP_COUNT], kernels[SL_OP_COUNT]; /* of the last step, by kind of op */
  long calls[STEPS];
  int graph_kernels, graph_nodes;
};
static struct told *told; /* RANKS of them, in shared memory */
static struct told *mine;
static bool last_step;

/* --- the executor, which notes what each op of the last step enqueues --- */

static enum sl_status begin(void *state, int local, enum sl_program_kind kind, int64_t step) {
  last_step = sl_program_is_step(kind) && step == STEPS - 1;
  return sl_exec_module()->begin(state, local, kind, step);
}

static enum sl_status issue(void *state, int local, const struct sl_issued *it) {
  const enum sl_op_kind kind = it->op->kind;
  const long before = stand_in_kernels(); /* work of the idle GPU is over when a call returns */
  SL_TRY(sl_exec_module()->issue(state, local, it));
  if (!last_step) return SL_OK;
  mine->ops[kind]++;
  mine->kernels[kind] += sl_op_is_comm(kind) ? 1 : (int)(stand_in_kernels() - before); /* a call of NCCL is a kernel */
  return SL_OK;
}

static void stepped(void *context, int64_t step, const struct sl_step_result *result) {
  (void)context, (void)result;
  mine->calls[step] = stand_in_host_calls();
}

static int train(const void *what, int rank) {
  const struct one *c = what;
  char config[512];
  struct fixture f;
  struct sl_exec_ops counting = *sl_exec_module();
  counting.begin = begin;
  counting.issue = issue;
  mine = &told[rank];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 8, \"gradient_clipping\": 1.0, \"bf16\": {\"enabled\": true}, "
           "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.0003}}, "
           "\"zero_optimization\": {\"stage\": %d}, \"shardlab\": {\"fuse_epilogues\": \"%s\"}}",
           c->stage, c->epilogues);
  if (fixture_open(&f, "gpt2", config, "dgx-h200", c->world, NULL) != SL_OK)
    return fprintf(stderr, "rank %d: %s\n", rank, sl_error_message()), 97;
  struct sl_run run = {.exec = &counting,
                       .job = &f.job,
                       .steps = STEPS,
                       .progress = stepped,
                       .options = {.data = TEXT, .threads = 1, .fail_rank = -1, .timed_from = STEPS - 1}};
  const enum sl_status status = sl_run_execute(&run);
  if (status != SL_OK) return fprintf(stderr, "rank %d: %s\n", rank, sl_error_message()), 100 + (int)status;
  mine->graph_kernels = stand_in_graph_kernels();
  mine->graph_nodes = stand_in_graph_nodes();
  sl_run_close(&run);
  fixture_close(&f);
  return 0;
}

/* --- what is said --- */

static long calls_of(const struct told *t) {
  return t->calls[STEADY] - t->calls[STEADY - 1];
}

/* Rows of a table: the run, the kind of op, how many of them, and the kernels that they launch. */
static void print(const struct one *c, const struct told *t, int ops, int kernels) {
  print_message("%s\tall\t%d\t%d\n", c->name, ops, t->graph_kernels);
  for (int kind = 0; kind < SL_OP_COUNT; kind++)
    if (t->kernels[kind] > 0)
      print_message("%s\t%s\t%d\t%d\n", c->name, sl_op_name((enum sl_op_kind)kind), t->ops[kind], t->kernels[kind]);
  print_message("%s\t(marks of collectives)\t-\t%d\n", c->name, t->graph_kernels - kernels);
  print_message("%s\t(copies)\t-\t%d\n", c->name, t->graph_nodes - t->graph_kernels);
  print_message("%s\t(calls of the host)\t-\t%ld\n", c->name, calls_of(t));
}

/* A graph of several ranks has a mark in front of each collective, which tells where a rank stands still. */
static void judge(const struct one *c, const struct told *t, bool says) {
  int ops = 0, kernels = 0, marks = 0;
  for (int kind = 0; kind < SL_OP_COUNT; kind++) {
    ops += t->ops[kind];
    kernels += t->kernels[kind];
    marks += c->world > 1 && sl_op_is_comm((enum sl_op_kind)kind) ? t->ops[kind] : 0;
  }
  if (says) print(c, t, ops, kernels);
  assert_int_equal(t->graph_kernels, kernels + marks); /* two ways to count the same */
  assert_in_range(t->ops[SL_OP_GEMM], 1, t->graph_kernels);
  assert_in_range(calls_of(t), 2, MOST_CALLS);
  if (t->graph_kernels > c->most) fail_msg("%s: %d kernels, not at most %d", c->name, t->graph_kernels, c->most);
}

static void a_step_launches_few_kernels(void **state) {
  (void)state;
  static const struct one runs[] = {{"1 rank", 1, 0, "gpu", MOST_KERNELS},
                                    {"2 ranks, ZeRO-2", 2, 2, "gpu", MOST_KERNELS},
                                    {"1 rank, no epilogues", 1, 0, "never", MOST_APART}};
  print_message(
      "# kernels of a step of GPT-2 124M, bf16, micro-batch 8 x 1024, on the stand-ins\nrun\top\tops\tkernels\n");
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    int codes[RANKS];
    memset(told, 0, RANKS * sizeof *told);
    assert_true(ranks_run(runs[i].world, train, &runs[i], codes) >= 0);
    for (int rank = 0; rank < runs[i].world; rank++) {
      if (codes[rank] != 0) fail_msg("%s: rank %d: %d\n%s", runs[i].name, rank, codes[rank], ranks_said);
      judge(&runs[i], &told[rank], rank == 0);
    }
  }
}

int main(void) {
  told = mmap(NULL, RANKS * sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (told == MAP_FAILED) return 1;
  setenv("SHARDLAB_STAND_IN_IDLE", "1e6", 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_launches_few_kernels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
