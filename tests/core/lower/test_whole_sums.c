/* label: unit
 * DeepSpeed's buckets that are all-reduced whole (use_multi_rank_bucket_allreduce, or no reduce_scatter): what is sent,
 * that the members of ZeRO-2 take every element once, when that is the default, and the buffers that DeepSpeed
 * allocates for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

enum { WORLD = 3, MICRO = 2 };

struct setting {
  int world, micro;
  const char *types;
};

static void open_setting(struct fixture *f, const struct setting *s, const char *zero, const char *section) {
  char config[640];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": "
           "true}, %s\"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": {%s}, \"shardlab\": {\"seq_len\": 8, "
           "\"attention\": \"materialised\"%s}}",
           s->micro, s->types, zero, section);
  if (fixture_open(f, SL_SOURCE_DIR "/tests/mpi/grid_llama.json", config, "dgx-a100-80g", s->world, NULL) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
  if (sl_check(&f->job) != SL_OK) fail_msg("%s: %s", config, sl_error_message());
}

static void open_job(struct fixture *f, const char *zero, const char *section) {
  open_setting(f, &(struct setting){WORLD, MICRO, ""}, zero, section);
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* What the gradients' ops of one class do in a step. */
struct seen {
  int sums, scatters;
  int64_t summed, taken, added; /* elements: in all-reduces; that members copy out of them, and add to what they have */
};

static struct seen look(const struct fixture *f) {
  struct seen s = {0};
  const struct sl_program *p = &f->job.classes[0].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *it = &p->instances[i];
    for (const struct sl_op *op = &p->ops[it->first_op]; op < &p->ops[it->first_op + it->op_count]; op++) {
      const bool gradient = op->payload == SL_PAYLOAD_GRADIENT && sl_op_is_comm(op->kind);
      if (gradient && op->kind == SL_OP_ALL_REDUCE) s.sums++, s.summed += op->dim[0];
      if (gradient && op->kind == SL_OP_REDUCE_SCATTER) s.scatters++;
      if ((op->kind != SL_OP_COPY && op->kind != SL_OP_ADD) || !(op->flags & SL_OP_SHARE_RANGE)) continue;
      for (int member = 0; member < WORLD; member++) {
        const int64_t from = most(op->dim[1], member * op->dim[3]), end = least(op->dim[2], (member + 1) * op->dim[3]);
        *(op->kind == SL_OP_COPY ? &s.taken : &s.added) += most(end - from, 0);
      }
    }
  }
  return s;
}

static void whole_buckets_are_summed(void **state) {
  (void)state;
  static const struct {
    const char *zero, *section;
    bool whole;
  } cases[] = {
      {"\"stage\": 2", "", false},
      {"\"stage\": 2, \"reduce_scatter\": false", "", true},
      {"\"stage\": 2, \"use_multi_rank_bucket_allreduce\": true", "", true},
      {"\"stage\": 2", ", \"kernels\": \"torch-eager\"", true},
      {"\"stage\": 2, \"use_multi_rank_bucket_allreduce\": false", ", \"kernels\": \"torch-eager\"", false},
      {"\"stage\": 2", ", \"kernels\": \"torch-eager\", \"ds_version\": \"0.12.3\"", false},
      {"\"stage\": 2", ", \"kernels\": \"torch-eager\", \"ds_version\": \"0.12.4\"", true},
      {"\"stage\": 1", "", false},
      {"\"stage\": 1, \"reduce_scatter\": false", "", true},
      {"\"stage\": 1, \"use_multi_rank_bucket_allreduce\": true", "", true},
      {"\"stage\": 1", ", \"kernels\": \"torch-eager\"", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char zero[256];
    snprintf(zero, sizeof zero, "%s, \"reduce_bucket_size\": 3000", cases[i].zero);
    open_job(&f, zero, cases[i].section);
    const struct seen s = look(&f);
    const bool sharded = strstr(zero, "\"stage\": 2") != NULL;
    const int64_t all = f.plan.pp_ranks[0].padded;
    assert_int_equal(s.sums > 0, cases[i].whole);
    assert_int_equal(s.scatters > 0, !cases[i].whole);
    assert_int_equal(s.summed, cases[i].whole ? all * (sharded ? MICRO : 1) : 0);
    const bool apart = strstr(cases[i].section, "torch-eager") != NULL; /* new parts go into memory of their own */
    assert_int_equal(s.taken, cases[i].whole && sharded ? all * (apart ? MICRO : 1) : 0);
    assert_int_equal(s.added, cases[i].whole && sharded && !apart ? all * (MICRO - 1) : 0);
    fixture_close(&f);
  }
}

static int64_t bytes_of(const struct fixture *f, const char *start) {
  const struct sl_class *c = &f->job.classes[0];
  int64_t bytes = 0;
  for (size_t i = 0; i < c->buffer_count; i++)
    if (strncmp(c->buffers[i].name, start, strlen(start)) == 0) bytes += c->buffers[i].bytes;
  return bytes;
}

static const char eager[] = ", \"kernels\": \"torch-eager\"";

/* Without reduce_scatter the bucket itself is all-reduced. */
static void no_copy_without_reduce_scatter(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "\"stage\": 2, \"reduce_scatter\": false", eager);
  assert_int_equal(bytes_of(&f, "bucket.flat"), 0);
  assert_true(bytes_of(&f, "bucket.0") > 0);
  fixture_close(&f);
}

