/* label: unit
 * Model states of 16-bit training in closed forms: 2 bytes a parameter, 2 or 4 a gradient, 12 of fp32 master and moments,
 * over each strategy's partitions, from the model's size alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/check.h"
#include "core/memory.h"
#include "tests/job_fixture.h"

/* gpt2-tiny's tensors: 4 layers, width 128, 256 tokens, 256 positions. */
enum { C = 128, LAYERS = 4, BLOCK = 12, OUTSIDE = 4 };
static const int64_t block[BLOCK] = {C, C, 3 * C *C, 3 * C, C *C, C, C, C, 4 * C *C, 4 * C, 4 * C *C, C};
static const int64_t outside[OUTSIDE] = {256 * C, 256 * C, C, C};

static int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

static int64_t sum(const int64_t *numel, int count, int64_t multiple) {
  int64_t total = 0;
  for (int i = 0; i < count; i++) total += round_up(numel[i], multiple);
  return total;
}

/* What is padded to what. */
enum split { WHOLE, FLAT, EACH, LAYER, BUCKET, OWNER };

static int64_t padded(enum split split, int64_t world) {
  const int64_t total = LAYERS * sum(block, BLOCK, 1) + sum(outside, OUTSIDE, 1);
  switch (split) {
  case FLAT:
    return round_up(total, 2 * world);
  case EACH:
    return LAYERS * sum(block, BLOCK, world) + sum(outside, OUTSIDE, world);
  case LAYER:
    return LAYERS * round_up(sum(block, BLOCK, 1), world) + round_up(sum(outside, OUTSIDE, 1), world);
  case BUCKET:
    return round_up(total, world);
  default:
    return total;
  }
}

static const struct strategy {
  const char *preset;
  int stage;
  enum split split;
  bool shards_params, shards_grads, fp32_grads;
} strategies[] = {
    {"", 0, WHOLE, false, false, false},
    {"", 1, FLAT, false, false, false},
    {"", 2, FLAT, false, true, false},
    {"", 3, EACH, true, true, false},
    {"ddp", 0, WHOLE, false, false, false},
    {"zero-redundancy-optimizer", 0, OWNER, false, false, false},
    {"fsdp", 0, LAYER, true, true, false},
    {"fsdp-shard-grad-op", 0, LAYER, true, true, false},
    {"megatron-distributed-optimizer", 0, BUCKET, false, false, true},
};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static void expect(const char *config, int world, const char *what, int64_t got, int64_t want) {
  if (got != want)
    fail_msg("world %d, %s: %s are %lld bytes, expected %lld", world, config, what, (long long)got, (long long)want);
}

/* `kept`: grad_accum_dtype; NULL = the default, which is fp32 for bf16 at stage 0 and the parameters' type elsewhere. */
static void compare(const struct strategy *s, bool fp16, int world, const char *kept) {
  const struct sl_build_options options = {.save_grads = true};
  struct fixture f;
  char config[512], types[64] = "";
  if (kept != NULL) snprintf(types, sizeof types, "\"data_types\": {\"grad_accum_dtype\": \"%s\"}, ", kept);
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 1, %s\"%s\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\", "
      "\"params\": {\"lr\": 0.1}}, \"zero_optimization\": {\"stage\": %d, \"stage3_param_persistence_threshold\": "
      "0}, \"shardlab\": {\"preset\": \"%s\", \"seq_len\": 9}}",
      types, fp16 ? "fp16" : "bf16", s->stage, s->preset);
  if (fixture_open(&f, "gpt2-tiny", config, "localhost", world, &options) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
  const bool fp32 = s->fp32_grads || (kept != NULL ? strcmp(kept, "fp32") == 0 : !fp16 && s->stage == 0);
  const int64_t whole = padded(s->split, world), shard = s->split == WHOLE ? whole : whole / world;
  /* whole fp32 gradients that travel in 16 bits come to rest, reduced, in a 16-bit shard */
  const bool lands = fp32 && s->split == FLAT && !s->shards_grads;
  const int64_t gradient = lands ? 2 * shard : (fp32 ? 4 : 2) * (s->shards_grads ? shard : whole);
  int64_t optimizer = 0;
  for (int i = 0; i < f.job.class_count; i++) {
    const struct sl_memory_report *m = f.job.classes[i].memory;
    expect(config, world, "parameters", m->state_bytes[SL_CATEGORY_PARAMETER], 2 * (s->shards_params ? shard : whole));
    expect(config, world, "gradients", m->state_bytes[SL_CATEGORY_GRADIENT], gradient);
    optimizer += m->state_bytes[SL_CATEGORY_OPTIMIZER];
  }
  expect(config, world, "optimizer states", optimizer, 12 * (s->split == OWNER ? whole : shard));
  if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
  fixture_close(&f);
}

static void states_in_16_bits(void **state) {
  (void)state;
  static const int worlds[] = {2, 3, 7};
  for (int s = 0; s < STRATEGIES; s++) {
    for (int w = 0; w < 3; w++) {
      for (int fp16 = 0; fp16 < 2; fp16++) {
        if (fp16 && strategies[s].split == OWNER) continue; /* refused */
        compare(&strategies[s], fp16, worlds[w], NULL);
        compare(&strategies[s], fp16, worlds[w], "fp32");
        compare(&strategies[s], fp16, worlds[w], fp16 ? "fp16" : "bf16");
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(states_in_16_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
