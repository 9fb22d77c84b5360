/* label: unit
   libs: cost
 * NCCL's choice for groups of a cluster's devices: the communicator that is read off the levels, and the algorithm, the protocol and the
 * seconds of calls of all sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cluster/cluster.h"
#include "cost/collective.h"
#include "cost/nccl/group.h"
#include "cost/nccl/latency.h"
#include "cost/topology.h"
#include "tests/support/nccl_support.h"

static struct sl_cluster load(const char *name) {
  struct sl_cluster cluster;
  if (sl_cluster_load(&cluster, name) != SL_OK) fail_msg("%s", sl_error_message());
  return cluster;
}

static struct sl_nccl_group open_group(const struct sl_cluster *cluster, int64_t stride, int size) {
  const struct sl_cost_group devices = {.stride = stride, .size = size, .inner = size};
  struct sl_nccl_group group;
  assert_int_equal(sl_nccl_group_check(cluster), SL_OK);
  assert_int_equal(sl_nccl_group_open(&group, cluster, &devices), SL_OK);
  return group;
}

static void levels_become_a_communicator(void **state) {
  (void)state;
  static const struct {
    const char *cluster;
    int64_t stride;
    int size, nodes, nics;
    double nvlink, pcie, nic;
    bool nvls;
  } cases[] = {
      {"dgx-h100", 1, 8, 1, 0, 370.8e9, 0, 0, true},      {"dgx-h100", 1, 32, 4, 8, 370.8e9, 0, 48e9, true},
      {"dgx-h100", 8, 4, 4, 1, 370.8e9, 0, 48e9, true},   {"dgx-h100", 4, 6, 3, 2, 370.8e9, 0, 48e9, true},
      {"dgx-a100-80g", 1, 8, 1, 0, 240e9, 0, 0, false},   {"selene-a100", 2, 12, 3, 4, 240e9, 0, 24e9, false},
      {"h100-pcie-8", 1, 16, 2, 8, 0, 55e9, 12e9, false}, {"gb200-nvl72", 1, 144, 2, 72, 721.8e9, 0, 48e9, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_cluster cluster = load(cases[i].cluster);
    const struct sl_nccl_group g = open_group(&cluster, cases[i].stride, cases[i].size);
    const struct sl_nccl_comm *c = &g.nccl.comm;
    assert_int_equal(c->ranks, cases[i].size);
    assert_int_equal(c->nodes, cases[i].nodes);
    assert_int_equal(c->nics, cases[i].nics);
    close_to(c->nvlink, cases[i].nvlink, "nvlink", (int)i);
    close_to(c->pcie, cases[i].pcie, "pcie", (int)i);
    close_to(c->nic, cases[i].nic, "nic", (int)i);
    assert_true(c->nvls == cases[i].nvls);
    sl_cluster_free(&cluster);
  }
}

static struct sl_work work_of(enum sl_op_kind kind, double bytes, int members) {
  return (struct sl_work){.kind = kind, .dtype = SL_BF16, .members = members, .parts = 1, .size = bytes};
}

/* As NCCL's own model has it for the same communicator (tests/cost/test_nccl_choice.c holds that to its source). */
static void the_choice_is_that_of_the_model(void **state) {
  (void)state;
  static const enum sl_op_kind kinds[] = {SL_OP_ALL_REDUCE, SL_OP_ALL_GATHER, SL_OP_REDUCE_SCATTER, SL_OP_BROADCAST};
  static const enum sl_nccl_coll colls[] = {AR, AG, RS, BC};
  struct sl_cluster cluster = load("dgx-h100");
  for (int nodes = 1; nodes <= 16; nodes *= 4) {
    const struct sl_nccl_group g = open_group(&cluster, 1, 8 * nodes);
    struct sl_nccl_comm comm = nodes_of_eight(H, nodes);
    comm.cpu = SL_NCCL_CPU_OTHER, comm.nic = 48e9;
    const struct sl_nccl nccl = open_model(comm);
    for (int k = 0; k < 4; k++)
      for (int64_t bytes = 1 << 10; bytes <= INT64_C(1) << 32; bytes *= 2) {
        const struct sl_work work = work_of(kinds[k], (double)bytes, 8 * nodes);
        const struct sl_nccl_choice expected = sl_nccl_choose(&nccl, colls[k], bytes);
        const struct sl_nccl_choice choice = sl_nccl_group_choose(&g, &work);
        assert_int_equal(choice.algo, expected.algo);
        assert_int_equal(choice.proto, expected.proto);
      }
  }
  sl_cluster_free(&cluster);
}

