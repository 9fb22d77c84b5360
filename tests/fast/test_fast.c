/* label: property
   libs: fast sim
 * The fast clock against the exact one on drawn configurations, family by family: the step time and the most bytes that live at
 * once are within 1 %, and equal (but for bytes of scratch that are rounded up) where nothing but blocks is in a step. Prints how
 * far they are apart. */
#include "tests/fast/against.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BF16 "\"bf16\": {\"enabled\": true}, "
#define FP16 "\"fp16\": {\"enabled\": true}, "
#define ADAMW "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, "

enum { MOST_DRAWN = 100 };

struct family {
  const char *name, *model, *config;
  int count, most_tp, most_pp, most_dp, zero_stage;
  double time, live; /* most relative differences */
  bool uneven;       /* stages of any number of layers */
};

static const struct family families[] = {
    {"one rank, fp32", "gpt2", "{" ADAMW "\"shardlab\": {\"seq_len\": 257}}", 80, 1, 1, 1, 0, 1e-8, 0.01, false},
    {"one rank, bf16, flash", "llama3-8b", "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"attention\": \"flash\"}}",
     32, 1, 1, 1, 0, 1e-8, 0.01, false},
    {"tensor parallel", "gpt2", "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256}}", 80, 4, 1, 1, 0, 1e-6, 0.01, false},
    {"data parallel, serial", "gpt2",
     "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": false, \"reduce_bucket_size\": 3e6},"
     " \"shardlab\": {\"seq_len\": 129}}",
     80, 1, 1, 64, 0, 1e-6, 0.01, false},
    {"data parallel, beside backward", "gpt2",
     "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": true, \"reduce_bucket_size\": 7e6},"
     " \"shardlab\": {\"seq_len\": 512}}",
     80, 4, 1, 64, 0, 0.01, 0.01, false},
    {"DDP", "gpt2", "{" ADAMW "\"shardlab\": {\"seq_len\": 512, \"preset\": \"ddp\"}}", 48, 1, 1, 32, 0, 1e-4, 0.01,
     false},
    {"ZeRO 1, serial", "gpt2",
     "{" BF16 ADAMW "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": false, \"reduce_bucket_size\": 5e6,"
     " \"allgather_bucket_size\": 9e6}, \"shardlab\": {\"seq_len\": 512}}",
     80, 1, 1, 64, 1, 1e-6, 0.01, false},
    {"ZeRO 1, beside backward", "gpt2",
     "{" BF16 ADAMW "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true, \"reduce_bucket_size\": 5e6},"
     " \"shardlab\": {\"seq_len\": 1024}}",
     80, 1, 1, 64, 1, 0.01, 0.01, false},
    {"pipelines", "llama3-8b", "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512}}", 96, 8, 8, 1, 0, 0.01, 0.01, false},
    {"uneven stages", "llama3-8b", "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512}}", 96, 2, 8, 1, 0, 0.001, 0.01,
     true},
    {"stages by cost, as the choice has them", "llama3-8b",
     "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"stages\": \"cost\"}}", 64, 2, 8, 1, 0, 0.001, 0.01, true},
    {"pipelines with a tied embedding", "gpt2-xl", "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 1024}}", 64, 1, 8, 4, 0,
     0.01, 0.01, false},
    {"pipelines with a tied embedding, ZeRO 1", "gpt2-xl",
     "{" BF16 ADAMW "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true}, \"shardlab\": {\"seq_len\": 1024}}",
     64, 1, 8, 8, 1, 0.01, 0.01, false},
    {"Megatron-LM, three dimensions", "llama3-8b",
     "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"preset\": \"megatron-lm\"}}", 64, 4, 4, 8, 0, 0.01, 0.01,
     false},
    {"nanotron, ZeRO 1", "llama3-8b",
     "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"preset\": \"nanotron-zero1\", "
     "\"attention\": \"flash\"}}",
     64, 4, 4, 8, 1, 0.01, 0.01, false},
    {"Megatron-LM of 2022, scattered messages", "llama3-8b",
     "{" FP16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"preset\": \"megatron-local-ddp\", "
     "\"scatter_gather_tensors_in_pipeline\": true}}",
     64, 4, 4, 8, 0, 0.01, 0.01, false},
    {"a host that launches", "gpt2", "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256, \"kernels\": \"nanotron\"}}", 80,
     4, 1, 1, 0, 0.01, 0.01, false},
    {"launches that block", "gpt2",
     "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256, \"kernels\": \"megatron-deepspeed\", \"launch_blocking\": true}}",
     40, 1, 1, 1, 0, 0.01, 0.01, false},
    {"a host that launches, data parallel", "gpt2",
     "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": true, \"reduce_bucket_size\": 7e6},"
     " \"shardlab\": {\"seq_len\": 512, \"kernels\": \"torch-eager\"}}",
     80, 1, 1, 64, 0, 0.01, 0.01, false},
    {"reductions that slow kernels", "llama3-8b",
     "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": true},"
     " \"shardlab\": {\"seq_len\": 512, \"attention\": \"flash\", \"kernels\": \"llm-foundry\"}}",
     48, 1, 1, 64, 0, 0.01, 0.01, false},
    {"kernels of Megatron-LM", "llama3-8b",
     "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256, \"kernels\": \"megatron-unfused\"}}", 40, 8, 1, 1, 0, 0.01, 0.01,
     false},
    {"three dimensions", "llama3-8b",
     "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": true}, \"shardlab\": {\"seq_len\": 512}}", 64, 4, 4, 8,
     0, 0.01, 0.01, false},
    {"three dimensions, ZeRO 1", "llama3-8b",
     "{" BF16 ADAMW "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true}, \"shardlab\": {\"seq_len\": 512}}",
     64, 4, 4, 8, 1, 0.01, 0.01, false},
};

