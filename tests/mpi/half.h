/* What the tests of training in 16 bits share: ways of sharding, one run of GPT-2 from PyTorch's start, and the count of checks. */
#pragma once

#include "tests/mpi/grid.h"

enum { BATCH = 16 };
#define GOLDEN SL_SOURCE_DIR "/tests/golden/gpt2_odd/"

static const struct {
  const char *zero, *preset;
} strategies[] = {
    {"\"stage\": 0, \"reduce_bucket_size\": 9000", ""},
    {"\"stage\": 1, \"reduce_bucket_size\": 5001, \"allgather_bucket_size\": 7777", ""},
    {"\"stage\": 2, \"reduce_bucket_size\": 5000, \"overlap_comm\": true", ""},
    {"\"stage\": 3, \"reduce_bucket_size\": 5000, \"stage3_param_persistence_threshold\": 100, "
     "\"stage3_max_reuse_distance\": 6000",
     ""},
    {"\"stage\": 0", "ddp"},
    {"\"stage\": 0", "zero-redundancy-optimizer"},
    {"\"stage\": 0", "fsdp"},
    {"\"stage\": 0", "fsdp-shard-grad-op"},
    {"\"stage\": 0", "megatron-distributed-optimizer"},
};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static int rank, world, failures, checks;

static inline void give_up(const char *config) {
  fprintf(stderr, "rank %d: %s\n  config %s\n", rank, sl_error_message(), config);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Written so that NaN fails. */
static inline void expect(bool good, const char *what, double value, double bound, const char *config) {
  checks++;
  if (good) return;
  failures++;
  if (rank == 0)
    fprintf(stderr, "FAIL %s: %.9g, expected at most %.9g\n  world %d, config %s\n", what, value, bound, world, config);
}

static inline void train(struct grid_result *r, const struct sl_exec_ops *host, const char *config, int steps,
                         bool poison) {
  const struct grid_run g = {GOLDEN "config.json",      config, GOLDEN "tokens.bin",
                             GOLDEN "init.safetensors", steps,  poison};
  if (grid_execute(r, host, &g, world) != SL_OK) give_up(config);
}

/* Start MPI and load the host backend. */
static inline const struct sl_exec_ops *half_open(int *argc, char ***argv) {
  const struct sl_exec_ops *host;
  int provided;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (sl_exec_load("host", &host) != SL_OK) give_up("none: the host backend cannot be loaded");
  return host;
}

/* Say how it went and end MPI; the exit status. */
static inline int half_close(void) {
  if (rank == 0) printf("world %d: %d checks, %d failures\n", world, checks, failures);
  MPI_Finalize();
  return failures > 0;
}
