/* label: property
   libs: fast sim
 * The fast clock against the exact one where the longest path of a step is not its kernels': networks so slow that messages
 * queue, tensor-parallel groups that span nodes, hosts ahead of or behind their devices, and steps of many
 * micro-batches, in which another path is the longest than in few. */
#include "tests/fast/families.h"

#define LINK(name, hop, span, GBps, us)                                                                                \
  "{\"name\": \"" name "\", \"nccl_hop\": \"" hop "\", " span "\"bandwidth_GBps\": " GBps ", \"latency_us\": " us "}"
#define CLUSTER(device, per_node, GBps, us)                                                                            \
  "{\"name\": \"odd\", \"nodes\": 0, \"devices_per_node\": " per_node ", \"device\": \"" device                        \
  "\", \"links\": [" LINK("in", "nvlink", "\"span\": " per_node ", ", "150", "3") ", " LINK("out", "network", "",      \
                                                                                            GBps, us) "]}"

#define SMALL                                                                                                          \
  "{\"model_type\": \"bloom\", \"vocab_size\": 1792, \"tie_word_embeddings\": false, \"seq_length\": 2048, "           \
  "\"hidden_size\": 576, \"n_layer\": 5, \"n_head\": 6}"
#define WINDOWED                                                                                                       \
  "{\"model_type\": \"mistral\", \"vocab_size\": 32000, \"max_position_embeddings\": 4096, \"hidden_size\": 1024, "    \
  "\"num_hidden_layers\": 4, \"num_attention_heads\": 16, \"num_key_value_heads\": 8, \"intermediate_size\": 2048, "   \
  "\"sliding_window\": 64}"
#define WIDE "{\"model_type\": \"mlp\", \"dims\": [2155, 592, 7032, 5576, 5016, 7408, 1128, 1040, 6488]}"

static const struct family families[] = {
    {.name = "tensor-parallel groups, some within a node and some across",
     .model = "gpt2",
     .config = "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256}}",
     .count = 24,
     .most_tp = 4,
     .most_pp = 1,
     .most_dp = 8,
     .most_micro = 30,
     .time = 0.01,
     .live = 0.01,
     .cluster = CLUSTER("a100-80g", "3", "1", "14")},
    {.name = "messages that queue",
     .model = "gpt2",
     .config = "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256}}",
     .count = 32,
     .most_tp = 1,
     .most_pp = 8,
     .most_dp = 2,
     .most_micro = 30,
     .time = 0.01,
     .live = 0.01,
     .cluster = CLUSTER("h100-sxm", "2", "0.1", "100")},
    {.name = "messages that take as long as a forward",
     .model = "gpt2",
     .config = "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256}}",
     .count = 32,
     .most_tp = 2,
     .most_pp = 8,
     .most_dp = 2,
     .most_micro = 60,
     .time = 0.01,
     .live = 0.01,
     .cluster = CLUSTER("h100-sxm", "2", "1", "100")},
    {.name = "messages that nothing overlaps",
     .model = "gpt2",
     .config = "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256, \"preset\": \"aleph-alpha-scaling\"}}",
     .count = 24,
     .most_tp = 2,
     .most_pp = 4,
     .most_dp = 2,
     .most_micro = 30,
     .zero_stage = 1,
     .schedule = SL_FAST_1F1B,
     .time = 0.01,
     .live = 0.01,
     .cluster = CLUSTER("a100-80g", "4", "12", "14")},
    {.name = "a host that stalls in pipelines, and is waited for nowhere else",
     .model = SMALL,
     .config = "{" FP16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"attention\": \"flash\"}}",
     .count = 32,
     .most_tp = 1,
     .most_pp = 8,
     .most_dp = 4,
     .most_micro = 60,
     .time = 0.002,
     .live = 0.01,
     .cluster = "selene-a100"},
    {.name = "a host ahead of its device, and reductions that outlast many micro-batches",
     .model = WIDE,
     .config = "{" BF16 ADAMW "\"zero_optimization\": {\"stage\": 1, \"allgather_bucket_size\": 1e5}, \"shardlab\": "
               "{\"kernels\": \"megatron-fused\", \"preset\": \"deepspeed-1\"}}",
     .count = 24,
     .most_tp = 1,
     .most_pp = 1,
     .most_dp = 8,
     .most_micro = 100,
     .zero_stage = 1,
     .time = 0.01,
     .live = 0.01,
     .cluster = CLUSTER("a100-40g", "8", "1", "14")},
    {.name = "activations of interleaved stages beside whole gradients",
     .model = "gpt2",
     .config = "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256, \"preset\": \"fsdp2-no-reshard\"}}",
     .count = 16,
     .most_tp = 1,
     .most_pp = 4,
     .most_dp = 8,
     .most_micro = 128,
     .zero_stage = 2,
     .schedule = SL_FAST_INTERLEAVED,
     .virtual_stages = 2,
     .time = 0.01,
     .live = 0.01,
     .cluster = CLUSTER("h200", "4", "12", "14")},
    {.name = "reductions that wait, and collectives of tensor parallelism beside them",
     .model = "gpt2",
     .config =
         "{" BF16 ADAMW "\"communication_data_type\": \"fp16\", \"zero_optimization\": {\"reduce_bucket_size\": 1e5}, "
         "\"shardlab\": {\"seq_len\": 256}}",
     .count = 24,
     .most_tp = 4,
     .most_pp = 1,
     .most_dp = 4,
     .most_micro = 3,
     .time = 0.01,
     .live = 0.01,
     .cluster = CLUSTER("b200", "4", "3", "14")},
    {.name = "sums in bf16 that travel in fp32, and tensor parallelism",
     .model = "gpt2",
     .config = "{" BF16 ADAMW "\"communication_data_type\": \"fp32\", \"zero_optimization\": {\"overlap_comm\": true, "
               "\"reduce_bucket_size\": 7e6}, \"shardlab\": {\"seq_len\": 512}}",
     .count = 40,
     .most_tp = 4,
     .most_pp = 1,
     .most_dp = 64,
     .time = 0.01,
     .live = 0.001},
    {.name = "sums of whole buckets, slower than the backward",
     .model = "gpt2",
     .config =
         "{" BF16 ADAMW "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true, \"reduce_scatter\": false, "
         "\"reduce_bucket_size\": 3e7}, \"shardlab\": {\"seq_len\": 256}}",
     .count = 24,
     .most_tp = 1,
     .most_pp = 1,
     .most_dp = 16,
     .most_micro = 3,
     .zero_stage = 1,
     .time = 0.001,
     .live = 0.01,
     .formulas = true,
     .cluster = CLUSTER("b200", "4", "12", "14")},
    {.name = "stage 0 whose optimizer shards its states, and one micro-batch",
     .model = "gpt2-medium",
     .config = "{" BF16 ADAMW
               "\"shardlab\": {\"seq_len\": 256, \"attention\": \"flash\", \"preset\": \"deepspeed-pipeline\"}}",
     .count = 16,
     .most_tp = 1,
     .most_pp = 4,
     .most_dp = 4,
     .most_micro = 1,
     .schedule = SL_FAST_1F1B,
     .time = 0.001,
     .live = 0.001,
     .formulas = true},
    {.name = "a window, and fewer layers than a sample has",
     .model = WINDOWED,
     .config = "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"attention\": \"flash\"}}",
     .count = 16,
     .most_tp = 1,
     .most_pp = 2,
     .most_dp = 2,
     .time = 1e-4,
     .live = 0.01,
     .formulas = true},
};

