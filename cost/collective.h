/* Seconds of communication between ranks, from the links between them.
 *
 * With S bytes (nccl-tests' size, work.size), n members, and alpha and beta of the ring through them:
 *   each ring of an op (sl_move)      (n-1) alpha +   (n-1)/n S / beta(S): twice for an all_reduce
 *   the same with uneven shares       (n-1) alpha + W / beta(S), W = the most bytes that any member sends (work.bytes)
 *   exchange (all_to_all)             as one ring: (n-1)/n S go to n-1 peers. This holds if each unit has one member,
 *                                     or one unit has all of them, as for groups within a node and across nodes;
 *                                     otherwise more bytes cross the outer links
 *   chain (broadcast), send               alpha   +         S / beta(S)
 *   beta(S) = beta S / (S + half_bytes)
 * beta_k is the bandwidth that a ring over u_(k-1) units attains on level k (sl_cost_attained); for a send, over 2. The
 * ring visits all members of a unit (a node) before it goes on, and leaves and enters a unit by the links of all its
 * members there (NCCL: as many rings as there are rails; on a CPU node, one ring with the whole network card). With u_k
 * units of level k that hold members (u_-1 = n), of which the emptiest holds m_k (m_-1 = 1):
 *   beta  = min over the levels that the ring crosses of m_(k-1) beta_k
 *   half_bytes / beta = max over them of half_bytes_k / (m_(k-1) beta_k): the slowest to start, which need not be the
 *           slowest; so a faster link never makes a message slower
 *   alpha = sum over levels of (u_(k-1) - u_k) alpha_k / (n-1)
 * cost/topology.h computes these for a group's devices, as if the ring were one link, which the formulas take. A send
 * uses the slowest link between the two ranks.
 *
 * If the levels say what NCCL takes them for (nccl_hop), the ring is NCCL's, over u nodes. It uses the fastest
 * protocol, with NCCL's latencies (cost/nccl/latency.h: a base, and a hop for every step, within nodes and between
 * them, each with what alpha_k has beyond NCCL's own figure) in place of (n-1) alpha, and with 1/2 (LL) or 120/128 (LL128) of beta, without the ramp of half_bytes. NCCL's
 * trees and NVLS are not considered, because rings alone predict published runs better; cost/nccl/group.h has NCCL's
 * own choice.
 *
 * An all_gather or reduce_scatter whose ring visits several members of a node and also leaves the node sends n - 1
 * messages over its outgoing link one after another: besides its latency, it takes at least (n-1) message_us of the
 * network. The only evidence is published measurements: tensor parallelism over 2 and 4 nodes of EFA takes .8 and 1.5
 * ms per collective, however few its bytes (llamas of three widths, within 5 %). An all_reduce can use trees, and
 * buckets of 25 MB over 128 such members do not show the effect.
 *
 * In a group of one, an in-place op is free, and a gather or scatter is a copy (2 S bytes of elementwise cost). Links
 * are not shared between groups. Ranks that take turns on a core take that many times as long. A measured entry for the
 * same number of members replaces the formula if all of them are on one node; for a send, only on a CPU.
 *
 * Units: bytes, seconds, byte/s. Sources: Thakur, Rabenseifner, Gropp 2005 (ring); Hockney 1994 (half-size ramp); NCCL
 * 2.28.9 src/graph/tuning.cc (ring: bandwidth of all channels; n - N hops within nodes, N - 1 between them). */
#pragma once

#include "core/op/work.h"
#include "cost/nccl/group.h"
#include "cost/share.h"

/* Seconds of a send or receive: measured if there is an entry, else those of the link. */
double sl_cost_peer(const struct sl_cost_rank *rank, const struct sl_link *link, const struct sl_work *work);
/* Seconds of a collective whose ring is like `link` for each member (may be NULL for one member). */
double sl_cost_collective(const struct sl_cost_rank *rank, const struct sl_link *link, const struct sl_work *work);
/* The same with the algorithm and protocol that NCCL would choose. A measured op or a group of one is as above. */
double sl_cost_collective_by_nccl(const struct sl_cost_rank *rank, const struct sl_link *link,
                                  const struct sl_nccl_group *nccl, const struct sl_work *work);

/* The share of its speed that compute loses during a transfer over `link`: comm_compute_share of the kernel set. For
 * NCCL it is proportionally less if the link has less than the innermost link's bandwidth: NCCL runs as many channels,
 * each a block of threads on a multiprocessor of its own, as fill the slowest link of a ring, so a ring that leaves
 * every node by one network card uses only a few of the channels of a ring within a node (NCCL 2.28.9
 * src/graph/search.cc, ncclTopoCompute: speedArrays are per channel; connect.cc doubles both equally). */
double sl_cost_lost_beside(const struct sl_cost_rank *rank, const struct sl_cluster *cluster,
                           const struct sl_link *link);

/* The host's seconds for calling a collective: host_collective and, if hosts are stalled (see sl_cost_pipeline_stalls)
 * and the group is tensor-parallel, also the cluster's pipeline_stall for every member, times (N + 2) / 3 for the N =
 * `stalled_nodes` that the group spans: the measurements named there show 1, 1.3 (97 runs, medians of a model and a
 * depth of pipeline 1.2 to 1.4) and, in pipelines of two ranks, 1.9 to 2.3 for 1, 2 and 4 nodes; deeper ones over 4
 * nodes stall for 1.2 s a micro-batch, whatever the model, as do all on 512 GPUs, which is not modelled. 0: no
 * stall. */
double sl_cost_call_host(const struct sl_cost_rank *rank, const struct sl_work *work, int stalled_nodes);
/* Does a pipeline cross nodes, so that hosts are delayed at the collectives between its messages? The only evidence is
 * published measurements: 2 ms x tp per block and micro-batch, more the more ranks a collective has; but not if the
 * model has no more blocks than its pipeline has ranks (llamas of 16, 28 and 32 blocks on 128 GPUs, which the stall
 * would slow to 2.4 and 4.3 times what was measured). `reach`: ranks in the range that holds a whole pipeline, pp times
 * the distance in ranks from one stage to the next; `blocks`: of the model. */
bool sl_cost_pipeline_stalls(const struct sl_cluster *cluster, int pp, int reach, int64_t blocks);
