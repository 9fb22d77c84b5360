/* Writing and reading past the page cache. What goes through it is copied into pages that the system has to find and clean first, which takes a core
 * as long as a fast disk takes to write; a checkpoint is large, is not read soon, and is written beside steps that want the core.
 *
 * Long ranges go by O_DIRECT: whole blocks, from memory that begins at one. What stands before the first block and behind the last, short
 * ranges, and all of them where the file system refuses, go through the cache as any other. */
#pragma once

#include "core/base/file.h"
#include "core/base/machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_direct {
  char *room;   /* blocks on their way; owned; NULL before the first long range that needs it */
  bool refused; /* by the file system */
};

/* Bytes of a block. What lies as far behind a block's boundary in memory as in the file is written from where it is; all else is copied on its
 * way. */
enum { SL_DIRECT_BLOCK = SL_MACHINE_PAGE };
/* pwrite of all `size` bytes at `offset`, until the last. A descriptor that several threads write to is not to be given. Returns 0, or -1
 * with errno set. */
int sl_direct_write(struct sl_direct *direct, int handle, const void *bytes, size_t size, int64_t offset);
/* Bytes of memory for sl_direct_read of so many. */
size_t sl_direct_room(size_t size);
/* `size` bytes of `file` from `offset` on, at *out somewhere in `room`, which begins at a block's boundary. Through the cache where they are
 * few, or the file system refuses. Of several threads at once. Errors: as sl_file_read. */
enum sl_status sl_direct_read(const struct sl_file *file, uint64_t offset, char *room, size_t size, void **out);
void sl_direct_free(struct sl_direct *direct); /* accepts a zeroed one */
