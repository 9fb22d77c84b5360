/* label: unit
   libs: sim
 * Sharding over part of the ranks, against closed forms from the models' published sizes: bytes of state on a rank and
 * bytes on the wire by group, as the papers count them.
 *   ZeRO-3      3 M a step over all ranks: gather for forward, gather for backward, reduce-scatter (arXiv:1910.02054, 7.2)
 *   ZeRO++ hpZ  2 M over all ranks: the gather for backward stays inside a group (arXiv:2306.10209, section 3.2), whose
 *               ranks hold a second copy: M / group more on each
 *   MiCS        3 M inside a group of s, and an all-reduce of M / s across (arXiv:2205.00119, section 3.2 and 3.4)
 *   FSDP        the same, but across as often as inside
 * M being the parameters, each volume times (n - 1) / n for a ring of n. And limit_all_gathers, which trades memory for
 * overlap, and no_sync, which trades it for traffic. */
#include "core/check/rendezvous.h"
#include "core/program/memory_report.h"
#include "core/run/timeline.h"
#include "sim/sim.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* GPT-2 small: 12 layers of 768, vocabulary 50257, 1024 positions. */
static const int64_t M = 124439808, WTE = (int64_t)50257 * 768;
/* what is gathered for a backward: no bias (13 widths a layer: 3 + 1 + 1 + 4 + 1 and two of norms, final norm's), and
 * the tied embedding for both its uses */
static const int64_t BACKWARD = 124439808 - 12 * (int64_t)(3 + 1 + 4 + 1 + 2) * 768 - 768 + (int64_t)50257 * 768;

static void open_stage(struct fixture *f, int stage, const char *zero, const char *sl, int accumulate, int world) {
  char config[1024];
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": true}, "
      "\"data_types\": {\"grad_accum_dtype\": \"fp32\"}, \"zero_optimization\": {\"stage\": %d, "
      "\"stage3_param_persistence_threshold\": 0, \"stage3_max_reuse_distance\": 0, "
      "\"stage3_prefetch_bucket_size\": 5e6%s}, \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"seq_len\": "
      "65, \"make_vocab_size_divisible_by\": 1%s}}",
      accumulate, stage, zero, sl);
  if (fixture_open(f, "gpt2", config, "dgx-a100-80g", world, NULL) != SL_OK || sl_check(&f->job) != SL_OK)
    fail_msg("%s %s: %s", zero, sl, sl_error_message());
}

static void open_job(struct fixture *f, const char *zero, const char *sl, int accumulate, int world) {
  open_stage(f, 3, zero, sl, accumulate, world);
}

/* What rank 0 puts on the wire in a step. */
struct sent {
  int64_t gathers;                                           /* calls */
  int64_t gathered[SL_GROUP_COUNT], reduced[SL_GROUP_COUNT]; /* parameters; gradients */
  double exposed_s, step_s;
};

static void add_span(void *context, int local, int64_t step, const struct sl_program *program,
                     const struct sl_completion *done) {
  sl_timeline_add(context, local, step, program, done);
}

static struct sent run(const struct fixture *f) {
  struct sent out = {0};
  struct sl_timeline timeline = {0};
  struct sl_breakdown breakdown;
  struct sl_run run = {.exec = &sl_exec_sim, .job = &f->job, .options = {.fold = true, .fail_rank = -1}, .steps = 1};
  run.observe = add_span;
  run.observe_context = &timeline;
  if (sl_run_execute(&run) != SL_OK) fail_msg("%s", sl_error_message());
  for (int i = 0; i < run.reports[0].traffic_count; i++) {
    const struct sl_traffic *t = &run.reports[0].traffic[i];
    if (t->payload == SL_PAYLOAD_PARAMETER) out.gathered[t->group] += t->wire_bytes, out.gathers += t->calls;
    if (t->payload == SL_PAYLOAD_GRADIENT) out.reduced[t->group] += t->wire_bytes;
  }
  assert_int_equal(sl_timeline_breakdown(&timeline, 0, &breakdown), SL_OK);
  out.exposed_s = breakdown.exposed_all_s;
  out.step_s = run.results[0].end_s - run.results[0].start_s;
  sl_timeline_free(&timeline);
  sl_run_close(&run);
  return out;
}

