/* label: unit
 * The stages of a job are functions of what they are given: the same drafts, lowered twice, make the same programs, and
 * are afterwards what they were, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/job/draft.h"
#include "core/job/programs.h"
#include "tests/support/job_fixture.h"

#define BASE "\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4, "

static const struct plan {
  const char *model, *config;
  int world;
} plans[] = {
    {"gpt2-tiny", "{" BASE "\"shardlab\": {\"seq_len\": 64}}", 3},
    {"gpt2-tiny",
     "{" BASE "\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 1}, \"shardlab\": {\"seq_len\": 64}}",
     3},
    {"gpt2-tiny",
     "{" BASE "\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 100000, \"offload_optimizer\": "
     "{\"device\": \"cpu\"}}, \"shardlab\": {\"seq_len\": 64}}",
     3},
    {"gpt2-tiny", "{" BASE "\"zero_optimization\": {\"stage\": 3}, \"shardlab\": {\"seq_len\": 64}}", 3},
    {"gpt2-tiny",
     "{" BASE "\"zero_optimization\": {\"stage\": 3}, \"shardlab\": {\"seq_len\": 64, \"pp\": 2, "
     "\"schedule\": \"zb-h1\"}}",
     4},
    {"gpt2-tiny", "{" BASE "\"shardlab\": {\"seq_len\": 64, \"preset\": \"zero-redundancy-optimizer\"}}", 3},
    {"gpt2-tiny", "{" BASE "\"shardlab\": {\"seq_len\": 64, \"preset\": \"fsdp\"}}", 3},
    {"gpt2-tiny",
     "{" BASE "\"shardlab\": {\"seq_len\": 64, \"tp\": 2, \"pp\": 2, "
     "\"virtual_stages\": 2, \"schedule\": \"interleaved\", \"sequence_parallel\": true}}",
     4},
};

/* One lowering of the drafts. */
struct lowered {
  struct sl_class rank_class;
  enum sl_scope *scopes;
};

static void expect_same(const struct plan *plan, const char *what, const void *x, const void *y, size_t bytes) {
  if (bytes > 0 && memcmp(x, y, bytes) != 0) fail_msg("%s: %s differ", plan->config, what);
}

/* Structures are compared by their members: what stands between those is nobody's. */
static void expect_same_programs(const struct plan *plan, const struct sl_program *x, const struct sl_program *y) {
  assert_int_equal(x->op_count, y->op_count);
  assert_int_equal(x->slice_count, y->slice_count);
  assert_int_equal(x->instance_count, y->instance_count);
  assert_int_equal(x->slot_count, y->slot_count);
  for (size_t i = 0; i < x->op_count; i++)
    expect_same(plan, "ops", &x->ops[i], &y->ops[i], offsetof(struct sl_op, peer) + sizeof(int32_t));
  for (size_t i = 0; i < x->slice_count; i++) {
    const struct sl_slice *a = &x->slices[i], *b = &y->slices[i];
    expect_same(plan, "operands", a, b, offsetof(struct sl_slice, slot) + sizeof a->slot);
    expect_same(plan, "places of operands", &a->offset, &b->offset, 3 * sizeof a->offset);
  }
  expect_same(plan, "instances", x->instances, y->instances, x->instance_count * sizeof *x->instances);
  expect_same(plan, "numbers of slots", x->slots, y->slots, x->slot_count * sizeof *x->slots);
}

static void expect_same_classes(const struct plan *plan, const struct lowered *x, const struct lowered *y) {
  assert_int_equal(x->rank_class.buffer_count, y->rank_class.buffer_count);
  assert_int_equal(x->rank_class.slot_count, y->rank_class.slot_count);
  for (size_t i = 0; i < x->rank_class.buffer_count; i++) {
    const struct sl_buffer *a = &x->rank_class.buffers[i], *b = &y->rank_class.buffers[i];
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->bytes, b->bytes);
    expect_same(plan, "slots", &a->slots, &b->slots,
                offsetof(struct sl_buffer, first_slot) + sizeof a->first_slot - offsetof(struct sl_buffer, slots));
  }
  expect_same(plan, "scopes", x->scopes, y->scopes, x->rank_class.buffer_count * sizeof *x->scopes);
  for (int k = 0; k < SL_PROGRAM_COUNT; k++)
    expect_same_programs(plan, &x->rank_class.programs[k], &y->rank_class.programs[k]);
}

