/* label: unit
   libs: cost
 * NCCL's tuning model: channels, bandwidths and latencies against sums done by hand from the published figures, the choice by
 * size, and what must hold of any communicator. What it predicts of measured calls: test_nccl_published. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "cost/nccl/attained.h"
#include "cost/nccl/bandwidth.h"
#include "cost/nccl/tables.h"

/* Nodes of eight GPUs, each GPU with a NIC of its own: 100, 200, 400 and 400 Gb/s. */
static struct sl_nccl_comm nodes_of_eight(enum sl_nccl_gpu gpu, int nodes) {
  static const int links[] = {6, 12, 18, 18};
  static const double nic[] = {12.5e9, 25e9, 50e9, 50e9};
  return (struct sl_nccl_comm){.gpu = gpu,
                               .ranks = 8 * nodes,
                               .nodes = nodes,
                               .nvlink = sl_nccl_nvlink(gpu, links[gpu]),
                               .nics = 8,
                               .nic = nic[gpu],
                               .nvls = gpu >= SL_NCCL_HOPPER,
                               .ll128 = true};
}

static struct sl_nccl open_model(struct sl_nccl_comm comm) {
  struct sl_nccl nccl;
  assert_int_equal(sl_nccl_open(&nccl, &comm), SL_OK);
  return nccl;
}

static void close_to(double value, double expected, const char *what, int row) {
  if (fabs(value - expected) > 1e-9 * fabs(expected))
    fail_msg("row %d, %s: %.9g, expected %.9g", row, what, value, expected);
}

/* ---- channels ---- */

#define V SL_NCCL_VOLTA
#define A SL_NCCL_AMPERE
#define H SL_NCCL_HOPPER
#define B SL_NCCL_BLACKWELL

/* GB/s: ring, tree inside and between nodes, NVLS inside and between; worked out from the rules of graph.h. */
static void channels_of_eight_gpus(void **state) {
  (void)state;
  static const struct {
    enum sl_nccl_gpu gpu;
    int nodes, channels;
    double ring, tree_intra, tree_inter;
    int heads;
    double nvls_intra, nvls_inter;
  } rows[] = {
      {V, 1, 6, 20, 20, 20, 0, 0, 0},    {A, 1, 12, 20, 20, 20, 0, 0, 0},  {H, 1, 12, 30, 30, 30, 8, 40, 60},
      {B, 1, 16, 45, 45, 45, 8, 80, 90}, {V, 4, 8, 12, 15, 12, 0, 0, 0},   {A, 4, 8, 24, 30, 24, 0, 0, 0},
      {H, 4, 8, 48, 48, 48, 8, 40, 48},  {B, 4, 8, 48, 96, 48, 8, 48, 48},
  };
  for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
    const struct sl_nccl nccl = open_model(nodes_of_eight(rows[i].gpu, rows[i].nodes));
    const struct sl_nccl_graph *of = nccl.graphs.of;
    assert_int_equal(of[SL_NCCL_RING].channels, rows[i].channels);
    assert_int_equal(of[SL_NCCL_TREE].channels, rows[i].channels);
    assert_int_equal(of[SL_NCCL_NVLS].channels, rows[i].heads);
    close_to(of[SL_NCCL_RING].intra, rows[i].ring * 1e9, "ring inside", i);
    close_to(of[SL_NCCL_RING].inter, rows[i].ring * 1e9, "ring between", i);
    close_to(of[SL_NCCL_TREE].intra, rows[i].tree_intra * 1e9, "tree inside", i);
    close_to(of[SL_NCCL_TREE].inter, rows[i].tree_inter * 1e9, "tree between", i);
    close_to(of[SL_NCCL_NVLS].intra, rows[i].nvls_intra * 1e9, "nvls inside", i);
    close_to(of[SL_NCCL_NVLS].inter, rows[i].nvls_inter * 1e9, "nvls between", i);
  }
}

/* The NVSwitch has a stream for each GPU and one more for the one that pulls: fewer GPUs have faster channels. */
static void nvls_channels_by_gpus(void **state) {
  (void)state;
  static const double speed[] = {[2] = 60, [3] = 60, [4] = 60, [5] = 60, [6] = 50, [7] = 40, [8] = 40};
  for (int n = 2; n <= 8; n++) {
    struct sl_nccl_comm comm = nodes_of_eight(H, 1);
    comm.ranks = n;
    const struct sl_nccl nccl = open_model(comm);
    assert_int_equal(nccl.graphs.of[SL_NCCL_NVLS].channels, n);
    close_to(nccl.graphs.of[SL_NCCL_NVLS].intra, speed[n] * 1e9, "GPUs", n);
  }
}

/* 24 GB/s carry two channels of 12, on each of 4 NICs one; 12.5 GB/s of one NIC one; 0.1 where nothing of the list fits. */
static void channels_over_pcie_and_slow_networks(void **state) {
  (void)state;
  struct sl_nccl_comm comm = {.gpu = A, .ranks = 4, .nodes = 1, .pcie = 24e9};
  struct sl_nccl nccl = open_model(comm);
  assert_int_equal(nccl.graphs.of[SL_NCCL_RING].channels, 2);
  close_to(nccl.graphs.of[SL_NCCL_RING].intra, 12e9, "PCIe", 0);
  comm = (struct sl_nccl_comm){.gpu = A, .ranks = 8, .nodes = 8, .nics = 1, .nic = 12.5e9};
  nccl = open_model(comm);
  assert_int_equal(nccl.graphs.of[SL_NCCL_RING].channels, 1);
  close_to(nccl.graphs.of[SL_NCCL_RING].inter, 12e9, "one NIC", 1);
  comm.nic = 0.1e9;
  nccl = open_model(comm);
  assert_int_equal(nccl.graphs.of[SL_NCCL_RING].channels, 1);
  close_to(nccl.graphs.of[SL_NCCL_RING].inter, 0.1e9, "below the list", 2);
}

/* What NCCL itself prints ("Pattern 4, nChannels 12, bw 30.0/30.0"): 8 H100 (NVIDIA/nccl issue 1197), 2 x 8 H100-class GPUs
 * with a NIC of 400 Gb/s each, nodes of 2 GPUs with 2 of these NICs (issue 1189), 4 GPUs and 4 NICs of 10 Gb/s without
 * NVLink (issue 601). */
