/* label: unit
   libs: sim
 * Seconds of single ops against their closed forms, and the event queue against a plain search. */
#include "cost/collective.h"
#include "cost/compute.h"
#include "sim/queue.h"
#include "tests/support/sim_world.h"

#include <math.h>

static void assert_seconds(double got, double expected) {
  if (fabs(got - expected) > 1e-12 * fabs(expected)) fail_msg("got %.17g s, expected %.17g s", got, expected);
}

/* Of an op in fp32 that has so many flops and moves so many bytes. */
static const struct sl_work *work_of(double flops, double bytes) {
  static struct sl_work work;
  work = (struct sl_work){.dtype = SL_F32, .flops = flops, .bytes = bytes};
  return &work;
}

static enum sl_status compute(const struct sl_cost_rank *r, const struct sl_op *op, const struct sl_slice *slices,
                              double *seconds) {
  const struct sl_work work = sl_work_of(op, slices, 0);
  return sl_cost_compute(r, &work, seconds);
}

static double collective(const struct sl_cost_rank *r, const struct sl_link *link, const struct sl_op *op,
                         const struct sl_slice *slices, int members) {
  const struct sl_work work = sl_work_of(op, slices, members);
  return sl_cost_collective(r, link, &work);
}

static struct sl_cluster cpu_cluster(void) {
  struct sl_cluster c = {.nodes = 1, .devices_per_node = 64, .n_link = 1};
  c.device = (struct sl_device){.name = "odd",
                                .kind = SL_DEVICE_CPU,
                                .memory_bandwidth = 17e9,
                                .gemm_efficiency = 0.83,
                                .gemm_half_flops = 2.5e6,
                                .attention_efficiency = 0.31,
                                .elementwise_efficiency = 0.71,
                                .launch_latency = 3e-6,
                                .step_overhead = 7e-4,
                                .cores = 7,
                                .cache_bytes = 9000,
                                .cache_bandwidth = 61e9};
  c.device.peak[SL_F32] = 43e9;
  c.link[0] = (struct sl_link){.span = 64, .bandwidth = 5e9, .latency = 2e-6, .half_bytes = 3000};
  return c;
}

static void ranks_of_a_cpu_node_share_its_cores(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  struct sl_cost_rank r;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 3), SL_OK); /* 7 cores / 3 ranks: 2 threads each */
  assert_int_equal(r.threads, 2);
  double f = 2.0 * 33 * 35 * 37, arithmetic = (f + 2.5e6) / (2 * 43e9 * 0.83);
  assert_seconds(sl_cost_gemm(&r, work_of(f, 100)), 3e-6 + arithmetic);
  assert_seconds(sl_cost_attention(&r, work_of(f, 100)), 3e-6 + f / (2 * 43e9 * 0.31));
  double bandwidth = 17e9 / 3 * 0.71; /* memory and cache are the node's: a third each */
  assert_seconds(sl_cost_gemm(&r, work_of(f, 1e9)), 3e-6 + 1e9 / bandwidth);
  assert_seconds(sl_cost_attention(&r, work_of(f, 1e9)), 3e-6 + 1e9 / bandwidth);
  assert_seconds(sl_cost_elementwise(&r, work_of(0, 2000)), 3e-6 + 2000 / (61e9 / 3));
  assert_seconds(sl_cost_elementwise(&r, work_of(0, 7000)), 3e-6 + 3000 / (61e9 / 3) + 4000 / bandwidth);
}