/* A sub-group closes with the parameter that reaches `limit`. */
static int64_t largest_subgroup(const struct sl_pp_rank *pp_rank, int64_t limit) {
  int64_t largest = 0, open = 0;
  for (int i = 0; i < pp_rank->unit_count; i++) {
    open += pp_rank->units[i].part;
    largest = most(largest, open);
    if (open >= limit) open = 0;
  }
  return largest;
}

/* ZeRO-3's bucket and the gradients of a rank's parts are there from the beginning, the copies of one sub-group of them
 * for its update. ZeRO-1's buffers stand beside the gradients that an earlier micro-batch left. */
static void what_stands_from_the_beginning(void **state) {
  (void)state;
  enum { BUCKET = 200000, GROUP = 1000 };
  struct fixture f;
  char zero[160];
  snprintf(
      zero, sizeof zero,
      "\"stage\": 3, \"stage3_param_persistence_threshold\": 0, \"reduce_bucket_size\": %d, \"sub_group_size\": %d",
      BUCKET, GROUP);
  open_job(&f, zero, eager);
  const struct sl_class *c = &f.job.classes[0];
  int64_t persistent = 0, largest = 0, copies = 0;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    const bool kept = strcmp(b->name, "bucket.0") == 0 || strcmp(b->name, "grad.shard") == 0;
    if (kept && b->persistent) persistent += b->bytes;
    if (strcmp(b->name, "grad.fp32") == 0) copies += b->bytes, largest = most(largest, b->bytes);
  }
  const int64_t own = f.plan.pp_ranks[0].shard_numel;
  assert_int_equal(persistent, 2 * BUCKET + 2 * own);
  assert_int_equal(copies, 4 * own);
  assert_int_equal(largest, 4 * largest_subgroup(&f.plan.pp_ranks[0], GROUP));
  fixture_close(&f);
}

static const struct sl_buffer *named(const struct fixture *f, const char *name) {
  const struct sl_class *c = &f->job.classes[0];
  for (size_t i = 0; i < c->buffer_count; i++)
    if (strcmp(c->buffers[i].name, name) == 0) return &c->buffers[i];
  fail_msg("there is no %s", name);
  return NULL;
}

/* ZeRO-1's, beside whole gradients, also of a single micro-batch: as long as a backward takes. */
static void what_stands_during_backwards(void **state) {
  (void)state;
  enum { BUCKET = 200000 };
  for (int i = 0; i < 4; i++) {
    const int overlap = i % 2, micro = 1 + i / 2;
    struct fixture f;
    char zero[160];
    snprintf(zero, sizeof zero, "\"stage\": 1, \"reduce_bucket_size\": %d, \"overlap_comm\": %s", BUCKET,
             overlap ? "true" : "false");
    open_setting(&f, &(struct setting){WORLD, micro, ""}, zero, eager);
    const struct sl_buffer *beside = named(&f, "bucket.beside");
    const struct sl_memory_report *r = &f.job.classes[0].memory[SL_SPACE_DEVICE];
    assert_int_equal(beside->bytes, 2 * BUCKET * (1 + overlap));
    assert_false(beside->persistent);
    assert_true(r->category_max[SL_CATEGORY_COMMUNICATION] >= beside->bytes);
    assert_true(r->phase_peak[SL_PHASE_BACKWARD] > r->phase_peak[SL_PHASE_STEP] + beside->bytes / 2);
    fixture_close(&f);
  }
}

