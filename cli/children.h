/* The processes that a command starts. None of them outlives the command, however it ends, and nothing that they create
 * stays behind.
 *
 * Every child has its own process group, so Ctrl-C reaches only this process, which forwards one signal. SIGINT,
 * SIGTERM and SIGHUP are forwarded once; children that still run GRACE_S seconds later, or when a second signal
 * arrives, are killed with their groups. A child dies with this process (PR_SET_PDEATHSIG); what a child leaves behind
 * when it ends, such as a rank of an mpirun that was killed, becomes a child of this process and is waited for. The
 * sockets, shared memory and temporary files of children go into one folder. A janitor, a process that only waits for
 * the end of this one, removes the folder, and the output files named to it, even if this process was killed and could
 * not. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <sys/types.h>

/* Names the temporary files next to `path` (may be NULL) that `parts` processes of this job may leave
 * (core/base/new_file.h), for the janitor to remove. Call before sl_children_open. */
void sl_children_name_output(const char *path, int parts);
/* Removes the files that are left. */
void sl_children_sweep(void);
/* Call before the first child; later calls change nothing. Errors: SL_ERR_IO. */
enum sl_status sl_children_open(void);
/* Call between two jobs of a command: waits for the processes and removes the files that the first one left, but keeps
 * the folder. */
void sl_children_tidy(void);
/* This command's own folder, in memory if the system has such a file system. */
const char *sl_children_folder(void);

/* As fork. In the child: returns 0; the child has its own process group and receives `death_signal` when this process
 * dies. Returns -1 with errno on failure. */
pid_t sl_children_fork(int death_signal);
/* Turns the child into a program. Its standard output is ours, or, with `aside`, our standard error. Never returns. */
_Noreturn void sl_children_exec(const char *program, char *const *arguments, int aside);
/* Waits for the end of a child; returns the status of waitpid. */
int sl_children_wait(pid_t child);
/* Removes a child from the list because somebody else has waited for it. */
void sl_children_forget(pid_t child);
/* Turns such a status into one of ours; there is an error message only if a signal ended the child. `what`: for example
 * "the measurement". */
enum sl_status sl_children_status(int how, const char *what);

/* Whether this process was started by another process of this program, which reports how it ends. */
bool sl_children_of_ours(void);
/* The signal that asks this process to end, 0 if there was none. */
int sl_children_signal(void);
/* Call at the end of the command: removes everything. If a signal was received, this process now dies of it. */
void sl_children_close(void);