/* Two numbers of bytes, but for the padding of 148 tensors to the ranks. */
static void assert_bytes(int64_t found, double expected, const char *what) {
  const double padding = 148.0 * 2 * 16 * 4 * 4;
  if (!((double)found >= expected - padding && (double)found <= expected + padding))
    fail_msg("%s: %lld bytes, expected %.0f", what, (long long)found, expected);
}

static int64_t state(const struct fixture *f, enum sl_category category) {
  return f->job.classes[0].memory->state_bytes[category];
}

static void hpz_gathers_for_the_backward_inside_its_group(void **unused) {
  (void)unused;
  enum { WORLD = 16, STEPS = 3 };
  static const int sizes[] = {2, 4, 8, 16};
  struct fixture plain, f;
  open_job(&plain, "", "", STEPS, WORLD);
  const struct sent all = run(&plain);
  const double ring = 15.0 / 16;
  /* 2 bytes; in the forward, too, the tied embedding is gathered for both its uses */
  assert_bytes(all.gathered[SL_GROUP_SHARD], STEPS * 2 * ring * (double)(M + WTE + BACKWARD), "ZeRO-3 gathers");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char key[64];
    const int n = sizes[i];
    snprintf(key, sizeof key, ", \"zero_hpz_partition_size\": %d", n);
    open_job(&f, key, "", STEPS, WORLD);
    const struct sent s = run(&f);
    assert_bytes(s.gathered[SL_GROUP_SHARD], STEPS * 2 * ring * (double)(M + WTE), "hpZ between groups");
    assert_bytes(s.gathered[SL_GROUP_SECONDARY], STEPS * 2 * (n - 1.0) / n * (double)BACKWARD, "hpZ inside");
    assert_int_equal(s.reduced[SL_GROUP_SHARD], all.reduced[SL_GROUP_SHARD]);
    assert_bytes(state(&f, SL_CATEGORY_PARAMETER) - state(&plain, SL_CATEGORY_PARAMETER), 2.0 * (double)M / n,
                 "the second copy");
    assert_int_equal(state(&f, SL_CATEGORY_OPTIMIZER), state(&plain, SL_CATEGORY_OPTIMIZER));
    /* groups of a node or less are faster than nodes among themselves */
    if (n <= 8) assert_true(s.step_s < all.step_s);
    fixture_close(&f);
  }
  fixture_close(&plain);
}

/* The second copy is all that hpZ adds to the arena: what is gathered later has the place of what was released. */
static void hpz_adds_its_copy_to_the_arena(void **unused) {
  (void)unused;
  int64_t arena[2], copy = 0;
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    char config[300];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": "
             "\"AdamW\"}, \"zero_optimization\": {\"stage\": 3, \"zero_hpz_partition_size\": %d}, \"shardlab\": "
             "{\"seq_len\": 256}}",
             i == 0 ? 1 : 8);
    if (fixture_open(&f, "gpt2-xl", config, "dgx-h100", 16, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    arena[i] = f.job.classes[0].arena_bytes[SL_SPACE_DEVICE];
    copy = state(&f, SL_CATEGORY_PARAMETER) - copy;
    fixture_close(&f);
  }
  assert_true(copy > 0 && (double)(arena[1] - arena[0]) < 1.05 * (double)copy);
}