/* One buffer of reduce_bucket_size elements, with overlap two, also where the model fills less than one; the copy that
 * is all-reduced, in each of the two backwards, holds what is in it. */
static void buffers_hold_the_bucket_size(void **state) {
  (void)state;
  enum { LARGE = 1000000 };
  static const struct {
    const char *overlap, *section;
    int64_t buffers;
  } cases[] = {
      {"false", ", \"kernels\": \"torch-eager\"", 1}, {"true", ", \"kernels\": \"torch-eager\"", 2}, {"true", "", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char zero[128];
    snprintf(zero, sizeof zero, "\"stage\": 2, \"overlap_comm\": %s, \"reduce_bucket_size\": %d", cases[i].overlap,
             LARGE);
    open_job(&f, zero, cases[i].section);
    const int64_t all = f.plan.pp_ranks[0].padded;
    assert_true(all < LARGE);
    const int64_t flat = bytes_of(&f, "bucket.flat");
    const int64_t buffers = bytes_of(&f, "bucket.0") + bytes_of(&f, "bucket.1");
    assert_int_equal(flat, cases[i].buffers > 0 ? 2 * all * MICRO : 0);
    assert_int_equal(buffers, cases[i].buffers > 0 ? 2 * cases[i].buffers * LARGE : 2 * all);
    fixture_close(&f);
  }
}

/* Elements that the op behind a backward adds from grad.arrived to the gradients that are kept. */
static int64_t added_later(const struct fixture *f) {
  const struct sl_class *c = &f->job.classes[0];
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  int64_t added = 0;
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *it = &p->instances[i];
    for (const struct sl_op *op = &p->ops[it->first_op]; op < &p->ops[it->first_op + it->op_count]; op++) {
      const struct sl_slice *at = sl_op_slices(p, op);
      const bool copied = op->kind == SL_OP_COPY && f->plan.strategy.adds_parts_later;
      if ((op->kind == SL_OP_ADD || copied) && strcmp(c->buffers[at[0].buffer].name, "grad.arrived") == 0) {
        assert_int_equal(op->kind, SL_OP_ADD); /* those of the first backward come where they are kept */
        assert_int_equal(at[1].buffer, c->role[SL_ROLE_GRAD].buffer);
        added += op->dim[0];
      }
    }
  }
  return added;
}

/* From the second micro-batch on ZeRO-2 has a second partition of gradients, in the parameters' type like the first,
 * whatever is asked for; our own backend adds where they are kept, in the type that is asked for. */
static void zero_2_has_two_partitions(void **state) {
  (void)state;
  static const char fp32[] = "\"data_types\": {\"grad_accum_dtype\": \"fp32\"}, ";
  static const char scatters[] = "\"stage\": 2, \"use_multi_rank_bucket_allreduce\": false";
  static const struct {
    struct setting setting;
    const char *zero, *section;
    int partitions;
    enum sl_dtype kept;
  } cases[] = {
      {{WORLD, 1, ""}, "\"stage\": 2", eager, 0, SL_BF16},   {{WORLD, 2, ""}, "\"stage\": 2", eager, 1, SL_BF16},
      {{WORLD, 5, fp32}, "\"stage\": 2", eager, 4, SL_BF16}, {{WORLD, 5, ""}, scatters, eager, 4, SL_BF16},
      {{1, 3, ""}, "\"stage\": 2", eager, 2, SL_BF16},       {{WORLD, 2, ""}, "\"stage\": 2", "", 0, SL_BF16},
      {{WORLD, 3, ""}, "\"stage\": 1", eager, 0, SL_BF16},   {{WORLD, 1, fp32}, "\"stage\": 2", "", 0, SL_F32},
      {{WORLD, 1, fp32}, "\"stage\": 2", eager, 0, SL_BF16}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    open_setting(&f, &cases[i].setting, cases[i].zero, cases[i].section);
    const struct sl_class *c = &f.job.classes[0];
    const int64_t own = f.plan.pp_ranks[0].shard_numel;
    if (added_later(&f) != cases[i].partitions * own) fail_msg("case %d: %lld", (int)i, (long long)added_later(&f));
    assert_int_equal(c->buffers[c->role[SL_ROLE_GRAD].buffer].dtype, cases[i].kept);
    if (cases[i].partitions > 0) {
      assert_int_equal(bytes_of(&f, "grad.arrived"), 2 * own);
      assert_true(c->memory->category_max[SL_CATEGORY_GRADIENT] >= 4 * own);
    }
    fixture_close(&f);
  }
}

