/* label: unit
   libs: sim
 * Products by tiles and waves, attention by its kernel, and a host that launches: against values worked out by hand. */
#include "cost/attention.h"
#include "cost/collective.h"
#include "cost/compute.h"
#include "cost/gemm.h"
#include "tests/support/sim_world.h"

#include <math.h>

static void near(double got, double expected) {
  if (!(fabs(got - expected) <= 1e-12 * fabs(expected))) fail_msg("got %.17g, expected %.17g", got, expected);
}

static struct sl_cluster gpu_cluster(double capability, int sms) {
  struct sl_cluster c = {.nodes = 1, .devices_per_node = 8, .n_link = 1};
  c.device = (struct sl_device){.name = "tiles",
                                .kind = SL_DEVICE_GPU,
                                .memory_bandwidth = 2e12,
                                .gemm_efficiency = 0.8,
                                .gemm_half_flops = 1e9,
                                .attention_efficiency = 0.5,
                                .elementwise_efficiency = 0.9,
                                .launch_latency = 3e-6,
                                .sm_count = sms,
                                .compute_capability = capability,
                                .batched_gemm_efficiency = 0.4,
                                .unaligned_gemm_slowdown = 2.5,
                                .flash_efficiency = {{0.36, 0.29}, {0.6, 0.5}, {0.7, 0.6}, {0, 0}},
                                .flash_half_tokens = 256};
  c.device.peak[SL_BF16] = 312e12;
  c.device.peak[SL_F32] = 19.5e12;
  c.link[0] = (struct sl_link){.span = 8, .bandwidth = 2e11, .latency = 3e-6};
  return c;
}

static struct sl_cost_rank rank_of(const struct sl_cluster *cluster) {
  struct sl_cost_rank rank;
  assert_int_equal(sl_cost_share(&rank, cluster, NULL, 8), SL_OK);
  return rank;
}

/* A GPU's element-wise kernels take the kernel set's factor of their bytes' time; its optimizer does not, nor does a
 * CPU. */
static void elementwise_kernels_have_the_factor_of_their_set(void **state) {
  (void)state;
  const struct sl_kernel_costs costs = {.elementwise_factor = 1.3};
  struct sl_cluster c = gpu_cluster(8, 108);
  struct sl_cost_rank plain = rank_of(&c), rank;
  const struct sl_work gelu = {.kind = SL_OP_GELU_FWD, .bytes = 7e9}, adam = {.kind = SL_OP_ADAMW, .bytes = 7e9};
  assert_int_equal(sl_cost_share(&rank, &c, &costs, 8), SL_OK);
  near(sl_cost_elementwise(&rank, &gelu), 3e-6 + 1.3 * (sl_cost_elementwise(&plain, &gelu) - 3e-6));
  near(sl_cost_elementwise(&rank, &adam), sl_cost_elementwise(&plain, &adam));
  c.device.kind = SL_DEVICE_CPU;
  c.device.cores = 8;
  assert_int_equal(sl_cost_share(&rank, &c, &costs, 8), SL_OK);
  near(rank.kernel_costs.elementwise_factor, 1);
}

/* A transfer takes from a GPU's compute what the set says, from a CPU's what the device says. */
static void a_set_says_what_compute_loses_to_transfers(void **state) {
  (void)state;
  const struct sl_kernel_costs costs = {.comm_compute_share = 0.3, .host_launch = 5e-6};
  struct sl_cluster c = gpu_cluster(8, 108);
  struct sl_cost_rank rank;
  assert_int_equal(sl_cost_share(&rank, &c, &costs, 8), SL_OK);
  near(rank.kernel_costs.comm_compute_share, 0.3);
  assert_true(sl_cost_has_host(&rank));
  c.device.kind = SL_DEVICE_CPU;
  c.device.cores = 8;
  c.device.comm_cpu_share = 0.6;
  assert_int_equal(sl_cost_share(&rank, &c, &costs, 8), SL_OK);
  near(rank.kernel_costs.comm_compute_share, 0.6);
  assert_false(sl_cost_has_host(&rank));
}

/* A ring that leaves nodes by fewer cards than fill the links inside takes as much less from compute; one message, one
 * card's. */