static void more_ranks_than_cores_take_turns(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  struct sl_cost_rank r;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 21), SL_OK); /* 3 ranks a core */
  assert_int_equal(r.threads, 1);
  assert_seconds(sl_cost_gemm(&r, work_of(1e9, 0)), 3 * 3e-6 + 3 * (1e9 + 2.5e6) / (43e9 * 0.83));
  assert_seconds(sl_cost_peer(&r, &c.link[0], &(struct sl_work){.kind = SL_OP_SEND, .members = 2, .size = 500}),
                 3 * (2e-6 + (500 + 3000) / 5e9));
  struct sl_slice slice = {.bytes = 500};
  struct sl_op op = {.kind = SL_OP_ALL_REDUCE, .dtype = SL_U8, .dim = {500}, .slice_count = 1};
  assert_seconds(collective(&r, &c.link[0], &op, &slice, 21), 3 * 2 * (20 * 2e-6 + 20.0 / 21 * 3500 / 5e9));
  c.devices_per_node = 7; /* one node all the same: it takes more ranks than it has devices */
  assert_int_equal(sl_cost_share(&r, &c, NULL, 21), SL_OK);
  assert_seconds(sl_cost_gemm(&r, work_of(1e9, 0)), 3 * 3e-6 + 3 * (1e9 + 2.5e6) / (43e9 * 0.83));
  assert_seconds(sl_cost_elementwise(&r, work_of(0, 300)), 3 * 3e-6 + 300 / (61e9 / 21));
  c.nodes = 0; /* three nodes of 7 ranks: a core each */
  assert_int_equal(sl_cost_share(&r, &c, NULL, 21), SL_OK);
  assert_seconds(sl_cost_gemm(&r, work_of(1e9, 0)), 3e-6 + (1e9 + 2.5e6) / (43e9 * 0.83));
}

static void a_gpu_is_not_shared(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  c.device.kind = SL_DEVICE_GPU;
  c.device.cache_bytes = 0;
  struct sl_cost_rank r;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 21), SL_OK);
  assert_seconds(sl_cost_gemm(&r, work_of(1e9, 0)), 3e-6 + (1e9 + 2.5e6) / (43e9 * 0.83));
  assert_seconds(sl_cost_elementwise(&r, work_of(0, 2000)), 3e-6 + 2000 / (17e9 * 0.71));
  c.devices_per_node = 1;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 3), SL_OK); /* unless it must be: three ranks on the one GPU */
  assert_seconds(sl_cost_gemm(&r, work_of(1e9, 0)), 3 * 3e-6 + 3 * (1e9 + 2.5e6) / (43e9 * 0.83));
  assert_seconds(sl_cost_elementwise(&r, work_of(0, 2000)), 3 * 3e-6 + 3 * 2000 / (17e9 * 0.71));
}

/* The host's time for a product, a call, a cast that C++ launches and a hook, on a host that takes 1.5 times as long. */
static void a_host_takes_its_time(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  c.device.kind = SL_DEVICE_GPU;
  c.host_slowdown = 1.5;
  const struct sl_kernel_costs k = {.host_launch = 70, .host_piece = 4, .host_hook = 80, .host_collective = 100};
  struct sl_work product = sl_work_of(&(struct sl_op){.kind = SL_OP_GEMM, .dim = {2, 2, 2}}, NULL, 0),
                 gather = {.kind = SL_OP_ALL_GATHER, .members = 2},
                 cast = sl_work_of(&(struct sl_op){.kind = SL_OP_PASS, .dim = {8, 2, 2, 0}}, NULL, 0),
                 hooks = sl_work_of(&(struct sl_op){.kind = SL_OP_PASS, .dim = {0, 0, 0, 3}}, NULL, 0),
                 norm = {.kind = SL_OP_LAYERNORM_BWD, .flags = SL_OP_INPUT_GRAD, .terms = {[SL_TERM_LAUNCH] = 1}};
  struct sl_cost_rank r;
  assert_int_equal(sl_cost_share(&r, &c, &k, 1), SL_OK);
  assert_seconds(sl_cost_launch_host(&r, &product), 1.5 * 70);
  assert_seconds(sl_cost_call_host(&r, &gather, 0), 1.5 * 100);
  assert_seconds(sl_cost_launch_host(&r, &cast), 1.5 * 2 * 4);
  assert_seconds(sl_cost_launch_host(&r, &hooks), 1.5 * 3 * 80);
  product.flags = gather.flags = SL_OP_IN_CALL;
  assert_seconds(sl_cost_launch_host(&r, &product), 1.5 * 4);
  assert_seconds(sl_cost_call_host(&r, &gather, 0), 1.5 * 4);
  assert_seconds(sl_cost_launch_host(&r, &norm), 1.5 * 70); /* the same bit, of another kind of op */
  c.host_slowdown = 0;
  assert_int_equal(sl_cost_share(&r, &c, &k, 1), SL_OK);
  assert_seconds(sl_cost_launch_host(&r, &norm), 70);
}