static void channels_as_nccl_prints_them(void **state) {
  (void)state;
  static const struct {
    int ranks, nodes, nics;
    double nic, nvlink, pcie;
    int channels;
    double speed;
  } rows[] = {{8, 1, 0, 0, 370.8, 0, 12, 30},
              {16, 2, 8, 50, 370.8, 0, 8, 48},
              {4, 2, 2, 50, 370.8, 0, 4, 24},
              {8, 2, 4, 1.25, 0, 12, 4, 1.2}};
  for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
    const struct sl_nccl nccl = open_model((struct sl_nccl_comm){.gpu = SL_NCCL_HOPPER,
                                                                 .ranks = rows[i].ranks,
                                                                 .nodes = rows[i].nodes,
                                                                 .nics = rows[i].nics,
                                                                 .nic = rows[i].nic * 1e9,
                                                                 .nvlink = rows[i].nvlink * 1e9,
                                                                 .pcie = rows[i].pcie * 1e9,
                                                                 .nvls = i == 0});
    assert_int_equal(nccl.graphs.of[SL_NCCL_RING].channels, rows[i].channels);
    close_to(nccl.graphs.of[SL_NCCL_RING].inter, rows[i].speed * 1e9, "ring", i);
    assert_int_equal(nccl.graphs.of[SL_NCCL_NVLS].channels, i == 0 ? 8 : 0);
  }
}

/* ---- latency and bandwidth ---- */

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

struct figure {
  enum sl_nccl_gpu gpu;
  int nodes;
  enum sl_nccl_coll coll;
  enum sl_nccl_algo algo;
  enum sl_nccl_proto proto;
  double us, gbps;
};

static void holds(const struct sl_nccl *nccl, const struct figure *f, int row) {
  close_to(nccl->latency[f->coll][f->algo][f->proto], f->us * 1e-6, "latency", row);
  close_to(nccl->bandwidth[f->coll][f->algo][f->proto], f->gbps * 1e9, "bandwidth", row);
}