static struct sl_nccl_choice choose(const struct sl_nccl_group *g, enum sl_op_kind kind, double bytes) {
  const struct sl_work work = work_of(kind, bytes, g->nccl.comm.ranks);
  return sl_nccl_group_choose(g, &work);
}

/* Small messages go up and down trees by LL, large ones by switches or rings. */
static void every_size_has_its_own(void **state) {
  (void)state;
  struct sl_cluster h100 = load("dgx-h100"), a100 = load("dgx-a100-80g");
  const struct sl_nccl_group node = open_group(&h100, 1, 8), nodes = open_group(&h100, 1, 64),
                             old = open_group(&a100, 1, 8);
  assert_int_equal(choose(&node, SL_OP_ALL_REDUCE, 1 << 30).algo, NVLS);
  assert_int_equal(choose(&old, SL_OP_ALL_REDUCE, 1 << 30).algo, RING);
  assert_int_equal(choose(&old, SL_OP_ALL_REDUCE, 1 << 30).proto, SIMPLE);
  assert_int_equal(choose(&nodes, SL_OP_ALL_REDUCE, 4096).algo, TREE);
  assert_int_equal(choose(&nodes, SL_OP_ALL_REDUCE, 4096).proto, LL);
  assert_int_equal(choose(&nodes, SL_OP_ALL_REDUCE, 1 << 30).algo, NTREE);
  assert_int_equal(choose(&nodes, SL_OP_BROADCAST, 1 << 30).algo, RING);
  sl_cluster_free(&h100);
  sl_cluster_free(&a100);
}

/* By hand, of 2^30 bytes over the 8 GPUs of a DGX A100: rings of the speed that the search finds, at the share of the
 * level, with the ramp of half_bytes; never more than the link carries. */
static void a_ring_takes_what_the_level_attains(void **state) {
  (void)state;
  struct sl_cluster cluster = load("dgx-a100-80g");
  const struct sl_nccl_group g = open_group(&cluster, 1, 8);
  const double bytes = 1 << 30;
  const struct sl_nccl_graph *ring = &g.nccl.graphs.of[SL_NCCL_RING];
  const double bus = ring->channels * ring->intra, algorithm = bus * 8 / (2 * 7);
  const double seconds = sl_nccl_latency(&g.nccl.comm, AR, RING, SIMPLE) +
                         (bytes + cluster.link[0].half_bytes) / (cluster.link[0].bandwidth_share * algorithm);
  close_to(bus, 240e9, "bus", 0);
  close_to(choose(&g, SL_OP_ALL_REDUCE, bytes).seconds, seconds, "seconds", 0);
  sl_cluster_free(&cluster);
}

/* A group of one copies or does nothing, shares that differ last as long as even ones of the largest, and ranks that
 * take turns on a GPU take as many times as long. */
