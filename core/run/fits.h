/* Does a job fit into the machine that it is predicted for? What the simulator reports of its ranks against the cluster's device, host
 * memory and NVMe.
 *
 *   device   arena + context + reserve of the rank that needs most (context: the driver's and the communicators', sl_plan_driver_bytes;
 *            reserve: what a framework's allocator keeps of the device beyond the arena) against memory_GiB of a GPU; and its arena
 *            against device_memory_GiB, where that is given
 *   host     arenas in host memory of the ranks of a node against host_memory_GiB; of a CPU, whose two memories are one, all that they
 *            take of it against its memory_GiB
 *   nvme     what the ranks of a node keep there against nvme_GiB
 *
 * A limit that the cluster does not give is not judged. */
#pragma once

#include "core/run/executor.h"

struct sl_space_fit {
  int64_t need_bytes;
  int64_t limit_bytes; /* 0: not known */
  int at;              /* the rank (device), else the node, that needs most */
};

struct sl_fits {
  bool fits; /* in every space whose limit is known */
  struct sl_space_fit space[SL_SPACE_COUNT];
  int64_t arena_bytes, context_bytes, reserve_bytes; /* what need_bytes of the device is made of */
};

/* Of the `count` ranks ranks[] of `job` that were simulated, among which is one of every class; reports[] are theirs. */
void sl_fits_of(struct sl_fits *out, const struct sl_job *job, const struct sl_exec_report *reports, const int *ranks,
                int count);
/* Bytes that a space lacks; 0: it fits, or nobody knows. */
static inline int64_t sl_fits_over(const struct sl_space_fit *fit) {
  return fit->limit_bytes > 0 && fit->need_bytes > fit->limit_bytes ? fit->need_bytes - fit->limit_bytes : 0;
}
