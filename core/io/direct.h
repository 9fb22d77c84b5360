/* Writes and reads that bypass the page cache. Data that goes through the cache is copied into pages that the system
 * must find and clean first, which takes a core about as long as a fast disk takes to write; a checkpoint is large, is
 * not read soon, and is written while steps need the core.
 *
 * Long ranges use O_DIRECT: whole blocks, from aligned memory. The bytes before the first block and after the last,
 * short ranges, and everything where the file system refuses, go through the cache as usual. */
#pragma once

#include "core/base/file.h"
#include "core/base/machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_direct {
  char *room;   /* blocks in flight; owned; NULL before the first long range that needs it */
  bool refused; /* by the file system */
};

/* Bytes of a block. Data with the same offset from a block boundary in memory as in the file is written in place; other
 * data is copied on the way. */
enum { SL_DIRECT_BLOCK = SL_MACHINE_PAGE };
/* Writes all `size` bytes at `offset`, like a complete pwrite. No other thread may write to the descriptor. Returns 0,
 * or -1 with errno set. */
int sl_direct_write(struct sl_direct *direct, int handle, const void *bytes, size_t size, int64_t offset);
/* Bytes of memory that sl_direct_read needs for `size` bytes. */
size_t sl_direct_room(size_t size);
/* Reads `size` bytes of `file` from `offset` on to *out, somewhere in `room`, which must begin at a block boundary.
 * Small reads, and reads that the file system refuses, go through the cache. Thread-safe. Errors: as sl_file_read. */
enum sl_status sl_direct_read(const struct sl_file *file, uint64_t offset, char *room, size_t size, void **out);
void sl_direct_free(struct sl_direct *direct); /* accepts a zeroed one */