static void other_works_cost_what_they_did(void **state) {
  (void)state;
  struct sl_cluster cluster = load("dgx-h100");
  struct sl_cost_rank rank;
  const struct sl_nccl_group g = open_group(&cluster, 1, 8);
  const struct sl_link link = {.bandwidth = 1e9};
  assert_int_equal(sl_cost_share(&rank, &cluster, NULL, 8), SL_OK);
  struct sl_work one = work_of(SL_OP_ALL_GATHER, 1 << 20, 1), even = work_of(SL_OP_ALL_GATHER, 1 << 20, 8),
                 uneven = even;
  assert_true(sl_cost_collective_by_nccl(&rank, &link, &g, &one) == sl_cost_collective(&rank, &link, &one));
  uneven.uneven = true, uneven.bytes = even.size * 7 / 8;
  const double seconds = sl_cost_collective_by_nccl(&rank, &link, &g, &even);
  close_to(sl_cost_collective_by_nccl(&rank, &link, &g, &uneven), seconds, "uneven", 0);
  rank.turns = 3;
  close_to(sl_cost_collective_by_nccl(&rank, &link, &g, &even), 3 * seconds, "turns", 0);
  sl_cluster_free(&cluster);
}

static void devices_that_are_not_nvidias_are_refused(void **state) {
  (void)state;
  static const char *const names[] = {"localhost", "mi300x-8"};
  for (int i = 0; i < 2; i++) {
    struct sl_cluster cluster = load(names[i]);
    assert_int_equal(sl_nccl_group_check(&cluster), SL_ERR_INPUT);
    assert_non_null(strstr(sl_error_message(), "gives no compute_capability"));
    sl_error_clear();
    sl_cluster_free(&cluster);
  }
}

static double seconds_of(const struct sl_cluster *cluster, enum sl_op_kind kind, int members, bool by_choice) {
  struct sl_cost_rank rank;
  const struct sl_cost_group devices = {.stride = 1, .size = members, .inner = members};
  const struct sl_link link = sl_cost_group_link(cluster, &devices);
  const struct sl_nccl_group g = open_group(cluster, 1, members);
  const struct sl_work work = work_of(kind, 64, members);
  assert_int_equal(sl_cost_share(&rank, cluster, NULL, members), SL_OK);
  return by_choice ? sl_cost_collective_by_nccl(&rank, &link, &g, &work) : sl_cost_collective(&rank, &link, &work);
}

/* Every preset has NCCL's own latencies, so its predictions are NCCL's to the last digit. */
static void presets_have_nccls_own_latencies(void **state) {
  (void)state;
  for (int i = 0; sl_cluster_preset_name(i) != NULL; i++) {
    struct sl_cluster cluster = load(sl_cluster_preset_name(i));
    const struct sl_cost_group devices = {.stride = 1, .size = 144, .inner = 144};
    const struct sl_link ring = sl_cost_group_link(&cluster, &devices);
    assert_true(ring.inside_extra == 0 && ring.across_extra == 0);
    sl_cluster_free(&cluster);
  }
}

/* 64 bytes, which go by LL in rings: hops of .6 us inside and 2.7 us between nodes. Somebody's slower network or
 * NVLink adds what it is slower to each hop; a faster one's hops are less in proportion. */
static void a_latency_that_is_not_nccls_counts(void **state) {
  (void)state;
  static const struct {
    int level, members;
    double latency, more[2]; /* a gather, an all_reduce in rings */
  } cases[] = {{1, 16, 30e-6, {16e-6, 32e-6}},
               {1, 32, 30e-6, {3 * 16e-6, 6 * 16e-6}},
               {1, 16, 7e-6, {-1.35e-6, -2.7e-6}},
               {1, 16, 0, {-2.7e-6, -5.4e-6}},
               {1, 8, 30e-6, {0, 0}},
               {0, 8, 5.4e-6, {7 * 2e-6, 14 * 2e-6}},
               {0, 8, 1.7e-6, {-7 * .3e-6, -14 * .3e-6}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int sums = 0; sums < 2; sums++) {
      const enum sl_op_kind kind = sums ? SL_OP_ALL_REDUCE : SL_OP_ALL_GATHER;
      struct sl_cluster cluster = load("dgx-a100-80g");
      const double own = seconds_of(&cluster, kind, cases[i].members, false),
                   chosen = seconds_of(&cluster, kind, cases[i].members, true);
      cluster.link[cases[i].level].latency = cases[i].latency;
      close_to(seconds_of(&cluster, kind, cases[i].members, false), own + cases[i].more[sums], "seconds", (int)i);
      const double changed = seconds_of(&cluster, kind, cases[i].members, true) - chosen, more = cases[i].more[sums];
      assert_true(more == 0 ? changed == 0 : changed * more > 0);
      sl_cluster_free(&cluster);
    }
  }
}

