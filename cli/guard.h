/* A process next to each rank of a job, for what a rank cannot see or do itself, whoever launched it.
 *
 * Ranks that wait for each other have a time limit (SHARDLAB_TIMEOUT_S). But after a rank's last message only its
 * launcher waits for it, and that has no limit. The guard kills a rank that has been stopped by a signal for longer
 * than the limit; it leaves alone a rank that a debugger stopped, or that continues in time. If a rank dies before its
 * work is done, the guard removes the hidden files that were named to sl_children_name_output. If no process can be
 * created, the rank runs without a guard. */
#pragma once

/* Call in a rank, before it starts threads. `limit_s`: how long it may be stopped, in seconds; `rank`: its number in
 * the guard's messages. */
void sl_guard_open(double limit_s, int rank);
/* The rank's files are complete, so none is removed any more. May be called without a guard. */
void sl_guard_done(void);