static void a_narrow_ring_takes_less_from_compute(void **state) {
  (void)state;
  const struct sl_kernel_costs costs = {.comm_compute_share = 0.3};
  struct sl_cluster c = gpu_cluster(8, 108);
  c.n_link = 2;
  c.link[0].hop = SL_HOP_NVLINK;
  c.link[1] = (struct sl_link){.span = INT64_MAX, .bandwidth = 5e10, .bandwidth_share = 0.6, .hop = SL_HOP_NETWORK};
  struct sl_cost_rank rank;
  assert_int_equal(sl_cost_share(&rank, &c, &costs, 64), SL_OK);
  const struct {
    struct sl_cost_group group;
    double lost;
  } rings[] = {{{.stride = 1, .size = 8, .inner = 8}, 0.3}, /* inside a node */
               {{.stride = 8, .size = 4, .inner = 4}, 0.3 / 4},
               {{.stride = 4, .size = 8, .inner = 8}, 0.3 / 2},
               {{.stride = 1, .size = 32, .inner = 32}, 0.3}}; /* eight cards a node: more than inside */
  for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
    const struct sl_link ring = sl_cost_group_link(&c, &rings[i].group);
    near(sl_cost_lost_beside(&rank, &c, &ring), rings[i].lost);
  }
  near(sl_cost_lost_beside(&rank, &c, &c.link[1]), 0.3 / 4);
  c.link[1].hop = SL_HOP_PLAIN; /* a CPU's sockets: its core moves every byte */
  near(sl_cost_lost_beside(&rank, &c, &c.link[1]), 0.3);
}

/* 16 members on two nodes pass 15 messages of 50 us, and bytes beside them; one member a node, all of one node and an
 * all_reduce do not feel it, nor does a ring with more to carry. */
static void a_ring_passes_its_messages_one_by_one(void **state) {
  (void)state;
  struct sl_cluster c = gpu_cluster(8, 108);
  c.n_link = 2;
  c.link[0].hop = SL_HOP_NVLINK;
  c.link[1] = (struct sl_link){.span = INT64_MAX, .bandwidth = 5e10, .hop = SL_HOP_NETWORK};
  const struct {
    enum sl_op_kind kind;
    struct sl_cost_group group;
    double size, messages;
  } rings[] = {{SL_OP_ALL_GATHER, {.stride = 1, .size = 16, .inner = 16}, 0, 15},
               {SL_OP_REDUCE_SCATTER, {.stride = 1, .size = 32, .inner = 32}, 0, 31},
               {SL_OP_ALL_REDUCE, {.stride = 1, .size = 16, .inner = 16}, 0, 0},
               {SL_OP_ALL_GATHER, {.stride = 8, .size = 16, .inner = 16}, 0, 0},
               {SL_OP_ALL_GATHER, {.stride = 1, .size = 8, .inner = 8}, 0, 0},
               {SL_OP_ALL_GATHER, {.stride = 1, .size = 16, .inner = 16}, 1e9, 0}};
  const struct sl_cost_rank rank = rank_of(&c);
  for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
    const struct sl_work work = {.kind = rings[i].kind, .members = rings[i].group.size, .size = rings[i].size};
    c.link[1].message = 0;
    const struct sl_link quick = sl_cost_group_link(&c, &rings[i].group);
    c.link[1].message = 50e-6;
    const struct sl_link slow = sl_cost_group_link(&c, &rings[i].group);
    near(sl_cost_collective(&rank, &slow, &work), sl_cost_collective(&rank, &quick, &work) + rings[i].messages * 50e-6);
  }
}

/* A host is stalled by 2 s a member in one node, by a third as much again in two. */
static void stalls_grow_with_nodes(void **state) {
  (void)state;
  const struct sl_cost_rank rank = {.pipeline_stall = 2, .kernel_costs = {.host_collective = 1}};
  const struct sl_work work = {.kind = SL_OP_ALL_GATHER, .members = 8};
  static const double stalls[] = {0, 1, 4 / 3., 5 / 3., 2};
  for (int nodes = 0; nodes <= 4; nodes++) near(sl_cost_call_host(&rank, &work, nodes), 1 + 2 * 8 * stalls[nodes]);
  assert_true(sl_cost_call_host(&rank, &(struct sl_work){.members = 1}, 2) == 0);
}