static void ops_cost_by_their_class(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  struct sl_cost_rank r;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 1), SL_OK);
  struct sl_slice slices[] = {{.bytes = 3000, .access = SL_READ}, {.bytes = 4000, .access = SL_READ_WRITE}};
  struct sl_op op = {.kind = SL_OP_GEMM, .dtype = SL_F32, .dim = {51, 53, 57}, .slice_count = 2};
  double seconds;
  assert_int_equal(compute(&r, &op, slices, &seconds), SL_OK);
  assert_seconds(seconds, 3e-6 + (2.0 * 51 * 53 * 57 + 2.5e6) / (7 * 43e9 * 0.83));
  op.kind = SL_OP_ADAMW;
  assert_int_equal(compute(&r, &op, slices, &seconds), SL_OK);
  assert_seconds(seconds, 3e-6 + 9000 / 61e9 + 2000 / (17e9 * 0.71)); /* 3000 + 2 x 4000 bytes */
  op.kind = SL_OP_LOAD_BATCH;
  assert_int_equal(compute(&r, &op, slices, &seconds), SL_OK);
  assert_seconds(seconds, 3e-6);
  op.kind = SL_OP_JOIN; /* what a step's end takes beside it is the program's, not the op's */
  assert_int_equal(compute(&r, &op, slices, &seconds), SL_OK);
  assert_seconds(seconds, 3e-6);
}

static void rings_cost_their_closed_form(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  struct sl_cost_rank r;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 5), SL_OK);
  struct sl_slice slices[] = {{.bytes = 4 * 1005}, {.bytes = 4 * 201}, {.bytes = 4 * 1005}};
  struct sl_op op = {.kind = SL_OP_ALL_REDUCE, .dtype = SL_F32, .dim = {1005}, .slice_count = 1};
  double alpha = 2e-6, size = 4 * 1005, beta = 5e9 * size / (size + 3000);
  const struct sl_link *link = &c.link[0];
  assert_seconds(collective(&r, link, &op, slices, 5), 8 * alpha + 8.0 / 5 * size / beta);
  op.kind = SL_OP_REDUCE_SCATTER, op.slice_count = 2;
  assert_seconds(collective(&r, link, &op, slices, 5), 4 * alpha + 4.0 / 5 * size / beta);
  op.kind = SL_OP_ALL_GATHER;
  assert_seconds(collective(&r, link, &op, slices + 1, 5), 4 * alpha + 4.0 / 5 * size / beta);
  op.kind = SL_OP_BROADCAST, op.slice_count = 1;
  assert_seconds(collective(&r, link, &op, slices, 5), alpha + size / beta);
}

/* A bucket [700, 1705) of a flat gradient whose members own 600 each: member 1 has 500 of it, member 2 the other 505,
 * the rest nothing. Members without a piece send the whole bucket: that link is the slowest. */
