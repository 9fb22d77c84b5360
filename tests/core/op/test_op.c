/* label: unit
 * The contract of an op as data: what its rows say of its operands, and that an op which breaks it is refused. Every
 * lowered op of the golden models, of the drawn configurations and of `shardlab check` is held against its rows by
 * sl_check, which those tests call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/op/operands.h"
#include "tests/support/job_fixture.h"

/* ---- positions ---- */

static int at(enum sl_op_kind kind, unsigned flags, enum sl_at name) {
  return sl_op_at(&(struct sl_op){.kind = kind, .flags = flags}, name);
}

static void flags_move_operands(void **state) {
  (void)state;
  assert_int_equal(at(SL_OP_GEMM, 0, SL_AT_BIAS), -1);
  assert_int_equal(at(SL_OP_GEMM, SL_OP_BIAS | SL_OP_GELU, SL_AT_AUX), 4);
  assert_int_equal(at(SL_OP_GEMM, SL_OP_DGELU | SL_OP_WORKSPACE, SL_AT_AUX), 3);
  assert_int_equal(at(SL_OP_GEMM, SL_OP_BGRAD_B | SL_OP_WORKSPACE, SL_AT_SCRATCH), 4);
  assert_int_equal(at(SL_OP_LAYERNORM_BWD, 0, SL_AT_SCRATCH), 7);
  assert_int_equal(at(SL_OP_LAYERNORM_BWD, SL_OP_WEIGHT_GRAD, SL_AT_SCRATCH), 5);
  assert_int_equal(at(SL_OP_LAYERNORM_BWD, SL_OP_INPUT_GRAD, SL_AT_SCRATCH), -1);
  assert_int_equal(at(SL_OP_FLASH_BWD, SL_OP_APART, SL_AT_DV), 8);
  assert_int_equal(at(SL_OP_LOAD_BATCH, SL_OP_TARGETS_ONLY, SL_AT_TARGETS), 0);
  assert_int_equal(at(SL_OP_SGD, SL_OP_MOMENTUM, SL_AT_CONTROL), 3);
  assert_int_equal(at(SL_OP_SGD, SL_OP_PARAM_COPY, SL_AT_PARAM), 3);
}

static void a_collective_has_its_operands_once_a_part(void **state) {
  (void)state;
  const struct sl_op scatter = {.kind = SL_OP_REDUCE_SCATTER}, gather = {.kind = SL_OP_ALL_GATHER};
  const struct sl_op sum = {.kind = SL_OP_ALL_REDUCE};
  assert_int_equal(sl_op_part_at(&scatter, SL_AT_SHARD, 3), 7);
  assert_int_equal(sl_op_part_at(&gather, SL_AT_SHARD, 3), 6);
  assert_int_equal(sl_op_part_at(&sum, SL_AT_X, 3), 3);
  assert_int_equal(sl_op_part_at(&sum, SL_AT_SHARD, 3), -1);
}

/* A row that no op of its kind can have, or a name twice in one op, would be of no use. */
static void no_op_has_a_name_twice(void **state) {
  (void)state;
  for (int kind = 0; kind < SL_OP_COUNT; kind++) {
    for (unsigned bit = 0; bit < 23; bit++) {
      const struct sl_op op = {.kind = (enum sl_op_kind)kind, .flags = bit == 0 ? 0 : 1U << (bit - 1)};
      enum sl_at names[SL_OP_OPERANDS];
      const int n = sl_op_names(&op, names);
      for (int i = 0; i < n; i++) assert_int_equal(sl_op_at(&op, names[i]), i);
    }
  }
}

/* ---- the check, on an op that is right but for one thing ---- */

enum { OPERANDS = 4 };

/* c(3,5) = a(3,7) b(7,5) + bias, of bf16 */
struct product {
  struct sl_op op;
  struct sl_slice slices[OPERANDS];
  enum sl_dtype types[OPERANDS];
};

static struct product sound(void) {
  struct product p = {
      .op = {.kind = SL_OP_GEMM, .flags = SL_OP_BIAS, .dtype = SL_BF16, .dim = {3, 5, 7}, .slice_count = OPERANDS},
      .slices = {{.access = SL_READ, .bytes = 42},
                 {.access = SL_READ, .bytes = 70},
                 {.access = SL_WRITE, .bytes = 30},
                 {.access = SL_READ, .bytes = 10}},
      .types = {SL_BF16, SL_BF16, SL_BF16, SL_BF16}};
  return p;
}

static void expect(const struct product *p, const char *message) {
  sl_error_clear();
  const enum sl_status status = sl_op_check(&p->op, p->slices, p->types);
  if (message == NULL && status != SL_OK) fail_msg("refused: %s", sl_error_message());
  if (message == NULL) return;
  assert_int_equal(status, SL_ERR_CHECK);
  if (strstr(sl_error_message(), message) == NULL) fail_msg("\"%s\" lacks \"%s\"", sl_error_message(), message);
}

