/* label: property
 * No configuration breaks a rule of its own programs: check finds nothing in any that has a plan, drawn at random
 * from all kernel sets, schedules, frameworks, models and ways to cut, to shard, to recompute and to offload.
 * `test_check_any DRAWS SEED` draws others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "tests/support/job_fixture.h"

enum { DRAWS = 1000 };

static uint64_t state = 20261;
static int draws = DRAWS;

static int64_t below(int64_t count) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((state >> 33) % (uint64_t)count);
}

static const char *one_of(const char *const *texts, int count) {
  return texts[below(count)];
}
#define ONE_OF(...)                                                                                                    \
  one_of((const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static int power_of_two(int most) {
  int x = 1;
  while (x < most && below(2) > 0) x *= 2;
  return x;
}

/* Our own set is drawn more often: it alone fuses. */
static const char *draw_kernels(void) {
  return below(4) == 0
             ? "shardlab"
             : ONE_OF("megatron-fused", "megatron-unfused", "torch-eager", "torch-compile", "torch-compile-blocks",
                      "llm-foundry", "nanotron", "megatron-deepspeed", "aleph-alpha-scaling", "megatron-core");
}

/* How states are sharded: as a framework does it, or by a ZeRO stage and what may be offloaded at that. */
static void draw_states(char *zero, char *preset, size_t size) {
  const char *const name = ONE_OF("", "", "", "fsdp", "fsdp-shard-grad-op", "fsdp2", "ddp", "megatron-lm",
                                  "megatron-distributed-optimizer", "nanotron", "nanotron-zero1", "deepspeed-pipeline");
  const int stage = (int)below(4);
  const bool offloads = below(4) == 0;
  const char *states = offloads && stage > 0 ? ", \"offload_optimizer\": {\"device\": \"cpu\"}" : "";
  const char *parameters = offloads && stage == 3 ? ", \"offload_param\": {\"device\": \"cpu\"}" : "";
  const char *rarity =
      ONE_OF("", "", "", "", ", \"zero_quantized_weights\": true", ", \"zero_quantized_gradients\": true",
             ", \"zero_hpz_partition_size\": 2", ", \"mics_shard_size\": 2", ", \"reduce_scatter\": false",
             ", \"stage3_param_persistence_threshold\": 0");
  snprintf(preset, size, name[0] != '\0' ? ", \"preset\": \"%s\"" : "%s", name);
  if (name[0] != '\0') zero[0] = '\0';
  if (name[0] == '\0')
    snprintf(zero, size, ", \"stage\": %d%s%s%s", stage, states, parameters, stage == 3 ? rarity : "");
}

/* A setting that few have, in the section of shardlab. */
static const char *draw_rarity(void) {
  if (below(2) == 0) return "";
  return ONE_OF(", \"fp8\": true", ", \"tp_comm_overlap\": true", ", \"async_tp\": true", ", \"eval_interval\": 2",
                ", \"overlap_param_gather\": true", ", \"fuse_epilogues\": \"always\"",
                ", \"fuse_epilogues\": \"never\"", ", \"no_sync\": true", ", \"recompute_every\": 2",
                ", \"scatter_gather_tensors_in_pipeline\": true", ", \"rank_order\": \"pp-dp-tp\"",
                ", \"rank_order\": \"dp-tp-pp\"", ", \"fused_norm\": true", ", \"fused_softmax\": true",
                ", \"stages\": \"cost\"", ", \"unshard_ahead\": 1", ", \"limit_all_gathers\": false");
}

/* The same in other sections. */
static const char *draw_further(void) {
  if (below(3) > 0) return "";
  return ONE_OF("\"activation_checkpointing\": {\"partition_activations\": true}, ",
                "\"activation_checkpointing\": {\"cpu_checkpointing\": true}, ", "\"sparse_gradients\": true, ",
                "\"data_types\": {\"grad_accum_dtype\": \"fp32\"}, ",
                "\"data_types\": {\"grad_accum_dtype\": \"bf16\"}, ", "\"communication_data_type\": \"fp32\", ",
                "\"gradient_clipping\": 1.0, ");
}

