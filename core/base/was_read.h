/* Remembers which files this program has read, by device and inode, so that no output can replace one of them, whatever
 * flag, key or file named it. Nothing is recorded unless a program asks for it at its start, since a library lives
 * longer than a request. */
#pragma once

#include "core/base/status.h"

/* From now on files opened for reading are recorded. */
void sl_was_read_begin(void);
/* Records that the open file `handle` is read, under the name `path`. Thread-safe. */
void sl_was_read_add(int handle, const char *path);
/* The file at `path` is this program's own, which it reads and rewrites. */
void sl_was_read_forget(const char *path);
/* Refuses the output `path`, named by `flag` (NULL: by no flag), if it is a file that was read. Errors:
 * SL_ERR_INPUT. */
enum sl_status sl_was_read_check(const char *flag, const char *path);