static void whole_waves_of_the_largest_tile(void **state) {
  (void)state;
  const struct sl_cluster a100 = gpu_cluster(8, 108);
  /* 54 x 2 tiles of 256 x 128: one wave of 108 */
  near(sl_gemm_padded_flops(&a100.device, SL_BF16, 1, 54 * 256, 2 * 128, 1024), 2.0 * 54 * 256 * 2 * 128 * (1024 + 96));
  /* twelve waves end half a wave late: none of 54 x 24 larger tiles would be whole */
  near(sl_gemm_padded_flops(&a100.device, SL_BF16, 1, 54 * 256, 24 * 128, 4096),
       2.0 * 256 * 128 * (4096 + 96) * 12.5 * 108);
  /* a batch is as many products at once */
  near(sl_gemm_padded_flops(&a100.device, SL_BF16, 27, 512, 256, 1024), 2.0 * 256 * 128 * (1024 + 96) * 108);
}

/* fp32 on CUDA cores: a step of k takes sixteen times as long, what comes before and after it does not; and no row is
 * loaded by 16 bytes. */
static void cuda_cores_have_another_pace(void **state) {
  (void)state;
  struct sl_cluster a100 = gpu_cluster(8, 108);
  a100.device.peak[SL_F16] = 312e12;
  a100.device.peak[SL_F32] = 19.5e12;
  assert_true(sl_gemm_on_cuda_cores(&a100.device, SL_F32));
  assert_false(sl_gemm_on_cuda_cores(&a100.device, SL_TF32) || sl_gemm_on_cuda_cores(&a100.device, SL_BF16));
  near(sl_gemm_padded_flops(&a100.device, SL_F32, 1, 54 * 256, 2 * 128, 1024), 2.0 * 54 * 256 * 2 * 128 * (1024 + 6));
  near(sl_gemm_slowdown(&a100.device, SL_F32, 4095), 1);
  near(sl_gemm_slowdown(&a100.device, SL_TF32, 4095), 2.5);
  struct sl_work work = {.kind = SL_OP_ATTENTION_FWD, .dtype = SL_F32, .dim = {1, 256, 54, 128}};
  const struct sl_cost_rank rank = rank_of(&a100);
  const double seconds = sl_attention_seconds(&rank, &work);
  const double pair = sl_gemm_padded_flops(&a100.device, SL_F32, 54, 256, 256, 128) +
                      sl_gemm_padded_flops(&a100.device, SL_F32, 54, 256, 128, 256);
  near(seconds, pair / (19.5e12 * a100.device.gemm_efficiency)); /* not the share of tensor cores, .4 */
}

static void a_tile_too_many_takes_a_wave(void **state) {
  (void)state;
  const struct sl_cluster a100 = gpu_cluster(8, 108);
  const double whole = sl_gemm_padded_flops(&a100.device, SL_BF16, 1, 54 * 256, 2 * 128, 1024);
  const double more = sl_gemm_padded_flops(&a100.device, SL_BF16, 1, 54 * 256 + 1, 2 * 128, 1024);
  assert_true(more > 1.3 * whole && more < 2.01 * whole); /* smaller tiles fill what the largest would waste */
}

static void a_small_product_with_a_long_sum_is_split(void **state) {
  (void)state;
  const struct sl_cluster h100 = gpu_cluster(9, 132);
  /* one tile of 64 x 64, k in 8 parts, each on an SM of its own: 8 partial sums of 64 x 64 are added */
  near(sl_gemm_padded_flops(&h100.device, SL_BF16, 1, 64, 64, 8192),
       2.0 * 64 * 64 * (8192.0 / 8 + 160) * 132 / 0.5 + 1200.0 * 64 * 64 * 8);
  /* and not below 512 steps a part */
  near(sl_gemm_padded_flops(&h100.device, SL_BF16, 1, 64, 64, 1023), 2.0 * 64 * 64 * (1023 + 160) * 132 / 0.5);
}

