/* Channels and their speeds, as NCCL's search at start-up finds them on identical nodes.
 *
 * A channel is a path through the GPUs of a node, and from node to node, that runs at one speed. The search goes down a
 * list of speeds (speeds.inc) and takes the C channels of speed s for which C s is largest:
 *   C = min(32, L' / s where a node has several GPUs, K (B / s) where there are several nodes), all rounded down
 *   L: of one GPU to the switch; B: of one NIC; K: NICs of a node
 *   L' = L; with several nodes and a NIC for each of its m GPUs L m / (m - 1), since a channel is then a chain whose
 *   last GPU passes on to a NIC, and each GPU is the last of equally many chains
 * and stops where C s fills L, or where the next speed is 0.49 of the one found or less. Where no speed of the list
 * fits, it falls back to one channel of 0.1 GB/s. Then
 *   - fast channels are doubled, each at half of the speed: from 25 GB/s on, on Hopper and later only from 50 GB/s on
 *     or where there are at most 4;
 *   - a ring takes the fastest speed at which as many channels still fit;
 *   - a tree has as many channels as the ring. With several nodes its speed inside the node rises along the list up to
 *     twice that between nodes, as long as C s <= L'.
 * NVLS has a channel for each GPU that pulls (with several nodes, that has a NIC), and a GPU's link carries one stream
 * for each and one more for its own: the largest s of the list with (C + 1) s <= L. CollNetDirect: C likewise, 2 s <=
 * L. Then the speed of NVLS between nodes, and of CollNetDirect inside them, rises along the list up to twice the
 * other.
 *
 * Source: NCCL 2.28.9 (BSD-3), src/graph/search.cc. It searches the real wiring; on the nodes that comm.h describes
 * these sums are what it finds, as its logs show: 12 channels of 30 GB/s and NVLS 8 of 40 / 60 on 8 H100
 * (NVIDIA/nccl issue 1197), 4 of 24 with 2 GPUs and 2 NICs of 400 Gb/s a node (issue 1189), 8 of 48 with 8 and 8.
 * Left out: NICs that GPUs share unevenly, and a slower path from GPU to NIC than the NIC itself. */
#pragma once

#include "cost/nccl/comm.h"

struct sl_nccl_graph {
  int channels;        /* 0: the algorithm cannot run */
  double intra, inter; /* byte/s of one channel inside a node and between nodes */
};

struct sl_nccl_graphs {
  struct sl_nccl_graph of[SL_NCCL_ALGO_COUNT];
};

void sl_nccl_search(struct sl_nccl_graphs *graphs, const struct sl_nccl_comm *comm);
