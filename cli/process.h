/* What the system (/proc) says of other processes. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Whether a signal has stopped this process. A stop by a debugger is none. */
bool sl_process_is_stopped(pid_t pid);
/* Whether a process has a child that has not ended; true, too, where the system does not say. */
bool sl_process_has_child(pid_t pid);
