/* Seconds of a call on a network that was measured: NCCL's choice, at what the network was seen to give it.
 *
 * NCCL's estimate (choice.h) is there to choose by. It leaves out what comes before a call's kernel, takes the
 * bandwidth as reached from the first byte on, and knows no other traffic. Five numbers say what a measurement adds:
 *   seconds = launch + latency + (bytes + [Simple] fill) / min(share x bandwidth, links)
 *   share   = inside on one node, across x nodes^-fall on several
 *   launch    s of every call before its kernel: host, event, stream; of the machine and of the tool that measured
 *   inside    share of NCCL's bandwidth that is reached on one node; of the GPU
 *   fill      bytes: by so much longer a Simple call lasts, because its pipeline of chunks must fill and drain; of the
 *             GPU
 *   across    share of NCCL's bandwidth that is reached over several nodes, extrapolated to one; of the network
 *   fall      0 where a node's bandwidth does not fall with the number of nodes, 1 where the network has no more for
 *             many nodes than for one; of the network, as its jobs meet it: a mean over placements and over others'
 *             traffic
 * Latency and bandwidth are NCCL's of that size, but for one: an NVLS all_reduce on one node has
 *   e C s m / (m + 1)   with C s of the ring, m GPUs, e of caps.inc
 * since a link carries the GPU's own bytes up and down once and the sum of its part once more. NCCL's figure is the
 * same for 8 Hopper GPUs, and too small for fewer and on Blackwell, where its list of speeds ends before the links do.
 * links: no call is faster than these let it be, with m GPUs of a node, N nodes, L and K B as in graph.h
 *   inside   all_reduce L m / 2 (m - 1), L where switches reduce;  all_gather, reduce_scatter L m / (m - 1);  else L
 *   across   all_reduce K B N / 2 (N - 1), K B where switches reduce;  K B N / (N - 1);  else K B
 *
 * Source: fitted to what experiments/published has of nccl-tests and of others; numbers, errors and validity there.
 * Where nothing was measured, sl_nccl_as_estimated is NCCL's estimate (with NVLS and links as above). */
#pragma once

#include "cost/nccl/choice.h"

struct sl_nccl_attained {
  double launch, inside, fill, across, fall;
};

extern const struct sl_nccl_attained sl_nccl_as_estimated;

/* What NCCL chooses, with the seconds that it then takes. */
struct sl_nccl_choice sl_nccl_attain(const struct sl_nccl *nccl, const struct sl_nccl_attained *attained,
                                     enum sl_nccl_coll coll, int64_t bytes);