/* What drafting has made, in one run of bytes. */
struct image {
  char *bytes;
  size_t count, capacity;
};

static void append(struct image *image, const void *bytes, size_t count) {
  assert_int_equal(sl_grow(&image->bytes, &image->capacity, image->count + count, 1), SL_OK);
  if (count > 0) memcpy(image->bytes + image->count, bytes, count);
  image->count += count;
}

static struct image image_of(const struct sl_lowering *drafted) {
  struct image image = {0};
  const struct sl_class *c = drafted->rank_class;
  append(&image, drafted, sizeof *drafted);
  append(&image, c, sizeof *c);
  append(&image, c->buffers, c->buffer_count * sizeof *c->buffers);
  append(&image, drafted->scopes, c->buffer_count * sizeof *drafted->scopes);
  append(&image, drafted->stages, (size_t)drafted->pp_rank->stage_count * sizeof *drafted->stages);
  for (int i = 0; i < drafted->pp_rank->stage_count; i++) {
    const struct sl_lowered_stage *s = &drafted->stages[i];
    append(&image, s->forward.items, s->forward.count * sizeof *s->forward.items);
    append(&image, s->backward.items, s->backward.count * sizeof *s->backward.items);
  }
  return image;
}

static void lower_twice(const struct plan *plan, const struct fixture *f, const struct sl_class *ranks, int member) {
  const struct sl_build_options options = {.save_params = true, .save_grads = true};
  struct sl_lowering drafted;
  struct lowered lowered[2];
  struct sl_class *classes;
  assert_int_equal(sl_calloc(&classes, 2, sizeof *classes), SL_OK);
  if (sl_job_draft(&drafted, &f->plan, &options, ranks, member) != SL_OK) fail_msg("%s", sl_error_message());
  const struct image before = image_of(&drafted);
  for (int i = 0; i < 2; i++) {
    if (sl_job_lower(&lowered[i].rank_class, &lowered[i].scopes, &drafted) != SL_OK) fail_msg("%s", sl_error_message());
    classes[i] = lowered[i].rank_class;
    assert_true(classes[i].programs[SL_PROGRAM_STEP].op_count > 20);
  }
  const struct image after = image_of(&drafted);
  assert_int_equal(before.count, after.count);
  expect_same(plan, "the drafts before and after", before.bytes, after.bytes, before.count);
  expect_same_classes(plan, &lowered[0], &lowered[1]);
  for (int i = 0; i < 2; i++) free(lowered[i].scopes);
  free(before.bytes);
  free(after.bytes);
  sl_job_draft_free(&drafted);
  sl_job_free(&(struct sl_job){.classes = classes, .class_count = 2});
}

static void drafts_lower_alike_twice(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    struct fixture f;
    if (fixture_open(&f, plans[i].model, plans[i].config, "localhost", plans[i].world, NULL) != SL_OK)
      fail_msg("%s: %s", plans[i].config, sl_error_message());
    const int per_rank = f.job.classes_per_pp_rank;
    for (int c = 0; c < f.job.class_count; c++) {
      const struct sl_class *built = &f.job.classes[c];
      const struct sl_class ranks = {.pp_rank = built->pp_rank,
                                     .rank_count = built->rank_count,
                                     .first_rank = built->first_rank,
                                     .last_rank = built->last_rank};
      lower_twice(&plans[i], &f, &ranks, per_rank > 1 ? c % per_rank : -1);
    }
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(drafts_lower_alike_twice)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
