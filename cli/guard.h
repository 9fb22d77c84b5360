/* A process beside each rank of a job, for what a rank cannot see or do itself, whoever launched it.
 *
 * Ranks that wait for each other have a time limit on it (SHARDLAB_TIMEOUT_S), but after its last message nobody waits for a rank
 * except its launcher, which has none. The guard kills a rank that a signal has stopped for as long; one that a debugger holds is
 * left alone, and so is one that is continued in time. When a rank dies before its work is done, the guard removes the hidden
 * files that were named to sl_children_name_output. Where no process can be made for it, the rank runs without. */
#pragma once

/* In a rank, before it has threads. `limit_s`: seconds that it may be stopped; `rank` is what the guard calls it. */
void sl_guard_open(double limit_s, int rank);
/* The rank's files are in place: from here on none is removed. Fine without a guard. */
void sl_guard_done(void);
