/* The latency that NCCL assumes for an algorithm and protocol, in seconds: until the first byte has arrived.
 *
 * base and hop: latency.inc. n ranks, N nodes, m = n / N rounded down, steps: sl_nccl_steps, log2 rounded down,
 *   hop = NCCL's figure, + what was measured beyond it (comm.h); inside = hop of NVLink or PCIe
 *   across = hop of the network (of a tree where nodes have one GPU) + the NIC's own, which Simple has twice (its
 *     flush)
 *   ring all_reduce, all_gather, reduce_scatter
 *            base + (steps - k) max(inside, o) + k across;  k = 2 (N - 1) for all_reduce, else N - 1;  o = what posting
 *            to a NIC takes with N > 1: 2 us on AMD, else 1 us; three times for Simple
 *   ring broadcast, reduce
 *            base + h, h = hop of the network where N > 1, else inside, where all channels visit the GPUs in one order:
 *            with one node, one NIC, or one GPU a node; else base + steps h, and Simple with a tree's h
 *   tree            base + 2 ((m - 1) inside + log2(N) across)
 *   collnet_direct  base + 2 (min(1, m - 1) inside + (m - 1) 0.4 us) + across
 *   collnet_chain   base + 2 (m - 1) inside + across
 *   nvls            inside, + across with N > 1
 *   nvls_tree       base + inside + 2 log2(N) across
 *   pat             base + log2(N) across / 3.5 + 2.8 us n
 *
 * Source: NCCL 2.28.9 (BSD-3), src/graph/tuning.cc (ncclTopoTuneModel). There, two of these are called
 * placeholders for a future model of chunks: the hop of a tree in a broadcast, and the linear part of PAT. */
#pragma once

#include "cost/nccl/comm.h"

double sl_nccl_latency(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll, enum sl_nccl_algo algo,
                       enum sl_nccl_proto proto);
