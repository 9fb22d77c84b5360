/* Communicators for the tests of NCCL's tuning model, and names short enough for tables. Include after cmocka.h. */
#pragma once

#include "cost/nccl/choice.h"
#include "cost/nccl/tables.h"
#include "tests/support/nvlink.h"

#include <math.h>

#define V SL_NCCL_VOLTA
#define A SL_NCCL_AMPERE
#define H SL_NCCL_HOPPER
#define B SL_NCCL_BLACKWELL
#define AR SL_NCCL_ALL_REDUCE
#define AG SL_NCCL_ALL_GATHER
#define RS SL_NCCL_REDUCE_SCATTER
#define BC SL_NCCL_BROADCAST
#define RD SL_NCCL_REDUCE
#define RING SL_NCCL_RING
#define TREE SL_NCCL_TREE
#define NVLS SL_NCCL_NVLS
#define NTREE SL_NCCL_NVLS_TREE
#define DIRECT SL_NCCL_COLLNET_DIRECT
#define CHAIN SL_NCCL_COLLNET_CHAIN
#define PAT SL_NCCL_PAT
#define LL SL_NCCL_LL
#define LL128 SL_NCCL_LL128
#define SIMPLE SL_NCCL_SIMPLE

/* Nodes of eight GPUs, each GPU with a NIC of its own: 100, 200, 400 and 400 Gb/s. */
static inline struct sl_nccl_comm nodes_of_eight(enum sl_nccl_gpu gpu, int nodes) {
  static const int links[] = {6, 12, 18, 18};
  static const double nic[] = {12.5e9, 25e9, 50e9, 50e9};
  return (struct sl_nccl_comm){.gpu = gpu,
                               .ranks = 8 * nodes,
                               .nodes = nodes,
                               .nvlink = nvlink_of(gpu, links[gpu]),
                               .nics = 8,
                               .nic = nic[gpu],
                               .nvls = gpu >= SL_NCCL_HOPPER,
                               .ll128 = true};
}

static inline struct sl_nccl open_model(struct sl_nccl_comm comm) {
  struct sl_nccl nccl;
  assert_int_equal(sl_nccl_open(&nccl, &comm), SL_OK);
  return nccl;
}

static inline void close_to(double value, double expected, const char *what, int row) {
  if (fabs(value - expected) > 1e-9 * fabs(expected))
    fail_msg("row %d, %s: %.9g, expected %.9g", row, what, value, expected);
}
