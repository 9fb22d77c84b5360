/* label: unit
   libs: kernels
 * Core plans workspace by core/op/workspace.c without knowing the kernels: its bounds cover what kernels/ really asks for, over
 * many shapes, and are not so wide that the planned memory would say nothing. */
#include "core/op/workspace.h"
#include "kernels/all.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Sizes around every power of two and block that the kernels cut by, and odd ones between. */
static const int64_t sizes[] = {1,  2,  3,   7,   8,   15,  16,  17,  21,  31,  32,  33,   48,   63,   64,   65,  80,
                                96, 97, 127, 128, 129, 160, 255, 256, 257, 513, 768, 1023, 1024, 1025, 2048, 4097};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void covers(int64_t planned, size_t asked, double most, const char *what, int64_t a, int64_t b, int64_t c) {
  if (planned < (int64_t)asked)
    fail_msg("%s(%lld, %lld, %lld): planned %lld bytes, the kernel asks for %zu", what, (long long)a, (long long)b,
             (long long)c, (long long)planned, asked);
  if ((double)planned > most * (double)asked + 65536)
    fail_msg("%s(%lld, %lld, %lld): planned %lld bytes, the kernel asks for only %zu", what, (long long)a, (long long)b,
             (long long)c, (long long)planned, asked);
}

static int64_t of_rows(enum sl_op_kind kind, int64_t rows, int64_t columns) {
  return sl_op_workspace(&(struct sl_op){.kind = kind, .dim = {rows, columns}}, 1);
}

static int64_t of_heads(enum sl_op_kind kind, int64_t tokens, int64_t head, int64_t threads) {
  return sl_op_workspace(&(struct sl_op){.kind = kind, .dim = {2, tokens, 4, head, 4}}, threads);
}

static void layernorm_backward_fits(void **state) {
  (void)state;
  for (int r = 0; r < SIZES; r++) {
    for (int c = 0; c < SIZES; c++) {
      covers(of_rows(SL_OP_LAYERNORM_BWD, sizes[r], sizes[c]),
             sl_layernorm_scratch_bytes((size_t)sizes[r], (size_t)sizes[c]), 8, "layernorm_bwd", sizes[r], sizes[c], 0);
    }
  }
}

static void rmsnorm_backward_fits(void **state) {
  (void)state;
  for (int r = 0; r < SIZES; r++) {
    for (int c = 0; c < SIZES; c++) {
      covers(of_rows(SL_OP_RMSNORM_BWD, sizes[r], sizes[c]),
             sl_llama_rmsnorm_scratch_bytes((size_t)sizes[r], (size_t)sizes[c]), 8, "rmsnorm_bwd", sizes[r], sizes[c],
             0);
    }
  }
}

static void attention_fits(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 3, 5, 16, 64};
  for (int t = 0; t < SIZES; t++) {
    for (int d = 0; d < SIZES; d++) {
      for (size_t n = 0; n < sizeof threads / sizeof *threads; n++) {
        /* enough heads for every thread to have one: what the kernels ask for does not grow beyond that */
        const struct sl_attention_shape shape = {
            .B = 9, .T = (size_t)sizes[t], .H = 11, .KV = 11, .D = (size_t)sizes[d]};
        covers(of_heads(SL_OP_ATTENTION_FWD, sizes[t], sizes[d], threads[n]),
               sl_attention_forward_scratch_bytes(&shape, threads[n]), 40, "attention_fwd", sizes[t], sizes[d],
               threads[n]);
        covers(of_heads(SL_OP_ATTENTION_BWD, sizes[t], sizes[d], threads[n]),
               sl_attention_backward_scratch_bytes(&shape, threads[n]), 40, "attention_bwd", sizes[t], sizes[d],
               threads[n]);
        covers(of_heads(SL_OP_FLASH_FWD, sizes[t], sizes[d], threads[n]),
               sl_flash_attention_forward_scratch_bytes(&shape, threads[n]), 40, "flash_attention_fwd", sizes[t],
               sizes[d], threads[n]);
        covers(of_heads(SL_OP_FLASH_BWD, sizes[t], sizes[d], threads[n]),
               sl_flash_attention_backward_scratch_bytes(&shape, threads[n]), 40, "flash_attention_bwd", sizes[t],
               sizes[d], threads[n]);
      }
    }
  }
}

/* For the shapes of real models the bound is no more than the padding away from the need. */
static void real_models_waste_little(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{1024, 64}, {2048, 128}, {256, 32}, {512, 80}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const int64_t t = shapes[i][0], d = shapes[i][1];
    const struct sl_attention_shape shape = {.B = 2, .T = (size_t)t, .H = 4, .KV = 4, .D = (size_t)d};
    covers(of_rows(SL_OP_LAYERNORM_BWD, 8 * t, 12 * d), sl_layernorm_scratch_bytes(8 * (size_t)t, 12 * (size_t)d), 1.0,
           "layernorm_bwd", t, d, 0);
    covers(of_heads(SL_OP_ATTENTION_FWD, t, d, 2), sl_attention_forward_scratch_bytes(&shape, 2), 1.5, "attention_fwd",
           t, d, 2);
    covers(of_heads(SL_OP_ATTENTION_BWD, t, d, 2), sl_attention_backward_scratch_bytes(&shape, 2), 1.5, "attention_bwd",
           t, d, 2);
  }
}

