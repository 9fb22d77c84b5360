/* Predicts the cost of checkpoints before any is written. */
#pragma once

#include "core/program/program.h"

struct sl_checkpoint_cost {
  int64_t bytes;      /* of the tensors of one checkpoint */
  int64_t rank_bytes; /* of the rank that writes the most of them */
  int64_t copy_bytes; /* host memory for the copy, of the rank that needs most */
  double wait_s;      /* time that training stops for one: until the slowest node has copied */
};

/* The ranks of a node copy at the same time. GPUs copy over their own links to the host, and all of them into the
 * node's host memory; if the cluster gives no such speeds, and for CPUs, a copy reads and writes the memory that
 * `memory_bandwidth` describes. Training does not wait for the disk; only the next save does. Errors: SL_ERR_MEMORY;
 * those of sl_checkpoint_pieces. */
enum sl_status sl_checkpoint_predict(struct sl_checkpoint_cost *cost, const struct sl_job *job);