static void what_a_row_does_not_allow_is_refused(void **state) {
  (void)state;
  struct product p = sound();
  expect(&p, NULL);
  p.slices[2].access = SL_READ_WRITE; /* a product may add ... */
  p.types[2] = SL_F32;                /* ... and leave fp32 */
  p.slices[2].bytes = 60;
  expect(&p, NULL);
  p = sound(), p.op.slice_count = 3;
  expect(&p, "gemm has 3 operands, expected 4");
  p = sound(), p.op.flags = 0;
  expect(&p, "gemm has 4 operands, expected 3");
  p = sound(), p.slices[2].access = SL_READ;
  expect(&p, "operand 2, c, is read");
  p = sound(), p.slices[3].access = SL_READ_WRITE;
  expect(&p, "operand 3, bias, is updated");
  p = sound(), p.types[1] = SL_F16;
  expect(&p, "operand 1, b, is of type fp16");
  p = sound(), p.types[2] = SL_I32;
  expect(&p, "operand 2, c, is of type int32");
  p = sound(), p.slices[0].bytes = 41;
  expect(&p, "operand 0, a, has 41 bytes");
  p = sound(), p.op.dim[1] = 0;
  expect(&p, "dimension 1 is 0");
}

static void parts_of_a_collective_come_whole(void **state) {
  (void)state;
  struct product p = {.op = {.kind = SL_OP_ALL_GATHER, .dtype = SL_F32, .dim = {16}, .slice_count = 4},
                      .slices = {{.access = SL_READ, .bytes = 16},
                                 {.access = SL_WRITE, .bytes = 32},
                                 {.access = SL_READ, .bytes = 16},
                                 {.access = SL_WRITE, .bytes = 32}}};
  expect(&p, NULL);
  p.op.slice_count = 3;
  expect(&p, "all_gather has 3 operands, expected 2 a part");
  p.op.slice_count = 0;
  expect(&p, "all_gather has 0 operands, expected 2");
  p.op.slice_count = 4, p.slices[2].access = SL_WRITE;
  expect(&p, "operand 2, shard, is written");
}

/* ---- the check of a job ---- */

static struct sl_op *first_of(struct sl_program *p, enum sl_op_kind kind) {
  size_t i = 0;
  while (i < p->op_count && p->ops[i].kind != kind) i++;
  assert_true(i < p->op_count);
  return &p->ops[i];
}

static void a_program_with_a_wrong_operand_is_refused(void **state) {
  (void)state;
  struct fixture f;
  if (fixture_open(&f, "gpt2", "{\"train_micro_batch_size_per_gpu\": 1, \"shardlab\": {\"seq_len\": 64}}", "dgx-h100",
                   1, NULL) != SL_OK)
    fail_msg("%s", sl_error_message());
  struct sl_class *c = &f.job.classes[0];
  struct sl_program *step = &c->programs[SL_PROGRAM_STEP];
  assert_int_equal(sl_check_operands(&f.job), SL_OK);
  const struct sl_op *norm = first_of(step, SL_OP_LAYERNORM_FWD);
  c->buffers[step->slices[norm->slice + sl_op_at(norm, SL_AT_STATS)].buffer].dtype = SL_U8;
  assert_int_equal(sl_check_operands(&f.job), SL_ERR_CHECK);
  assert_non_null(strstr(sl_error_message(), "layernorm of fp32: operand 4, stats, is of type uint8"));
  assert_non_null(strstr(sl_error_message(), "ERROR HERE"));
  fixture_close(&f);
}

/* ---- lists that are tied ---- */

static void a_lane_of_a_group_bears_its_name(void **state) {
  (void)state;
  for (enum sl_group g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++)
    assert_string_equal(sl_lane_name(sl_lane_of_group(g)), sl_group_name(g));
}

static void ranks_meet_in_collectives_and_messages(void **state) {
  (void)state;
  for (int kind = 0; kind < SL_OP_COUNT; kind++)
    assert_int_equal(sl_op_is_comm((enum sl_op_kind)kind), kind >= SL_OP_ALL_REDUCE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(flags_move_operands),
      cmocka_unit_test(a_collective_has_its_operands_once_a_part),
      cmocka_unit_test(no_op_has_a_name_twice),
      cmocka_unit_test(what_a_row_does_not_allow_is_refused),
      cmocka_unit_test(parts_of_a_collective_come_whole),
      cmocka_unit_test(a_program_with_a_wrong_operand_is_refused),
      cmocka_unit_test(a_lane_of_a_group_bears_its_name),
      cmocka_unit_test(ranks_meet_in_collectives_and_messages),
  };
  return cmocka_run_group_tests_name("operands of ops", tests, NULL, NULL);
}
