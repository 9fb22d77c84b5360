/* label: property
 * Programs made by hand, whose repetitions no schedule of a plan has: placed with copies and without, they are the
 * same. */
#include "core/place/waits.h"
#include "tests/core/place/same_program.h"
#include "tests/support/job_fixture.h"

#include <stdlib.h>

enum { LAG = 9, MICRO_BATCHES = 60, NUMBERS = SL_SLOT_ACTIVATION + 1, INSTANCES = 2 * MICRO_BATCHES + 3 };

/* A program made by hand: compute writes a buffer of each micro-batch, from which another lane copies `lag`
 * micro-batches later. At the end a third lane reads what the first op wrote. */
struct by_hand {
  int held; /* slots, which micro-batches take in turn */
  struct sl_buffer buffers[2];
  struct sl_op ops[5];
  struct sl_slice slices[4];
  struct sl_instance instances[INSTANCES];
  int32_t slots[INSTANCES * NUMBERS];
  struct sl_class c;
  struct sl_lives lives;
};

enum { WRITE, COPY_OUT, MORE, FIRST, LAST };

static void do_once(struct by_hand *t, int op, int micro_batch) {
  struct sl_program *p = &t->c.programs[SL_PROGRAM_STEP];
  t->slots[p->slot_count + SL_SLOT_ACTIVATION] = micro_batch < 0 ? 0 : micro_batch % t->held;
  p->instances[p->instance_count++] = (struct sl_instance){.action = {SL_ACTION_FORWARD, 0, micro_batch},
                                                           .first_op = op,
                                                           .op_count = 1,
                                                           .micro_batch = micro_batch,
                                                           .slots = (int32_t)p->slot_count};
  p->slot_count += NUMBERS;
}

static void make_by_hand(struct by_hand *t, const struct sl_plan *plan, int lag, int held, bool all) {
  static const enum sl_lane lanes[] = {SL_LANE_COMPUTE, SL_LANE_D2H, SL_LANE_COMPUTE, SL_LANE_COMPUTE, SL_LANE_H2D};
  static const enum sl_scope scopes[] = {SL_SCOPE_MICRO, SL_SCOPE_PROGRAM};
  const struct sl_build_options options = {.memory_curve = all};
  *t = (struct by_hand){
      .held = held,
      .buffers = {{.bytes = 256, .slots = held, .slot = SL_SLOT_ACTIVATION}, {.bytes = 256, .slots = 1}},
      .slices = {{.buffer = 0, .access = SL_WRITE, .slot = SL_SLOT_ACTIVATION, .bytes = 256},
                 {.buffer = 0, .access = SL_READ, .slot = SL_SLOT_ACTIVATION, .bytes = 256},
                 {.buffer = 1, .access = SL_WRITE, .bytes = 256},
                 {.buffer = 1, .access = SL_READ, .bytes = 256}}};
  t->buffers[1].first_slot = held;
  for (int i = 0; i < 5; i++) {
    t->ops[i] = sl_op_plain(SL_OP_FILL, SL_F32, SL_PHASE_FORWARD);
    t->ops[i].lane = lanes[i];
    t->ops[i].slice = i > MORE ? i - 1 : i;
    t->ops[i].slice_count = i != MORE;
  }
  t->c = (struct sl_class){.buffers = t->buffers, .buffer_count = 2, .slot_count = (size_t)held + 1, .rank_count = 1};
  struct sl_program *p = &t->c.programs[SL_PROGRAM_STEP];
  *p = (struct sl_program){.kind = SL_PROGRAM_STEP, .ops = t->ops, .op_count = 5, .slices = t->slices};
  p->slice_count = 4, p->instances = t->instances, p->slots = t->slots;
  do_once(t, FIRST, -1);
  for (int i = 0; i < MICRO_BATCHES + lag; i++) {
    if (i == LAG / 2) do_once(t, MORE, -1);
    if (i < MICRO_BATCHES) do_once(t, WRITE, i);
    if (i >= lag) do_once(t, COPY_OUT, i - lag);
  }
  do_once(t, LAST, -1);
  assert_int_equal(p->instance_count, INSTANCES);
  assert_int_equal(sl_waits_derive(plan, &t->c, scopes, &options, p, &t->lives), SL_OK);
}

static void forget_by_hand(struct by_hand *t) {
  free(t->c.programs[SL_PROGRAM_STEP].issues);
  free(t->c.programs[SL_PROGRAM_STEP].waits);
  free(t->lives.items);
}

/* With copies and without, the program is the same. How many ops were derived, of how many; *lives: how many lifetimes
 * copies left out. */
static void derive_by_hand(int lag, int held, size_t derived[2], size_t *lives) {
  static struct by_hand all, some;
  struct fixture f;
  const struct sl_build_options options = {.threads = 1};
  assert_int_equal(
      fixture_open(&f, "gpt2-tiny", "{\"train_micro_batch_size_per_gpu\": 1}", "dgx-a100-80g", 1, &options), SL_OK);
  make_by_hand(&all, &f.plan, lag, held, true);
  make_by_hand(&some, &f.plan, lag, held, false);
  same_program(&all.c.programs[SL_PROGRAM_STEP], &some.c.programs[SL_PROGRAM_STEP]);
  derived[0] = some.c.work.derived, derived[1] = all.c.work.derived;
  *lives = all.lives.count - some.lives.count;
  forget_by_hand(&all);
  forget_by_hand(&some);
  fixture_close(&f);
}

/* Waits name ops from before anything repeats, for `lag` periods; and the gaps between those are once those of a period,
 * once not. */
static void a_lane_that_lags_is_waited_for(void **state) {
  (void)state;
  size_t derived[2], lives;
  derive_by_hand(LAG, LAG + 1, derived, &lives);
  assert_true(derived[0] < derived[1]);
  assert_true(lives > 0);
}

/* All slots are filled, then emptied: none comes back, and every one of them is live at once with the last. */
static void what_fills_and_empties_is_copied(void **state) {
  (void)state;
  size_t derived[2], lives;
  derive_by_hand(MICRO_BATCHES, MICRO_BATCHES, derived, &lives);
  assert_true(derived[0] + MICRO_BATCHES / 2 < derived[1]);
  assert_int_equal(lives, 0); /* each slot has one, which is put together */
}

/* Slots that do not come back either, but are over before the run ends: what else lives beside one of them was left out
 * with the copies, so the program is derived once more. */
static void what_lives_in_copies_alone_is_derived(void **state) {
  (void)state;
  size_t derived[2], lives;
  derive_by_hand(LAG, MICRO_BATCHES, derived, &lives);
  assert_true(derived[0] > derived[1]);
  assert_int_equal(lives, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lane_that_lags_is_waited_for),
      cmocka_unit_test(what_fills_and_empties_is_copied),
      cmocka_unit_test(what_lives_in_copies_alone_is_derived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