/* The configuration's text; returns the ranks that it is for. */
static int draw_config(char *out, size_t size) {
  const int tp = power_of_two(4), pp = power_of_two(4), cp = below(4) == 0 ? 2 : 1, dp = power_of_two(4);
  const char *schedule =
      ONE_OF("gpipe", "1f1b", "interleaved", "looped-bfs", "zb-h1", "interleaved-zb", "zbv", "zb-h1");
  const bool chunks = strcmp(schedule, "looped-bfs") == 0 || strncmp(schedule, "interleaved", 11) == 0;
  char zero[256], preset[256];
  draw_states(zero, preset, sizeof zero);
  snprintf(
      out, size,
      "{%s\"train_micro_batch_size_per_gpu\": %d, \"gradient_accumulation_steps\": %d, %s\"optimizer\": {\"type\": "
      "\"%s\"}, \"zero_optimization\": {\"overlap_comm\": %s, \"reduce_bucket_size\": %s, "
      "\"allgather_bucket_size\": %s, \"stage3_prefetch_bucket_size\": %s%s}, \"shardlab\": {\"seq_len\": 8, "
      "\"tp\": %d, \"pp\": %d, \"cp\": %d%s, \"schedule\": \"%s\"%s, \"recompute\": \"%s\", "
      "\"sequence_parallel\": %s, \"attention\": \"%s\", \"kernels\": \"%s\", \"store_dropout_masks\": %s%s%s}}",
      draw_further(), 1 + (int)below(2), pp * (1 + (int)below(3)),
      ONE_OF("\"bf16\": {\"enabled\": true}, ", "\"bf16\": {\"enabled\": true}, ", "\"fp16\": {\"enabled\": true}, ",
             ""),
      ONE_OF("AdamW", "AdamW", "SGD"), ONE_OF("true", "false"), ONE_OF("5e8", "3000", "20000"), ONE_OF("5e8", "9000"),
      ONE_OF("5e7", "2000"), zero, tp, pp, cp, cp > 1 ? ONE_OF("", ", \"cp_comm_type\": \"a2a\"") : "", schedule,
      chunks && pp > 1 ? ", \"virtual_stages\": 2" : "", ONE_OF("none", "none", "selective", "selective_op", "full"),
      ONE_OF("true", "false"), cp > 1 ? "flash" : ONE_OF("flash", "materialised"), draw_kernels(),
      ONE_OF("true", "false"), preset, draw_rarity());
  return tp * pp * cp * dp;
}

#define GRID(name) "/tests/mpi/" name ".json"
#define FAMILY(name) "/tests/golden/families/" name "/config.json"
#define MODELS                                                                                                         \
  GRID("grid_llama"), GRID("grid_llama"), GRID("grid_llama_tied"), GRID("grid_llama_tied"), GRID("grid_llama_deep"),   \
      GRID("llama_dropout"), GRID("grid_gpt2"), GRID("grid_gpt2_deep"), GRID("grid_gpt2_dropout"), FAMILY("bloom"),    \
      FAMILY("gpt_neox"), FAMILY("mpt"), FAMILY("gemma"), FAMILY("gemma3_text"), FAMILY("falcon_new"), FAMILY("phi3"), \
      FAMILY("qwen3"), FAMILY("olmo2"), FAMILY("gptj"), FAMILY("mistral")

static void any_configuration_passes(void **unused) {
  (void)unused;
  int planned = 0, failed = 0;
  for (int i = 0; i < draws; i++) {
    struct fixture f;
    char config[1400];
    const int world = draw_config(config, sizeof config);
    const char *model = ONE_OF(MODELS);
    char path[512];
    snprintf(path, sizeof path, "%s%s", SL_SOURCE_DIR, model);
    const enum sl_status status = fixture_open(&f, path, config, ONE_OF("dgx-a100-80g", "dgx-h100"), world, NULL);
    if (status == SL_OK) planned++;
    if (status == SL_ERR_INTERNAL || (status == SL_OK && sl_check(&f.job) != SL_OK)) {
      print_error("%s on %d: %s\n%s\n", model, world, sl_error_message(), config);
      failed++;
    }
    fixture_close(&f);
  }
  print_message("   %d drawn, %d with a plan\n", draws, planned);
  assert_int_equal(failed, 0);
  assert_true(planned > draws / 5);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(any_configuration_passes)};
  if (argc > 2) draws = atoi(argv[1]), state = strtoull(argv[2], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
