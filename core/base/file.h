/* Reads the bytes of a file, at any offset. The file is not mapped: if somebody truncates it meanwhile, that is an
 * error with its name, where the reader of a mapping would die of SIGBUS. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct sl_file {
  const char *name; /* for messages; borrowed */
  size_t size;      /* at the time it was opened */
  int handle;
  const unsigned char *bytes; /* used instead of a file; borrowed */
};

/* Opens the regular file `path`; the string must stay valid. Errors: SL_ERR_INPUT with the path and the system's
 * reason. On failure nothing is open. */
enum sl_status sl_file_open(struct sl_file *file, const char *path);
/* Makes bytes[0..size) appear as a file of this name; both are borrowed and must outlive it. */
void sl_file_borrow(struct sl_file *file, const char *name, const void *bytes, size_t size);
/* Fills out[0..size) from byte `offset` on. Errors: SL_ERR_IO with the path: it has become shorter, or cannot be
 * read. */
enum sl_status sl_file_read(const struct sl_file *file, uint64_t offset, void *out, size_t size);
/* Accepts a zeroed one. */
void sl_file_close(struct sl_file *file);

/* Reads a whole file: *size bytes and a zero byte after them, to be freed. Errors: those of sl_file_open and
 * sl_file_read; SL_ERR_INPUT if it is larger than SL_MAX_TEXT; SL_ERR_MEMORY. */
enum sl_status sl_file_load(const char *path, char **out, size_t *size);

/* "FOLDER/NAME" in *out, to be freed. Errors: SL_ERR_MEMORY. */
enum sl_status sl_file_join(char **out, const char *folder, const char *name);
