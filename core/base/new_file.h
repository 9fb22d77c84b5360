/* Writes a file so that it appears complete under its name, or not at all.
 *
 * The file is written without a name (O_TMPFILE) and gets its name when it is complete and on the disk, replacing any
 * older file; if a signal ends the process, nothing remains. Where a file system has no nameless files, or other
 * processes write to the file too, it has a hidden name in the same folder meanwhile, ".NAME.JOB.tmp", created with
 * O_EXCL and O_NOFOLLOW. JOB cannot be guessed; all processes of a job have the same, from SHARDLAB_JOB in their
 * environment or from the launcher's identifier of the job. A link of that name is replaced and never followed. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stdio.h>

struct sl_new_file {
  char *path, *temporary; /* owned; temporary is NULL if the file has no name yet */
  FILE *stream;           /* owned */
};

/* Refuses the output `path` (may be NULL), named by `flag` (NULL: by no flag), where something else than a plain file
 * has that name: a rename would put a file in the place of a FIFO or a device. Links are followed. Errors:
 * SL_ERR_INPUT. */
enum sl_status sl_new_file_check(const char *flag, const char *path);
/* Fails with SL_ERR_IO: "PATH: cannot WHAT: REASON", the reason that errno has. */
enum sl_status sl_new_file_fail(const char *path, const char *what);
/* Begins the file `path` for one process. Errors: SL_ERR_IO with the path; SL_ERR_INPUT if this program has read that
 * file, or as of sl_new_file_check. */
enum sl_status sl_new_file_open(struct sl_new_file *file, const char *path);
/* Puts the file in place. It is closed in any case, and on failure nothing remains. Errors: SL_ERR_IO, also of earlier
 * writes; SL_ERR_INPUT as of sl_new_file_check. */
enum sl_status sl_new_file_finish(struct sl_new_file *file);
/* Discards the file. A closed or zeroed one is accepted. */
void sl_new_file_discard(struct sl_new_file *file);

/* Creates the folder `hidden`, replacing any old one. A signal that ends the process removes it with its files, as
 * sl_new_file_drop does. Errors: SL_ERR_IO. */
enum sl_status sl_new_folder_create(const char *hidden);
/* Gives a folder whose files are all on the disk its final name, durably. An existing folder of that name is removed.
 * Errors: SL_ERR_IO. */
enum sl_status sl_new_folder_finish(const char *hidden, const char *path);

/* The hidden name of `path` for all processes of this job; `part` (0: none) distinguishes several. Owned by the caller;
 * NULL if out of memory. */
char *sl_new_file_hidden(const char *path, int part);
/* Removes the hidden files of `parts` processes of this job that were killed while they wrote `path` (may be NULL). */
void sl_new_file_sweep(const char *path, int parts);
/* Writes the name of this job to `out`, of at least 24 bytes, and passes it on to child processes. */
void sl_new_file_name_job(char *out, size_t size);
/* Creates `hidden` for reading and writing, replacing any old file. Returns a descriptor above 2, or -1 with errno. */
int sl_new_file_create(const char *hidden);
/* Removes a hidden file that this process created (may be NULL). A signal that ends the process does the same. */
void sl_new_file_drop(const char *hidden);
/* Removes all hidden files that this process created. May be called from a signal handler. */
void sl_new_file_drop_all(void);
/* From now on a signal that ends this process calls sl_new_file_drop_all and sl_made_remove (core/base/made.h) first.
 * The first hidden file does the same. Handlers installed by others are kept. */
void sl_new_file_watch(void);
/* Gives the complete file `hidden` its final name, durably. Errors: SL_ERR_IO; SL_ERR_INPUT as of
 * sl_new_file_check. */
enum sl_status sl_new_file_rename(const char *hidden, const char *path);
