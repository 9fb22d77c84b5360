/* label: property
 * What a framework's allocator reserves for a program: at least what is live at once in a step, and no less than it
 * cannot do without; nothing where shardlab's own arena is what is asked for. Pieces of a buffer as requests of their
 * own, or as one. */
#include "core/place/reserve.h"
#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void open_with(struct fixture *f, const char *kernels, int tp, int pp, int zero) {
  char config[500];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 5, \"bf16\": {\"enabled\": true},"
           " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, \"zero_optimization\": {\"stage\": %d},"
           " \"shardlab\": {\"seq_len\": 1024, \"tp\": %d, \"pp\": %d, \"kernels\": \"%s\"}}",
           zero, tp, pp, kernels);
  if (fixture_open(f, "gpt2", config, "dgx-a100-80g", 2 * tp * pp, NULL) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
}

static int64_t most_live_in_step(const struct sl_memory_report *r) {
  int64_t most = 0;
  for (int phase = SL_PHASE_FORWARD; phase <= SL_PHASE_STEP; phase++)
    if (r->phase_peak[phase] > most) most = r->phase_peak[phase];
  return most;
}

static void holds_what_is_live(void **state) {
  static const int plans[][3] = {{1, 1, 0}, {2, 1, 1}, {1, 2, 1}, {2, 4, 0}, {1, 1, 3}};
  (void)state;
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    struct fixture f;
    open_with(&f, "torch-eager", plans[i][0], plans[i][1], plans[i][2]);
    for (int r = 0; r < f.job.class_count; r++) {
      const struct sl_memory_report *m = &f.job.classes[r].memory[SL_SPACE_DEVICE];
      assert_true(most_live_in_step(m) > 0);
      assert_true(m->needed_bytes >= most_live_in_step(m));
      assert_true(m->reserved_bytes >= m->needed_bytes);
      assert_true(m->reserved_bytes < 2 * m->live_peak_bytes);
      assert_int_equal(m->needed_at[SL_PACES - 1], m->needed_bytes); /* a set without a lead */
    }
    fixture_close(&f);
  }
}

/* What a set reserves beyond what is live at once, of the first rank of a pipeline: it has no logits. */
static int64_t beyond_live(const char *kernels) {
  struct fixture f;
  open_with(&f, kernels, 4, 2, 1);
  const struct sl_memory_report *m = &f.job.classes[0].memory[SL_SPACE_DEVICE];
  const int64_t beyond = m->reserved_bytes - m->live_peak_bytes;
  fixture_close(&f);
  return beyond;
}

/* A host ahead of its device finds what collectives used not free yet: 8 results of row-parallel products more, at
 * least, where the kernels are nearly the same. */
static void a_host_ahead_needs_more(void **state) {
  (void)state;
  const int64_t partial = INT64_C(2) * 1024 * 768 * 2;
  assert_true(beyond_live("aleph-alpha-scaling") > beyond_live("megatron-unfused") + 8 * partial);
}

/* Without its lead the same host needs as much as one that has none: the messages' and collectives' blocks are free at
 * once. */
static void a_host_behind_needs_less(void **state) {
  (void)state;
  struct fixture f;
  open_with(&f, "aleph-alpha-scaling", 4, 2, 1);
  const int64_t partial = INT64_C(2) * 1024 * 768 * 2;
  for (int r = 0; r < f.job.class_count; r++) {
    const struct sl_memory_report *m = &f.job.classes[r].memory[SL_SPACE_DEVICE];
    assert_true(m->needed_at[SL_PACES - 1] >= most_live_in_step(m));
    assert_true(m->needed_at[SL_PACES - 1] <= m->needed_bytes);
    if (r == 0)
      assert_true(m->needed_at[SL_PACES - 1] + 8 * partial < m->needed_bytes); /* the last has logits, which hide it */
  }
  fixture_close(&f);
}

static void own_kernels_have_an_arena_alone(void **state) {
  struct fixture f;
  (void)state;
  open_with(&f, "shardlab", 2, 2, 1);
  for (int r = 0; r < f.job.class_count; r++) {
    assert_int_equal(f.job.classes[r].memory[SL_SPACE_DEVICE].reserved_bytes, 0);
    assert_int_equal(f.job.classes[r].memory[SL_SPACE_DEVICE].needed_bytes, 0);
  }
  fixture_close(&f);
}

/* Plays the lifetimes of a step. */
static void play(struct sl_class *c, struct sl_life *items, size_t count, int64_t room, bool expandable, bool joins) {
  const struct sl_lives lives = {.items = items, .count = count};
  struct sl_requests *requests;
  assert_int_equal(sl_requests_list(&lives, &requests), SL_OK);
  assert_int_equal(sl_reserve_report(c, requests, room, 0, expandable, joins), SL_OK);
  sl_requests_free(requests);
}

