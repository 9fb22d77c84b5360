/* label: unit
 * Casts to fp8 of our own kernels, by hand: how many a block has and what they move, which products read what, what is kept for
 * the backward, whose scale an input has that several products share, and how ranks agree on scales. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/op/flops.h"
#include "core/op/operands.h"
#include "tests/core/models/small_llama.h"

enum { T = 24, R = B * T };
#define FP8 ", \"fp8\": true"

static void open_job(struct fixture *f, int world, const char *keys) {
  small_llama_open(f, world, T, keys);
}

static int count_of(const char *keys, int world, enum sl_op_kind kind, unsigned flags) {
  struct fixture f;
  int n = 0;
  open_job(&f, world, keys);
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++) n += p->ops[i].kind == kind && (p->ops[i].flags & flags) == flags;
  fixture_close(&f);
  return n;
}

static double bytes_of_casts(const char *keys) {
  struct fixture f;
  double bytes = 0;
  open_job(&f, 1, keys);
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++)
    if (p->ops[i].kind == SL_OP_FP8_CAST) bytes += sl_op_bytes(&p->ops[i], sl_op_slices(p, &p->ops[i]));
  fixture_close(&f);
  return bytes;
}

/* Forward: the norms' outputs and the MLP's inner one both ways, attention's output as it is, since attention's backward
 * keeps its 16 bits, and weights. Backward: gradients both ways, attention's output and weights again. A cast reads a
 * scale and its inverse and updates a magnitude, 16 bytes. */
static void a_tensor_is_cast_once(void **state) {
  (void)state;
  const int64_t forward = R * (4 * C + 3 * C + 4 * C + 4 * INNER) + 3 * WEIGHTS, weights = 7;
  const int64_t backward = 4 * R * (3 * C + 2 * KVS + 2 * INNER) + 3 * R * C + 3 * WEIGHTS;
  const int64_t casts = 4 + weights + weights + 1 + weights;
  assert_int_equal(count_of(FP8, 1, SL_OP_FP8_CAST, 0), LAYERS * casts);
  assert_true(bytes_of_casts(FP8) == (double)(LAYERS * (forward + backward + 16 * casts)));
  assert_int_equal(count_of(FP8 ", \"kernels\": \"torch-eager\"", 1, SL_OP_FP8_CAST, 0), 0);
  assert_int_equal(count_of("", 1, SL_OP_FP8_CAST, 0), 0);
}

static enum sl_dtype type_of(const struct fixture *f, const struct sl_op *op, enum sl_at name) {
  return f->job.classes[0].buffers[sl_op_operand(op, sl_op_slices(fixture_step(f), op), name)->buffer].dtype;
}

static void products_read_rows(void **state) {
  struct fixture f;
  int scaled = 0, plain = 0;
  (void)state;
  open_job(&f, 1, FP8);
  const struct sl_program *p = fixture_step(&f);
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    if (op->kind != SL_OP_GEMM) continue;
    if (op->layer == LAYERS) {
      assert_true(op->dtype == SL_BF16 && !(op->flags & SL_OP_SCALED));
      plain++;
      continue;
    }
    assert_true(op->dtype == SL_F8 && op->flags & SL_OP_SCALED && op->flags & SL_OP_TRANS_B);
    assert_false(op->flags & SL_OP_TRANS_A);
    const enum sl_dtype a = type_of(&f, op, SL_AT_A), b = type_of(&f, op, SL_AT_B);
    /* gradients are the first factor of both products of the backward, as weights are (out, in) */
    assert_true(b == SL_E4M3 && a == (op->phase == SL_PHASE_BACKWARD ? SL_E5M2 : SL_E4M3));
    scaled++;
  }
  assert_int_equal(scaled, LAYERS * 3 * 7);
  assert_int_equal(plain, 3);
  fixture_close(&f);
}

static const struct sl_buffer *named(const struct fixture *f, const char *name) {
  const struct sl_class *c = &f->job.classes[0];
  for (size_t i = 0; i < c->buffer_count; i++)
    if (strcmp(c->buffers[i].name, name) == 0) return &c->buffers[i];
  fail_msg("no buffer %s", name);
  return NULL;
}

