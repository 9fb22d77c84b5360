/* The leash of a node: how the ranks that ssh starts on other hosts end with who started them, whatever ends that.
 *
 * The launcher holds the standard input of each node's ssh and writes a byte into it every second. A node reads it: its end, or a
 * silence longer than ranks wait for each other (SHARDLAB_TIMEOUT_S), says that nobody holds it any more. A job that nobody
 * put on a leash, by SHARDLAB_LEASH in its environment, leaves its input alone. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>

#define SL_LEASH_VARIABLE "SHARDLAB_LEASH"

/* In a node, before its ranks: reads the environment, and takes the variable away. Errors: of sl_timeout_read. */
enum sl_status sl_leash_take(void);
/* Is this process on a leash? */
bool sl_leash_held(void);
/* Does somebody still hold it? Without one: true. */
bool sl_leash_holds(void);
/* In a child: it shall not read the leash. */
void sl_leash_drop_input(void);

/* In the launcher: one byte through the write end `leash`, which does not block. A node that is gone is no error. */
void sl_leash_pull(int leash);