/* A buffer of two pieces, and another one that lives between the beginnings of the two. */
static int64_t reserved_of_pieces(bool expandable, bool joins) {
  enum { MIB = 1 << 20, BUFFERS = 4, ISSUES = 5, BYTES = 30 * MIB };
  struct sl_buffer buffers[BUFFERS] = {{.bytes = 2 * BYTES, .slots = 1, .pieces = 2},
                                       {.bytes = BYTES, .slots = 1, .piece = true},
                                       {.bytes = BYTES, .slots = 1, .piece = true, .piece_at = BYTES},
                                       {.bytes = BYTES, .slots = 1}};
  struct sl_life items[] = {{.buffer = 1, .program = SL_PROGRAM_STEP, .first = 0, .last = 4},
                            {.buffer = 3, .program = SL_PROGRAM_STEP, .first = 1, .last = 2},
                            {.buffer = 2, .program = SL_PROGRAM_STEP, .first = 3, .last = 3}};
  struct sl_memory_report report[SL_SPACE_COUNT] = {0};
  struct sl_class c = {.buffers = buffers, .buffer_count = BUFFERS, .memory = report};
  c.programs[SL_PROGRAM_STEP].issue_count = ISSUES;
  play(&c, items, sizeof items / sizeof *items, INT64_MAX, expandable, joins);
  return report[SL_SPACE_DEVICE].reserved_bytes / MIB;
}

/* What is needed on a device with so many MiB of a second request that keeps the segment of the first, 60 MiB, so that
 * the third finds no place there: 70 MiB are in use at once, and 110 reserved. */
static int64_t needed_in(int64_t room) {
  enum { MIB = 1 << 20, BUFFERS = 3, ISSUES = 4 };
  struct sl_buffer buffers[BUFFERS] = {
      {.bytes = 60 * MIB, .slots = 1}, {.bytes = 20 * MIB, .slots = 1}, {.bytes = 50 * MIB, .slots = 1}};
  struct sl_life items[BUFFERS] = {{.buffer = 0, .program = SL_PROGRAM_STEP, .first = 0, .last = 0},
                                   {.buffer = 1, .program = SL_PROGRAM_STEP, .first = 1, .last = 3},
                                   {.buffer = 2, .program = SL_PROGRAM_STEP, .first = 2, .last = 3}};
  struct sl_memory_report report[SL_SPACE_COUNT] = {0};
  struct sl_class c = {.buffers = buffers, .buffer_count = BUFFERS, .memory = report};
  c.programs[SL_PROGRAM_STEP].issue_count = ISSUES;
  play(&c, items, BUFFERS, room * MIB, false, false);
  assert_int_equal(report[SL_SPACE_DEVICE].reserved_bytes, 110 * MIB);
  return report[SL_SPACE_DEVICE].needed_bytes / MIB;
}

static void far_too_small_a_device_needs_what_is_in_use(void **state) {
  (void)state;
  assert_int_equal(needed_in(1000), 110);
  assert_int_equal(needed_in(36), 110); /* half of what is in use: its allocator is played */
  assert_int_equal(needed_in(34), 70);
}

static void pieces_are_one_request_or_several(void **state) {
  (void)state;
  assert_int_equal(reserved_of_pieces(false, false), 60); /* the second finds what was given back */
  assert_int_equal(reserved_of_pieces(false, true), 90);
}

/* Gradients of a single micro-batch come one by one, and so do those of several where segments expand. */
static void pieces_are_joined_where_segments_are_fixed(void **state) {
  (void)state;
  static const struct {
    int micro;
    const char *expandable;
    bool joined;
  } cases[] = {{1, "false", false}, {3, "false", true}, {3, "true", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char config[400];
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": true}, "
        "\"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"seq_len\": 8, \"kernels\": \"torch-eager\", "
        "\"expandable_segments\": %s}}",
        cases[i].micro, cases[i].expandable);
    if (fixture_open(&f, "gpt2", config, "dgx-a100-80g", 1, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    assert_int_equal(sl_reserve_joins(&f.plan), cases[i].joined);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(holds_what_is_live),
      cmocka_unit_test(a_host_ahead_needs_more),
      cmocka_unit_test(a_host_behind_needs_less),
      cmocka_unit_test(own_kernels_have_an_arena_alone),
      cmocka_unit_test(far_too_small_a_device_needs_what_is_in_use),
      cmocka_unit_test(pieces_are_one_request_or_several),
      cmocka_unit_test(pieces_are_joined_where_segments_are_fixed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
