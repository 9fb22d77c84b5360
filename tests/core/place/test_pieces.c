/* label: unit
 * Whole gradients that a framework allocates tensor by tensor: each lives from the op of the backward that writes it
 * first up to the update, although all have their places in one contiguous buffer, and what is over before may have
 * been there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

static void open_job(struct fixture *f, const char *keys, const char *section, int world,
                     const struct sl_build_options *options) {
  char config[768];
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 4, \"optimizer\": {\"type\": \"AdamW\"}%s, \"shardlab\": {\"seq_len\": "
      "256%s}}",
      keys, section);
  if (fixture_open(f, "gpt2", config, "dgx-a100-80g", world, options) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
  if (sl_check(&f->job) != SL_OK) fail_msg("%s: %s", config, sl_error_message());
}

static const struct sl_buffer *gradients(const struct fixture *f) {
  const struct sl_class *c = &f->job.classes[0];
  return &c->buffers[c->role[SL_ROLE_GRAD].buffer];
}

/* Bytes of gradients in use at issue `at` of the step. */
static int64_t live_at(const struct fixture *f, size_t at) {
  const struct sl_memory_report *r = &f->job.classes[0].memory[SL_SPACE_DEVICE];
  int64_t bytes = 0;
  for (size_t i = 0; i < r->curve_count && r->curve[i].issue <= at; i++) bytes = r->curve[i].live[SL_CATEGORY_GRADIENT];
  return bytes;
}

/* The first issue, from `from` on, of an op of this kind, or of any op of this layer in a backward (kind COUNT). */
static size_t find(const struct fixture *f, size_t from, enum sl_op_kind kind, int layer) {
  const struct sl_program *p = fixture_step(f);
  for (size_t i = from; i < p->issue_count; i++) {
    const struct sl_op *op = sl_issue_op(p, i);
    if (kind != SL_OP_COUNT ? op->kind == kind : op->phase == SL_PHASE_BACKWARD && op->layer == layer) return i;
  }
  fail_msg("no such op");
  return 0;
}

static int64_t block_bytes(const struct fixture *f) {
  int64_t sum = 0;
  for (int i = 0; i < f->model.tensor_count; i++)
    sum += f->model.tensors[i].layer == 0 ? 4 * f->model.tensors[i].numel : 0;
  return sum;
}

static const struct sl_build_options curve = {.memory_curve = true};

static void pieces_are_the_whole(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "", "", 2, NULL);
  const struct sl_class *c = &f.job.classes[0];
  const struct sl_buffer *whole = gradients(&f);
  int64_t at = 0;
  assert_true(whole->pieces > 100 && !whole->persistent);
  for (int i = 1; i <= whole->pieces; i++) {
    assert_true(whole[i].piece && whole[i].bytes > 0);
    assert_int_equal(whole[i].piece_at, at);
    assert_int_equal(at % SL_ALIGN, 0);
    assert_int_equal(c->slot_offsets[whole[i].first_slot], c->slot_offsets[whole->first_slot] + at);
    at += whole[i].bytes;
  }
  assert_int_equal(at, whole->bytes);
  assert_true(c->slot_offsets[whole->first_slot] + at <= c->arena_bytes[SL_SPACE_DEVICE]);
  fixture_close(&f);
}

static void gradients_come_with_the_backward(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "", "", 1, &curve);
  /* all but the embedding of positions, which comes last, and the blocks */
  const int64_t block = block_bytes(&f), whole = gradients(&f)->bytes, head = whole - 12 * block - 4 * 1024 * 768;
  const size_t top = find(&f, 0, SL_OP_COUNT, 11);
  for (int layer = 10; layer >= 0; layer--) { /* what the head and the blocks above have written */
    const size_t at = find(&f, top, SL_OP_COUNT, layer);
    const int64_t want = head + (11 - layer) * block, got = live_at(&f, at - 1);
    if (llabs(got - want) > 1 << 16)
      fail_msg("%lld bytes of gradients before layer %d, expected %lld", (long long)got, layer, (long long)want);
  }
  assert_true(llabs(live_at(&f, find(&f, 0, SL_OP_ADAMW, 0)) - whole) < SL_ALIGN);
  const struct sl_memory_report *r = &f.job.classes[0].memory[SL_SPACE_DEVICE];
  assert_int_equal(r->category_max[SL_CATEGORY_GRADIENT], (whole + SL_ALIGN - 1) / SL_ALIGN * SL_ALIGN);
  assert_true(r->at_peak[SL_CATEGORY_GRADIENT] < whole / 2); /* with activations, at the beginning of the backward */
  fixture_close(&f);
}

/* With accumulation they stay from the first backward on. */
static void gradients_stay_for_the_next(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, ", \"gradient_accumulation_steps\": 2", "", 1, &curve);
  const size_t top = find(&f, 0, SL_OP_COUNT, 11), next = find(&f, top, SL_OP_EMBED_FWD, 0);
  assert_true(live_at(&f, top - 1) < gradients(&f)->bytes / 2);
  assert_true(live_at(&f, next) >= gradients(&f)->bytes);
  fixture_close(&f);
}

/* A member's part of a range is in the range, so ZeRO-1's first bucket touches no gradient that is still to come. */
static void a_bucket_touches_its_own(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, ", \"zero_optimization\": {\"stage\": 1, \"reduce_bucket_size\": 5e6}", "", 4, &curve);
  const size_t at = find(&f, 0, SL_OP_REDUCE_SCATTER, 0);
  assert_true(gradients(&f)->pieces > 0);
  if (live_at(&f, at) > gradients(&f)->bytes * 2 / 3)
    fail_msg("%lld bytes of %lld", (long long)live_at(&f, at), (long long)gradients(&f)->bytes);
  fixture_close(&f);
}

static void buffers_stay_whole(void **state) {
  (void)state;
  static const struct sl_build_options saves = {.save_grads = true};
  static const struct {
    const char *keys, *section;
    const struct sl_build_options *options;
    bool pieces;
  } cases[] = {
      {"", "", NULL, true},
      {"", "", &saves, false},
      {"", ", \"preset\": \"ddp\"", NULL, true},
      {"", ", \"preset\": \"zero-redundancy-optimizer\"", NULL, true},
      {"", ", \"preset\": \"megatron-lm\"", NULL, false},
      {"", ", \"preset\": \"megatron-local-ddp\"", NULL, false},
      {"", ", \"preset\": \"nanotron\"", NULL, false},
      {", \"fp16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 1}", "", NULL, true},
      {", \"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 1}, \"data_types\": {\"grad_accum_dtype\": "
       "\"fp32\"}",
       "", NULL, false}, /* BF16_Optimizer */
      {", \"zero_optimization\": {\"stage\": 2}", "", NULL, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    open_job(&f, cases[i].keys, cases[i].section, 2, cases[i].options);
    if ((gradients(&f)->pieces > 0) != cases[i].pieces) fail_msg("case %d", (int)i);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_are_the_whole),
                                     cmocka_unit_test(gradients_come_with_the_backward),
                                     cmocka_unit_test(gradients_stay_for_the_next),
                                     cmocka_unit_test(a_bucket_touches_its_own), cmocka_unit_test(buffers_stay_whole)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
