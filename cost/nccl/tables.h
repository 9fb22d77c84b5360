/* The constants of NCCL's tuning model, in seconds and byte/s. The figures are in latency.inc, caps.inc, speeds.inc and
 * corrections.inc, one row per line, with their units and sources. */
#pragma once

#include "cost/nccl/comm.h"

enum sl_nccl_hop { SL_NCCL_HOP_NVLINK, SL_NCCL_HOP_PCIE, SL_NCCL_HOP_NETWORK, SL_NCCL_HOP_COUNT };
enum sl_nccl_cap {
  SL_NCCL_CAP_RING_LL128,
  SL_NCCL_CAP_TREE,
  SL_NCCL_CAP_TREE_LL128,
  SL_NCCL_CAP_NVLS_TREE,
  SL_NCCL_CAP_COUNT
};

double sl_nccl_base_latency(enum sl_nccl_algo algo, enum sl_nccl_proto proto);
double sl_nccl_hop_latency(enum sl_nccl_hop hop, enum sl_nccl_algo algo, enum sl_nccl_proto proto);
/* Of one channel, byte/s. */
double sl_nccl_cap(const struct sl_nccl_comm *comm, enum sl_nccl_cap cap);
/* Of LL, all channels together, byte/s. */
double sl_nccl_ll_cap(const struct sl_nccl_comm *comm);
double sl_nccl_nvls_share(enum sl_nccl_gpu gpu);
/* The share of its bandwidth that an all_reduce by trees attains. */
double sl_nccl_tree_share(enum sl_nccl_proto proto, int64_t bytes);
/* Speed number `i` that the search tries, fastest first; 0 after the last. */
double sl_nccl_speed(const struct sl_nccl_comm *comm, int i);
