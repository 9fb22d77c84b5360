/* label: unit
 * What an op costs by: its terms, told apart by a cache, and what its members put on the wire. */
#include "core/op/flops.h"
#include "core/op/wire.h"
#include "core/op/work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_product_has_flops_and_three_operands(void **state) {
  (void)state;
  const struct sl_slice slices[] = {{.bytes = 1, .access = SL_READ}, {.bytes = 2, .access = SL_READ_WRITE}};
  const struct sl_op op = {
      .kind = SL_OP_GEMM, .dtype = SL_BF16, .flags = SL_OP_TRANS_B | SL_OP_DGELU, .dim = {3, 5, 7}, .slice_count = 2};
  const struct sl_work made = sl_work_of(&op, slices, 4), work = sl_work_in_cache(&made, 1e9);
  assert_int_equal(work.variant, SL_VARIANT_DGELU_B);
  assert_int_equal(work.members, 0); /* it meets nobody */
  assert_true(work.bytes == 1 + 2 * 2 && work.epilogue_bytes == 2 * 3 * 5);
  assert_true(work.terms[SL_TERM_FLOPS] == 2 * 3 * 5 * 7 && work.flops > work.terms[SL_TERM_FLOPS]);
  assert_true(work.terms[SL_TERM_A] == 2 * 3 * 7 && work.terms[SL_TERM_B] == 2 * 7 * 5);
  assert_true(work.terms[SL_TERM_C] == 2 * 3 * 5);
  assert_true(work.terms[SL_TERM_CACHED] == 0 && work.terms[SL_TERM_BYTES] == 0);
}

/* Attention of 11 tokens in a window of 4: the first four queries see 1 to 4 keys, the other seven 4 each. */
static void a_window_scores_fewer_pairs(void **state) {
  (void)state;
  const int64_t all[SL_OP_DIMS] = {2, 11, 3, 4, 3}, some[SL_OP_DIMS] = {2, 11, 3, 4, 3, 4},
                wide[SL_OP_DIMS] = {2, 11, 3, 4, 3, 11};
  assert_true(sl_op_score_pairs(all) == 66 && sl_op_score_pairs(some) == 10 + 7 * 4 && sl_op_score_pairs(wide) == 66);
  const struct sl_work made = sl_work_of_shape(SL_OP_FLASH_FWD, SL_VARIANT_PLAIN, SL_F32, some, 1, 700);
  assert_true(made.terms[SL_TERM_SCORES] == 2 * 3 * 38 && made.terms[SL_TERM_FLOPS] == 2 * 2 * 2 * 3 * 4 * 38);
}

static void bytes_that_fit_are_cached(void **state) {
  (void)state;
  const int64_t dim[SL_OP_DIMS] = {2, 11, 3, 4, 3};
  const struct sl_work made = sl_work_of_shape(SL_OP_FLASH_FWD, SL_VARIANT_PLAIN, SL_F32, dim, 1, 700);
  const struct sl_work some = sl_work_in_cache(&made, 300), all = sl_work_in_cache(&made, 701);
  assert_true(made.terms[SL_TERM_CACHED] == 0 && made.terms[SL_TERM_BYTES] == 700);
  assert_true(some.terms[SL_TERM_CACHED] == 300 && some.terms[SL_TERM_BYTES] == 400);
  assert_true(all.terms[SL_TERM_CACHED] == 700 && all.terms[SL_TERM_BYTES] == 0);
  assert_true(made.terms[SL_TERM_SCORES] == 2 * 3 * 11 * 12 / 2);
  assert_true(made.terms[SL_TERM_FLOPS] == 2.0 * 2 * 4 * made.terms[SL_TERM_SCORES]);
}

/* A point that calibrate makes of an op says of it what the op does. */
static void a_shape_has_the_terms_of_its_op(void **state) {
  (void)state;
  const struct sl_slice slices[] = {{.bytes = 4 * 30}, {.bytes = 4 * 10}, {.bytes = 4 * 60}, {.bytes = 4 * 20}};
  const struct sl_op op = {.kind = SL_OP_REDUCE_SCATTER, .dtype = SL_F32, .dim = {90}, .slice_count = 4};
  const struct sl_work of_op = sl_work_of(&op, slices, 3);
  const struct sl_work of_shape = sl_work_of_shape(op.kind, of_op.variant, op.dtype, op.dim, of_op.parts, of_op.bytes);
  assert_int_equal(of_op.parts, 2);
  assert_true(of_op.bytes == 4 * 2 * 30 && of_op.size == 4 * 90);
  for (int t = 0; t < SL_TERM_COUNT; t++) assert_true(of_shape.terms[t] == of_op.terms[t]);
  assert_true(of_op.terms[SL_TERM_PIECES] == 2 && of_op.terms[SL_TERM_BYTES] == 240);
}

static double busiest(const struct sl_op *op, const struct sl_slice *slices, int members) {
  double most = 0;
  for (int i = 0; i < members; i++) {
    const double wire = (double)sl_op_wire_bytes(op, slices, members, i);
    if (wire > most) most = wire;
  }
  return most;
}

/* Two parts of odd sizes: all-reduces and broadcasts of every length, and buckets at every place of a partition. */
static void the_busiest_member_sends_most(void **state) {
  (void)state;
  for (int members = 1; members <= 7; members++) {
    for (int64_t n = 1; n <= 29; n++) {
      struct sl_slice slices[] = {{.bytes = n}, {.bytes = n + 4}, {.bytes = 3 * n}, {.bytes = 5}};
      struct sl_op op = {.kind = SL_OP_ALL_REDUCE, .dtype = SL_U8, .slice_count = 4};
      assert_true(sl_op_most_wire_bytes(&op, slices, members) == busiest(&op, slices, members));
      op.kind = SL_OP_BROADCAST, op.peer = members - 1;
      assert_true(sl_op_most_wire_bytes(&op, slices, members) == busiest(&op, slices, members));
      struct sl_slice pieces[] = {{.bytes = n * members}, {.bytes = n * members}};
      op = (struct sl_op){.kind = SL_OP_ALL_TO_ALL, .dtype = SL_U8, .slice_count = 2};
      assert_true(sl_op_most_wire_bytes(&op, pieces, members) == busiest(&op, pieces, members));
      assert_true(sl_op_most_wire_bytes(&op, pieces, members) == (double)(n * (members - 1)));
      for (int kind = SL_OP_REDUCE_SCATTER; kind <= SL_OP_ALL_GATHER; kind++) {
        op = (struct sl_op){.kind = (enum sl_op_kind)kind, .dtype = SL_U8, .slice_count = 4};
        assert_true(sl_op_most_wire_bytes(&op, slices, members) == busiest(&op, slices, members));
        op.flags = SL_OP_SHARE_RANGE, op.dim[1] = n / 2, op.dim[2] = n / 2 + 4 * n, op.dim[3] = 9;
        assert_true(sl_op_most_wire_bytes(&op, slices, members) == busiest(&op, slices, members));
        op.flags = SL_OP_SHARE_CHUNK, op.dim[1] = 2, op.dim[2] = 2 + n;
        assert_true(sl_op_most_wire_bytes(&op, slices, members) == busiest(&op, slices, members));
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_has_flops_and_three_operands),
      cmocka_unit_test(a_window_scores_fewer_pairs),
      cmocka_unit_test(bytes_that_fit_are_cached),
      cmocka_unit_test(a_shape_has_the_terms_of_its_op),
      cmocka_unit_test(the_busiest_member_sends_most),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
