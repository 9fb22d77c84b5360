/* Transfers that run at the same time share links (options.assume.share_links).
 *
 * Each simulated device has a link of each level, in and out. While a call runs alone it takes of them (u, from 0 to 1)
 *   collective   (bytes on the wire / seconds) x seconds per byte of the ring (cost/topology.h), of each level that the ring
 *                crosses, of every member, both ways
 *   send         (bytes / seconds) / bandwidth of the slowest link between the two: out of the sender, into the receiver
 * so a call that waits for latency leaves the link to others. The rates of the transfers that run follow from that by max-min
 * fairness (cost/maxmin.h), anew whenever one begins or ends; where no link is full, times are those of transfers that share
 * nothing, to the last bit, and no transfer is ever faster. Transfers whose launch is still to come take their share from when
 * they are called.
 *
 * Links are those that a cluster file describes: of one device. What devices share (a card for two GPUs) is in the bandwidth of each
 * there. Two ranks on one device have each a link. Latency is stretched with the rest. */
#pragma once

#include "sim/state.h"

/* The call's loads; `seconds_per_byte` of its ring. */
void sl_contention_fill_ring(struct sl_sim_load *load, const struct sl_work *work, double seconds,
                             const double seconds_per_byte[SL_MAX_LINKS]);
void sl_contention_fill_pair(struct sl_sim_load *load, const struct sl_work *work, double seconds, int level,
                             double bandwidth);
/* sim->contention, once the calls' loads are there. */
enum sl_status sl_contention_open(struct sl_sim *sim);
void sl_contention_close(struct sl_sim *sim);
/* A collective, or a send with its receive, starts to move bytes at `begin` (the latter: now); its event is set as if it were
 * alone. */
void sl_contention_begin_group(struct sl_sim *sim, int group, double begin, double seconds);
void sl_contention_begin_pair(struct sl_sim *sim, int sender, int lane, double seconds);
/* The event of `source` has come; one that is no transfer's is let pass. */
void sl_contention_end(struct sl_sim *sim, uint32_t source);