/* 36 micro-batches on 8 ranks are 4 rounds of 9; a step of as many rounds as it takes in all has rounds of another size,
 * which would be refused. */
static void rounds_of_more_than_the_ranks(void **unused) {
  (void)unused;
  const struct sl_fast_choice c = {.world = 8,
                                   .tp = 1,
                                   .pp = 8,
                                   .micro_batch = 1,
                                   .n_micro = 36,
                                   .schedule = SL_FAST_INTERLEAVED,
                                   .virtual_stages = 2};
  struct against a;
  struct sl_fast_prediction p;
  struct exact e = {0};
  assert_int_equal(against_open(&a, "gpt2-medium", "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256}}", "dgx-h100"),
                   SL_OK);
  assert_int_equal(exact(&a, &c, &e), SL_OK);
  assert_int_equal(sl_fast_predict(a.fast, &c, &p), SL_OK);
  assert_true(fabs(p.step_time_s / e.seconds - 1) < 0.01 && fabs(p.memory_bytes / e.live - 1) < 0.01);
  against_close(&a);
}

/* Where the most is in use depends on the size of a micro-batch: what is known of one size is not taken for another. */
static void sizes_one_after_the_other(void **unused) {
  (void)unused;
  static const char config[] =
      "{\"communication_data_type\": \"fp16\", \"data_types\": {\"grad_accum_dtype\": \"fp32\"}, "
      "\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 5e6, \"allgather_bucket_size\": 1e5}, " ADAMW
      "\"shardlab\": {\"seq_len\": 656, \"attention\": \"flash\", \"preset\": "
      "\"fsdp-hybrid-shard-zero2\", \"shard_size\": 2}}";
  struct sl_fast_choice c = {
      .world = 2, .tp = 1, .pp = 1, .zero_stage = 2, .sequence_parallel = true, .recompute = SL_RECOMPUTE_FULL};
  struct against a;
  assert_int_equal(against_open(&a, "llama2-13b", config, "dgx-a100-80g"), SL_OK);
  for (int i = 0; i < 2; i++) {
    struct sl_fast_prediction p;
    struct exact e = {0};
    c.micro_batch = i == 0 ? 4 : 1, c.n_micro = i == 0 ? 1 : 2, c.world = i == 0 ? 2 : 6;
    assert_int_equal(sl_fast_predict(a.fast, &c, &p), SL_OK);
    assert_int_equal(exact(&a, &c, &e), SL_OK);
    assert_true(fabs(p.memory_bytes / e.live - 1) < 0.01);
  }
  against_close(&a);
}

int main(void) {
  enum { FAMILIES = sizeof families / sizeof *families };
  struct CMUnitTest tests[FAMILIES + 2];
  tests[FAMILIES] = (struct CMUnitTest)cmocka_unit_test(rounds_of_more_than_the_ranks);
  tests[FAMILIES + 1] = (struct CMUnitTest)cmocka_unit_test(sizes_one_after_the_other);
  for (int i = 0; i < FAMILIES; i++)
    tests[i] = (struct CMUnitTest){families[i].name, family_agrees, NULL, NULL, (void *)(uintptr_t)&families[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