/* base + hops, and C s through its caps, times n / steps for rings and NVLS and 1/2 for trees. */
static void figures_of_eight_gpus_a_node(void **state) {
  (void)state;
  static const struct figure rows[] = {
      /* one node: 14 hops of a ring, 7 up and 7 down a chain */
      {V, 1, AR, RING, LL, 6.6 + 14 * 0.6, 39.0 * 8 / 14},
      {V, 1, AR, RING, LL128, 14.0 + 14 * 1.9, 120 * 0.92 * 8 / 14},
      {V, 1, AR, RING, SIMPLE, 8.4 + 14 * 3.4, 120.0 * 8 / 14},
      {V, 1, AR, TREE, LL, 6.8 + 14 * 0.6, 110.4 / 3.8 / 2},
      {V, 1, AR, TREE, LL128, 14.0 + 14 * 1.25, 110.4 * 7 / 9 / 2},
      {V, 1, AR, TREE, SIMPLE, 8.4 + 14 * 4.0, 110.4 / 2},
      {A, 1, AR, RING, LL, 6.6 + 14 * 0.6, 87.7 * 8 / 14},
      {A, 1, AR, RING, LL128, 14.0 + 14 * 1.9, 220.8 * 8 / 14},
      {A, 1, AR, TREE, LL, 6.8 + 14 * 0.6, 220.8 / 3.8 / 2},
      {A, 1, AR, TREE, SIMPLE, 8.4 + 14 * 4.0, 220.8 / 2},
      {H, 1, AR, RING, LL, 6.6 + 14 * 0.6, 141.0 * 8 / 14},
      {H, 1, AR, RING, LL128, 14.0 + 14 * 1.9, 360 * 0.92 * 8 / 14},
      {H, 1, AR, RING, SIMPLE, 8.4 + 14 * 3.4, 360.0 * 8 / 14},
      {H, 1, AR, TREE, LL128, 14.0 + 14 * 1.25, 331.2 * 7 / 9 / 2},
      {H, 1, AR, NVLS, SIMPLE, 25.0, 8 * (40 * 0.85 * 7 / 8 * 2) * 8 / 14},
      {H, 1, AG, NVLS, SIMPLE, 25.0, 8 * (40 * 0.85 * 7 / 8 * 7 / 8)},
      {H, 1, RS, NVLS, SIMPLE, 25.0, 8 * (40 * 0.85 * 7 / 8 * 7 / 8)},
      {H, 1, AG, RING, SIMPLE, 8.4 + 7 * 3.4, 360.0 * 8 / 7},
      {H, 1, RS, RING, LL, 6.6 + 7 * 0.6, 141.0 * 8 / 7},
      {H, 1, BC, RING, LL128, 14.0 + 1.9, 360 * 0.92},
      {H, 1, RD, RING, SIMPLE, 8.4 + 3.4, 360.0},
      {B, 1, AR, RING, LL, 6.6 + 14 * 0.6, 282.0 * 8 / 14},
      {B, 1, AR, RING, LL128, 14.0 + 14 * 1.9, 720 * 0.92 * 8 / 14},
      {B, 1, AR, TREE, LL128, 14.0 + 14 * 1.25, 662.4 * 7 / 9 / 2},
      {B, 1, AR, NVLS, SIMPLE, 25.0, 8 * 90.0 * 8 / 14}, /* 80 x 0.74 x 7/8 x 2 = 103.6 is above the list's 90 */
      /* two nodes: 28 hops inside, of at least 1 us a post (Simple 3), and 2 between; the speed inside nodes counts */
      {V, 2, AR, RING, LL, 6.6 + 28 * 1.0 + 2 * 2.7, 39.0 * 16 / 30},
      {V, 2, AR, TREE, SIMPLE, 8.4 + 2 * (7 * 4.0 + 14.0), 8 * 15 * 0.92 / 2},
      {A, 2, AR, RING, LL128, 14.0 + 28 * 1.9 + 2 * 4.0, 8 * 20.0 * 16 / 30},
      {A, 2, AR, TREE, SIMPLE, 8.4 + 2 * (7 * 4.0 + 14.0), 8 * 23.6 / 2},
      {H, 2, AR, RING, LL, 6.6 + 28 * 1.0 + 2 * 2.7, 39.0 * 16 / 30},
      {H, 2, AR, RING, LL128, 14.0 + 28 * 1.9 + 2 * 4.0, 8 * 36.7 * 16 / 30},
      {H, 2, AR, RING, SIMPLE, 8.4 + 28 * 3.4 + 2 * 14.0, 384.0 * 16 / 30},
      {H, 2, AR, TREE, LL, 6.8 + 2 * (7 * 0.6 + 5.0), 39.0 / 2},
      {H, 2, AR, TREE, LL128, 14.0 + 2 * (7 * 1.25 + 8.5), 8 * 36.7 / 2},
      {H, 2, AR, TREE, SIMPLE, 8.4 + 2 * (7 * 4.0 + 14.0), 8 * 41.4 / 2},
      {H, 2, AR, NTREE, SIMPLE, 25.0 + 2 * 20.9, 8 * 57.7 * 16 / 30},
      {H, 2, AG, RING, LL128, 14.0 + 14 * 1.9 + 4.0, 8 * 36.7 * 16 / 15},
      {H, 2, BC, RING, LL, 6.6 + 16 * 2.7, 39.0},
      {H, 2, RD, RING, SIMPLE, 8.4 + 16 * 14.0, 384.0},
      {B, 2, AR, RING, LL128, 14.0 + 28 * 1.9 + 2 * 4.0, 8 * 34.6 * 16 / 30},
      {B, 2, AR, TREE, LL128, 14.0 + 2 * (7 * 1.25 + 8.5), 8 * 31.67 / 2},
      {B, 2, AR, NTREE, SIMPLE, 25.0 + 2 * 20.9, 8 * (48 * 0.74 * 7 / 8 * 2) * 16 / 30},
      /* four nodes: 56 and 6 of a ring, two levels of a tree; the speed between nodes counts */
      {V, 4, AR, RING, SIMPLE, 8.4 + 56 * 3.4 + 6 * 14.0, 96.0 * 32 / 62},
      {V, 4, AR, TREE, LL, 6.8 + 2 * (7 * 0.6 + 2 * 5.0), 20.4 / 2},
      {V, 4, AR, TREE, SIMPLE, 8.4 + 2 * (7 * 4.0 + 2 * 14.0), 8 * 10.0 / 2},
      {A, 4, AR, RING, LL, 6.6 + 56 * 1.0 + 6 * 2.7, 20.4 * 32 / 62},
      {A, 4, AR, TREE, LL128, 14.0 + 2 * (7 * 1.25 + 2 * 8.5), 8 * 17.8 * 120 / 128 / 2},
      {H, 4, AR, RING, SIMPLE, 8.4 + 56 * 3.4 + 6 * 14.0, 384.0 * 32 / 62},
      {H, 4, AR, TREE, LL128, 14.0 + 2 * (7 * 1.25 + 2 * 8.5), 8 * 29.0 / 2},
      {H, 4, AR, TREE, SIMPLE, 8.4 + 2 * (7 * 4.0 + 2 * 14.0), 8 * 36.0 / 2},
      {H, 4, AR, NTREE, SIMPLE, 25.0 + 2 * 2 * 20.9, 8 * 45.5 * 32 / 62},
      {B, 4, AR, TREE, SIMPLE, 8.4 + 2 * (7 * 4.0 + 2 * 14.0), 8 * 24.0 / 2},
      {B, 4, AR, NTREE, SIMPLE, 25.0 + 2 * 2 * 20.9, 8 * 43.8 * 32 / 62},
      /* sixteen nodes: 224 and 30, or 112 and 15; four levels */
      {V, 16, RS, RING, LL128, 14.0 + 112 * 1.9 + 15 * 4.0, 96 * 0.92 * 128 / 127},
      {A, 16, AR, RING, SIMPLE, 8.4 + 224 * 3.4 + 30 * 14.0, 192.0 * 128 / 254},
      {A, 16, AR, TREE, LL, 6.8 + 2 * (7 * 0.6 + 4 * 5.0), 20.4 / 2},
      {H, 16, AG, RING, SIMPLE, 8.4 + 112 * 3.4 + 15 * 14.0, 384.0 * 128 / 127},
      {H, 16, AR, NTREE, SIMPLE, 25.0 + 2 * 4 * 20.9, 8 * 45.5 * 128 / 254},
      {B, 16, AG, RING, LL, 6.6 + 112 * 1.0 + 15 * 2.7, 20.4 * 128 / 127},
      {B, 16, BC, RING, SIMPLE, 8.4 + 128 * 14.0, 384.0},
  };
  for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
    const struct sl_nccl nccl = open_model(nodes_of_eight(rows[i].gpu, rows[i].nodes));
    holds(&nccl, &rows[i], i);
  }
}

static void figures_of_collnet(void **state) {
  (void)state;
  /* Hopper: 8 heads of 48 GB/s, of which a GPU's link could carry two more steps of the list if it had any */
  static const struct figure rows[] = {
      {H, 4, AR, DIRECT, SIMPLE, 2 * (3.7 + 7 * 0.4) + 31.0, 8 * 48 * 0.85 / 2},
      {H, 4, AG, DIRECT, SIMPLE, 2 * (3.7 + 7 * 0.4) + 31.0, 8 * 0.9 * 48},
      {H, 4, AR, CHAIN, SIMPLE, 2 * 7 * 2.8 + 30.0, 8 * 48.0 / 2},
      {H, 4, AR, NVLS, SIMPLE, 25.0 + 18.0, 8 * 48.0 * 32 / 62},
      {H, 4, RS, NVLS, SIMPLE, 25.0 + 18.0, 8 * (40 * 0.85 * 7 / 8 * 7 / 8)},
      /* Ampere: 24 between nodes, up to 48 inside: 8 heads, 2 x 48 <= 240 */
      {A, 16, AR, DIRECT, SIMPLE, 2 * (3.7 + 7 * 0.4) + 31.0, 8 * 48.0 / 2},
      {A, 2, RS, DIRECT, SIMPLE, 2 * (3.7 + 7 * 0.4) + 31.0, 8 * 0.9 * 24},
  };
  for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
    struct sl_nccl_comm comm = nodes_of_eight(rows[i].gpu, rows[i].nodes);
    comm.collnet = true;
    const struct sl_nccl nccl = open_model(comm);
    holds(&nccl, &rows[i], i);
  }
  struct sl_nccl_comm comm = nodes_of_eight(A, 4);
  comm.collnet = true;
  comm.nics = 4; /* half of the GPUs have none: 4 channels, 8 + 4 over 2 x 4; no gather and no scatter */
  const struct sl_nccl nccl = open_model(comm);
  close_to(nccl.bandwidth[AR][DIRECT][SIMPLE], 4 * 48e9 / 1.5 / 2, "GPUs without NIC", 0);
  assert_true(nccl.bandwidth[AG][DIRECT][SIMPLE] == 0);
  comm = nodes_of_eight(H, 4);
  comm.collnet = true;
  comm.nics = 4;
  const struct sl_nccl late = open_model(comm);
  assert_true(late.bandwidth[RS][NVLS][SIMPLE] == 0 && late.bandwidth[AR][NVLS][SIMPLE] > 0);
}