/* Beside a pipeline a stage is gathered whole, as often as the schedule asks; only its first time leaves the group. */
static void hpz_beside_a_pipeline_leaves_the_group_once(void **unused) {
  (void)unused;
  enum { WORLD = 16 };
  static const char pipe[] = ", \"pp\": 2, \"virtual_stages\": 2, \"schedule\": \"interleaved\", \"unshard_ahead\": 1";
  struct fixture plain, f;
  open_job(&plain, "", pipe, 4, WORLD);
  open_job(&f, ", \"zero_hpz_partition_size\": 4", pipe, 4, WORLD);
  const struct sent all = run(&plain), s = run(&f);
  const double own = 2 * (double)plain.plan.pp_ranks[0].numel;
  assert_bytes(s.gathered[SL_GROUP_SHARD], 7.0 / 8 * own, "hpZ between groups");
  const double times = (double)all.gathered[SL_GROUP_SHARD] / (7.0 / 8 * own);
  assert_true(times > 3);
  assert_true((double)s.gathered[SL_GROUP_SECONDARY] > 0.99 * 3.0 / 4 * (times - 1) * own);
  assert_true((double)s.gathered[SL_GROUP_SECONDARY] < 1.01 * 3.0 / 4 * (times - 1) * own);
  fixture_close(&plain);
  fixture_close(&f);
}

static void groups_that_shard_among_themselves_reduce_across_once(void **unused) {
  (void)unused;
  enum { WORLD = 16, STEPS = 3 };
  static const int sizes[] = {2, 4, 8};
  struct fixture f;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int fsdp = 0; fsdp < 2; fsdp++) {
      char zero[64] = "", sl[96] = "";
      const int n = sizes[i], across = WORLD / n;
      if (fsdp)
        snprintf(sl, sizeof sl, ", \"shard_size\": %d", n);
      else
        snprintf(zero, sizeof zero, ", \"mics_shard_size\": %d", n);
      open_job(&f, zero, sl, STEPS, WORLD);
      const struct sent s = run(&f);
      const double ring = (n - 1.0) / n;
      assert_bytes(s.gathered[SL_GROUP_SHARD], STEPS * 2 * ring * (double)(M + WTE + BACKWARD), "gathers inside");
      assert_bytes(s.reduced[SL_GROUP_SHARD], STEPS * 2 * ring * (double)M, "reduce-scatter inside");
      /* the own part in the type that gradients accumulate in, fp32, once a step whatever is accumulated */
      assert_bytes(s.reduced[SL_GROUP_REPLICATE], 4 * 2 * (across - 1.0) / across * (double)M / n, "all-reduce across");
      assert_int_equal(s.gathered[SL_GROUP_REPLICATE], 0);
      assert_bytes(state(&f, SL_CATEGORY_PARAMETER), 2.0 * (double)M / n, "parameters");
      assert_bytes(state(&f, SL_CATEGORY_OPTIMIZER), 12.0 * (double)M / n, "optimizer");
      fixture_close(&f);
    }
  }
}

static bool waits_for(const struct sl_program *p, const struct sl_issue *e, int lane, int count) {
  for (uint32_t w = e->wait; w < e->wait + e->wait_count; w++)
    if ((int)p->waits[w].lane == lane) return (int)p->waits[w].count == count;
  return false;
}

/* MiCS sums what a bucket's reduce-scatter has added to, in the last backward, before the next bucket is reduced: all
 * of that is on one stream. */
static void mics_sums_across_bucket_by_bucket(void **unused) {
  (void)unused;
  enum { WORLD = 32, SHARDS = 8 };
  static const char *const wires[] = {"", "}, \"communication_data_type\": \"fp32\", \"aio\": {"};
  for (int i = 0; i < 4; i++) {
    struct fixture f;
    const int accumulate = i < 2 ? 1 : 3;
    char zero[200];
    int scatters = 0, sums = 0;
    int64_t summed = 0;
    snprintf(zero, sizeof zero, ", \"mics_shard_size\": %d, \"overlap_comm\": true, \"reduce_bucket_size\": 2e7%s",
             SHARDS, wires[i % 2]);
    open_job(&f, zero, "", accumulate, WORLD);
    const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
    int calls = 0;
    for (size_t k = 0; k < p->issue_count; k++) calls += p->ops[p->issues[k].op].kind == SL_OP_REDUCE_SCATTER;
    for (size_t k = 0; k < p->issue_count; k++) {
      const struct sl_issue *e = &p->issues[k];
      const struct sl_op *op = &p->ops[e->op];
      if (op->kind == SL_OP_REDUCE_SCATTER) {
        assert_int_equal(waits_for(p, e, sl_lane_of_group(SL_GROUP_REPLICATE), sums), sums > 0);
        scatters++;
      }
      if (op->kind != SL_OP_ALL_REDUCE || op->group != SL_GROUP_REPLICATE) continue;
      assert_int_equal(op->phase, SL_PHASE_BACKWARD);
      assert_int_equal(op->dtype, SL_F32);
      summed += op->dim[0];
      assert_int_equal(++sums, scatters - calls / accumulate * (accumulate - 1));
    }
    assert_true(calls / accumulate >= 6); /* M / 2e7 */
    assert_int_equal(sums, calls / accumulate);
    assert_int_equal(summed, f.plan.pp_ranks[0].shard_numel);
    fixture_close(&f);
  }
}

