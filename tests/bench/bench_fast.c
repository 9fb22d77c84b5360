/* Speed of the fast clock, four lines: configurations a second over a grid of one model, microseconds of one of a
 * trillion parameters on 3072 devices once its block is known, and the same where the cluster's numbers change each
 * time; milliseconds of what formulas do not cover. All in processor seconds. */
#include "fast/fast.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Processor seconds: everything runs on one core, and others may use it too. */
static double spent(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char config_text[] =
    "{\"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-4}},"
    " \"zero_optimization\": {\"overlap_comm\": true}, \"shardlab\": {\"seq_len\": 2048, \"attention\": \"flash\"}}";

struct bench {
  struct sl_model model;
  struct sl_config config;
  struct sl_cluster cluster;
  struct sl_fast *fast;
  size_t count, refused;
  double fastest; /* predicted seconds a sequence: what a search would look for */
};

static void try_one(struct bench *b, const struct sl_fast_choice *c) {
  struct sl_fast_prediction p;
  b->count++;
  if (sl_fast_predict(b->fast, c, &p) != SL_OK) {
    b->refused++;
    return;
  }
  const double replicas = (double)c->world / (c->tp * c->pp);
  const double each = p.step_time_s / (replicas * (double)(c->micro_batch * c->n_micro));
  if (b->fastest == 0 || each < b->fastest) b->fastest = each;
}

/* All there is of micro-batches, schedules and recomputation for one cut of the world. */
static void try_cut(struct bench *b, struct sl_fast_choice c) {
  for (c.micro_batch = 1; c.micro_batch <= 8; c.micro_batch *= 2) {
    for (c.n_micro = 1; c.n_micro <= 256; c.n_micro += c.n_micro < 16 ? 1 : 16) {
      for (int k = 0; k < 6; k++) {
        c.recompute = (enum sl_recompute)(k % 3);
        c.schedule = k < 3 ? SL_FAST_1F1B : SL_FAST_GPIPE;
        try_one(b, &c);
      }
    }
  }
}

static void try_grid(struct bench *b) {
  for (int world = 64; world <= 2048; world *= 2)
    for (int tp = 1; tp <= 8; tp *= 2)
      for (int pp = 1; pp <= 16; pp *= 2)
        if (world % (tp * pp) == 0)
          try_cut(b, (struct sl_fast_choice){.world = world, .tp = tp, .pp = pp, .sequence_parallel = true});
}

static enum sl_status open_bench(struct bench *b, const char *model, const char *config) {
  memset(b, 0, sizeof *b);
  SL_TRY(sl_model_load(&b->model, model));
  SL_TRY(sl_config_parse(&b->config, "bench", config, strlen(config), false));
  SL_TRY(sl_cluster_load(&b->cluster, "dgx-a100-80g"));
  return sl_fast_open(&b->fast, &b->model, &b->config, &b->cluster);
}

static void close_bench(struct bench *b) {
  sl_fast_close(b->fast);
  sl_cluster_free(&b->cluster);
  sl_config_free(&b->config);
  sl_model_free(&b->model);
}

static enum sl_status bench_grid(void) {
  struct bench b;
  SL_TRY(open_bench(&b, "llama3-8b", config_text));
  const double start = spent();
  try_grid(&b);
  const double first = spent() - start, again = spent();
  const size_t count = b.count;
  try_grid(&b);
  const double second = spent() - again;
  printf("fast: %.0f configurations/s with their blocks, %.0f once blocks are known (%zu, %zu refused; best %.4g s a "
         "sequence)\n",
         (double)count / first, (double)count / second, count, b.refused / 2, b.fastest);
  close_bench(&b);
  return SL_OK;
}

static enum sl_status bench_trillion(void) {
  enum { TIMES = 20000 };
  const struct sl_fast_choice c = {.world = 3072,
                                   .tp = 8,
                                   .pp = 64,
                                   .micro_batch = 1,
                                   .n_micro = 512,
                                   .recompute = SL_RECOMPUTE_FULL,
                                   .schedule = SL_FAST_1F1B};
  struct bench b;
  struct sl_fast_prediction p;
  SL_TRY(open_bench(&b, "megatron-1t", config_text));
  const double before = spent();
  SL_TRY(sl_fast_predict(b.fast, &c, &p));
  const double start = spent();
  for (int i = 0; i < TIMES; i++) SL_TRY(sl_fast_predict(b.fast, &c, &p));
  printf("fast: 1T on 3072: %.2f us a configuration, %.1f ms the first (step %.3f s, %.2f GB)\n",
         1e6 * (spent() - start) / TIMES, 1e3 * (start - before), p.step_time_s, 1e-9 * p.memory_bytes);
  close_bench(&b);
  return SL_OK;
}

/* What formulas do not cover: FSDP, whose steps are played as a whole. */
static enum sl_status bench_whole(void) {
  enum { MICRO_BATCHES = 8, WORLDS = 4, TIMES = 20000 };
  static const char text[] =
      "{\"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-4}},"
      " \"shardlab\": {\"seq_len\": 2048, \"attention\": \"flash\", \"preset\": \"fsdp\"}}";
  struct sl_fast_choice c = {.world = 128, .tp = 1, .pp = 1, .micro_batch = 1, .n_micro = 16};
  struct sl_fast_prediction p;
  struct bench b;
  SL_TRY(open_bench(&b, "llama3-405b", text));
  const double before = spent();
  SL_TRY(sl_fast_predict(b.fast, &c, &p));
  const double start = spent();
  for (int i = 0; i < WORLDS; i++)
    for (c.world = 128 << i, c.micro_batch = 1; c.micro_batch <= MICRO_BATCHES; c.micro_batch++)
      SL_TRY(sl_fast_predict(b.fast, &c, &p));
  const double known = spent();
  for (int i = 0; i < TIMES; i++) {
    c.n_micro = 16 + i % 64, c.micro_batch = 1 + i % MICRO_BATCHES;
    SL_TRY(sl_fast_predict(b.fast, &c, &p));
  }
  printf("fast: FSDP of 405B as a whole: %.1f ms the first, %.1f ms others, %.2f us with other micro-batches\n",
         1e3 * (start - before), 1e3 * (known - start) / (MICRO_BATCHES * WORLDS), 1e6 * (spent() - known) / TIMES);
  close_bench(&b);
  return SL_OK;
}

int main(void) {
  enum sl_status status = bench_grid();
  if (status == SL_OK) status = bench_trillion();
  if (status == SL_OK) status = bench_whole();
  if (status != SL_OK) fprintf(stderr, "bench_fast: %s\n", sl_error_message());
  return sl_exit_code(status);
}
