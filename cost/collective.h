/* Seconds of a work by which ranks communicate, from the links between them.
 *
 * S bytes (nccl-tests size, work.size) over n members, alpha and beta of the ring through them:
 *   each ring of an op (sl_move)      (n-1) alpha +   (n-1)/n S / beta(S): twice for an all_reduce
 *   the same with uneven shares       (n-1) alpha + W / beta(S), W = the most that any member puts on the wire (work.bytes)
 *   exchange (all_to_all)             as one ring: (n-1)/n S go to as many peers. It holds where members stand one to a unit or
 *                                     all in one, as those of the node and across groups do: elsewhere more crosses the outer links
 *   chain (broadcast), send               alpha   +         S / beta(S)
 *   beta(S) = beta S / (S + half_bytes)
 * beta_k, of a level, is what a ring attains of its bandwidth over u_(k-1) units (sl_cost_attained); a send, of 2.
 * The ring visits the members of a unit (a node) before it goes on, and leaves and enters a unit by the links of all its
 * members there (NCCL: as many rings as there are rails; on a CPU node, one ring with the whole network card). With u_k
 * units of level k that hold members (u_-1 = n), of which the emptiest holds m_k (m_-1 = 1):
 *   beta  = min over the levels that the ring crosses of m_(k-1) beta_k
 *   half_bytes / beta = max over them of half_bytes_k / (m_(k-1) beta_k): the slowest to start, which need not be the slowest; so a
 *           faster link never makes a message slower
 *   alpha = sum over levels of (u_(k-1) - u_k) alpha_k / (n-1)
 * cost/topology.h makes that link of a group's devices; a formula takes it as if it were one. A send
 * has the slowest link between the two.
 * Where the levels say what NCCL takes them for (nccl_hop), a ring is NCCL's, of u nodes: the fastest of its protocols, with its
 * latencies (cost/nccl/latency.h: a base, and a hop for every step, inside nodes and between them) in place of (n-1) alpha, and
 * LL at 1/2 and LL128 at 120/128 of beta, without the ramp of half_bytes. Its trees and NVLS are not taken: published runs were
 * met better by rings alone. Whoever wants them asks for NCCL's choice (cost/nccl/group.h).
 * An all_gather or reduce_scatter whose ring visits several members of a node and leaves it passes n - 1 messages over its way out, one
 * after the other: it takes no less than (n-1) message_us of the network beside its latency. Seen in published measurements alone:
 * tensor parallelism over 2 and 4 nodes of EFA takes .8 and 1.5 ms a collective, however few its bytes (llamas of three widths, within
 * 5 %). An all_reduce has trees to go by, and buckets of 25 MB over 128 such members show nothing of it.
 * Group of one: an in-place op is free, a gather or scatter is a copy (2 S bytes of elementwise cost). Links are not
 * shared between groups. Ranks that take turns on a core take as many times as long.
 * Measured: an entry of as many members replaces the formula where all of them are on one node, of a CPU for a send.
 * Units: bytes, seconds, byte/s. Sources: Thakur, Rabenseifner, Gropp 2005 (ring); Hockney 1994 (half-size ramp); NCCL
 * 2.28.9 src/graph/tuning.cc (ring: bandwidth of all channels; n - N hops inside nodes, N - 1 between them). */
#pragma once

#include "core/op/work.h"
#include "cost/nccl/group.h"
#include "cost/share.h"

/* Seconds of a send or receive: the measured ones, else those of the link. */
double sl_cost_peer(const struct sl_cost_rank *rank, const struct sl_link *link, const struct sl_work *work);
/* Seconds of a collective whose ring is like `link` to each member (may be NULL for one member). */
double sl_cost_collective(const struct sl_cost_rank *rank, const struct sl_link *link, const struct sl_work *work);
/* The same by the algorithm and protocol that NCCL would choose; of a measured op, or a group of one, as above. */
double sl_cost_collective_by_nccl(const struct sl_cost_rank *rank, const struct sl_link *link,
                                  const struct sl_nccl_group *nccl, const struct sl_work *work);

/* Share of its speed that compute loses beside a transfer over `link`: comm_compute_share of the kernel set; less where it is
 * NCCL's, in proportion, where less than the innermost link's bandwidth can come through: NCCL runs as many channels, each a
 * block of threads on a multiprocessor of its own, as fill the slowest link of a ring, so a ring that leaves every node by one
 * network card takes a few of those that a ring inside takes (NCCL 2.28.9 src/graph/search.cc, ncclTopoCompute: speedArrays are
 * of a channel; connect.cc doubles both alike). */
double sl_cost_lost_beside(const struct sl_cost_rank *rank, const struct sl_cluster *cluster,
                           const struct sl_link *link);

/* Seconds of the host for a collective that it calls: host_collective, and where hosts are stalled (sl_cost_pipeline_stalls, and the
 * group is tensor-parallel), the cluster's pipeline_stall for every member, times (N + 1) / 2 of the N = `stalled_nodes` that the group
 * visits: in the same measurements 1, 1.5 and 2 to 2.7 for 1, 2 and 4 nodes. 0: no stall. */
double sl_cost_call_host(const struct sl_cost_rank *rank, const struct sl_work *work, int stalled_nodes);
/* Does a pipeline cross nodes, so that hosts are held up at the collectives between its messages? Seen in published
 * measurements alone: 2 ms x tp a block and micro-batch, the more the more ranks a collective has; but not where the
 * model has no more blocks than its pipeline has ranks (llamas of 16, 28 and 32 blocks on 128 GPUs, which the stall would slow to
 * 2.4 and 4.3 times what was measured). `reach`: ranks of the block that holds a whole pipeline, pp times the ranks from one stage
 * to the next; `blocks`: of the model. */
bool sl_cost_pipeline_stalls(const struct sl_cluster *cluster, int pp, int reach, int64_t blocks);
