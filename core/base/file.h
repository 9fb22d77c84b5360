/* The bytes of a file, at any place. They are read, not mapped: a file that somebody else cuts short meanwhile is an error with its
 * name, where a map's reader would die of SIGBUS. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct sl_file {
  const char *name; /* for messages; borrowed */
  size_t size;      /* when it was opened */
  int handle;
  const unsigned char *bytes; /* in place of a file; the caller's */
};

/* Open the regular file `path`, which must stay valid. Errors: SL_ERR_INPUT with the path and the system's reason. On failure
 * nothing is held. */
enum sl_status sl_file_open(struct sl_file *file, const char *path);
/* Stand `bytes[0..size)` in for a file of this name; both stay the caller's and must outlive it. */
void sl_file_borrow(struct sl_file *file, const char *name, const void *bytes, size_t size);
/* Fill out[0..size) from byte `offset` on. Errors: SL_ERR_IO with the path: it has become shorter, or cannot be read. */
enum sl_status sl_file_read(const struct sl_file *file, uint64_t offset, void *out, size_t size);
/* Accepts a zeroed one. */
void sl_file_close(struct sl_file *file);

/* All of it, *size bytes and a zero byte behind them, to be freed. Errors: of sl_file_open and sl_file_read; SL_ERR_INPUT where
 * it is larger than SL_MAX_TEXT; SL_ERR_MEMORY. */
enum sl_status sl_file_load(const char *path, char **out, size_t *size);

/* "FOLDER/NAME" in *out, to be freed. Errors: SL_ERR_MEMORY. */
enum sl_status sl_file_join(char **out, const char *folder, const char *name);
