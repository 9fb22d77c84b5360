/* Seconds of a call on a network that was measured: NCCL's choice, with the latency and bandwidth that measurements of
 * the network show.
 *
 * NCCL's estimate (choice.h) only serves to choose. It leaves out what precedes a call's kernel, assumes the full
 * bandwidth from the first byte on, and no other traffic. These numbers add what a measurement shows:
 *   seconds = launch + latency + (bytes + [Simple] fill) / min(share x bandwidth, links)
 *   share   = inside on one node, across x nodes^-fall on several
 *   launch    s of every call before its kernel: host, event, stream; depends on the machine and the measuring tool
 *   inside    share of NCCL's bandwidth that is reached on one node; depends on the GPU
 *   fill      bytes added to a Simple call, because its pipeline of chunks must fill and drain; depends on the
 *             GPU
 *   across    share of NCCL's bandwidth that is reached over several nodes, extrapolated to one; depends on the network
 *   fall      0 if a node's bandwidth does not fall with the number of nodes, 1 if the network has no more bandwidth
 *             for many nodes than for one; depends on the network as its jobs use it, a mean over placements and
 *             traffic
 * Latency and bandwidth are NCCL's for that size, with two exceptions: what hops were measured to take beyond NCCL's own
 * figures is part of the latency (inside_extra, across_extra), though not of what NCCL chooses by; and an NVLS all_reduce on one node has
 *   e C s m / (m + 1)   with C s of the ring, m GPUs, e of caps.inc
 * since a link carries the GPU's own bytes up and down once and the sum of its part once more. NCCL's figure is the
 * same for 8 Hopper GPUs, and too small for fewer and on Blackwell, where its list of speeds ends before the links are
 * full.
 *
 * links: an upper bound of the bandwidth, with m GPUs per node, N nodes, L, K and B as in graph.h
 *   inside   all_reduce L m / 2 (m - 1), L where switches reduce;  all_gather, reduce_scatter L m / (m - 1);  else L
 *   across   all_reduce K B N / 2 (N - 1), K B where switches reduce;  K B N / (N - 1);  else K B
 *
 * Source: fitted to the results of nccl-tests and others in experiments/published, which has the numbers, errors and
 * validity. Without measurements, sl_nccl_as_estimated is NCCL's estimate (with NVLS and links as above). */
#pragma once

#include "cost/nccl/choice.h"

struct sl_nccl_attained {
  double launch, inside, fill, across, fall;
  double inside_extra, across_extra; /* see comm.h */
};

extern const struct sl_nccl_attained sl_nccl_as_estimated;

/* What NCCL chooses, with the seconds that it then takes. */
struct sl_nccl_choice sl_nccl_attain(const struct sl_nccl *nccl, const struct sl_nccl_attained *attained,
                                     enum sl_nccl_coll coll, int64_t bytes);