/* FSDP sums a unit's own part across right after its reduce-scatter, in every backward and in the type that is
 * communicated, so that the sums hide as the reductions do. */
static void fsdp_sums_across_unit_by_unit(void **unused) {
  (void)unused;
  enum { WORLD = 32, STEPS = 3, SHARDS = 8, ACROSS = WORLD / SHARDS };
  static const char *const presets[] = {"fsdp-hybrid-shard", "fsdp2"};
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
    struct fixture f;
    char sl[128];
    int sums = 0;
    snprintf(sl, sizeof sl, ", \"shard_size\": %d, \"preset\": \"%s\"", SHARDS, presets[i]);
    open_job(&f, "", sl, STEPS, WORLD);
    const struct sent s = run(&f);
    const double ring = 2 * (ACROSS - 1.0) / ACROSS;
    assert_bytes(s.reduced[SL_GROUP_REPLICATE], STEPS * 2 * ring * (double)M / SHARDS, "all-reduces across");
    const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
    for (size_t o = 0; o < p->op_count; o++) {
      const struct sl_op *op = &p->ops[o];
      if (op->kind != SL_OP_ALL_REDUCE || op->group != SL_GROUP_REPLICATE) continue;
      assert_int_equal(op->phase, SL_PHASE_BACKWARD);
      sums++;
    }
    assert_true(sums >= f.plan.pp_ranks[0].unit_count); /* 12 blocks and the rest */
    fixture_close(&f);
  }
}

/* FSDP2 sums each backward's parts across, though they are added to those of earlier ones in the same type; Megatron-LM's
 * add up in its buffer, and are summed across in the last backward alone. */
static void what_accumulates_is_summed_across_as_the_framework_does(void **unused) {
  (void)unused;
  enum { WORLD = 32, SHARDS = 8, ACROSS = WORLD / SHARDS };
  static const char *const presets[] = {"fsdp2", "fsdp-hybrid-shard", "megatron-distributed-optimizer"};
  static const int times[] = {3, 3, 1};
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
    struct fixture f;
    char config[400];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3, \"optimizer\": {\"type\": "
             "\"AdamW\"}, \"shardlab\": {\"seq_len\": 65, \"make_vocab_size_divisible_by\": 1, \"shard_size\": %d, "
             "\"preset\": \"%s\"}}",
             SHARDS, presets[i]);
    if (fixture_open(&f, "gpt2", config, "dgx-a100-80g", WORLD, NULL) != SL_OK || sl_check(&f.job) != SL_OK)
      fail_msg("%s: %s", presets[i], sl_error_message());
    assert_bytes(run(&f).reduced[SL_GROUP_REPLICATE], times[i] * 4 * 2 * (ACROSS - 1.0) / ACROSS * (double)M / SHARDS,
                 presets[i]);
    fixture_close(&f);
  }
}

/* FSDP under no_sync: gradients are whole, in the type in which they are reduced, and travel once a step instead of
 * once a micro-batch; parameters are gathered as often as before, but under SHARD_GRAD_OP (below). Of one micro-batch
 * nothing is kept back. */
