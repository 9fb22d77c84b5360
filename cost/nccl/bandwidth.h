/* The bandwidth that NCCL assumes for an algorithm and protocol, byte/s: bytes of the whole collective (the larger of
 * the send and receive buffers of a rank) over seconds beyond the latency.
 *
 * n ranks, N nodes, p = n / N, C channels of speed s (graph.h): intra where N <= 2 or CollNet, else inter. First the
 * bus bandwidth b:
 *   ring            C s;  LL min(cap_LL, C s / 2);  LL128 min(0.92 C s, C cap)
 *   tree            t = min(0.92 C s, C cap);  LL min(t / 3.8, cap_LL);  LL128 min(7/9 t, C cap) on one node,
 *                   min(120/128 t, C cap) on several;  all of it times 0.85 where nodes have one GPU (its trees are
 *                   plain)
 *   nvls            C min(intra', inter);  intra' = intra e (C - 1) / C, times 2 for all_reduce, else times (p - 1) / p
 *   nvls_tree       C min(intra', inter, cap); inter twice with 2 nodes
 *   collnet_direct  all_reduce C s / f, f = (C + p) / 2 C, times 0.85 from Hopper on; else p min(intra, 0.9 inter)
 *   collnet_chain   C s
 *   pat             0.75 C s
 * (caps and e: caps.inc), and from it what this function gives:
 *   ring, nvls, nvls_tree   b n / steps (nsteps: sl_nccl_steps), but b of an all_gather or reduce_scatter that is no
 *                           ring
 *   tree, collnet           b / 2, likewise
 * 0 means not offered. Broadcast and reduce run as rings only; all_gather and reduce_scatter also by PAT (one GPU a
 * node), NVLS and CollNetDirect (with several nodes only where CollNet has a NIC for each GPU); all_reduce by all but
 * PAT.
 * NVLS and CollNet have Simple only, NVLS between nodes needs CollNet, NVLSTree and CollNet several nodes, CollNet at
 * most 9 GPUs a node, NVLS for a gather or scatter at most 32. LL128 needs NVLink inside nodes, and between them what
 * comm.ll128 says.
 *
 * Source: NCCL 2.28.9 (BSD-3), src/graph/tuning.cc (ncclTopoTuneModel), src/enqueue.cc (updateCollCostTable). Its
 * estimate may exceed what links carry: a tree over 2 nodes is counted with the speed inside them. See attained.h. */
#pragma once

#include "cost/nccl/graph.h"

double sl_nccl_bandwidth(const struct sl_nccl_comm *comm, const struct sl_nccl_graphs *graphs, enum sl_nccl_coll coll,
                         enum sl_nccl_algo algo, enum sl_nccl_proto proto);