/* One GPU a node, 16 nodes, 8 channels of 48 (8 NICs of 50 GB/s): a hop costs what a tree's does, trees are plain. */
static void figures_of_one_gpu_a_node(void **state) {
  (void)state;
  static const struct figure rows[] = {
      {H, 16, AG, PAT, SIMPLE, 8.0 + 4 * 14.0 / 3.5 + 16 * 2.8, 384 * 0.75},
      {H, 16, RS, PAT, SIMPLE, 8.0 + 4 * 14.0 / 3.5 + 16 * 2.8, 384 * 0.75},
      {H, 16, AG, RING, LL, 6.6 + 15 * 5.0, 20.4 * 16 / 15},
      {H, 16, AR, RING, LL128, 14.0 + 30 * 8.5, 8 * 36.7 * 16 / 30},
      {H, 16, AR, TREE, LL, 6.8 + 2 * 4 * 5.0, 20.4 * 0.85 / 2},
      {H, 16, AR, TREE, SIMPLE, 8.4 + 2 * 4 * 14.0, 8 * 36 * 0.85 / 2},
      {H, 16, BC, RING, SIMPLE, 8.4 + 14.0, 384.0},
  };
  for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
    struct sl_nccl_comm comm = nodes_of_eight(H, 16);
    comm.ranks = 16;
    const struct sl_nccl nccl = open_model(comm);
    holds(&nccl, &rows[i], i);
    assert_true(nccl.bandwidth[AR][NTREE][SIMPLE] == 0);
  }
}

/* What changes with the CPU, the NIC's latency and PCIe. */
static void figures_of_other_hosts(void **state) {
  (void)state;
  struct sl_nccl_comm comm = nodes_of_eight(H, 2);
  comm.cpu = SL_NCCL_CPU_AMD;
  comm.nic_latency = 75e-6;
  struct sl_nccl nccl = open_model(comm);
  holds(&nccl, &(struct figure){H, 2, AR, RING, LL, 6.6 + 28 * 2.0 + 2 * 77.7, 22.5 * 16 / 30}, 0);
  holds(&nccl, &(struct figure){H, 2, AR, RING, SIMPLE, 8.4 + 28 * 6.0 + 2 * 164.0, 384.0 * 16 / 30}, 1);
  holds(&nccl, &(struct figure){H, 2, AR, TREE, LL128, 14.0 + 2 * (7 * 1.25 + 83.5), 8 * 36.7 / 2}, 2);
  holds(&nccl, &(struct figure){H, 2, AR, NTREE, SIMPLE, 25.0 + 2 * 170.9, 8 * 57.7 * 16 / 30}, 3);
  comm = (struct sl_nccl_comm){.gpu = A, .ranks = 4, .nodes = 1, .pcie = 24e9, .ll128 = true};
  nccl = open_model(comm);
  holds(&nccl, &(struct figure){A, 1, AR, RING, LL, 6.6 + 6 * 1.0, 12.0 * 4 / 6}, 4);
  holds(&nccl, &(struct figure){A, 1, AR, RING, SIMPLE, 8.4 + 6 * 5.7, 24.0 * 4 / 6}, 5);
  holds(&nccl, &(struct figure){A, 1, AR, TREE, SIMPLE, 8.4 + 6 * 4.0, 22.08 / 2}, 6);
  assert_true(nccl.bandwidth[AR][RING][LL128] == 0); /* PCIe may tear 128 bytes */
}

/* The matrix of a log of NCCL 2.29.7 (TUNING, eunomia-bpf/nccl-eBPF): two nodes of one RTX 5090 each, over sockets with two ways
 * of 10 Gb/s. It prints one decimal; a tree's speed inside its node is twice that between them, though there is nothing. */
static void figures_as_nccl_prints_them(void **state) {
  (void)state;
  static const struct figure rows[] = {
      {B, 2, BC, RING, LL, 9.3, 1.2},      {B, 2, BC, RING, SIMPLE, 22.4, 2.4}, {B, 2, RD, RING, SIMPLE, 22.4, 2.4},
      {B, 2, AG, RING, LL, 11.6, 2.4},     {B, 2, RS, RING, SIMPLE, 22.4, 4.8}, {B, 2, AR, RING, LL, 16.6, 1.2},
      {B, 2, AR, RING, SIMPLE, 36.4, 2.4}, {B, 2, AR, TREE, LL, 16.8, 0.5},     {B, 2, AR, TREE, SIMPLE, 36.4, 1.9},
      {B, 2, AG, PAT, SIMPLE, 17.6, 3.6},  {B, 2, RS, PAT, SIMPLE, 17.6, 3.6},  {B, 2, AR, RING, LL128, 31.0, 0},
      {B, 2, AG, RING, LL128, 22.5, 0},    {B, 2, BC, RING, LL128, 18.0, 0},
  };
  const struct sl_nccl nccl =
      open_model((struct sl_nccl_comm){.gpu = B, .ranks = 2, .nodes = 2, .nics = 2, .nic = 1.25e9});
  for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
    const struct figure *f = &rows[i];
    assert_true(fabs(nccl.latency[f->coll][f->algo][f->proto] * 1e6 - f->us) < 0.0501);
    assert_true(fabs(nccl.bandwidth[f->coll][f->algo][f->proto] / 1e9 - f->gbps) < 0.0501);
  }
  assert_int_equal(sl_nccl_choose(&nccl, BC, 16384).proto, LL); /* as that log has it for broadcasts by size */
  assert_int_equal(sl_nccl_choose(&nccl, BC, 8192).channels, 1);
  assert_int_equal(sl_nccl_choose(&nccl, BC, 16384).channels, 2);
  assert_int_equal(sl_nccl_choose(&nccl, BC, 32768).proto, SIMPLE);
  assert_int_equal(sl_nccl_choose(&nccl, BC, 1 << 18).channels, 4);
}

