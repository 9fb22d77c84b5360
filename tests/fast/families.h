/* Families of random configurations, and both clocks on each. */
#pragma once

#include "tests/fast/against.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define BF16 "\"bf16\": {\"enabled\": true}, "
#define FP16 "\"fp16\": {\"enabled\": true}, "
#define ADAMW "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, "

enum { MOST_DRAWN = 100 };

struct family {
  const char *name, *model, *config;
  int count, most_tp, most_pp, most_dp, zero_stage;
  double time, live; /* the largest relative differences */
  bool uneven;       /* stages may have different numbers of layers */
  bool formulas;     /* whether the formulas cover it */
  /* 0: gpipe or 1f1b; as the schedule has them; 10 */
  enum sl_fast_schedule schedule;
  bool whole_ends; /* which go with no sequence parallelism */
  int virtual_stages, most_micro;
  bool by_op;          /* also with recomputation by op */
  const char *cluster; /* NULL: dgx-a100-80g */
};

static inline int power_of_two(uint64_t *state, int most) {
  int x = 1;
  while (x < most && drawn(state) % 3 > 0) x *= 2;
  return x;
}

/* A random partition of `layers` into `stages`, each with at least one. */
static inline const int64_t *cut(uint64_t *state, int64_t layers, int stages, int64_t *out) {
  for (int i = 0; i < stages; i++) out[i] = 1;
  for (int64_t left = layers - stages; left > 0; left--) out[drawn(state) % (uint64_t)stages]++;
  return out;
}

static inline struct sl_fast_choice draw(uint64_t *state, const struct family *f, int64_t *stage_layers) {
  struct sl_fast_choice c = {.tp = power_of_two(state, f->most_tp),
                             .pp = power_of_two(state, f->most_pp),
                             .micro_batch = 1 + (int64_t)(drawn(state) % 4),
                             .n_micro =
                                 1 + (int64_t)(drawn(state) % (uint64_t)(f->most_micro > 0 ? f->most_micro : 10)),
                             .zero_stage = f->zero_stage,
                             .sequence_parallel = drawn(state) % 2,
                             .recompute = (enum sl_recompute)(drawn(state) % (f->by_op ? 4 : 3)),
                             .schedule = (enum sl_fast_schedule)(drawn(state) % 2),
                             .virtual_stages = f->virtual_stages};
  c.world = c.tp * c.pp * power_of_two(state, f->most_dp);
  if (f->schedule > 0) c.schedule = f->schedule;
  if (f->whole_ends) c.sequence_parallel = false;
  if (f->uneven) c.stage_layers = cut(state, 32, c.pp, stage_layers);
  return c;
}

static inline int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline void say(const char *what, double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  print_message("   %s: median %.4f %%, 90th %.4f %%, most %.4f %%\n", what, 100 * values[count / 2],
                100 * values[count * 9 / 10], 100 * values[count - 1]);
}

static inline void family_agrees(void **state) {
  const struct family *f = *state;
  struct against a;
  double time[MOST_DRAWN], live[MOST_DRAWN], arena[MOST_DRAWN];
  int n = 0;
  int64_t stage_layers[16];
  clock_t fast = 0, both = clock();
  uint64_t random = 20260;
  if (against_open(&a, f->model, f->config, f->cluster != NULL ? f->cluster : "dgx-a100-80g") != SL_OK)
    fail_msg("%s", sl_error_message());
  for (int i = 0; i < f->count; i++) {
    const struct sl_fast_choice c = draw(&random, f, stage_layers);
    struct sl_fast_prediction p;
    struct exact e = {0};
    fast -= clock();
    const enum sl_status status = sl_fast_predict(a.fast, &c, &p);
    fast += clock();
    if (status != SL_OK) {
      if (exact(&a, &c, &e) == SL_OK)
        fail_msg("the exact clock has a time where the fast one says: %s", sl_error_message());
      sl_error_clear();
      continue;
    }
    if (exact(&a, &c, &e) != SL_OK) fail_msg("%s", sl_error_message());
    if (f->formulas) assert_false(p.whole);
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
  both = clock() - both;
  print_message("   %s, %d drawn, %d with a plan; %.2f ms each, exactly %.2f ms\n", f->name, f->count, n,
                1e3 * (double)fast / CLOCKS_PER_SEC / n, 1e3 * (double)(both - fast) / CLOCKS_PER_SEC / n);
  say("time", time, n);
  say("live bytes", live, n);
  say("arena", arena, n);
  against_close(&a);
}