static void no_sync_keeps_whole_gradients_and_reduces_once(void **unused) {
  (void)unused;
  enum { WORLD = 8, STEPS = 4 };
  static const char *const presets[] = {"fsdp", "fsdp2"};
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
    for (int accumulate = 1; accumulate <= STEPS; accumulate += STEPS - 1) {
      struct fixture each, once;
      char sl[128];
      snprintf(sl, sizeof sl, ", \"preset\": \"%s\"", presets[i]);
      open_job(&each, "", sl, accumulate, WORLD);
      snprintf(sl, sizeof sl, ", \"preset\": \"%s\", \"no_sync\": true", presets[i]);
      open_job(&once, "", sl, accumulate, WORLD);
      const struct sent a = run(&each), b = run(&once);
      const double ring = (WORLD - 1.0) / WORLD, gradients = 2 * ring * (double)M;
      assert_bytes(a.reduced[SL_GROUP_DP], accumulate * gradients, "a reduction a micro-batch");
      assert_bytes(b.reduced[SL_GROUP_DP], gradients, "one reduction");
      assert_int_equal(a.gathered[SL_GROUP_SHARD], b.gathered[SL_GROUP_SHARD]);
      const struct sl_class *c = &once.job.classes[0];
      const int64_t kept = c->buffers[c->role[SL_ROLE_GRAD].buffer].bytes;
      assert_bytes(kept, accumulate > 1 ? 2 * (double)M : 4 * (double)M / WORLD, "gradients");
      fixture_close(&each);
      fixture_close(&once);
    }
  }
}

/* FSDP's SHARD_GRAD_OP under no_sync: what the first micro-batch gathered is there until the last one's backward, so
 * each of the 13 units, 12 blocks and the root, is gathered once a step. FULL_SHARD and FSDP2 free what a backward has
 * used, whether it reduces or not. */
static void no_sync_keeps_what_a_forward_gathered(void **unused) {
  (void)unused;
  enum { WORLD = 8, STEPS = 4, UNITS = 13 };
  static const struct {
    const char *sl;
    bool once;
    double members;
  } cases[] = {{", \"preset\": \"fsdp-shard-grad-op\"", true, WORLD},
               {", \"preset\": \"fsdp-hybrid-shard-zero2\", \"shard_size\": 4", true, 4},
               {", \"preset\": \"fsdp2-no-reshard\"", false, WORLD},
               {", \"preset\": \"fsdp\"", false, WORLD}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int accumulate = 1; accumulate <= STEPS; accumulate += STEPS - 1) {
      struct fixture each, kept;
      char sl[128];
      open_stage(&each, 0, "", cases[i].sl, accumulate, WORLD); /* the preset's */
      snprintf(sl, sizeof sl, "%s, \"no_sync\": true", cases[i].sl);
      open_stage(&kept, 0, "", sl, accumulate, WORLD);
      const struct sent a = run(&each), b = run(&kept);
      printf("  %s: %lld and %lld gathers, %.6f and %.6f s\n", cases[i].sl, (long long)a.gathers, (long long)b.gathers,
             a.step_s, b.step_s);
      if (accumulate == 1 || !cases[i].once) {
        assert_int_equal(a.gathers, b.gathers);
        assert_int_equal(a.gathered[SL_GROUP_SHARD], b.gathered[SL_GROUP_SHARD]);
      } else {
        assert_int_equal(a.gathers, accumulate * UNITS);
        assert_int_equal(b.gathers, UNITS);
        const double ring = (cases[i].members - 1) / cases[i].members;
        assert_bytes(b.gathered[SL_GROUP_SHARD], 2 * ring * (double)M, "gathered once");
        assert_true(kept.job.classes[0].memory->at_peak[SL_CATEGORY_COMMUNICATION] >= 2 * M);
      }
      fixture_close(&each);
      fixture_close(&kept);
    }
  }
}