static void what_is_not_offered(void **state) {
  (void)state;
  struct sl_nccl_comm comm = nodes_of_eight(H, 4);
  comm.ll128 = false;
  const struct sl_nccl nccl = open_model(comm), one = open_model(nodes_of_eight(H, 1)),
                       old = open_model(nodes_of_eight(A, 1));
  assert_true(nccl.bandwidth[AR][RING][LL128] == 0 && nccl.bandwidth[AR][TREE][LL128] == 0);
  assert_true(nccl.bandwidth[AR][RING][LL] > 0);
  assert_true(nccl.bandwidth[AR][NVLS][SIMPLE] == 0);   /* between nodes NVLS needs CollNet */
  assert_true(nccl.bandwidth[AR][DIRECT][SIMPLE] == 0); /* which is not there */
  assert_true(one.bandwidth[AR][NTREE][SIMPLE] == 0);
  assert_true(old.bandwidth[AR][NVLS][SIMPLE] == 0);
  assert_true(one.bandwidth[AG][TREE][SIMPLE] == 0 && one.bandwidth[BC][TREE][LL] == 0 &&
              one.bandwidth[BC][NVLS][SIMPLE] == 0);
  assert_true(one.bandwidth[AR][PAT][SIMPLE] == 0 && one.bandwidth[AG][PAT][SIMPLE] == 0);
  assert_true(one.bandwidth[AR][NVLS][LL] == 0);
  assert_true(isinf(sl_nccl_seconds(&one, AR, NTREE, SIMPLE, 1024)));
}

/* ---- the estimate of a size, and the choice ---- */

/* Best of ring and tree on 8 H100: 1 KB 15.0 us, 1 MB 28 (LL), 16 MB 129, 64 MB 382 (LL128), 1 GB 5276. */
static void estimates_of_eight_h100(void **state) {
  (void)state;
  static const struct {
    int64_t bytes;
    enum sl_nccl_algo algo;
    enum sl_nccl_proto proto;
    double us;
  } rows[] = {
      {1 << 10, RING, LL, 15.0 + 1.024 / 80.571428571},
      {1 << 20, RING, LL, 15.0 + 1048.576 / 80.571428571},
      {1 << 24, RING, LL128, 40.6 + 16777.216 / 189.257142857},
      {1 << 26, RING, SIMPLE, 56.0 + 67108.864 / 205.714285714},
      {1 << 30, RING, SIMPLE, 56.0 + 1073741.824 / 205.714285714},
  };
  static const double published[] = {15.0, 28, 129, 382, 5276};
  struct sl_nccl_comm comm = nodes_of_eight(H, 1);
  comm.nvls = false;
  const struct sl_nccl nccl = open_model(comm);
  for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
    const struct sl_nccl_choice choice = sl_nccl_choose(&nccl, AR, rows[i].bytes);
    assert_int_equal(choice.algo, rows[i].algo);
    assert_int_equal(choice.proto, rows[i].proto);
    close_to(choice.seconds * 1e6, rows[i].us, "us", i);
    assert_true(fabs(choice.seconds * 1e6 / published[i] - 1) < 0.005);
  }
}

static void choices_by_size_and_communicator(void **state) {
  (void)state;
  static const struct {
    enum sl_nccl_gpu gpu;
    int ranks, nodes;
    enum sl_nccl_coll coll;
    int64_t bytes;
    enum sl_nccl_algo algo;
    enum sl_nccl_proto proto;
  } rows[] = {
      {H, 8, 1, AR, 1 << 30, NVLS, SIMPLE}, {H, 4, 1, AR, 1 << 30, RING, SIMPLE},
      {H, 6, 1, AR, 1 << 30, NVLS, SIMPLE}, {H, 8, 1, AG, 1 << 30, RING, SIMPLE},
      {H, 32, 4, AR, 1 << 10, TREE, LL},    {H, 32, 4, AR, 1 << 28, NTREE, SIMPLE},
      {A, 32, 4, AR, 1 << 20, TREE, LL128}, {A, 32, 4, AR, 1 << 30, RING, SIMPLE},
      {A, 8, 1, AR, 1 << 23, RING, LL128},  {H, 16, 16, AG, 1 << 12, PAT, SIMPLE},
  };
  for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
    struct sl_nccl_comm comm = nodes_of_eight(rows[i].gpu, rows[i].nodes);
    comm.ranks = rows[i].ranks;
    const struct sl_nccl nccl = open_model(comm);
    const struct sl_nccl_choice choice = sl_nccl_choose(&nccl, rows[i].coll, rows[i].bytes);
    if (choice.algo != rows[i].algo || choice.proto != rows[i].proto)
      fail_msg("row %d: %s %s", i, sl_nccl_algo_name(choice.algo), sl_nccl_proto_name(choice.proto));
  }
}

/* 512 KiB to 1 MiB by LL has 0.4 of a tree's bandwidth, 1 MiB 0.5; below 64 B and from 512 MiB all of it. */
static void trees_are_corrected_by_size(void **state) {
  (void)state;
  const struct sl_nccl nccl = open_model(nodes_of_eight(A, 4));
  const double latency = 6.8 + 2 * (7 * 0.6 + 2 * 5.0), rate = 10.2;
  static const struct {
    int64_t bytes;
    double share;
  } rows[] = {{63, 1},        {64, 1},        {1023, 1},    {1024, 0.9},   {524288, 0.4},
              {1048575, 0.4}, {1048576, 0.5}, {1 << 25, 1}, {1LL << 29, 1}};
  for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++)
    close_to(sl_nccl_seconds(&nccl, AR, TREE, LL, rows[i].bytes) * 1e6,
             latency + (double)rows[i].bytes / 1e3 / (rate * rows[i].share), "tree", i);
  close_to(sl_nccl_tree_share(SIMPLE, (1LL << 29) - 1), 0.9, "last row", 0);
  close_to(sl_nccl_tree_share(SIMPLE, 1LL << 29), 1, "beyond", 0);
}