static void an_uneven_reduction_costs_its_busiest_member(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  struct sl_cost_rank r;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 4), SL_OK);
  struct sl_slice slices[] = {{.bytes = 4 * 1005}, {.bytes = 4 * 600}};
  struct sl_op op = {.kind = SL_OP_REDUCE_SCATTER,
                     .dtype = SL_F32,
                     .flags = SL_OP_SHARE_RANGE,
                     .dim = {1005, 700, 1705, 600},
                     .slice_count = 2};
  double size = 4 * 1005, beta = 5e9 * size / (size + 3000);
  assert_seconds(collective(&r, &c.link[0], &op, slices, 4), 3 * 2e-6 + size / beta);
  op.dim[1] = 0, op.dim[2] = 1005, op.dim[3] = 600; /* two members: 600 and 405, so member 1 sends 600 */
  assert_seconds(collective(&r, &c.link[0], &op, slices, 2), 2e-6 + 4 * 600 / beta);
}

static void a_group_of_one_only_copies(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  struct sl_cost_rank r;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 1), SL_OK);
  struct sl_slice slices[] = {{.bytes = 4 * 1005}, {.bytes = 4 * 1005}};
  struct sl_op op = {.kind = SL_OP_ALL_REDUCE, .dtype = SL_F32, .dim = {1005}, .slice_count = 1};
  assert_true(collective(&r, NULL, &op, slices, 1) == 0);
  op.kind = SL_OP_ALL_GATHER, op.slice_count = 2;
  assert_seconds(collective(&r, NULL, &op, slices, 1), sl_cost_elementwise(&r, work_of(0, 8 * 1005)));
}

/* A CPU profile without a 16-bit peak: kernels convert and compute in fp32. */
static void a_cpu_computes_16_bit_ops_at_its_fp32_rate(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  struct sl_cost_rank r;
  struct sl_op op = {.kind = SL_OP_GEMM, .dtype = SL_F32, .dim = {301, 507, 701}};
  double single, half;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 1), SL_OK);
  assert_int_equal(compute(&r, &op, NULL, &single), SL_OK);
  op.dtype = SL_F16;
  assert_int_equal(compute(&r, &op, NULL, &half), SL_OK);
  assert_seconds(half, single);
}

/* tf32 has a peak of its own, and fp32's neither stands in for it nor do measured products in fp32. */
static void products_in_tf32_cost_their_own_peak(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  struct sl_op_cost measured = {.kind = SL_OP_GEMM, .dtype = SL_F32, .ranks = 1, .seconds = {[SL_TERM_LAUNCH] = 0.25}};
  struct sl_slice slices[3] = {{.access = SL_READ}, {.access = SL_READ}, {.access = SL_WRITE}};
  struct sl_op op = {.kind = SL_OP_GEMM, .dtype = SL_TF32, .dim = {301, 507, 701}, .slice_count = 3};
  struct sl_cost_rank r;
  double seconds;
  c.device.kind = SL_DEVICE_GPU;
  c.op_costs = (struct sl_op_costs){.items = &measured, .count = 1};
  assert_int_equal(sl_cost_share(&r, &c, NULL, 1), SL_OK);
  assert_int_equal(compute(&r, &op, slices, &seconds), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "device 'odd': peak_TFLOPS.tf32: is missing, and gemm needs it; it has fp32");
  sl_error_clear();
  c.device.peak[SL_TF32] = 350e9;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 1), SL_OK);
  assert_int_equal(compute(&r, &op, slices, &seconds), SL_OK);
  assert_seconds(seconds, 3e-6 + (2.0 * 301 * 507 * 701 + 2.5e6) / (350e9 * 0.83));
  measured.dtype = SL_TF32;
  assert_int_equal(compute(&r, &op, slices, &seconds), SL_OK);
  assert_seconds(seconds, 3e-6 + 0.25);
  op.dtype = SL_F32; /* nor the other way */
  assert_int_equal(compute(&r, &op, slices, &seconds), SL_OK);
  assert_seconds(seconds, 3e-6 + (2.0 * 301 * 507 * 701 + 2.5e6) / (43e9 * 0.83));
}