static void hopper_has_tiles_of_192(void **state) {
  (void)state;
  const struct sl_cluster h100 = gpu_cluster(9, 132), a100 = gpu_cluster(8, 132);
  /* one wave of 66 x 2 tiles of 192 x 128; of 256 x 128 it would be 50 x 2, whose wave is longer */
  near(sl_gemm_padded_flops(&h100.device, SL_BF16, 1, 66 * 192, 2 * 128, 1024),
       2.0 * 192 * 128 * (1024 + 160) * 132 / 0.96);
  near(sl_gemm_padded_flops(&h100.device, SL_BF16, 1, 2 * 128, 66 * 192, 1024),
       2.0 * 192 * 128 * (1024 + 160) * 132 / 0.96);
  /* an older GPU has none: three waves of 99 x 4 tiles of 128 x 64 */
  near(sl_gemm_padded_flops(&a100.device, SL_BF16, 1, 66 * 192, 2 * 128, 1024),
       3 * 2.0 * 128 * 64 * (1024 + 96) * 132 / 0.8);
}

static void no_product_is_charged_less_than_its_flops(void **state) {
  (void)state;
  const double capabilities[] = {7, 8, 9, 10};
  uint32_t seed = 1;
  for (int i = 0; i < 20000; i++) {
    const struct sl_cluster c = gpu_cluster(capabilities[i % 4], 80 + i % 100);
    int64_t size[4];
    for (int j = 0; j < 4; j++) {
      seed = seed * 1664525 + 1013904223;
      size[j] = 1 + (seed >> 12) % (j == 3 ? 64 : 1 << (5 + i % 10));
    }
    const double exact = 2.0 * (double)size[3] * (double)size[0] * (double)size[1] * (double)size[2];
    assert_true(sl_gemm_padded_flops(&c.device, SL_BF16, size[3], size[0], size[1], size[2]) >= exact);
    assert_true(sl_gemm_padded_flops(&c.device, SL_BF16, size[3], size[0], size[1], size[2] + 1) >=
                    sl_gemm_padded_flops(&c.device, SL_BF16, size[3], size[0], size[1], size[2]) * (1 - 1e-12) ||
                size[2] % 512 == 511); /* where another split becomes possible */
  }
}

static void rows_of_odd_length_slow_a_product(void **state) {
  (void)state;
  const struct sl_cluster c = gpu_cluster(8, 108);
  const struct sl_cost_rank r = rank_of(&c);
  const struct sl_op op = {.kind = SL_OP_GEMM, .dtype = SL_BF16, .dim = {4096, 4096, 4096}};
  struct sl_op odd = op;
  odd.dim[1] = 4095;
  const struct sl_work even = sl_work_of(&op, NULL, 0), uneven = sl_work_of(&odd, NULL, 0);
  near(sl_cost_gemm(&r, &even), 3e-6 + sl_gemm_padded_flops(&c.device, SL_BF16, 1, 4096, 4096, 4096) / (312e12 * 0.8));
  near(sl_cost_gemm(&r, &uneven),
       3e-6 + 2.5 * sl_gemm_padded_flops(&c.device, SL_BF16, 1, 4096, 4095, 4096) / (312e12 * 0.8));
  near(sl_gemm_slowdown(&c.device, SL_F32, 4), 1); /* 16 bytes */
  near(sl_gemm_slowdown(&c.device, SL_BF16, 4), 2.5);
}

/* A device that tells rows of an odd number of elements from even ones, and a product that has such rows only as its
 * operands are stored. */
static void rows_are_those_in_memory(void **state) {
  (void)state;
  struct sl_cluster c = gpu_cluster(8, 108);
  c.device.odd_gemm_slowdown = 4;
  near(sl_gemm_slowdown(&c.device, SL_BF16, 4095), 4);
  near(sl_gemm_slowdown(&c.device, SL_BF16, 4094), 2.5);
  near(sl_gemm_slowdown(&c.device, SL_BF16, 4092), 2.5);
  near(sl_gemm_slowdown(&c.device, SL_BF16, 4088), 1);
  near(sl_gemm_slowdown(&c.device, SL_F32, 4095), 2.5);
  c.device.unaligned_gemm_slowdown = 0;
  near(sl_gemm_slowdown(&c.device, SL_BF16, 4094), 1);
  const struct sl_work head = {.kind = SL_OP_GEMM, .dim = {50257, 768, 8191}}; /* a plain product: rows of k and n */
  struct sl_work weights = head;
  weights.variant = SL_VARIANT_TRANS_A; /* of m and n */
  assert_int_equal(sl_gemm_rows(&head) % 2, 1);
  assert_int_equal(sl_gemm_rows(&weights) % 2, 1);
  weights.dim[0] = 50304;
  assert_true(sl_gemm_is_aligned(SL_BF16, sl_gemm_rows(&weights)));
  weights.variant = SL_VARIANT_TRANS_AB;
  assert_false(sl_gemm_is_aligned(SL_BF16, sl_gemm_rows(&weights)));
}