/* NCCL has measured nothing: what it chooses follows from its own figures. */
static void nccl_does_not_choose_by_what_was_measured(void **state) {
  (void)state;
  struct sl_cluster own = load("dgx-h100"), slow = load("dgx-h100");
  slow.link[0].latency = 20e-6, slow.link[1].latency = 200e-6;
  const struct sl_nccl_group of_own = open_group(&own, 1, 64), of_slow = open_group(&slow, 1, 64);
  for (double bytes = 1 << 10; bytes <= 1e10; bytes *= 2) {
    const struct sl_nccl_choice a = choose(&of_own, SL_OP_ALL_REDUCE, bytes),
                                b = choose(&of_slow, SL_OP_ALL_REDUCE, bytes);
    assert_int_equal(a.algo, b.algo);
    assert_int_equal(a.proto, b.proto);
    assert_true(b.seconds > a.seconds + 100e-6);
  }
  sl_cluster_free(&own);
  sl_cluster_free(&slow);
}

/* Units of a group as they are met, member after member. */
static int count_units(const struct sl_cost_group *g, int64_t span, int *fewest) {
  int64_t unit = -1;
  int units = 0, held = 0;
  *fewest = g->size;
  for (int i = 0; i < g->size; i++) {
    const int64_t at = (g->first + i % g->inner * g->stride + i / g->inner * g->outer) / span;
    if (at != unit && units > 0 && held < *fewest) *fewest = held;
    if (at != unit) unit = at, units++, held = 0;
    held++;
  }
  if (held < *fewest) *fewest = held;
  return units;
}

static void units_are_those_that_members_are_met_in(void **state) {
  (void)state;
  static const int64_t strides[] = {1, 2, 3, 4, 8, 12, 64}, spans[] = {1, 2, 3, 4, 8, 24, 96, INT64_MAX};
  int uneven = 0;
  for (size_t k = 0; k < sizeof strides / sizeof *strides; k++) {
    for (size_t l = 0; l < sizeof spans / sizeof *spans; l++) {
      for (int size = 1; size < 30; size++) {
        for (int first = 0; first < 26; first += 5) {
          const int inner = size % 3 == 0 && first > 5 ? size / 3 : size; /* three runs, or one */
          const struct sl_cost_group g = {
              .first = first, .stride = strides[k], .outer = strides[k] * inner + 5, .size = size, .inner = inner};
          int fewest, least;
          const int units = sl_cost_group_units(&g, spans[l], &fewest);
          assert_int_equal(units, count_units(&g, spans[l], &least));
          assert_int_equal(fewest, least);
          uneven += units > 1 && fewest * units < size;
        }
      }
    }
  }
  assert_true(uneven > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels_become_a_communicator),
      cmocka_unit_test(the_choice_is_that_of_the_model),
      cmocka_unit_test(every_size_has_its_own),
      cmocka_unit_test(a_ring_takes_what_the_level_attains),
      cmocka_unit_test(units_are_those_that_members_are_met_in),
      cmocka_unit_test(other_works_cost_what_they_did),
      cmocka_unit_test(devices_that_are_not_nvidias_are_refused),
      cmocka_unit_test(presets_have_nccls_own_latencies),
      cmocka_unit_test(a_latency_that_is_not_nccls_counts),
      cmocka_unit_test(nccl_does_not_choose_by_what_was_measured),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