static void a_device_that_lacks_a_number_is_refused(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  c.device.kind = SL_DEVICE_GPU;
  struct sl_cost_rank r;
  double seconds;
  struct sl_op op = {.kind = SL_OP_GEMM, .dtype = SL_BF16, .dim = {3, 5, 7}};
  assert_int_equal(sl_cost_share(&r, &c, NULL, 1), SL_OK);
  assert_int_equal(compute(&r, &op, NULL, &seconds), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "device 'odd': peak_TFLOPS.bf16: is missing, and gemm needs it; it has fp32");
  sl_error_clear();
  c.device.comm_cpu_share = 1;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 1), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "device 'odd': comm_cpu_share is 1, expected 0 <= share < 1");
  sl_error_clear();
  c.device.comm_cpu_share = 0;
  c.device.memory_bandwidth = 0;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 1), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "device 'odd': memory_bandwidth_GBps is 0, expected more than 0");
  sl_error_clear();
}

/* A copy is as long as its larger side, an update on the host moves its bytes in the share of one of the node's
 * ranks. */
static void offload_costs_the_link_or_the_host(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  struct sl_slice slices[] = {{.bytes = 3000, .access = SL_READ}, {.bytes = 1500, .access = SL_READ_WRITE}};
  struct sl_op op = {.kind = SL_OP_COPY, .lane = SL_LANE_D2H, .dtype = SL_F32, .slice_count = 2};
  struct sl_cost_rank r;
  double seconds;
  c.device.kind = SL_DEVICE_GPU;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 3), SL_OK);
  assert_int_equal(compute(&r, &op, slices, &seconds), SL_ERR_INPUT);
  sl_error_clear();
  c.device.host_link = 13e9, c.device.host_bandwidth = 29e9;
  assert_int_equal(compute(&r, &op, slices, &seconds), SL_OK);
  assert_seconds(seconds, 3e-6 + 3000 / 13e9);
  op.kind = SL_OP_ADAMW, op.lane = SL_LANE_HOST;
  assert_int_equal(compute(&r, &op, slices, &seconds), SL_OK);
  assert_seconds(seconds, 3e-6 + 6000 * 3 / 29e9);
}

/* 10 blocks of 4 KiB and one of 1000 bytes, of a node's third of 6 GB/s: one by one each waits for its latency; with 4
 * on their way a quarter of that is seen; with more than there are, one latency. */
static void nvme_costs_blocks_by_the_queue(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  struct sl_slice slices[] = {{.bytes = 41960, .access = SL_READ}, {.bytes = 41960, .access = SL_WRITE}};
  struct sl_op op = {.kind = SL_OP_COPY, .lane = SL_LANE_NVME_WRITE, .dtype = SL_F32, .slice_count = 2};
  struct sl_cost_rank r;
  double seconds;
  c.device.kind = SL_DEVICE_GPU;
  c.device.host_link = 13e9, c.device.host_bandwidth = 29e9;
  c.device.nvme_read = 1, c.device.nvme_write = 6e9, c.device.nvme_read_latency = 1,
  c.device.nvme_write_latency = 90e-6;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 3), SL_OK);
  static const double want[] = {0, 11 * (90e-6 + 4096 / 2e9), 11 * (90e-6 + 4096 / 2e9) / 4, 90e-6 + 41960 / 2e9};
  for (int i = 0; i < 4; i++) {
    op.dim[0] = 10490, op.dim[1] = 4096, op.dim[2] = i == 0 ? 0 : i == 1 ? 1 : i == 2 ? 4 : 64;
    assert_int_equal(compute(&r, &op, slices, &seconds), SL_OK);
    assert_seconds(seconds, 3e-6 + (i == 0 ? want[3] : want[i]));
  }
  c.device.kind = SL_DEVICE_CPU;
  const struct sl_work work = sl_work_of(&op, slices, 3);
  assert_seconds(sl_cost_copy_link(&r, &work), want[3]);
}