/* The head of GPT-2, 16 sequences of 1024 tokens: forward and its weight's gradient. Padding pays for them, but not for a
 * product that its bytes bound, whose weight would be copied. */
static void compilers_pad_where_that_is_faster(void **state) {
  (void)state;
  const struct sl_cluster c = gpu_cluster(8, 108);
  struct sl_cost_rank plain = rank_of(&c), pads = plain;
  pads.kernel_costs.pads_unaligned_products = 1;
  const struct sl_op ops[] = {
      {.kind = SL_OP_GEMM, .dtype = SL_BF16, .flags = SL_OP_TRANS_B, .dim = {16384, 50257, 768}},
      {.kind = SL_OP_GEMM, .dtype = SL_BF16, .flags = SL_OP_TRANS_A, .dim = {50257, 768, 16384}},
      {.kind = SL_OP_GEMM, .dtype = SL_BF16, .flags = SL_OP_TRANS_B, .dim = {8, 50257, 768}}};
  const double copied[] = {3e-6 + 2 * 50257.0 * 768 * 2 / plain.memory_bandwidth, 0};
  for (int i = 0; i < 2; i++) {
    struct sl_op whole = ops[i];
    whole.dim[i == 0 ? 1 : 0] = 50264;
    const struct sl_work work = sl_work_of(&ops[i], NULL, 0), padded = sl_work_of(&whole, NULL, 0);
    near(sl_cost_gemm(&pads, &work), sl_cost_gemm(&plain, &padded) + copied[i]);
    assert_true(sl_cost_gemm(&pads, &work) < 0.5 * sl_cost_gemm(&plain, &work));
    near(sl_cost_gemm(&pads, &padded), sl_cost_gemm(&plain, &padded));
  }
  const struct sl_work small = sl_work_of(&ops[2], NULL, 0);
  near(sl_cost_gemm(&pads, &small), sl_cost_gemm(&plain, &small));
}

static double attention(const struct sl_cost_rank *r, enum sl_op_kind kind, unsigned flags, int64_t head) {
  const struct sl_op op = {.kind = kind, .dtype = SL_BF16, .flags = flags, .dim = {2, 2048, 16, head, 16}};
  const struct sl_work work = sl_work_of(&op, NULL, 0);
  return sl_attention_seconds(r, &work);
}

static void attention_costs_by_its_kernel_and_direction(void **state) {
  (void)state;
  const struct sl_cluster c = gpu_cluster(8, 108);
  const struct sl_cost_rank r = rank_of(&c);
  const double product = 2.0 * 2 * 16 * (2048.0 * 2049 / 2) * 128, reached = 2048.0 / (2048 + 256);
  near(attention(&r, SL_OP_FLASH_FWD, 0, 128), 2 * product / (312e12 * 0.6 * reached));
  near(attention(&r, SL_OP_FLASH_BWD, 0, 128), 5 * product / (312e12 * 0.5 * reached));
  near(attention(&r, SL_OP_FLASH_FWD, SL_OP_FLASH_1, 128), 2 * product / (312e12 * 0.36 * reached));
  near(attention(&r, SL_OP_FLASH_BWD, SL_OP_FLASH_3, 128), 5 * product / (312e12 * 0.6 * reached));
  near(attention(&r, SL_OP_FLASH_BWD, SL_OP_CUDNN, 128), 5 * product / (312e12 * 0.5)); /* attention_efficiency */
  const double pair = sl_gemm_padded_flops(&c.device, SL_BF16, 32, 2048, 2048, 128) +
                      sl_gemm_padded_flops(&c.device, SL_BF16, 32, 2048, 128, 2048);
  near(attention(&r, SL_OP_ATTENTION_FWD, 0, 128), pair / (312e12 * 0.4));
  near(attention(&r, SL_OP_ATTENTION_BWD, 0, 128), 2 * pair / (312e12 * 0.4));
  assert_true(attention(&r, SL_OP_ATTENTION_FWD, 0, 84) > 2 * attention(&r, SL_OP_ATTENTION_FWD, 0, 80));
  struct sl_cost_rank old = r; /* of cuBLAS that took such batches off tensor cores */
  old.kernel_costs.unaligned_batches_on_cuda_cores = 1;
  const double unaligned = sl_gemm_padded_flops(&c.device, SL_BF16, 32, 2048, 2048, 84) +
                           sl_gemm_padded_flops(&c.device, SL_BF16, 32, 2048, 84, 2048);
  near(attention(&old, SL_OP_ATTENTION_BWD, 0, 84), 2 * unaligned / (r.peak[SL_F32] * 0.8));
  near(attention(&old, SL_OP_ATTENTION_FWD, 0, 80), attention(&r, SL_OP_ATTENTION_FWD, 0, 80));
}

