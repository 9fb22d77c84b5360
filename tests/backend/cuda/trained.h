/* Ranks of the cuda backend on stand-ins that train from PyTorch's start (tests/golden), each in its process, and what
 * they tell the test. */
#pragma once

#include "tests/stand_ins/ranks.h"
#include "tests/support/job_fixture.h"

#include "core/check/rendezvous.h"
#include "core/job/job.h"
#include "core/program/step_state.h"
#include "core/run/executor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEPS = 2, RANKS = 8 };
#define GOLDEN SL_SOURCE_DIR "/tests/golden/"

const struct sl_exec_ops *sl_exec_module(void);

/* What a rank tells the test. */
struct told {
  double losses[STEPS], norms[STEPS], evaluated[STEPS];
  int64_t bytes, arena, planned;
  int calls, bad_waits, functional, products, tf32_products;
  int epilogues, fused; /* products with one that ran, and that the programs ask for, warming up included */
};
static struct told *told; /* RANKS of them, in shared memory */

struct one {
  const char *folder, *run; /* of tests/golden */
  int world, stage, accumulate, tp, pp;
  int alone;           /* this rank alone; -1: all */
  int fail_rank, hang; /* -1: nobody */
  const char *own;     /* more of the section "shardlab", a JSON object; NULL: none */
};

/* What runs have beyond that; NULL: nothing. */
static struct {
  const char *model;     /* in place of the folder's, from a seeded start */
  const char *precision; /* a key of the configuration */
  const char *fuse;      /* shardlab.fuse_epilogues */
  double lr;             /* above 0: the optimizer's */
  bool detects;          /* looks at what every op has written */
  int fails;             /* from this NCCL call of the last rank on, all of its fail */
  int late_from;         /* above 0: this rank and those behind it begin a second later */
} beyond;

static json_t *load(const char *folder, const char *name) {
  char path[4096];
  json_error_t error;
  snprintf(path, sizeof path, "%s%s/%s", GOLDEN, folder, name);
  json_t *doc = json_load_file(path, 0, &error);
  if (!doc) fprintf(stderr, "%s: %s\n", path, error.text), _exit(98);
  return doc;
}

static char *config_of(const struct one *c) {
  char name[64];
  snprintf(name, sizeof name, "ds_%s.json", c->run);
  json_t *doc = load(c->folder, name), *zero = json_object_get(doc, "zero_optimization");
  json_t *own = json_object_get(doc, "shardlab");
  if (!own) json_object_set_new(doc, "shardlab", own = json_object());
  json_object_set_new(zero, "stage", json_integer(c->stage));
  json_object_set_new(zero, "reduce_bucket_size", json_integer(4001));
  json_object_set_new(zero, "stage3_param_persistence_threshold", json_integer(200));
  json_object_set_new(doc, "gradient_accumulation_steps", json_integer(c->accumulate));
  json_object_set_new(own, "tp", json_integer(c->tp));
  json_object_set_new(own, "pp", json_integer(c->pp));
  json_object_set_new(own, "make_vocab_size_divisible_by", json_integer(1)); /* odd rows, which a GPU would pad */
  if (c->own) json_object_update_new(own, json_loads(c->own, 0, NULL));
  if (beyond.fuse) json_object_set_new(own, "fuse_epilogues", json_string(beyond.fuse));
  if (beyond.precision) json_object_set_new(doc, beyond.precision, json_pack("{s:b}", "enabled", true));
  if (beyond.model) json_object_set_new(own, "seq_len", json_integer(8));
  if (beyond.lr > 0)
    json_object_set_new(json_object_get(json_object_get(doc, "optimizer"), "params"), "lr", json_real(beyond.lr));
  char *text = json_dumps(doc, 0);
  json_decref(doc);
  return text;
}