/* Rings of 2 and 3 members were measured, a ring of 4 was not; a send takes as long as its receive. */
static void measured_calls_are_those_of_their_members(void **state) {
  (void)state;
  struct sl_cluster c = cpu_cluster();
  struct sl_op_cost entries[] = {{.kind = SL_OP_ALL_REDUCE, .dtype = SL_U8, .ranks = 2},
                                 {.kind = SL_OP_ALL_REDUCE, .dtype = SL_U8, .ranks = 3},
                                 {.kind = SL_OP_RECV, .dtype = SL_U8, .ranks = 2}};
  const double launch[] = {11e-6, 7e-6, 5e-6};
  for (int i = 0; i < 3; i++) entries[i].seconds[SL_TERM_LAUNCH] = launch[i];
  c.op_costs = (struct sl_op_costs){.count = 3, .items = entries};
  struct sl_slice slice = {.bytes = 500};
  struct sl_op op = {.kind = SL_OP_ALL_REDUCE, .dtype = SL_U8, .dim = {500}, .slice_count = 1};
  struct sl_cost_rank r;
  assert_int_equal(sl_cost_share(&r, &c, NULL, 5), SL_OK);
  assert_seconds(collective(&r, &c.link[0], &op, &slice, 2), 11e-6);
  assert_seconds(collective(&r, &c.link[0], &op, &slice, 3), 7e-6);
  assert_seconds(collective(&r, &c.link[0], &op, &slice, 4), 2 * (3 * 2e-6 + 3.0 / 4 * 3500 / 5e9));
  op.kind = SL_OP_SEND;
  const struct sl_work work = sl_work_of(&op, &slice, 2);
  assert_seconds(sl_cost_peer(&r, &c.link[0], &work), 5e-6);
}

/* 200 sources set and re-timed at random (few distinct times, so ties abound) leave as a plain search says. */
static void the_queue_pops_by_time_then_order(void **state) {
  (void)state;
  enum { SOURCES = 200 };
  struct sl_queue q;
  assert_int_equal(sl_queue_alloc(&q, SOURCES), SL_OK);
  double time[SOURCES];
  uint64_t seq[SOURCES], next = 0, random = 88172645463325252u;
  for (int i = 0; i < SOURCES; i++) time[i] = -1;
  for (int round = 0; round < 20000; round++) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    uint32_t source = (uint32_t)(random >> 20) % SOURCES;
    if (random % 5 < 3) {
      time[source] = (double)(random >> 40 & 15);
      seq[source] = next++;
      sl_queue_set(&q, source, time[source]);
    } else if (q.count > 0) {
      int best = -1;
      for (int i = 0; i < SOURCES; i++) {
        if (time[i] < 0) continue;
        if (best < 0 || time[i] < time[best] || (time[i] == time[best] && seq[i] < seq[best])) best = i;
      }
      struct sl_event e = sl_queue_pop(&q);
      assert_int_equal(e.source, best);
      assert_true(e.time == time[best]);
      time[best] = -1;
    }
  }
  sl_queue_free(&q);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_of_a_cpu_node_share_its_cores),
      cmocka_unit_test(more_ranks_than_cores_take_turns),
      cmocka_unit_test(a_gpu_is_not_shared),
      cmocka_unit_test(a_host_takes_its_time),
      cmocka_unit_test(ops_cost_by_their_class),
      cmocka_unit_test(rings_cost_their_closed_form),
      cmocka_unit_test(an_uneven_reduction_costs_its_busiest_member),
      cmocka_unit_test(a_group_of_one_only_copies),
      cmocka_unit_test(a_cpu_computes_16_bit_ops_at_its_fp32_rate),
      cmocka_unit_test(products_in_tf32_cost_their_own_peak),
      cmocka_unit_test(a_device_that_lacks_a_number_is_refused),
      cmocka_unit_test(offload_costs_the_link_or_the_host),
      cmocka_unit_test(nvme_costs_blocks_by_the_queue),
      cmocka_unit_test(measured_calls_are_those_of_their_members),
      cmocka_unit_test(the_queue_pops_by_time_then_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
