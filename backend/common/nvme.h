/* A file on NVMe used as memory. It is read and written in blocks, several of them in flight, by io_uring, and
 * bypassing the page cache where the file system allows that. The file is unlinked as soon as it is open, so that
 * nothing stays behind however the process ends. A checksum per page is kept of all that is written, and checked on
 * reads. This file knows no program: backend/common/offload.c makes requests out of ops.
 *
 * The whole file is also mapped into memory, for use outside of steps: setting initial values and reading values back.
 * All calls must come from one thread. */
#pragma once

#include "core/base/machine.h"
#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct sl_nvme;

/* A transfer of bytes [at, at + bytes) of the file from or to `memory`. The caller must not move or free the request or
 * the memory before it is done. */
struct sl_nvme_request {
  bool write;
  int64_t at, bytes;
  char *memory;
  char *blocks;     /* depth blocks, on a page */
  const char *what; /* for errors: whose bytes */
  /* private */
  int64_t first, next,
      end; /* of the file, on pages: where blocks begin, up to where they are on their way, and shall be */
};

/* How requests are split and submitted, for reads and for writes: in blocks of `block` bytes, a multiple of
 * SL_MACHINE_PAGE, with up to `depth` in flight. The other two follow DeepSpeed's aio keys "single_submit" and
 * "overlap_events" (csrc/aio/common/deepspeed_aio_common.cpp). */
struct sl_nvme_rules {
  int64_t block;
  int depth;
  bool singly;     /* submit each block by a call of its own, not all that are ready by one */
  bool in_batches; /* submit blocks only when all earlier ones are complete, not as soon as a slot is free */
  /* (optional) For errors: whose byte `at` of the file is. NULL: nobody's. */
  const char *(*owner)(const void *context, int64_t at);
  const void *context;
};
/* Counts so far: blocks submitted, and calls that submitted any. */
struct sl_nvme_sent {
  int64_t blocks, calls;
};

/* Creates a file of `bytes` bytes in `folder` and allocates its space on the disk. Errors: SL_ERR_IO with the file's
 * name, as for a missing folder or a full disk; SL_ERR_ABSENT where this machine or this build has no io_uring. */
enum sl_status sl_nvme_open(struct sl_nvme **out, const char *folder, int64_t bytes, const struct sl_nvme_rules *rules);
void sl_nvme_close(struct sl_nvme *nvme); /* accepts NULL */
/* The mapped bytes of the file. Call sl_nvme_checksum after writing there and before a request reads it. */
char *sl_nvme_mapped(const struct sl_nvme *nvme);
/* Flushes what was written through the mapping to the file and, at the first call only, computes the checksums of the
 * whole file, which are checked from then on; later calls do nothing. Must not be called while a request runs. Errors:
 * SL_ERR_IO, SL_ERR_MEMORY. */
enum sl_status sl_nvme_checksum(struct sl_nvme *nvme);
struct sl_nvme_sent sl_nvme_sent(const struct sl_nvme *nvme);
/* Begins a request. At most one read and one write may run at a time. */
void sl_nvme_start(struct sl_nvme_request *request);
/* Makes progress on a request without blocking; sets *moved where there was any. Errors: SL_ERR_IO with file, offset
 * and `what`, for an error of the disk, a file that ends too early, or bytes that differ from those written. */
enum sl_status sl_nvme_drive(struct sl_nvme *nvme, struct sl_nvme_request *request, bool *done, bool *moved);