/* 16 channels, 32 ranks: from 64 x 16 x 32 bytes on the latency of a Simple ring all_reduce is 1.4 times as much, before
 * Ampere 1.9 times; never on one node, never for another protocol or collective. */
static void rings_over_nodes_have_a_plateau(void **state) {
  (void)state;
  const struct sl_nccl nccl = open_model(nodes_of_eight(A, 4)), old = open_model(nodes_of_eight(V, 4));
  const struct sl_nccl one = open_model(nodes_of_eight(A, 1));
  const int64_t from = 64 * 16 * 32;
  const double plain = nccl.latency[AR][RING][SIMPLE];
  assert_int_equal(nccl.channels, 16);
  close_to(sl_nccl_latency_of_size(&nccl, AR, RING, SIMPLE, from - 1), plain, "below", 0);
  close_to(sl_nccl_latency_of_size(&nccl, AR, RING, SIMPLE, from), 1.4 * plain, "from", 0);
  close_to(sl_nccl_latency_of_size(&old, AR, RING, SIMPLE, from), 1.9 * plain, "Volta", 0);
  close_to(sl_nccl_latency_of_size(&nccl, AR, RING, LL, from), nccl.latency[AR][RING][LL], "LL", 0);
  close_to(sl_nccl_latency_of_size(&nccl, AG, RING, SIMPLE, from), nccl.latency[AG][RING][SIMPLE], "gather", 0);
  close_to(sl_nccl_latency_of_size(&one, AR, RING, SIMPLE, from), one.latency[AR][RING][SIMPLE], "one node", 0);
}

/* Ring LL: 512 threads x 8 B x 8 ranks = 32 KiB a channel; ring Simple 512 x 64 B. */
static void channels_grow_with_bytes(void **state) {
  (void)state;
  struct sl_nccl_comm comm = nodes_of_eight(H, 1);
  const struct sl_nccl nvls = open_model(comm), black = open_model(nodes_of_eight(B, 1)),
                       two = open_model(nodes_of_eight(B, 2));
  comm.nvls = false;
  const struct sl_nccl nccl = open_model(comm);
  assert_int_equal(nccl.channels, 24);
  assert_int_equal(sl_nccl_choose(&nccl, AR, 1).channels, 1);
  assert_int_equal(sl_nccl_choose(&nccl, AR, 5 * 32768 - 1).channels, 4);
  assert_int_equal(sl_nccl_choose(&nccl, AR, 5 * 32768).channels, 5);
  assert_int_equal(sl_nccl_choose(&nccl, AR, 1 << 30).channels, 24);
  assert_int_equal(sl_nccl_choose(&nvls, AR, 1 << 30).channels, 16);
  assert_int_equal(sl_nccl_choose(&black, AR, 1 << 30).channels, 24);
  assert_int_equal(sl_nccl_choose(&two, AR, 1 << 30).channels, 32);
}

/* 16 channels, and half as many more since a chain runs at 30 GB/s inside nodes and at 24 between: 640 threads x 512 B x 8
 * GPUs = 2.5 MiB a channel, from the first one given up half of that, from the twelfth half again. */
static void channels_of_collnet_ease(void **state) {
  (void)state;
  struct sl_nccl_comm comm = nodes_of_eight(A, 4);
  comm.collnet = true;
  const struct sl_nccl nccl = open_model(comm);
  assert_int_equal(nccl.channels, 24);
  assert_int_equal(sl_nccl_choose(&nccl, AR, 1 << 26).algo, DIRECT);
  assert_int_equal(sl_nccl_choose(&nccl, AR, 1 << 26).channels, 24);
  assert_int_equal(sl_nccl_choose(&nccl, AR, 1 << 25).channels, 23);
  assert_int_equal(sl_nccl_choose(&nccl, AR, 1 << 24).channels, 12);
  assert_int_equal(sl_nccl_choose(&nccl, AR, 1 << 23).channels, 11);
}

/* NCCL has no estimate of these: ours is base, one hop and the link's bandwidth. */
static void sends(void **state) {
  (void)state;
  struct sl_nccl_comm comm = nodes_of_eight(A, 2);
  comm.nic_latency = 3e-6;
  struct sl_nccl nccl = open_model(comm);
  close_to(sl_nccl_peer_seconds(&nccl, false, 1 << 20), 11.8e-6 + 1048576 / 240e9, "inside", 0);
  close_to(sl_nccl_peer_seconds(&nccl, true, 1 << 20), 28.4e-6 + 1048576 / 25e9, "across", 0);
  comm.nics = 2; /* of which a pair has one to itself */
  nccl = open_model(comm);
  close_to(sl_nccl_peer_seconds(&nccl, true, 1 << 20), 28.4e-6 + 1048576 / 25e9, "few NICs", 0);
}

/* ---- what a measured network adds ---- */

static void as_estimated_is_the_estimate(void **state) {
  (void)state;
  const struct sl_nccl nccl = open_model(nodes_of_eight(H, 4));
  for (int64_t bytes = 1; bytes < 1LL << 34; bytes *= 7) {
    const struct sl_nccl_choice choice = sl_nccl_choose(&nccl, AG, bytes);
    const struct sl_nccl_choice attained = sl_nccl_attain(&nccl, &sl_nccl_as_estimated, AG, bytes);
    close_to(attained.seconds, choice.seconds, "seconds", 0);
    assert_int_equal(attained.algo, choice.algo);
    assert_int_equal(attained.channels, choice.channels);
  }
}

