/* NVLink as NCCL counts it, for tests. */
#pragma once

#include "cost/nccl/comm.h"

/* The bandwidth of a GPU with `links` links, in each direction, as NCCL counts it, slightly below the data sheet: NCCL
 * 2.28.9, src/graph/topo.h: SM70_, SM80_, SM90_, SM100_NVLINK_BW. */
static inline double nvlink_of(enum sl_nccl_gpu gpu, int links) {
  static const double link[SL_NCCL_GPU_COUNT] = {20.0e9, 20.0e9, 20.6e9, 40.1e9};
  return links * link[gpu];
}
