/* label: unit
   libs: cost
 * NCCL's estimate of a size and its choice, what a measured network adds to them, and what must hold of any communicator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "cost/nccl/attained.h"
#include "cost/nccl/bandwidth.h"
#include "tests/support/nccl_support.h"

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

/* 16 channels, 32 ranks: from 64 x 16 x 32 bytes on the latency of a Simple ring all_reduce is 1.4 times as much,
 * before Ampere 1.9 times; never on one node, never for another protocol or collective. */
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

/* 16 channels, and half as many more since a chain runs at 30 GB/s inside nodes and at 24 between: 640 threads x 512 B
 * x 8 GPUs = 2.5 MiB a channel, from the first one given up half of that, from the twelfth half again. */
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
                               .nvlink = pcie ? 0 : nvlink_of(gpu, one_of(seed, 4, 18)),
                               .pcie = one_of(seed, 10, 64) * 1e9,
                               .nics = one_of(seed, 1, 10),
                               .nic = one_of(seed, 10, 1000) * 1e8,
                               .nic_latency = one_of(seed, 0, 75) * 1e-6,
                               .nvls = gpu >= H && one_of(seed, 0, 1),
                               .collnet = one_of(seed, 0, 1),
                               .ll128 = one_of(seed, 0, 1)};
}

/* Bytes that must at least cross a GPU's link, or a node's NICs, over their bandwidth. Written apart from
 * attained.c. */
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

/* Of one algorithm and protocol: more bytes take longer, but where a tree's correction steps up; twice as many always
 * do. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(estimates_of_eight_h100),
      cmocka_unit_test(choices_by_size_and_communicator),
      cmocka_unit_test(trees_are_corrected_by_size),
      cmocka_unit_test(rings_over_nodes_have_a_plateau),
      cmocka_unit_test(channels_grow_with_bytes),
      cmocka_unit_test(channels_of_collnet_ease),
      cmocka_unit_test(as_estimated_is_the_estimate),
      cmocka_unit_test(each_measured_number_has_its_place),
      cmocka_unit_test(nvls_attains_what_the_links_carry),
      cmocka_unit_test(channels_fit_their_links),
      cmocka_unit_test(nothing_is_faster_than_its_links),
      cmocka_unit_test(seconds_grow_with_bytes),
      cmocka_unit_test(the_choice_is_the_fastest),
      cmocka_unit_test(more_bandwidth_is_never_slower),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