static void each_measured_number_has_its_place(void **state) {
  (void)state;
  const struct sl_nccl one = open_model(nodes_of_eight(A, 1)), four = open_model(nodes_of_eight(A, 4));
  const struct sl_nccl_attained measured = {.launch = 20e-6, .inside = 0.9, .fill = 12e6, .across = 0.8, .fall = 0.5};
  const double gib = 1 << 30;
  close_to(sl_nccl_attain(&one, &measured, AR, 1 << 30).seconds, 20e-6 + 56e-6 + (gib + 12e6) / (0.9 * 240e9 * 8 / 14),
           "one node", 0);
  close_to(sl_nccl_attain(&one, &measured, AR, 1024).seconds, 20e-6 + 15e-6 + 1024 / (0.9 * 87.7e9 * 8 / 14), "LL", 0);
  close_to(sl_nccl_attain(&four, &measured, AG, 1 << 30).seconds,
           20e-6 + (8.4 + 28 * 3.4 + 3 * 14) * 1e-6 + (gib + 12e6) / (0.8 / 2 * 192e9 * 32 / 31), "four nodes", 0);
}

/* 0.85 of 360 GB/s, of which 8 GPUs see 8/9, 5 GPUs 5/6. */
static void nvls_attains_what_the_links_carry(void **state) {
  (void)state;
  const struct sl_nccl_attained *plain = &sl_nccl_as_estimated;
  for (int n = 6; n <= 8; n++) {
    struct sl_nccl_comm comm = nodes_of_eight(H, 1);
    comm.ranks = n;
    const struct sl_nccl nccl = open_model(comm);
    const struct sl_nccl_choice choice = sl_nccl_attain(&nccl, plain, AR, 1LL << 33);
    assert_int_equal(choice.algo, NVLS);
    close_to(choice.seconds, 25e-6 + (double)(1LL << 33) / (0.85 * 360e9 * n / (n + 1)), "NVLS", n);
  }
}

/* ---- what must hold of any communicator ---- */

