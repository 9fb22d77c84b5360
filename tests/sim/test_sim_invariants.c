/* label: property
   libs: sim
 * What must hold of every prediction, on random configurations: more flops, bandwidth or memory never makes a step slower; a step is no
 * shorter than its flops and its bytes allow; which of several ranks that stand alike is meant changes nothing. */
#include "core/op/flops.h"
#include "core/op/work.h"
#include "sim/sim.h"
#include "tests/support/job_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROUNDS = 40, SLOW_ROUNDS = 15 };

static uint32_t draw_state;

static uint32_t draw(uint32_t n) {
  draw_state = draw_state * 1664525u + 1013904223u;
  return (draw_state >> 8) % n;
}

/* A job with tp, pp, dp, ZeRO stage, order, recomputation and cluster at random; its text for messages. */
static void draw_job(struct fixture *f, const char *kernels, char *text, size_t size) {
  static const char *const orders[] = {"tp-dp-pp", "tp-pp-dp", "dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp"};
  static const char *const clusters[] = {"dgx-a100-80g", "selene-a100", "dgx-h100", "h100-pcie-8", "mosaic-h100"};
  static const char *const recompute[] = {"none", "selective", "full"}, *const models[] = {"gpt2", "llama3-8b"};
  enum {
    TP,
    PP,
    DP,
    MICRO,
    ACCUMULATION,
    BF16,
    ZERO,
    OVERLAP,
    SEQ,
    RECOMPUTE,
    SEQUENCE_PARALLEL,
    ORDER,
    MODEL,
    CLUSTER,
    DRAWS
  };
  static const uint32_t choices[DRAWS] = {3, 3, 6, 3, 3, 2, 4, 2, 3, 3, 2, 6, 2, 5};
  uint32_t d[DRAWS];
  for (int i = 0; i < DRAWS; i++) d[i] = draw(choices[i]);
  const int tp = 1 << d[TP], pp = 1 << d[PP], dp = 1 + (int)d[DP];
  snprintf(text, size,
           "{\"train_micro_batch_size_per_gpu\": %u, \"gradient_accumulation_steps\": %u, \"bf16\": {\"enabled\": %s}, "
           "\"zero_optimization\": {\"stage\": %u, \"overlap_comm\": %s, \"reduce_bucket_size\": 4e6}, "
           "\"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"tp\": %d, \"pp\": %d, \"seq_len\": %u, "
           "\"recompute\": \"%s\", \"sequence_parallel\": %s, \"kernels\": \"%s\", \"rank_order\": \"%s\"}}",
           1 + d[MICRO], (unsigned)pp * (1 + d[ACCUMULATION]), d[BF16] ? "true" : "false", d[ZERO],
           d[OVERLAP] ? "true" : "false", tp, pp, 64u << d[SEQ], recompute[d[RECOMPUTE]],
           d[SEQUENCE_PARALLEL] ? "true" : "false", kernels, orders[d[ORDER]]);
  if (fixture_open(f, models[d[MODEL]], text, clusters[d[CLUSTER]], tp * pp * dp, NULL) != SL_OK)
    fail_msg("%s: %s", text, sl_error_message());
}

static struct sl_run run_job(const struct fixture *f, struct sl_exec_assumptions assume, bool fold) {
  struct sl_run run = {
      .exec = &sl_exec_sim, .job = &f->job, .options = {.fold = fold, .fail_rank = -1, .assume = assume}, .steps = 1};
  if (sl_run_execute(&run) != SL_OK) fail_msg("%s", sl_error_message());
  return run;
}

static double step_seconds(const struct fixture *f, struct sl_exec_assumptions assume) {
  struct sl_run run = run_job(f, assume, true);
  const double seconds = run.results[0].end_s - run.results[0].start_s;
  sl_run_close(&run);
  return seconds;
}

/* One of the device's or a link's numbers, by a factor above 1. */
static const char *improve(struct sl_cluster *c, uint32_t what) {
  const double factor = 1.01 + draw(300) / 100.0;
  switch (what) {
  case 0:
    for (int t = 0; t < SL_DTYPE_COUNT; t++) c->device.peak[t] *= factor;
    return "flops";
  case 1:
    c->device.memory_bandwidth *= factor;
    return "memory bandwidth";
  case 2:
    c->device.memory *= 2;
    return "memory";
  case 3:
    c->link[0].bandwidth *= factor;
    return "bandwidth inside nodes";
  default:
    c->link[c->n_link - 1].bandwidth *= factor;
    return "bandwidth between nodes";
  }
}

static void improve_all(const char *kernels, uint32_t seed, double tolerance) {
  draw_state = seed;
  for (int round = 0; round < ROUNDS; round++) {
    struct fixture f;
    char text[700];
    draw_job(&f, kernels, text, sizeof text);
    const double before = step_seconds(&f, (struct sl_exec_assumptions){0});
    for (uint32_t what = 0; what < 5; what++) {
      const struct sl_cluster kept = f.cluster;
      const char *name = improve(&f.cluster, what);
      const double after = step_seconds(&f, (struct sl_exec_assumptions){0});
      if (after > before * (1 + tolerance))
        fail_msg("%s: more %s, %.9g s after %.9g s (%s)", text, name, after, before, kept.name);
      f.cluster = kept;
    }
    fixture_close(&f);
  }
}

static void more_is_never_slower(void **state) {
  (void)state;
  improve_all("shardlab", 17, 1e-12);
}

