/* A communicator as NCCL's tuning model sees it, and the terms of that model.
 *
 * The model is NCCL's own: what its search at start-up finds (graph.h), which bandwidth and latency it assumes for
 * every algorithm and protocol (bandwidth.h, latency.h), and which of them it therefore chooses for a call of a given
 * size (choice.h). What measurements of a network add to these assumptions is kept separate, in attained.h. Source of
 * all of it: NCCL 2.28.9 (BSD-3), src/graph/tuning.cc, src/graph/search.cc, src/graph/topo.h, src/enqueue.cc; figures
 * and formulae, no code.
 *
 * Valid for identical nodes whose GPUs reach each other through a switch (NVSwitch, or one PCIe root) and whose NICs
 * are near the GPUs. The cube mesh of a DGX-1, and two PCIe roots with a slow link between them, are not covered.
 * Units: bytes, seconds, byte/s. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/*                    name            text; NCCL's tables know no other operations */
#define SL_NCCL_COLL_MAP(X)                                                                                            \
  X(BROADCAST, "broadcast")                                                                                            \
  X(REDUCE, "reduce")                                                                                                  \
  X(ALL_GATHER, "all_gather")                                                                                          \
  X(REDUCE_SCATTER, "reduce_scatter")                                                                                  \
  X(ALL_REDUCE, "all_reduce")

/* In NCCL's order: of two that take equally long, the earlier one is chosen. */
#define SL_NCCL_ALGO_MAP(X)                                                                                            \
  X(TREE, "tree")                                                                                                      \
  X(RING, "ring")                                                                                                      \
  X(COLLNET_DIRECT, "collnet_direct") /* switches of the network reduce; every GPU hands its part to them */           \
  X(COLLNET_CHAIN, "collnet_chain")   /* the same, the GPUs of a node in a chain */                                    \
  X(NVLS, "nvls")                     /* the NVSwitch reduces and multicasts */                                        \
  X(NVLS_TREE, "nvls_tree")           /* the same inside nodes, a tree between them */                                 \
  X(PAT, "pat")                       /* a tree for each rank's part, of nodes with one GPU */

#define SL_NCCL_PROTO_MAP(X)                                                                                           \
  X(LL, "LL")         /* a flag in every 8 bytes */                                                                    \
  X(LL128, "LL128")   /* a flag in every 128 bytes */                                                                  \
  X(SIMPLE, "Simple") /* a fence for every chunk */

/* By the smallest compute capability: below 8.0, below 9.0, below 10.0, from 10.0. */
#define SL_NCCL_GPU_MAP(X)                                                                                             \
  X(VOLTA, "volta")                                                                                                    \
  X(AMPERE, "ampere")                                                                                                  \
  X(HOPPER, "hopper")                                                                                                  \
  X(BLACKWELL, "blackwell")

#define X(name, text) SL_NCCL_##name,
enum sl_nccl_coll { SL_NCCL_COLL_MAP(X) SL_NCCL_COLL_COUNT };
enum sl_nccl_algo { SL_NCCL_ALGO_MAP(X) SL_NCCL_ALGO_COUNT };
enum sl_nccl_proto { SL_NCCL_PROTO_MAP(X) SL_NCCL_PROTO_COUNT };
enum sl_nccl_gpu { SL_NCCL_GPU_MAP(X) SL_NCCL_GPU_COUNT };
#undef X

enum sl_nccl_cpu { SL_NCCL_CPU_INTEL, SL_NCCL_CPU_AMD, SL_NCCL_CPU_OTHER };

struct sl_nccl_comm {
  enum sl_nccl_gpu gpu;
  enum sl_nccl_cpu cpu;
  int ranks, nodes;   /* nodes <= ranks; one rank per GPU */
  double nvlink;      /* of one GPU each way to the switch, as NCCL counts it: slightly below the data sheet; 0: none */
  double pcie;        /* between two GPUs of a node without NVLink */
  int nics;           /* of a node, as the network plugin reports them (it may combine several cards of a GPU) */
  double nic;         /* of one NIC, each way */
  double nic_latency; /* as the network plugin reports it; NCCL's own for sockets and InfiniBand report 0 */
  /* what a hop within a node and between nodes was measured to take beyond NCCL's figure for a ring with Simple
   * (sl_nccl_hop_latency); NCCL itself knows neither. Above 0 it is added for every algorithm and protocol: the wire is
   * theirs. Below 0, hops are less in proportion, at least 0. */
  double inside_extra, across_extra;
  bool nvls;    /* the NVSwitch can reduce and multicast: Hopper and later */
  bool collnet; /* the network can reduce, and its plugin is installed */
  bool ll128;   /* the path to the NIC keeps 128-byte stores whole; needed only with several nodes */
};

const char *sl_nccl_algo_name(enum sl_nccl_algo algo);
const char *sl_nccl_proto_name(enum sl_nccl_proto proto);

/* Errors: SL_ERR_INPUT, with the field and its value, for an impossible communicator. */
enum sl_status sl_nccl_comm_check(const struct sl_nccl_comm *comm);
/* Ranks on a node: the mean, which the model's bandwidths use; its integer part, which its latencies use; and the GPUs
 * of the fullest node. All three are equal if all nodes have the same number. */
double sl_nccl_ranks_per_node(const struct sl_nccl_comm *comm);
int sl_nccl_local_floor(const struct sl_nccl_comm *comm);
int sl_nccl_local_most(const struct sl_nccl_comm *comm);
/* The bandwidth of a GPU to the others of its node: NVLink, else PCIe. */
double sl_nccl_inside(const struct sl_nccl_comm *comm);
/* The sequential steps of a ring: all_reduce 2 (n - 1), all_gather and reduce_scatter n - 1, others n. */
int sl_nccl_steps(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll);
bool sl_nccl_is_gather_or_scatter(enum sl_nccl_coll coll);
/* Rounded down; `value` must be positive. */
int sl_nccl_log2(int64_t value);