/* B 2, T 2048, H 16: what softmax moves comes beside the products of a set that names no passes for it, and of flash
 * there is nothing. */
static void materialised_scores_are_moved(void **state) {
  (void)state;
  const struct sl_cluster c = gpu_cluster(8, 108);
  struct sl_cost_rank r = rank_of(&c);
  const struct sl_op ops[] = {{.kind = SL_OP_ATTENTION_FWD, .dtype = SL_BF16, .dim = {2, 2048, 16, 128, 16}},
                              {.kind = SL_OP_ATTENTION_BWD, .dtype = SL_BF16, .dim = {2, 2048, 16, 128, 16}},
                              {.kind = SL_OP_FLASH_FWD, .dtype = SL_BF16, .dim = {2, 2048, 16, 128, 16}}};
  const double scores = 2.0 * 16 * 2048 * 2048, passes[] = {2, 3, 0};
  for (int i = 0; i < 3; i++) {
    const struct sl_work work = sl_work_of(&ops[i], NULL, 0);
    r.kernel_costs.score_passes = 0;
    const double without = sl_cost_attention(&r, &work);
    r.kernel_costs.score_passes = 2;
    near(sl_cost_attention(&r, &work) - without, passes[i] * scores * 2 / r.memory_bandwidth);
  }
}

static void without_the_structure_attention_costs_by_its_flops(void **state) {
  (void)state;
  struct sl_cluster c = gpu_cluster(8, 0);
  const struct sl_cost_rank r = rank_of(&c);
  const double product = 2.0 * 2 * 16 * (2048.0 * 2049 / 2) * 128;
  near(attention(&r, SL_OP_FLASH_FWD, 0, 128), 2 * product / (312e12 * 0.5));
  near(attention(&r, SL_OP_ATTENTION_BWD, 0, 128), 4 * product / (312e12 * 0.5));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elementwise_kernels_have_the_factor_of_their_set),
      cmocka_unit_test(a_set_says_what_compute_loses_to_transfers),
      cmocka_unit_test(a_narrow_ring_takes_less_from_compute),
      cmocka_unit_test(a_ring_passes_its_messages_one_by_one),
      cmocka_unit_test(stalls_grow_with_nodes),
      cmocka_unit_test(whole_waves_of_the_largest_tile),
      cmocka_unit_test(cuda_cores_have_another_pace),
      cmocka_unit_test(a_tile_too_many_takes_a_wave),
      cmocka_unit_test(a_small_product_with_a_long_sum_is_split),
      cmocka_unit_test(hopper_has_tiles_of_192),
      cmocka_unit_test(no_product_is_charged_less_than_its_flops),
      cmocka_unit_test(rows_of_odd_length_slow_a_product),
      cmocka_unit_test(rows_are_those_in_memory),
      cmocka_unit_test(compilers_pad_where_that_is_faster),
      cmocka_unit_test(attention_costs_by_its_kernel_and_direction),
      cmocka_unit_test(materialised_scores_are_moved),
      cmocka_unit_test(without_the_structure_attention_costs_by_its_flops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