static int power_of_two(uint64_t *state, int most) {
  int x = 1;
  while (x < most && drawn(state) % 3 > 0) x *= 2;
  return x;
}

/* A cut of `layers` into `stages`, each with one at least. */
static const int64_t *cut(uint64_t *state, int64_t layers, int stages, int64_t *out) {
  for (int i = 0; i < stages; i++) out[i] = 1;
  for (int64_t left = layers - stages; left > 0; left--) out[drawn(state) % (uint64_t)stages]++;
  return out;
}

static struct sl_fast_choice draw(uint64_t *state, const struct family *f, int64_t *stage_layers) {
  struct sl_fast_choice c = {.tp = power_of_two(state, f->most_tp),
                             .pp = power_of_two(state, f->most_pp),
                             .micro_batch = 1 + (int64_t)(drawn(state) % 4),
                             .n_micro = 1 + (int64_t)(drawn(state) % 10),
                             .zero_stage = f->zero_stage,
                             .sequence_parallel = drawn(state) % 2,
                             .recompute = (enum sl_recompute)(drawn(state) % 3),
                             .schedule = (enum sl_fast_schedule)(drawn(state) % 2)};
  c.world = c.tp * c.pp * power_of_two(state, f->most_dp);
  if (f->uneven) c.stage_layers = cut(state, 32, c.pp, stage_layers);
  return c;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void say(const char *what, double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  print_message("   %s: median %.4f %%, 90th %.4f %%, most %.4f %%\n", what, 100 * values[count / 2],
                100 * values[count * 9 / 10], 100 * values[count - 1]);
}

static void family_agrees(void **state) {
  const struct family *f = *state;
  struct against a;
  double time[MOST_DRAWN], live[MOST_DRAWN], arena[MOST_DRAWN];
  int n = 0;
  int64_t stage_layers[16];
  uint64_t random = 20260;
  if (against_open(&a, f->model, f->config, "dgx-a100-80g") != SL_OK) fail_msg("%s", sl_error_message());
  for (int i = 0; i < f->count; i++) {
    const struct sl_fast_choice c = draw(&random, f, stage_layers);
    struct sl_fast_prediction p;
    struct exact e = {0};
    if (sl_fast_predict(a.fast, &c, &p) != SL_OK) {
      if (exact(&a, &c, &e) == SL_OK)
        fail_msg("the exact clock has a time where the fast one says: %s", sl_error_message());
      sl_error_clear();
      continue;
    }
    if (exact(&a, &c, &e) != SL_OK) fail_msg("%s", sl_error_message());
    time[n] = fabs(p.step_time_s / e.seconds - 1);
    live[n] = fabs(p.memory_bytes / e.live - 1);
    arena[n] = fabs(p.memory_bytes / e.arena - 1);
    const double parts = p.compute_s + p.bubble_s + p.exposed_tp_s + p.exposed_pp_s + p.exposed_dp_s + p.optimizer_s;
    assert_true(fabs(parts / p.step_time_s - 1) < 1e-9);
    if (time[n] <= f->time && live[n++] <= f->live) continue;
    fail_msg("tp %d pp %d world %d, %lld x %lld, recompute %d, sp %d, %s: %.12g s, exactly %.12g s; %.6g bytes, "
             "exactly %.6g",
             c.tp, c.pp, c.world, (long long)c.micro_batch, (long long)c.n_micro, c.recompute, c.sequence_parallel,
             c.schedule == SL_FAST_1F1B ? "1f1b" : "gpipe", p.step_time_s, e.seconds, p.memory_bytes, e.live);
  }
  print_message("   %s, %d drawn, %d with a plan\n", f->name, f->count, n);
  say("time", time, n);
  say("live bytes", live, n);
  say("arena", arena, n);
  against_close(&a);
}

int main(void) {
  enum { FAMILIES = sizeof families / sizeof *families };
  struct CMUnitTest tests[FAMILIES];
  for (int i = 0; i < FAMILIES; i++)
    tests[i] = (struct CMUnitTest){families[i].name, family_agrees, NULL, NULL, (void *)(uintptr_t)&families[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
