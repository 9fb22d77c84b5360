/* Transfers that run at the same time share links (options.assume.share_links).
 *
 * Each simulated device has a link of each level, in and out. While a call runs alone it takes of them (u, from 0 to 1)
 *   collective   (bytes on the wire / seconds) x seconds per byte of the ring (cost/topology.h), of each level that the
 *                ring crosses, of every member, both ways
 *   send         (bytes / seconds) / bandwidth of the slowest link between the two: out of the sender, into the
 *                receiver
 * so a call that spends its time on latency leaves the link to others. The rates of the running transfers follow by
 * max-min fairness (cost/maxmin.h), recomputed whenever one begins or ends. Where no link is full, times are
 * bit-identical to those of transfers that share nothing, and no transfer ever becomes faster. A transfer takes its
 * share from the moment it is called, including the time of its launch.
 *
 * Links are those of one device, as a cluster file describes them. Hardware that devices share (a network card of two
 * GPUs) is accounted for in the bandwidth of each. Two ranks on one device have a link each. Latency is stretched along
 * with the rest. */
#pragma once

#include "sim/state.h"

/* Adds the call's loads, given `seconds_per_byte` of its ring. */
void sl_contention_fill_ring(struct sl_sim_load *load, const struct sl_work *work, double seconds,
                             const double seconds_per_byte[SL_MAX_LINKS]);
void sl_contention_fill_pair(struct sl_sim_load *load, const struct sl_work *work, double seconds, int level,
                             double bandwidth);
/* Opens sim->contention, once the loads of the calls are known. */
enum sl_status sl_contention_open(struct sl_sim *sim);
void sl_contention_close(struct sl_sim *sim);
/* A collective, or a send with its receive, begins to move bytes at `begin` (the latter: now). Sets its event as if it
 * were the only transfer. */
void sl_contention_begin_group(struct sl_sim *sim, int group, double begin, double seconds);
void sl_contention_begin_pair(struct sl_sim *sim, int sender, int lane, double seconds);
/* The event of `source` has arrived; ignored if it is not a transfer's. */
void sl_contention_end(struct sl_sim *sim, uint32_t source);
