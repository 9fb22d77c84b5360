/* What checkpoints cost, before any is written. */
#pragma once

#include "core/program/program.h"

struct sl_checkpoint_cost {
  int64_t bytes;      /* of the tensors of one checkpoint */
  int64_t rank_bytes; /* of the rank that writes most of them */
  int64_t copy_bytes; /* host memory of the copy, of the rank that needs most */
  double wait_s;      /* that training stands still for one: until the slowest node has copied */
};

/* A node's ranks copy at once. Of GPUs each copies over its own link to the host, and all into the node's host memory; where the
 * cluster gives no such speeds, and of CPUs, a copy reads and writes the memory that `memory_bandwidth` is of. The disk is not
 * waited for: a save takes as long as it takes, and the next one waits for it.
 * Errors: SL_ERR_MEMORY; those of sl_checkpoint_pieces. */
enum sl_status sl_checkpoint_predict(struct sl_checkpoint_cost *cost, const struct sl_job *job);
