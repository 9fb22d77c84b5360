/* label: unit
 * Counting of communication calls, and the hash of their order. */
#include "core/run/traffic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void rows_are_kept_apart_by_all_four_keys(void **state) {
  (void)state;
  struct sl_traffic_list list = {0};
  const struct sl_traffic calls[] = {
      {SL_GROUP_DP, SL_OP_ALL_REDUCE, SL_F32, SL_PAYLOAD_GRADIENT, 1, 1004, 1506, 0.25, "", 0, SL_PROGRAM_INIT},
      {SL_GROUP_WORLD, SL_OP_ALL_REDUCE, SL_F32, SL_PAYLOAD_GRADIENT, 1, 12, 18, 0.5, "", 0, SL_PROGRAM_INIT},
      {SL_GROUP_DP, SL_OP_REDUCE_SCATTER, SL_F32, SL_PAYLOAD_GRADIENT, 1, 44, 33, 0.125, "", 0, SL_PROGRAM_INIT},
      {SL_GROUP_DP, SL_OP_ALL_REDUCE, SL_F64, SL_PAYLOAD_GRADIENT, 1, 16, 24, 0.75, "", 0, SL_PROGRAM_INIT},
      {SL_GROUP_DP, SL_OP_ALL_REDUCE, SL_F32, SL_PAYLOAD_SCALAR, 1, 4, 6, 0.375, "", 0, SL_PROGRAM_INIT},
  };
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < 5; i++) {
      const struct sl_traffic *t = &calls[i];
      const struct sl_op op = {.group = t->group, .kind = t->op, .dtype = t->dtype, .payload = t->payload};
      assert_int_equal(sl_traffic_add(&list, &op, t->bytes, t->wire_bytes, t->time_s), SL_OK);
    }
  }
  struct sl_traffic *rows;
  int count;
  assert_int_equal(sl_traffic_copy(&list, &rows, &count), SL_OK);
  assert_int_equal(count, 5);
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(rows[i].group, calls[i].group);
    assert_int_equal(rows[i].op, calls[i].op);
    assert_int_equal(rows[i].calls, 3);
    assert_int_equal(rows[i].bytes, 3 * calls[i].bytes);
    assert_int_equal(rows[i].wire_bytes, 3 * calls[i].wire_bytes);
    assert_true(rows[i].time_s == 3 * calls[i].time_s);
  }
  free(rows);
  sl_traffic_free(&list);
}

static enum sl_status add(struct sl_traffic_list *list, enum sl_group group, enum sl_op_kind kind,
                          enum sl_payload payload, int64_t bytes, double time_s) {
  const struct sl_op op = {.group = group, .kind = kind, .dtype = SL_BF16, .payload = payload};
  return sl_traffic_add(list, &op, bytes, bytes, time_s);
}

/* Over either link, and apart from what ranks send each other. */
static void copies_have_rows_of_their_own(void **state) {
  (void)state;
  struct sl_traffic_list list = {0};
  struct sl_traffic *rows;
  int count;
  static const enum sl_lane lanes[] = {SL_LANE_H2D, SL_LANE_D2H, SL_LANE_H2D, SL_LANE_COMPUTE};
  for (int i = 0; i < 4; i++) {
    const struct sl_op op = {.kind = SL_OP_COPY, .lane = lanes[i], .dtype = SL_F32, .payload = SL_PAYLOAD_GRADIENT};
    assert_int_equal(sl_traffic_counts(&op), i < 3);
    assert_int_equal(sl_traffic_add(&list, &op, 1 + i, 1 + i, 0.5), SL_OK);
  }
  assert_int_equal(sl_traffic_copy(&list, &rows, &count), SL_OK);
  assert_int_equal(count, 3);
  assert_int_equal(rows[0].link, SL_LANE_H2D);
  assert_int_equal(rows[0].calls, 2);
  assert_int_equal(rows[0].bytes, 1 + 3);
  assert_int_equal(rows[1].link, SL_LANE_D2H);
  assert_int_equal(rows[1].wire_bytes, 2);
  assert_int_equal(rows[2].link, 0);
  free(rows);
  sl_traffic_free(&list);
}

static void a_reset_leaves_no_row_without_calls_in_the_copy(void **state) {
  (void)state;
  struct sl_traffic_list list = {0};
  assert_int_equal(add(&list, SL_GROUP_TP, SL_OP_ALL_GATHER, SL_PAYLOAD_PARAMETER, 7, 3), SL_OK);
  assert_int_equal(add(&list, SL_GROUP_NONE, SL_OP_SEND, SL_PAYLOAD_ACTIVATION, 9, 2), SL_OK);
  sl_traffic_reset(&list, SL_PROGRAM_INIT);
  assert_int_equal(add(&list, SL_GROUP_NONE, SL_OP_SEND, SL_PAYLOAD_ACTIVATION, 11, 1), SL_OK);
  struct sl_traffic *rows;
  int count;
  assert_int_equal(sl_traffic_copy(&list, &rows, &count), SL_OK);
  assert_int_equal(count, 1);
  assert_int_equal(rows[0].op, SL_OP_SEND);
  assert_int_equal(rows[0].bytes, 11);
  assert_true(rows[0].time_s == 1);
  free(rows);
  sl_traffic_free(&list);
}

/* FNV-1a over the 16 bytes of one call, from its definition. */
static uint64_t reference(const unsigned char *data, size_t count) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < count; i++) hash = (hash ^ data[i]) * UINT64_C(1099511628211);
  return hash;
}

/* Shard is group 2 and none is 9, an all_gather is 42 and a send 44 in every record, whatever their numbers in the
 * program. */
static void the_hash_is_fnv_1a_of_little_endian_fields(void **state) {
  (void)state;
  unsigned char data[32] = {2, 0, 0, 0, 42, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, 5, 0, 0, 0,
                            9, 0, 0, 0, 44, 0, 0, 0, 13,   0,    0,    0,    0, 0, 0, 0};
  uint64_t one = sl_hash_call(SL_HASH_CALLS, SL_GROUP_SHARD, SL_OP_ALL_GATHER, INT64_C(0x512345678));
  assert_int_equal(one, reference(data, 16));
  uint64_t two = sl_hash_call(one, SL_GROUP_NONE, SL_OP_SEND, 13);
  assert_int_equal(two, reference(data, 32));
  uint64_t swapped = sl_hash_call(SL_HASH_CALLS, SL_GROUP_NONE, SL_OP_SEND, 13);
  swapped = sl_hash_call(swapped, SL_GROUP_SHARD, SL_OP_ALL_GATHER, INT64_C(0x512345678));
  assert_int_not_equal(two, swapped);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_kept_apart_by_all_four_keys),
      cmocka_unit_test(copies_have_rows_of_their_own),
      cmocka_unit_test(a_reset_leaves_no_row_without_calls_in_the_copy),
      cmocka_unit_test(the_hash_is_fnv_1a_of_little_endian_fields),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