static void the_cast_is_kept_where_it_does(void **state) {
  static const struct {
    const char *name;
    enum sl_slot slot;
  } rows[] = {{"h.1.norm_1", SL_SLOT_IN},
              {"h.1.norm_1.fp8", SL_SLOT_IN},
              {"h.1.norm_1.fp8.t", SL_SLOT_ACTIVATION},
              {"h.1.mlp.swiglu", SL_SLOT_IN},
              {"h.1.mlp.swiglu.fp8.t", SL_SLOT_ACTIVATION},
              {"h.1.norm_2.fp8.t", SL_SLOT_ACTIVATION},
              {"h.1.mlp.gate", SL_SLOT_ACTIVATION}};
  struct fixture f;
  (void)state;
  open_job(&f, 1, FP8);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (named(&f, rows[i].name)->slot != rows[i].slot) fail_msg("%s has the slot of another", rows[i].name);
  fixture_close(&f);
  open_job(&f, 1, FP8 ", \"recompute\": \"full\"");
  const struct sl_class *c = &f.job.classes[0];
  for (size_t i = 0; i < c->buffer_count; i++)
    if (c->buffers[i].dtype == SL_E4M3) assert_int_equal(c->buffers[i].slot, SL_SLOT_IN);
  fixture_close(&f);
}

/* q, k and v read one input, forward and in the gradients of their weights; the first of them has its scale. */
static void what_is_shared_has_one_scale(void **state) {
  static const char *const ways[] = {FP8, FP8 ", \"recompute\": \"full\"", FP8 ", \"recompute\": \"selective_op\""};
  (void)state;
  for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
    int64_t scales[LAYERS] = {-1, -1, -1};
    struct fixture f;
    int seen = 0;
    open_job(&f, 1, ways[k]);
    const struct sl_program *p = fixture_step(&f);
    for (size_t i = 0; i < p->op_count; i++) {
      const struct sl_op *op = &p->ops[i];
      if (op->kind != SL_OP_GEMM || !(op->flags & SL_OP_SCALED)) continue;
      const char *name = f.model.tensors[f.plan.pp_ranks[0].tensors[op->tensor].tensor].name;
      const bool qkv = strstr(name, "q_proj") || strstr(name, "k_proj") || strstr(name, "v_proj");
      const bool input = op->dim[2] == R; /* a weight's gradient sums over rows */
      if (!qkv || (op->phase == SL_PHASE_BACKWARD && type_of(&f, op, SL_AT_A) == SL_E5M2 && !input)) continue;
      const struct sl_slice *s = sl_op_operand(
          op, sl_op_slices(p, op), input && type_of(&f, op, SL_AT_A) == SL_E5M2 ? SL_AT_SCALE_B : SL_AT_SCALE_A);
      if (scales[op->layer] < 0) scales[op->layer] = s->offset;
      assert_int_equal(s->offset, scales[op->layer]);
      seen++;
    }
    assert_true(seen >= LAYERS * 6);
    fixture_close(&f);
  }
}

static void ranks_agree_on_scales(void **state) {
  (void)state;
  assert_int_equal(count_of(FP8, 1, SL_OP_ALL_REDUCE, SL_OP_MOST), 0);
  assert_int_equal(count_of(FP8, 2, SL_OP_ALL_REDUCE, SL_OP_MOST), 1);
  assert_int_equal(count_of(FP8 ", \"tp\": 2", 2, SL_OP_ALL_REDUCE, SL_OP_MOST), 1);
  assert_int_equal(count_of(FP8 ", \"tp\": 2", 4, SL_OP_ALL_REDUCE, SL_OP_MOST), 2);
  assert_int_equal(count_of(FP8 ", \"cp\": 2", 2, SL_OP_ALL_REDUCE, SL_OP_MOST), 1);
  assert_int_equal(count_of(FP8 ", \"pp\": 2", 2, SL_OP_ALL_REDUCE, SL_OP_MOST), 0);
  assert_int_equal(count_of(FP8 ", \"pp\": 2", 2, SL_OP_FP8_SCALE, 0), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_tensor_is_cast_once), cmocka_unit_test(products_read_rows),
                                     cmocka_unit_test(the_cast_is_kept_where_it_does),
                                     cmocka_unit_test(what_is_shared_has_one_scale),
                                     cmocka_unit_test(ranks_agree_on_scales)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
