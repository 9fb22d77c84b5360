/* label: unit
   libs: cost
 * NCCL's tuning model: channels, bandwidths and latencies against sums done by hand from the published figures and against what
 * NCCL prints. What it chooses: test_nccl_choice; what it predicts of measured calls: test_nccl_published. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "tests/support/nccl_support.h"

/* ---- channels ---- */

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

/* 24 GB/s carry two channels of 12, on each of 4 NICs one; 12.5 GB/s of one NIC one; 0.1 where nothing of the list
 * fits. */
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

/* What NCCL itself prints ("Pattern 4, nChannels 12, bw 30.0/30.0"): 8 H100 (NVIDIA/nccl issue 1197), 2 x 8 H100-class
 * GPUs with a NIC of 400 Gb/s each, nodes of 2 GPUs with 2 of these NICs (issue 1189), 4 GPUs and 4 NICs of 10 Gb/s
 * without NVLink (issue 601). */
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

/* Eight GPUs a node: base + hops, and C s through its caps, times n / steps for rings and NVLS and 1/2 for trees. */
static const struct figure eight_a_node[] = {
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

static void figures_of_eight_gpus_a_node(void **state) {
  (void)state;
  for (int i = 0; i < (int)(sizeof eight_a_node / sizeof eight_a_node[0]); i++) {
    const struct sl_nccl nccl = open_model(nodes_of_eight(eight_a_node[i].gpu, eight_a_node[i].nodes));
    holds(&nccl, &eight_a_node[i], i);
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

/* The matrix of a log of NCCL 2.29.7 (TUNING, eunomia-bpf/nccl-eBPF): two nodes of one RTX 5090 each, over sockets with
 * two ways of 10 Gb/s. It prints one decimal; a tree's speed inside its node is twice that between them, though there
 * is nothing. */
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
      cmocka_unit_test(impossible_communicators_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
