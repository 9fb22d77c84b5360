/* Which files this program has read, by device and inode: no output may take the place of one of them, whatever flag, key or file
 * named it. Nothing is kept unless a program asks for it when it begins, since a library lives longer than a request. */
#pragma once

#include "core/base/status.h"

/* From now on what is opened for reading is kept. */
void sl_was_read_begin(void);
/* The open file `handle` is read, under the name `path`. Any thread. */
void sl_was_read_add(int handle, const char *path);
/* The file at `path` is this program's own, which it reads and writes anew. */
void sl_was_read_forget(const char *path);
/* Refuse the output `path`, named by `flag` (NULL: by no flag), where it is a file that was read. Errors: SL_ERR_INPUT. */
enum sl_status sl_was_read_check(const char *flag, const char *path);