/* FSDP's shards are fp32 and what is reduced bf16: each unit's own part arrives in a buffer of its own. */
static void reduced_parts_arrive_unit_by_unit(void **unused) {
  (void)unused;
  enum { WORLD = 8 };
  struct fixture f;
  int64_t arriving = 0;
  open_job(&f, "", ", \"preset\": \"fsdp\"", 4, WORLD);
  const struct sl_class *c = &f.job.classes[0];
  for (size_t i = 0; i < c->buffer_count; i++) {
    assert_string_not_equal(c->buffers[i].name, "grad.arrived");
    if (strncmp(c->buffers[i].name, "grad.arriving", strlen("grad.arriving")) == 0) arriving += c->buffers[i].bytes;
  }
  assert_bytes(arriving, 2 * (double)M / WORLD, "arriving");
  fixture_close(&f);
  /* compute would wait for what sums them over replicas */
  open_job(&f, "", ", \"preset\": \"fsdp2\", \"shard_size\": 4", 4, WORLD);
  for (size_t i = 0; i < f.job.classes[0].buffer_count; i++)
    assert_null(strstr(f.job.classes[0].buffers[i].name, "grad.arriving"));
  fixture_close(&f);
}

/* FSDP's flag, which changes nothing elsewhere. Without it gathers do not wait for compute: they hide better, or as
 * well, and more units are whole at a time. */
static void gathers_without_a_limit_hide_better_and_need_more(void **unused) {
  (void)unused;
  static const struct {
    const char *zero, *sl;
    bool fsdp;
  } cases[] = {
      {"", "", false},
      {"", ", \"preset\": \"fsdp\"", true},
      {"",
       ", \"preset\": \"fsdp2\", \"pp\": 2, \"virtual_stages\": 2, \"schedule\": \"interleaved\", \"unshard_ahead\": 1",
       true},
      {"", ", \"pp\": 2, \"virtual_stages\": 2, \"schedule\": \"interleaved\", \"unshard_ahead\": 1", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture limited, free_;
    char sl[256];
    open_job(&limited, cases[i].zero, cases[i].sl, 4, 16);
    snprintf(sl, sizeof sl, "%s, \"limit_all_gathers\": false", cases[i].sl);
    open_job(&free_, cases[i].zero, sl, 4, 16);
    const struct sent a = run(&limited), b = run(&free_);
    const int64_t more =
        free_.job.classes[0].arena_bytes[SL_SPACE_DEVICE] - limited.job.classes[0].arena_bytes[SL_SPACE_DEVICE];
    printf("  %s: %+lld bytes, exposed %.6f -> %.6f s, step %.6f -> %.6f s\n", cases[i].sl, (long long)more,
           a.exposed_s, b.exposed_s, a.step_s, b.step_s);
    assert_int_equal(a.gathered[SL_GROUP_SHARD], b.gathered[SL_GROUP_SHARD]);
    assert_true(cases[i].fsdp ? more > 0 : more == 0 && b.step_s == a.step_s);
    assert_true(b.exposed_s <= a.exposed_s * (1 + 1e-9));
    assert_true(b.step_s <= a.step_s * (1 + 1e-9));
    fixture_close(&limited);
    fixture_close(&free_);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hpz_gathers_for_the_backward_inside_its_group),
      cmocka_unit_test(hpz_adds_its_copy_to_the_arena),
      cmocka_unit_test(hpz_beside_a_pipeline_leaves_the_group_once),
      cmocka_unit_test(groups_that_shard_among_themselves_reduce_across_once),
      cmocka_unit_test(mics_sums_across_bucket_by_bucket),
      cmocka_unit_test(fsdp_sums_across_unit_by_unit),
      cmocka_unit_test(what_accumulates_is_summed_across_as_the_framework_does),
      cmocka_unit_test(no_sync_keeps_whole_gradients_and_reduces_once),
      cmocka_unit_test(no_sync_keeps_what_a_forward_gathered),
      cmocka_unit_test(reduced_parts_arrive_unit_by_unit),
      cmocka_unit_test(gathers_without_a_limit_hide_better_and_need_more),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