/* Products with an epilogue in a run: every one once when the backend warms up, then all of each step. */
static int fused_of(const struct fixture *f, int rank) {
  const struct sl_program *p = &f->job.classes[sl_job_class_of(&f->job, rank)].programs[SL_PROGRAM_STEP];
  int n = 0;
  for (size_t i = 0; i < p->op_count; i++) n += sl_op_epilogue(&p->ops[i]).kind != SL_OP_COUNT;
  for (size_t i = 0; i < p->issue_count; i++)
    n += STEPS * (sl_op_epilogue(&p->ops[p->issues[i].op]).kind != SL_OP_COUNT);
  return n;
}

/* One rank, in its process. */
static int train(const void *what, int rank) {
  const struct one *c = what;
  char model[4096], init[4096], tokens[4096], *config = config_of(c);
  struct fixture f;
  struct told *t = &told[rank];
  const struct sl_build_options keep = {.save_grads = true};
  const bool mlp = strcmp(c->folder, "mlp") == 0;
  snprintf(model, sizeof model, "%s%s%s", beyond.model ? beyond.model : GOLDEN, beyond.model ? "" : c->folder,
           beyond.model ? "" : "/config.json");
  snprintf(init, sizeof init, "%s%s/init.safetensors", GOLDEN, c->folder);
  snprintf(tokens, sizeof tokens, "%s%s/tokens.bin", GOLDEN, c->folder);
  if (fixture_open(&f, model, config, "dgx-h200", c->world, &keep) != SL_OK || sl_check(&f.job) != SL_OK)
    return fprintf(stderr, "rank %d: %s\n", rank, sl_error_message()), 97;
  struct sl_run run = {.exec = sl_exec_module(),
                       .job = &f.job,
                       .steps = STEPS,
                       .options = {.data = mlp ? "random:80" : tokens,
                                   .val_data = mlp ? NULL : tokens,
                                   .init = beyond.model ? NULL : init,
                                   .threads = 1,
                                   .detect_anomaly = beyond.detects,
                                   .fail_rank = c->fail_rank,
                                   .fail_step = 1,
                                   .alone = c->alone >= 0,
                                   .alone_rank = c->alone,
                                   .timed_from = STEPS - 1}};
  if (beyond.late_from > 0 && rank >= beyond.late_from) sleep(1);
  if (rank == c->hang) stand_in_hang(rank);
  if (rank == c->world - 1) stand_in_fail(beyond.fails);
  const enum sl_status status = sl_run_execute(&run);
  if (status != SL_OK) return fprintf(stderr, "rank %d: %s\n", rank, sl_error_message()), 96;
  for (int i = 0; i < STEPS; i++) t->losses[i] = run.results[i].loss, t->norms[i] = run.results[i].grad_norm;
  for (int i = 0; i < run.eval_count; i++) t->evaluated[i] = run.evals[i].loss;
  const struct sl_exec_report *report = &run.reports[0];
  for (int i = 0; i < report->traffic_count; i++) t->bytes += report->traffic[i].bytes;
  t->arena = report->arena_bytes[SL_SPACE_DEVICE];
  t->planned = f.job.classes[sl_job_class_of(&f.job, c->alone >= 0 ? c->alone : rank)].arena_bytes[SL_SPACE_DEVICE];
  t->calls = stand_in_calls();
  t->bad_waits = stand_in_bad_waits();
  t->products = stand_in_products();
  t->tf32_products = stand_in_tf32_products();
  t->epilogues = stand_in_epilogues();
  t->fused = fused_of(&f, rank);
  t->functional = report->functional;
  sl_run_close(&run);
  fixture_close(&f);
  free(config);
  return 0;
}

/* All ranks, their standard error in err. */
static char *const err = ranks_said;
static double run_all(const struct one *c, int *codes) {
  memset(told, 0, RANKS * sizeof *told);
  const double took = ranks_run(c->alone >= 0 ? 1 : c->world, train, c, codes);
  assert_true(took >= 0);
  return took;
}

/* Memory for what ranks tell; whether there is any. */
static bool told_begin(void) {
  told = mmap(NULL, RANKS * sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return told != MAP_FAILED;
}
