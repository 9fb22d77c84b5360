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
      {SL_GROUP_DP, SL_OP_ALL_REDUCE, SL_F32, SL_PAYLOAD_GRADIENT, 1, 1004, 1506, 0.25, ""},
      {SL_GROUP_WORLD, SL_OP_ALL_REDUCE, SL_F32, SL_PAYLOAD_GRADIENT, 1, 12, 18, 0.5, ""},
      {SL_GROUP_DP, SL_OP_REDUCE_SCATTER, SL_F32, SL_PAYLOAD_GRADIENT, 1, 44, 33, 0.125, ""},
      {SL_GROUP_DP, SL_OP_ALL_REDUCE, SL_F64, SL_PAYLOAD_GRADIENT, 1, 16, 24, 0.75, ""},
      {SL_GROUP_DP, SL_OP_ALL_REDUCE, SL_F32, SL_PAYLOAD_SCALAR, 1, 4, 6, 0.375, ""},
  };
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < 5; i++) {
      const struct sl_traffic *t = &calls[i];
      assert_int_equal(sl_traffic_add(&list, t->group, t->op, t->dtype, t->payload, t->bytes, t->wire_bytes, t->time_s),
                       SL_OK);
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

static void a_reset_leaves_no_row_without_calls_in_the_copy(void **state) {
  (void)state;
  struct sl_traffic_list list = {0};
  assert_int_equal(sl_traffic_add(&list, SL_GROUP_TP, SL_OP_ALL_GATHER, SL_BF16, SL_PAYLOAD_PARAMETER, 7, 5, 3), SL_OK);
  assert_int_equal(sl_traffic_add(&list, SL_GROUP_NONE, SL_OP_SEND, SL_BF16, SL_PAYLOAD_ACTIVATION, 9, 9, 2), SL_OK);
  sl_traffic_reset(&list);
  assert_int_equal(sl_traffic_add(&list, SL_GROUP_NONE, SL_OP_SEND, SL_BF16, SL_PAYLOAD_ACTIVATION, 11, 11, 1), SL_OK);
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

/* Shard is group 2 and none is 9, an all_gather is 42 and a send 44 in every record, whatever their numbers in the program. */
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
      cmocka_unit_test(a_reset_leaves_no_row_without_calls_in_the_copy),
      cmocka_unit_test(the_hash_is_fnv_1a_of_little_endian_fields),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