static uint64_t draw(uint64_t *seed) { /* splitmix64 */
  uint64_t z = *seed += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static int one_of(uint64_t *seed, int first, int last) {
  return first + (int)(draw(seed) % (uint64_t)(last - first + 1));
}

static struct sl_nccl_comm any_communicator(uint64_t *seed) {
  const enum sl_nccl_gpu gpu = one_of(seed, V, B);
  const int nodes = one_of(seed, 0, 1) ? 1 : one_of(seed, 2, 40), most = one_of(seed, nodes == 1 ? 2 : 1, 8);
  const bool pcie = one_of(seed, 0, 4) == 0;
  return (struct sl_nccl_comm){.gpu = gpu,
                               .cpu = one_of(seed, SL_NCCL_CPU_INTEL, SL_NCCL_CPU_OTHER),
                               .nodes = nodes,
                               .ranks = most == 1 ? nodes
                                                  : one_of(seed, nodes == 1 ? 2 : nodes * (most - 1) + 1, nodes * most),
                               .nvlink = pcie ? 0 : sl_nccl_nvlink(gpu, one_of(seed, 4, 18)),
                               .pcie = one_of(seed, 10, 64) * 1e9,
                               .nics = one_of(seed, 1, 10),
                               .nic = one_of(seed, 10, 1000) * 1e8,
                               .nic_latency = one_of(seed, 0, 75) * 1e-6,
                               .nvls = gpu >= H && one_of(seed, 0, 1),
                               .collnet = one_of(seed, 0, 1),
                               .ll128 = one_of(seed, 0, 1)};
}

/* Bytes that must at least cross a GPU's link, or a node's NICs, over their bandwidth. Written apart from attained.c. */
static double bound(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll, double bytes) {
  const int local = (comm->ranks + comm->nodes - 1) / comm->nodes;
  const double link = comm->nvlink > 0 ? comm->nvlink : comm->pcie;
  double inside = 0, across = 0;
  if (local > 1) inside = bytes * (coll == AG || coll == RS ? 1.0 - 1.0 / local : 1) / link;
  if (comm->nodes > 1)
    across = bytes * (coll == AG || coll == RS ? 1.0 - 1.0 / comm->nodes : 1) / (comm->nics * comm->nic);
  return inside > across ? inside : across;
}

static void channels_fit_their_links(void **state) {
  (void)state;
  uint64_t seed = 11;
  for (int i = 0; i < 5000; i++) {
    const struct sl_nccl_comm comm = any_communicator(&seed);
    const struct sl_nccl nccl = open_model(comm);
    const struct sl_nccl_graph *ring = &nccl.graphs.of[SL_NCCL_RING];
    const double link = comm.nvlink > 0 ? comm.nvlink : comm.pcie;
    const int local = sl_nccl_local_most(&comm);
    const double spare = comm.nodes > 1 && comm.nics >= local ? local / (local - 1.0) : 1;
    assert_true(ring->channels >= 1 && ring->channels <= 32);
    if (ring->intra == 0.1e9) continue; /* the fall-back, whatever the link */
    if (comm.ranks > comm.nodes) assert_true(ring->channels * ring->intra <= link * spare * 1.00001);
    if (comm.nodes > 1) assert_true(ring->channels * ring->inter <= comm.nics * comm.nic * 1.00001);
  }
}

static void nothing_is_faster_than_its_links(void **state) {
  (void)state;
  uint64_t seed = 12;
  for (int i = 0; i < 5000; i++) {
    const struct sl_nccl_comm comm = any_communicator(&seed);
    const struct sl_nccl nccl = open_model(comm);
    const struct sl_nccl_attained bold = {.inside = 3, .across = 3};
    for (int c = 0; c < SL_NCCL_COLL_COUNT; c++) {
      const int64_t bytes = 1LL << one_of(&seed, 0, 34);
      assert_true(sl_nccl_attain(&nccl, &bold, c, bytes).seconds > bound(&comm, c, (double)bytes));
    }
  }
}

/* Of one algorithm and protocol: more bytes take longer, but where a tree's correction steps up; twice as many always do. */
static void seconds_grow_with_bytes(void **state) {
  (void)state;
  uint64_t seed = 13;
  for (int i = 0; i < 2000; i++) {
    const struct sl_nccl nccl = open_model(any_communicator(&seed));
    const int c = one_of(&seed, 0, SL_NCCL_COLL_COUNT - 1), a = one_of(&seed, 0, SL_NCCL_ALGO_COUNT - 1);
    const int p = one_of(&seed, 0, SL_NCCL_PROTO_COUNT - 1);
    if (nccl.bandwidth[c][a][p] == 0) continue;
    for (int64_t bytes = 1; bytes < 1LL << 36; bytes *= 2) {
      const double seconds = sl_nccl_seconds(&nccl, c, a, p, bytes);
      assert_true(sl_nccl_seconds(&nccl, c, a, p, 2 * bytes) > seconds);
      if (a != TREE) assert_true(sl_nccl_seconds(&nccl, c, a, p, bytes + 1) >= seconds);
    }
  }
}

static void faster_channels_are_never_slower(const struct sl_nccl *nccl) {
  struct sl_nccl_graphs faster = nccl->graphs;
  for (int a = 0; a < SL_NCCL_ALGO_COUNT; a++) faster.of[a].intra *= 1.5, faster.of[a].inter *= 1.5;
  for (int c = 0; c < SL_NCCL_COLL_COUNT; c++)
    for (int a = 0; a < SL_NCCL_ALGO_COUNT; a++)
      for (int p = 0; p < SL_NCCL_PROTO_COUNT; p++)
        assert_true(sl_nccl_bandwidth(&nccl->comm, &faster, c, a, p) >= nccl->bandwidth[c][a][p]);
}

/* What is chosen is never slower than what is not. */
static void the_choice_is_the_fastest(void **state) {
  (void)state;
  uint64_t seed = 15;
  for (int i = 0; i < 3000; i++) {
    const struct sl_nccl nccl = open_model(any_communicator(&seed));
    const enum sl_nccl_coll coll = one_of(&seed, 0, SL_NCCL_COLL_COUNT - 1);
    const int64_t bytes = 1LL << one_of(&seed, 0, 34);
    const struct sl_nccl_choice choice = sl_nccl_choose(&nccl, coll, bytes);
    close_to(choice.seconds, sl_nccl_seconds(&nccl, coll, choice.algo, choice.proto, bytes), "the chosen", i);
    for (int a = 0; a < SL_NCCL_ALGO_COUNT; a++)
      for (int p = 0; p < SL_NCCL_PROTO_COUNT; p++)
        assert_true(choice.seconds <= sl_nccl_seconds(&nccl, coll, a, p, bytes));
  }
}

/* More of any link, faster channels, or a network that attains more, and no call takes longer by the same algorithm. */
static void more_bandwidth_is_never_slower(void **state) {
  (void)state;
  uint64_t seed = 14;
  for (int i = 0; i < 3000; i++) {
    struct sl_nccl nccl = open_model(any_communicator(&seed));
    const enum sl_nccl_coll coll = one_of(&seed, 0, SL_NCCL_COLL_COUNT - 1);
    const int64_t bytes = 1LL << one_of(&seed, 0, 34);
    const struct sl_nccl_attained less = {.inside = 0.7, .across = 0.6, .fall = 0.5, .fill = 1e7, .launch = 1e-5};
    struct sl_nccl_attained more = less;
    more.inside = 0.8, more.across = 0.7, more.fall = 0.4;
    const double slow = sl_nccl_attain(&nccl, &less, coll, bytes).seconds;
    assert_true(sl_nccl_attain(&nccl, &more, coll, bytes).seconds <= slow);
    nccl.comm.nvlink *= 2, nccl.comm.pcie *= 2, nccl.comm.nic *= 2;
    assert_true(sl_nccl_attain(&nccl, &less, coll, bytes).seconds <= slow);
    faster_channels_are_never_slower(&nccl);
  }
}

/* ---- bad communicators ---- */

static void refuses(struct sl_nccl_comm comm, const char *field) {
  struct sl_nccl nccl;
  sl_error_clear();
  assert_int_equal(sl_nccl_open(&nccl, &comm), SL_ERR_INPUT);
  if (strstr(sl_error_message(), field) == NULL) fail_msg("'%s' does not name %s", sl_error_message(), field);
  sl_error_clear();
}

static void impossible_communicators_are_refused(void **state) {
  (void)state;
  const struct sl_nccl_comm good = nodes_of_eight(H, 2);
  struct sl_nccl_comm comm = good;
  refuses((comm = good, comm.ranks = 1, comm), "ranks is 1");
  refuses((comm = good, comm.nodes = 0, comm), "nodes is 0");
  refuses((comm = good, comm.nodes = 17, comm), "nodes is 17");
  refuses((comm = good, comm.nics = 0, comm), "nics is 0");
  refuses((comm = good, comm.nic = 0, comm), "nic is 0");
  refuses((comm = good, comm.nic = INFINITY, comm), "nic is inf");
  refuses((comm = good, comm.nvlink = -1, comm), "nvlink is -1");
  refuses((comm = good, comm.nvlink = 0, comm), "pcie is 0");
  refuses((comm = good, comm.nic_latency = NAN, comm), "nic_latency is");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(channels_of_eight_gpus),
      cmocka_unit_test(nvls_channels_by_gpus),
      cmocka_unit_test(channels_over_pcie_and_slow_networks),
      cmocka_unit_test(channels_as_nccl_prints_them),
      cmocka_unit_test(figures_as_nccl_prints_them),
      cmocka_unit_test(figures_of_eight_gpus_a_node),
      cmocka_unit_test(figures_of_collnet),
      cmocka_unit_test(figures_of_one_gpu_a_node),
      cmocka_unit_test(figures_of_other_hosts),
      cmocka_unit_test(what_is_not_offered),
      cmocka_unit_test(estimates_of_eight_h100),
      cmocka_unit_test(choices_by_size_and_communicator),
      cmocka_unit_test(trees_are_corrected_by_size),
      cmocka_unit_test(rings_over_nodes_have_a_plateau),
      cmocka_unit_test(channels_grow_with_bytes),
      cmocka_unit_test(channels_of_collnet_ease),
      cmocka_unit_test(sends),
      cmocka_unit_test(as_estimated_is_the_estimate),
      cmocka_unit_test(each_measured_number_has_its_place),
      cmocka_unit_test(nvls_attains_what_the_links_carry),
      cmocka_unit_test(channels_fit_their_links),
      cmocka_unit_test(nothing_is_faster_than_its_links),
      cmocka_unit_test(seconds_grow_with_bytes),
      cmocka_unit_test(the_choice_is_the_fastest),
      cmocka_unit_test(more_bandwidth_is_never_slower),
      cmocka_unit_test(impossible_communicators_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
