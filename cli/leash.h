/* The leash of a node: ends the ranks that ssh starts on other hosts together with the launcher, however that ends.
 *
 * The launcher holds the standard input of each node's ssh and writes a byte to it every second. The node reads these
 * bytes: end of file, or a silence longer than ranks wait for each other (SHARDLAB_TIMEOUT_S), means that the leash has
 * been released. A process without SHARDLAB_LEASH in its environment has no leash and leaves its input alone. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>

#define SL_LEASH_VARIABLE "SHARDLAB_LEASH"

/* Call in a node, before its ranks start: reads the variable and removes it from the environment. Errors: those of
 * sl_timeout_read. */
enum sl_status sl_leash_take(void);
/* Whether this process is on a leash. */
bool sl_leash_held(void);
/* Whether the launcher still holds it. True without a leash. */
bool sl_leash_holds(void);
/* Call in a child, which must not read the leash. */
void sl_leash_drop_input(void);

/* Call in the launcher: writes one byte to `leash`, the non-blocking write end. A node that is gone is no error. */
void sl_leash_pull(int leash);
