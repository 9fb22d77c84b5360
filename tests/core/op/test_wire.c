/* label: unit
 * What a member of a collective sends over the pieces of a bucket, against the pieces added up one by one. */
#include "core/op/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PARTS = 3, MEMBERS = 7 };

/* A bucket of elements [lo, hi) of a range that members share by `stride`; parts of 11, 1 and 23 elements from lo
 * on. */
static struct sl_op bucket(enum sl_op_kind kind, struct sl_slice *slices, int64_t lo, int64_t hi, int64_t stride) {
  static const int64_t counts[PARTS] = {11, 1, 23};
  struct sl_op op = sl_op_plain(kind, SL_F32, SL_PHASE_FORWARD);
  op.flags = SL_OP_SHARE_RANGE;
  op.slice_count = 2 * PARTS;
  op.dim[0] = 35, op.dim[1] = lo, op.dim[2] = hi, op.dim[3] = stride;
  for (int i = 0; i < 2 * PARTS; i++) slices[i] = (struct sl_slice){.bytes = 4 * counts[i % PARTS]};
  return op;
}

static int64_t sent(const struct sl_op *op, const struct sl_slice *slices, int members, int skipped) {
  int64_t sum = 0;
  for (int part = 0; part < PARTS; part++)
    for (int g = 0; g < members; g++)
      if (g != skipped) sum += 4 * sl_share_piece(op, slices, part, g).count;
  return sum;
}

static void pieces_of_a_bucket_add_up(void **state) {
  (void)state;
  struct sl_slice slices[2 * PARTS];
  for (int64_t lo = 0; lo < 40; lo += 3) {
    for (int64_t hi = lo; hi <= lo + 35; hi += 5) {
      for (int members = 2; members <= MEMBERS; members++) {
        const int64_t stride = (hi + members - 1) / members + (hi + lo) % 3;
        const struct sl_op reduce = bucket(SL_OP_REDUCE_SCATTER, slices, lo, hi, stride),
                           gather = bucket(SL_OP_ALL_GATHER, slices, lo, hi, stride);
        int64_t most = 0;
        for (int i = 0; i < members; i++) {
          const int64_t want = sent(&reduce, slices, members, i);
          assert_int_equal(sl_op_wire_bytes(&reduce, slices, members, i), want);
          assert_int_equal(sl_op_wire_bytes(&gather, slices, members, (i + members - 1) % members), want);
          if (want > most) most = want;
        }
        assert_int_equal((int64_t)sl_op_most_wire_bytes(&reduce, slices, members), most);
      }
    }
  }
}

/* A million members ask what they send. */
static void no_member_asks_all_others(void **state) {
  (void)state;
  enum { MANY = 1 << 20 };
  struct sl_slice slices[2 * PARTS];
  const struct sl_op op = bucket(SL_OP_REDUCE_SCATTER, slices, 0, 35, 1);
  int64_t sum = 0;
  for (int i = 0; i < MANY; i++) sum += sl_op_wire_bytes(&op, slices, MANY, i);
  assert_int_equal(sum, (int64_t)4 * 35 * (MANY - 1));
}

/* Between two bounds all members send the same: by the bounds, each member is answered as if it had asked. */
static void follow_bounds(const struct sl_op *op, const struct sl_slice *slices, int members) {
  for (int part = 0; part < sl_op_parts(op); part++) {
    int bounds[SL_WIRE_BOUNDS], last = 0;
    const int count = sl_op_wire_bounds(op, slices, part, members, bounds);
    assert_in_range(count, 1, SL_WIRE_BOUNDS);
    for (int i = 0; i < members; i++) {
      for (int k = 0; k < count; k++)
        if (bounds[k] == i) last = i;
      assert_int_equal(sl_op_part_wire_bytes(op, slices, part, members, i),
                       sl_op_part_wire_bytes(op, slices, part, members, last));
    }
  }
}

static void members_between_bounds_send_the_same(void **state) {
  (void)state;
  static const enum sl_op_kind in_place[] = {SL_OP_ALL_REDUCE, SL_OP_BROADCAST};
  struct sl_slice slices[2 * PARTS];
  for (int members = 1; members <= 40; members++) {
    for (int64_t lo = 0; lo < 40; lo += 3) {
      for (int64_t stride = 1; stride < 40; stride += 4) {
        const struct sl_op reduce = bucket(SL_OP_REDUCE_SCATTER, slices, lo, lo + 35, stride),
                           gather = bucket(SL_OP_ALL_GATHER, slices, lo, lo + 35, stride);
        follow_bounds(&reduce, slices, members);
        follow_bounds(&gather, slices, members);
      }
    }
    for (int k = 0; k < 2; k++) {
      struct sl_op op = sl_op_plain(in_place[k], SL_F32, SL_PHASE_FORWARD);
      op.slice_count = PARTS;
      for (op.peer = 0; op.peer < members; op.peer++) follow_bounds(&op, slices, members);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_of_a_bucket_add_up),
                                     cmocka_unit_test(no_member_asks_all_others),
                                     cmocka_unit_test(members_between_bounds_send_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