/* Kernel sets whose transfers slow compute, or whose host launches what can start in order of time, are no sums and
 * maxima any more: what begins earlier may run beside other work, or stand in front of it on the host. So a step may be
 * longer by that: of 8000 changes 60 made one longer, by 1.7 % at most. */
static void more_is_hardly_slower_beside_transfers_and_hosts(void **state) {
  (void)state;
  static const char *const kernels[] = {"megatron-fused", "torch-eager", "nanotron", "megatron-unfused"};
  for (int i = 0; i < 4; i++) improve_all(kernels[i], 21 + (uint32_t)i, 0.03);
}

/* Of the busiest rank: flops over the fastest peak, and of each group the bytes that it sends over the fastest link. */
static double bound_of(const struct fixture *f, const struct sl_run *run) {
  const struct sl_cluster *cluster = &f->cluster;
  double peak = 0, fastest = 0, bound = 0;
  for (int t = 0; t < SL_DTYPE_COUNT; t++) peak = fmax(peak, cluster->device.peak[t]);
  for (int level = 0; level < cluster->n_link; level++)
    fastest = fmax(fastest, cluster->link[level].bandwidth * fmax(1, cluster->link[level].bandwidth_share));
  for (int i = 0; i < run->local_count; i++) {
    const struct sl_program *p =
        &f->job.classes[sl_job_class_of(&f->job, run->local_ranks[i])].programs[SL_PROGRAM_STEP];
    double flops = 0, wire[SL_GROUP_COUNT] = {0};
    for (size_t k = 0; k < p->issue_count; k++) flops += sl_op_flops(&p->ops[p->issues[k].op]);
    bound = fmax(bound, flops / peak);
    for (int r = 0; r < run->reports[i].traffic_count; r++)
      wire[run->reports[i].traffic[r].group] += (double)run->reports[i].traffic[r].wire_bytes;
    wire[SL_GROUP_NONE] /= 2; /* messages forward and backward have lanes of their own */
    for (int g = 0; g < SL_GROUP_COUNT; g++) bound = fmax(bound, wire[g] / fastest);
  }
  return bound;
}

static void a_step_is_no_shorter_than_its_flops_and_bytes(void **state) {
  (void)state;
  static const struct sl_exec_assumptions assumptions[] = {{.jitter = 0}, {.share_links = true}};
  draw_state = 4;
  for (int round = 0; round < ROUNDS; round++) {
    struct fixture f;
    char text[700];
    draw_job(&f, "shardlab", text, sizeof text);
    for (int i = 0; i < 2; i++) {
      struct sl_run run = run_job(&f, assumptions[i], true);
      const double seconds = run.results[0].end_s - run.results[0].start_s, bound = bound_of(&f, &run);
      assert_true(bound > 0);
      if (seconds < bound) fail_msg("%s: %.9g s, but flops or bytes take %.9g s", text, seconds, bound);
      sl_run_close(&run);
    }
    fixture_close(&f);
  }
}

/* Ranks that folding takes for one: whichever of them is slow, the step lasts as long. */
static void which_of_those_that_stand_alike_is_slow_changes_nothing(void **state) {
  (void)state;
  int compared = 0;
  draw_state = 9;
  for (int round = 0; round < SLOW_ROUNDS; round++) {
    struct fixture f;
    char text[700];
    double seconds[512] = {0};
    draw_job(&f, "shardlab", text, sizeof text);
    struct sl_run folded = run_job(&f, (struct sl_exec_assumptions){0}, true);
    for (int rank = 0; rank < f.plan.world; rank++) {
      const struct sl_straggler slow = {.rank = rank, .factor = 1.7};
      const int kind = sl_exec_sim.local_of(folded.state, rank);
      const double slowed = step_seconds(&f, (struct sl_exec_assumptions){.stragglers = &slow, .straggler_count = 1});
      if (seconds[kind] == 0) seconds[kind] = slowed;
      if (seconds[kind] != slowed)
        fail_msg("%s: rank %d %.17g s, a like one %.17g s", text, rank, slowed, seconds[kind]);
      compared++;
    }
    compared -= folded.local_count;
    sl_run_close(&folded);
    fixture_close(&f);
  }
  assert_true(compared > 100);
}

/* Where all links are alike, the order of the ranks is a matter of names. */
static void on_one_node_every_order_takes_as_long(void **state) {
  (void)state;
  static const char *const orders[] = {"tp-dp-pp", "tp-pp-dp", "dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp"};
  double first = 0;
  for (int i = 0; i < 6; i++) {
    struct fixture f;
    char config[512];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 4, "
             "\"zero_optimization\": {\"stage\": 1}, \"optimizer\": {\"type\": \"AdamW\"}, "
             "\"shardlab\": {\"tp\": 2, \"pp\": 2, \"seq_len\": 64, \"rank_order\": \"%s\"}}",
             orders[i]);
    if (fixture_open(&f, "gpt2", config, "dgx-h100", 8, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    const double seconds = step_seconds(&f, (struct sl_exec_assumptions){0});
    if (i == 0) first = seconds;
    assert_true(seconds == first);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(more_is_never_slower),
      cmocka_unit_test(more_is_hardly_slower_beside_transfers_and_hosts),
      cmocka_unit_test(a_step_is_no_shorter_than_its_flops_and_bytes),
      cmocka_unit_test(which_of_those_that_stand_alike_is_slow_changes_nothing),
      cmocka_unit_test(on_one_node_every_order_takes_as_long),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
