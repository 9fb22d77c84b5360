/* label: property
   libs: fast sim
 * The fast clock against the exact one on configurations of all that can be asked for, drawn at random: frameworks, ZeRO stages,
 * offloading, kernel sets, context parallelism, schedules, recomputation, types, buckets, models and clusters in one draw. Step time and the most bytes
 * that live at once are within 1 %. `test_fast_any DRAWS SEED` draws others. */
#include "tests/fast/against.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { DRAWS = 200, CHOICES = 5, MOST_PLANS = 20000 };

static uint64_t seed = 11;
static int draws = DRAWS, missed;

static int64_t below(uint64_t *state, int64_t count) {
  return (int64_t)(drawn(state) % (uint64_t)count);
}

static const char *one_of(uint64_t *state, const char *const *texts, int count) {
  return texts[below(state, count)];
}
#define ONE_OF(state, ...)                                                                                             \
  one_of(state, (const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static const char *yes_or_no(uint64_t *state) {
  return ONE_OF(state, "true", "false");
}

/* Three devices a node, which no degree of tensor parallelism divides, and a network so slow that messages queue. */
#define SLOW                                                                                                           \
  "{\"name\": \"slow\", \"nodes\": 0, \"devices_per_node\": 3, \"device\": \"h100-sxm\", \"links\": [{\"name\": "      \
  "\"in\", "                                                                                                           \
  "\"nccl_hop\": \"nvlink\", \"span\": 3, \"bandwidth_GBps\": 150, \"latency_us\": 3}, {\"name\": \"out\", "           \
  "\"nccl_hop\": \"network\", \"bandwidth_GBps\": 1, \"latency_us\": 50}]}"

/* The part of a configuration that a choice does not say. */
static void draw_config(uint64_t *state, char *out, size_t size) {
  const char *offload =
      ONE_OF(state, "", "", "", ", \"offload_optimizer\": {\"device\": \"cpu\"}",
             ", \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}");
  const char *kernels = ONE_OF(state, "shardlab", "shardlab", "megatron-fused", "megatron-unfused", "torch-eager",
                               "torch-compile", "llm-foundry", "nanotron", "torch-compile-blocks", "megatron-core");
  const char *preset =
      ONE_OF(state, "", "", "", "", ", \"preset\": \"fsdp\"", ", \"preset\": \"fsdp-shard-grad-op\"",
             ", \"preset\": \"fsdp2\"", ", \"preset\": \"ddp\"", ", \"preset\": \"megatron-lm\"",
             ", \"preset\": \"megatron-distributed-optimizer\"", ", \"preset\": \"nanotron\"",
             ", \"preset\": \"nanotron-zero1\"", ", \"preset\": \"fsdp-hybrid-shard\", \"shard_size\": 2");
  const char *context =
      ONE_OF(state, "", "", "", "", "", ", \"cp\": 2", ", \"cp\": 4", ", \"cp\": 2, \"cp_comm_type\": \"a2a\"");
  snprintf(
      out, size,
      "{%s%s\"optimizer\": {\"type\": \"%s\", \"params\": {\"lr\": 1e-3}}, \"zero_optimization\": {\"overlap_comm\": "
      "%s, \"reduce_bucket_size\": %s, \"allgather_bucket_size\": %s, \"stage3_prefetch_bucket_size\": %s%s}, "
      "\"shardlab\": {\"seq_len\": %lld, \"attention\": \"%s\", \"kernels\": \"%s\"%s%s}}",
      ONE_OF(state, "\"bf16\": {\"enabled\": true}, ", "\"fp16\": {\"enabled\": true}, ",
             "\"bf16\": {\"enabled\": true}, ", ""),
      ONE_OF(state, "", "\"communication_data_type\": \"fp32\", ",
             "\"data_types\": {\"grad_accum_dtype\": \"fp32\"}, "),
      ONE_OF(state, "AdamW", "Adam", "SGD"), yes_or_no(state), ONE_OF(state, "5e8", "5e6", "3e7"),
      ONE_OF(state, "5e8", "9e6"), ONE_OF(state, "5e7", "2e6"), offload, (long long)(64 * (1 + below(state, 12))),
      ONE_OF(state, "flash", "materialised"), kernels, preset, context);
}

static int power_of_two(uint64_t *state, int most) {
  int x = 1;
  while (x < most && below(state, 2) > 0) x *= 2;
  return x;
}

static struct sl_fast_choice draw_choice(uint64_t *state, int zero_stage) {
  struct sl_fast_choice c = {.tp = power_of_two(state, 8),
                             .pp = power_of_two(state, 8),
                             .micro_batch = 1 + below(state, 4),
                             .n_micro = 1 + below(state, 30),
                             .zero_stage = zero_stage,
                             .sequence_parallel = below(state, 2),
                             .recompute = (enum sl_recompute)below(state, 4),
                             .schedule = (enum sl_fast_schedule)below(state, SL_FAST_SCHEDULE_COUNT)};
  c.world = c.tp * c.pp * power_of_two(state, 32);
  if (c.schedule == SL_FAST_INTERLEAVED || c.schedule == SL_FAST_LOOPED_BFS || c.schedule == SL_FAST_INTERLEAVED_ZB)
    c.virtual_stages = 2;
  return c;
}

static void say(const char *what, double *values, int count) {
  double most = 0, sum = 0;
  int beyond = 0;
  for (int i = 0; i < count; i++) {
    if (values[i] > most) most = values[i];
    sum += values[i], beyond += values[i] > 1e-6;
  }
  print_message("   %s: %d of %d apart, mean %.5f %%, most %.4f %%\n", what, beyond, count, 100 * sum / count,
                100 * most);
}

/* Both clocks on one; false: it has no plan, for either of them. */
static bool compare(struct against *a, const struct sl_fast_choice *c, const char *config, double *time, double *live) {
  struct sl_fast_prediction p;
  struct exact e = {0};
  const enum sl_status fast = sl_fast_predict(a->fast, c, &p);
  sl_error_clear();
  const enum sl_status right = exact(a, c, &e);
  if (fast != right) fail_msg("status %d, exactly %d: %s\n%s", fast, right, config, sl_error_message());
  sl_error_clear();
  if (fast != SL_OK) return false;
  *time = fabs(p.step_time_s / e.seconds - 1);
  *live = fabs(p.memory_bytes / e.live - 1);
  if (*time <= 0.01 && *live <= 0.01) return true;
  print_error(
      "%s of %s on %s: tp %d pp %d world %d, %lld x %lld, zero %d, recompute %d, sp %d, %s: %.9g s, exactly %.9g s; "
      "%.6g bytes, exactly %.6g\n%s\n",
      p.whole ? "whole" : "formulas", a->model.name, a->cluster.name, c->tp, c->pp, c->world, (long long)c->micro_batch,
      (long long)c->n_micro, c->zero_stage, c->recompute, c->sequence_parallel, sl_fast_schedule_name(c->schedule),
      p.step_time_s, e.seconds, p.memory_bytes, e.live, config);
  missed++;
  return true;
}

static void keep_quiet(void *context, const char *message) {
  (void)context, (void)message;
}

static void any_configuration(void **unused) {
  (void)unused;
  static double time[MOST_PLANS], live[MOST_PLANS];
  uint64_t state = seed;
  int plans = 0, refused = 0;
  for (int i = 0; i < draws && plans + CHOICES < MOST_PLANS; i++) {
    char config[1200];
    struct against a;
    draw_config(&state, config, sizeof config);
    const char *model = ONE_OF(&state, "gpt2", "gpt2-medium", "gpt2", "llama3-8b");
    const char *cluster = ONE_OF(&state, "dgx-a100-80g", "dgx-h100", "dgx2-v100", "selene-a100", SLOW);
    const int zero_stage = (int)below(&state, 4);
    if (against_open(&a, model, config, cluster) != SL_OK) {
      sl_error_clear();
      against_close(&a);
      continue;
    }
    for (int k = 0; k < CHOICES; k++) {
      const struct sl_fast_choice c = draw_choice(&state, zero_stage);
      const bool planned = compare(&a, &c, config, &time[plans], &live[plans]);
      plans += planned, refused += !planned;
    }
    against_close(&a);
  }
  print_message("   %d configurations drawn, %d with a plan\n", plans + refused, plans);
  say("time", time, plans);
  say("live bytes", live, plans);
  assert_int_equal(missed, 0);
  assert_true(plans > draws / 2);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(any_configuration)};
  if (argc > 2) draws = atoi(argv[1]), seed = strtoull(argv[2], NULL, 10);
  sl_warn_set_sink(keep_quiet, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