/* ZeRO-2's buckets have the parameters' type; the flat copy of one is cast for its sum, and the sum back. */
static void buckets_are_cast_for_their_sums(void **state) {
  (void)state;
  enum { BUCKET = 100000 };
  static const struct {
    const char *zero, *section;
    int bucket, flat, cast; /* bytes an element */
  } cases[] = {{"\"stage\": 2", eager, 2, 2, 4},
               {"\"stage\": 2, \"reduce_scatter\": false", eager, 2, 0, 4},
               {"\"stage\": 2, \"use_multi_rank_bucket_allreduce\": true", "", 4, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char zero[160];
    snprintf(zero, sizeof zero, "%s, \"reduce_bucket_size\": %d", cases[i].zero, BUCKET);
    open_setting(&f, &(struct setting){WORLD, 1, "\"communication_data_type\": \"fp32\", "}, zero, cases[i].section);
    const struct sl_class *c = &f.job.classes[0];
    const struct sl_program *p = fixture_step(&f);
    const int64_t all = f.plan.pp_ranks[0].padded;
    if (cases[i].section[0] != '\0') assert_int_equal(bytes_of(&f, "bucket.0"), cases[i].bucket * BUCKET);
    assert_int_equal(bytes_of(&f, "bucket.flat"), cases[i].flat * all);
    assert_int_equal(bytes_of(&f, "bucket.cast"), cases[i].cast * all);
    for (const struct sl_op *op = p->ops; op < p->ops + p->op_count; op++) {
      if (op->kind != SL_OP_ALL_REDUCE || op->payload != SL_PAYLOAD_GRADIENT) continue;
      assert_int_equal(op->dtype, SL_F32);
      assert_int_equal(c->buffers[sl_op_slices(p, op)->buffer].dtype, SL_F32);
    }
    fixture_close(&f);
  }
}

/* DeepSpeed's ZeRO-2 has its buckets and a partition as large as the model on a single rank, too, and gathers nothing;
 * 22 bytes an element at the step's peak. ZeRO-1's copies stand beside all of the gradients there. */
static void a_single_rank_has_buckets(void **state) {
  (void)state;
  enum { BUCKET = 300000 };
  for (int stage = 1; stage <= 2; stage++) {
    struct fixture f;
    char zero[160];
    snprintf(zero, sizeof zero, "\"stage\": %d, \"reduce_bucket_size\": %d, \"overlap_comm\": true", stage, BUCKET);
    open_setting(&f, &(struct setting){1, 1, ""}, zero, eager);
    const struct sl_program *p = fixture_step(&f);
    const double all = (double)f.plan.pp_ranks[0].padded,
                 step = (double)f.job.classes[0].memory->phase_peak[SL_PHASE_STEP];
    assert_int_equal(bytes_of(&f, "bucket.0") + bytes_of(&f, "bucket.1"), stage == 2 ? 2 * 2 * BUCKET : 0);
    assert_true(f.plan.strategy.nothing_to_shard);
    if (!(step >= 22 * all && step < 23 * all)) fail_msg("stage %d: %.3f bytes an element", stage, step / all);
    for (const struct sl_op *op = p->ops; op < p->ops + p->op_count; op++) assert_true(op->kind != SL_OP_ALL_GATHER);
    fixture_close(&f);
    open_setting(&f, &(struct setting){1, 1, ""}, zero, "");
    assert_int_equal(bytes_of(&f, "bucket."), 0);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_buckets_are_summed),       cmocka_unit_test(no_copy_without_reduce_scatter),
      cmocka_unit_test(what_stands_from_the_beginning), cmocka_unit_test(buffers_hold_the_bucket_size),
      cmocka_unit_test(zero_2_has_two_partitions),      cmocka_unit_test(buckets_are_cast_for_their_sums),
      cmocka_unit_test(a_single_rank_has_buckets),      cmocka_unit_test(what_stands_during_backwards)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
