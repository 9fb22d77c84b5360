/* NCCL's own estimate of a call, and what NCCL chooses by it.
 *
 *   seconds = latency + bytes / bandwidth      bytes: the larger of a rank's send and receive buffers
 * For an all_reduce by trees, the bandwidth is multiplied by the share that corrections.inc has for its size. For a
 * Simple ring all_reduce over several nodes, the latency is multiplied by 1.4 (before Ampere 1.9) if each rank has at
 * least 64 bytes per channel. NCCL chooses the algorithm and protocol with the fewest seconds, among equals the first
 * in its order.
 *
 * All channels are twice those of the ring's graph, at most 64 (with CollNet half as many more if a chain is faster
 * within nodes than between them; doubled on Hopper and later over several nodes if a channel is faster than 45 GB/s
 * and there are fewer than 16). Of these, a call uses at most (NCCL may put a small call on fewer)
 *   NVLS, NVLSTree   16; on Blackwell 24 on one node, 32 on several
 *   others           the most for which each thread has its threshold of bytes, or 1
 * The estimate does not depend on how many are used.
 *
 * Source: NCCL 2.28.9 (BSD-3), src/graph/tuning.cc (ncclTopoGetAlgoTime), src/enqueue.cc (topoGetAlgoInfo),
 * src/graph/connect.cc, src/transport/nvls.cc. Valid for a single call that is not aggregated with others, without the
 * user's NCCL_ALGO, NCCL_PROTO or a tuner plugin, and not for fp8 sums over more than 8 ranks, for which NCCL avoids
 * rings. */
#pragma once

#include "cost/nccl/graph.h"

/* What the estimate needs to know about a communicator; filled once by sl_nccl_open. */
struct sl_nccl {
  struct sl_nccl_comm comm;
  struct sl_nccl_graphs graphs;
  int channels;                                                                  /* of the communicator */
  double bandwidth[SL_NCCL_COLL_COUNT][SL_NCCL_ALGO_COUNT][SL_NCCL_PROTO_COUNT]; /* byte/s; 0: not offered */
  double latency[SL_NCCL_COLL_COUNT][SL_NCCL_ALGO_COUNT][SL_NCCL_PROTO_COUNT];   /* s */
};

struct sl_nccl_choice {
  enum sl_nccl_algo algo;
  enum sl_nccl_proto proto;
  int channels;
  double seconds;
};

/* Errors: those of sl_nccl_comm_check. Nothing is allocated. */
enum sl_status sl_nccl_open(struct sl_nccl *nccl, const struct sl_nccl_comm *comm);
/* INFINITY if not offered. */
double sl_nccl_seconds(const struct sl_nccl *nccl, enum sl_nccl_coll coll, enum sl_nccl_algo algo,
                       enum sl_nccl_proto proto, int64_t bytes);
struct sl_nccl_choice sl_nccl_choose(const struct sl_nccl *nccl, enum sl_nccl_coll coll, int64_t bytes);
/* The estimate's two terms for this size: latency and bandwidth. */
double sl_nccl_latency_of_size(const struct sl_nccl *nccl, enum sl_nccl_coll coll, enum sl_nccl_algo algo,
                               enum sl_nccl_proto proto, int64_t bytes);
double sl_nccl_bandwidth_of_size(const struct sl_nccl *nccl, enum sl_nccl_coll coll, enum sl_nccl_algo algo,
                                 enum sl_nccl_proto proto, int64_t bytes);
