/* Does a job fit into the machine that it is predicted for? Compares what the simulator reports of its ranks with the
 * cluster's device memory, host memory and NVMe.
 *
 *   device   arena + context + reserve of the rank that needs most, against memory_GiB of a GPU (context: the driver's
 *            and the communicators', sl_plan_driver_bytes; reserve: what a framework's allocator holds beyond the
 *            arena); and the arena against device_memory_GiB, if given
 *   host     arenas in host memory of the ranks of a node, against host_memory_GiB; on a CPU, where the two memories
 *            are one, all memory of the ranks against its memory_GiB
 *   nvme     what the ranks of a node keep there, against nvme_GiB
 *
 * A limit that the cluster does not give is not checked. */
#pragma once

#include "core/run/executor.h"

struct sl_space_fit {
  int64_t need_bytes;
  int64_t limit_bytes; /* 0: unknown */
  int at;              /* the rank (device) or node that needs most */
};

struct sl_fits {
  bool fits; /* in every space whose limit is known */
  struct sl_space_fit space[SL_SPACE_COUNT];
  int64_t arena_bytes, context_bytes, reserve_bytes; /* the parts of need_bytes of the device */
};

/* Fills *out from the `count` ranks ranks[] of `job` that were simulated, which must include one of every class;
 * reports[] are theirs. */
void sl_fits_of(struct sl_fits *out, const struct sl_job *job, const struct sl_exec_report *reports, const int *ranks,
                int count);
/* Bytes that are missing in a space; 0: it fits, or the limit is unknown. */
static inline int64_t sl_fits_over(const struct sl_space_fit *fit) {
  return fit->limit_bytes > 0 && fit->need_bytes > fit->limit_bytes ? fit->need_bytes - fit->limit_bytes : 0;
}
