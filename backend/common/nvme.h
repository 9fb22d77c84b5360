/* A file on NVMe as a memory: reads and writes in blocks, several on their way at once, by io_uring and past the page cache where the
 * file system lets that be. It has no name from the moment it is open, so that nothing of it stays behind, however the process ends. What
 * was written is known by a checksum a page, and held against what is read. It knows no program: offload.c makes requests out of ops.
 *
 * The whole file is mapped, too, for what is no step's business: first values, and reading back. Calls are of one thread. */
#pragma once

#include "core/base/machine.h"
#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct sl_nvme;

/* Bytes [at, at + bytes) of the file from or to `memory`. The caller neither moves nor frees any of it until it is done. */
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

/* How requests are cut and sent, each way: blocks of `block` bytes, a multiple of SL_MACHINE_PAGE, of which `depth` are on their way at
 * once. DeepSpeed's aio keys "single_submit" and "overlap_events" are the other two (csrc/aio/common/deepspeed_aio_common.cpp). */
struct sl_nvme_rules {
  int64_t block;
  int depth;
  bool singly;     /* a call for each block, not one for all that can go */
  bool in_batches; /* blocks are sent when all before them have arrived, not as soon as there is room */
};
/* What was sent so far: blocks, and calls that sent any. */
struct sl_nvme_sent {
  int64_t blocks, calls;
};

/* A file of `bytes` bytes in `folder`, and room for it on the disk. Errors: SL_ERR_IO with the file's name: no such folder, a
 * full disk; SL_ERR_ABSENT: no io_uring on this machine, or in this build. */
enum sl_status sl_nvme_open(struct sl_nvme **out, const char *folder, int64_t bytes, const struct sl_nvme_rules *rules);
void sl_nvme_close(struct sl_nvme *nvme); /* accepts NULL */
/* The file's bytes, mapped. Between what is written there and the first request that reads it stands sl_nvme_settle, or the system. */
char *sl_nvme_mapped(const struct sl_nvme *nvme);
/* What was written through the mapping is the file's, and what the file holds is known by checksums from here on; at the first call alone. Not while a
 * request runs. Errors: SL_ERR_IO, SL_ERR_MEMORY. */
enum sl_status sl_nvme_settle(struct sl_nvme *nvme);
struct sl_nvme_sent sl_nvme_sent(const struct sl_nvme *nvme);
/* One read and one write at a time. */
void sl_nvme_start(struct sl_nvme_request *request);
/* Get on with it, without waiting; *moved becomes true where something did. Errors: SL_ERR_IO with file, place and `what`: the disk's own, a file that
 * ends too early, bytes that are not those written. */
enum sl_status sl_nvme_drive(struct sl_nvme *nvme, struct sl_nvme_request *request, bool *done, bool *moved);
