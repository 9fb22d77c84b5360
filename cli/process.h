/* What the system (/proc) says of other processes. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Whether a signal has stopped this process. A stop by a debugger is none. */
bool sl_process_is_stopped(pid_t pid);
/* Writes the children of a process, at most `room` of them and also those that have ended, to `children`. Returns their
 * number, -1 where the system does not say. */
int sl_process_children(pid_t pid, pid_t *children, int room);
/* Whether a process has a child that has not ended; true, too, where the system does not say. */
bool sl_process_has_child(pid_t pid);