static void sums_fit(void **state) {
  (void)state;
  for (int64_t n = 1; n < 300000; n += 1 + n / 7) {
    covers(of_rows(SL_OP_NORM, n, 0), sl_reduce_scratch_bytes((size_t)n), 1.0, "sum", n, 0, 0);
  }
  const int64_t large = ((int64_t)1 << 40) + 4095;
  covers(of_rows(SL_OP_NORM, large, 0), sl_reduce_scratch_bytes((size_t)large), 1.0, "sum", large, 0, 0);
}

/* Half of a norm's backward needs what the whole does, or nothing; what depends on no kernel is exact. */
static void the_table_knows_the_halves_and_what_has_no_buffer(void **state) {
  (void)state;
  struct sl_op op = {.kind = SL_OP_LAYERNORM_BWD, .dim = {131, 37}};
  const int64_t whole = sl_op_workspace(&op, 1);
  op.flags = SL_OP_WEIGHT_GRAD;
  assert_int_equal(sl_op_workspace(&op, 1), whole);
  op.flags = SL_OP_INPUT_GRAD;
  assert_int_equal(sl_op_workspace(&op, 1), 0);
  assert_int_equal(of_rows(SL_OP_CLASSIFIER, 131, 37), 131 * 8);
  assert_int_equal(of_rows(SL_OP_CLASSIFIER_SHARD, 131, 37), 131 * 8);
  assert_int_equal(of_rows(SL_OP_MSE, 131, 37), 16);
  assert_int_equal(of_rows(SL_OP_GELU_FWD, 131, 37), 0);
  op = (struct sl_op){.kind = SL_OP_GEMM, .dim = {3, 5, 7}};
  assert_int_equal(sl_op_workspace(&op, 1), 0);
  op.flags = SL_OP_WORKSPACE;
  assert_int_equal(sl_op_workspace(&op, 1), (3 * 7 + 7 * 5 + 3 * 5) * 4);
}

/* The longest block of a GPU's flash backward, in tiles, against what each of 396 blocks has to do. */
static void query_heads_are_shared_out_where_blocks_would_be_long(void **state) {
  (void)state;
  static const int64_t groups[] = {1, 2, 3, 4, 6, 7, 8, 12};
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    for (int64_t b = 1; b <= 16; b *= 2) {
      for (int64_t t = 50; t < 20000; t += t) {
        const int64_t dim[SL_OP_DIMS] = {b, t, 4 * groups[i], 64, 4};
        const int64_t group = groups[i], parts = sl_op_attention_parts(dim);
        const double tiles = (double)((t + 63) / 64), each = 4 * (double)(b * group) * tiles * (tiles + 1) / 2 / 396;
        assert_int_equal(group % parts, 0);
        if (parts < group) assert_true((double)(group / parts) * tiles <= 0.8 * each * 1.000001);
        for (int64_t fewer = 1; fewer < parts; fewer++)
          if (group % fewer == 0) assert_true((double)(group / fewer) * tiles > 0.8 * each);
        assert_int_equal(sl_op_attention_parts_bytes(dim), parts == 1 ? 0 : parts * 2 * 4 * b * t * 4 * 64);
      }
    }
  }
}

/* A rank of a cp group has a share of the queries of all keys: the longest block and what all have to do shrink alike,
 * and the sums are those of all keys. */
static void parts_of_a_cp_group_are_those_of_its_keys(void **state) {
  (void)state;
  for (int64_t cp = 1; cp <= 8; cp *= 2) {
    const int64_t dim[SL_OP_DIMS] = {1, 8192 / cp, 32, 64, 4, 0, cp}, whole[SL_OP_DIMS] = {1, 8192, 32, 64, 4};
    assert_int_equal(sl_op_attention_parts(dim), sl_op_attention_parts(whole));
    assert_true(sl_op_attention_parts(dim) > 1);
    assert_int_equal(sl_op_attention_parts_bytes(dim), sl_op_attention_parts(dim) * 2 * 4 * 8192 * 4 * 64);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layernorm_backward_fits),
      cmocka_unit_test(rmsnorm_backward_fits),
      cmocka_unit_test(attention_fits),
      cmocka_unit_test(real_models_waste_little),
      cmocka_unit_test(sums_fit),
      cmocka_unit_test(the_table_knows_the_halves_and_what_has_no_buffer),
      cmocka_unit_test(query_heads_are_shared_out_where_blocks_would_be_long),
      cmocka_unit_test(parts_of_a_cp_group_are_those_of_its_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
