/* A file that appears whole under its name, or not at all.
 *
 * It is written without a name (O_TMPFILE) and gets its own when it is complete and on the disk, in place of what had that name:
 * what a signal cuts short leaves nothing. Where a file system has no nameless files, or other processes are to write to it, too,
 * it has a hidden name in the same folder meanwhile, ".NAME.JOB.tmp", made with O_EXCL and O_NOFOLLOW. JOB cannot be guessed; all
 * processes of a job have the same, by SHARDLAB_JOB in their environment, else by what their launcher calls the job. A link that
 * stands under the name is replaced and never followed. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stdio.h>

struct sl_new_file {
  char *path, *temporary; /* owned; temporary is NULL while the file has no name */
  FILE *stream;           /* owned */
};

/* Begin the file `path` for one process. Errors: SL_ERR_IO with the path; SL_ERR_INPUT where it is a file that was read. */
enum sl_status sl_new_file_open(struct sl_new_file *file, const char *path);
/* Put it in place; the file is closed either way, and on failure nothing is left. Errors: SL_ERR_IO, also of earlier writes. */
enum sl_status sl_new_file_finish(struct sl_new_file *file);
/* Drop it. Fine on a closed or zeroed file. */
void sl_new_file_discard(struct sl_new_file *file);

/* Create the folder `hidden` anew; a signal that ends the process removes it with its files, as sl_new_file_drop does.
 * Errors: SL_ERR_IO. */
enum sl_status sl_new_folder_create(const char *hidden);
/* Give a folder whose files are all on the disk its name, for good. A folder that had the name goes. Errors: SL_ERR_IO. */
enum sl_status sl_new_folder_finish(const char *hidden, const char *path);

/* The hidden name of `path` for all processes of this job, with `part` (0: none) to tell several apart. Owned by the caller; NULL
 * for want of memory. */
char *sl_new_file_hidden(const char *path, int part);
/* Remove the hidden files of `parts` processes of this job that were killed while they wrote `path` (may be NULL). */
void sl_new_file_sweep(const char *path, int parts);
/* The name of this job, in `out`, of at least 24 bytes; from here on children have the same. */
void sl_new_file_name_job(char *out, size_t size);
/* Create `hidden` anew, read and write; what stood there is removed. A descriptor above 2, or -1 with errno. */
int sl_new_file_create(const char *hidden);
/* Remove a hidden file that this process created (may be NULL). A signal that ends the process does so, too. */
void sl_new_file_drop(const char *hidden);
/* All hidden files that this process created. A signal handler may call it. */
void sl_new_file_drop_all(void);
/* Give the complete file `hidden` its name, and make that last. Errors: SL_ERR_IO. */
enum sl_status sl_new_file_rename(const char *hidden, const char *path);
