/* What the tests of 16-bit training share: kinds of sharding, and runs of GPT-2 from PyTorch's initial weights. */
#pragma once

#include "tests/mpi/checked.h"

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

static inline void train(struct grid_result *r, const struct sl_exec_ops *host, const char *config, int steps,
                         bool poison) {
  const struct grid_run g = {
      GOLDEN "config.json", config, GOLDEN "tokens.bin", GOLDEN "init.safetensors", steps, poison, NULL};
  checked_train(r, host, &g);
}
