/* The processes that a command starts. None outlives it, whatever ends it, and nothing that they leave stays.
 *
 * A child has a process group of its own, so that Ctrl-C reaches this process alone, which passes one signal on. SIGINT, SIGTERM
 * and SIGHUP are passed once; children that are there GRACE seconds later, or when a second signal arrives, are killed with their
 * groups. A child dies when this process does (PR_SET_PDEATHSIG). What children make of sockets, shared memory and files of
 * passage goes to one folder. A janitor, a process that does nothing but wait for the end of this one, removes the folder and
 * the files that were named to it also where this process was killed and could not. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <sys/types.h>

/* Files beside `path` (may be NULL) that `parts` processes of this job may leave (core/base/new_file.h), for the janitor. Before
 * sl_children_open. */
void sl_children_name_output(const char *path, int parts);
/* Remove what has been left of those. */
void sl_children_sweep(void);
/* Before the first child; what has begun goes on. Errors: SL_ERR_IO. */
enum sl_status sl_children_open(void);
/* Between two jobs of a command: what the first one left goes, the folder stays. */
void sl_children_tidy(void);
/* A folder of this command's own, in memory where the system has such a file system. */
const char *sl_children_folder(void);

/* fork. In the child: 0, in a group of its own, which `death_signal` reaches when this process dies. -1: errno says why. */
pid_t sl_children_fork(int death_signal);
/* A child as a program: its standard output is ours, or with `aside` our standard error. Never returns. */
_Noreturn void sl_children_exec(const char *program, char *const *arguments, int aside);
/* Wait for the end of a child, as waitpid tells it. */
int sl_children_wait(pid_t child);
/* A child that somebody else has waited for. */
void sl_children_forget(pid_t child);
/* What that says, as a status: an error message only where the child was ended by a signal. `what`: "the measurement". */
enum sl_status sl_children_status(int how, const char *what);

/* Was this process started by one of ours, which says what is to be said of its end? */
bool sl_children_of_ours(void);
/* The signal that asks this process to end; 0: none has come. */
int sl_children_signal(void);
/* At the end of the command: everything goes. Where a signal came, this process now dies of it. */
void sl_children_close(void);
