/* label: unit
   libs: kernels_double kernels
 * Dropout, residual and bias: shares and scales, pieces of a tensor, and gradients by finite differences (in double). */
#include "tests/support/kernels_support.h"

enum { ROWS = 7, COLS = 11, CELLS = ROWS * COLS };

static const struct sl_dropout drop = {.p = 0.3f, .key = {21, 2, 5, 13}, .first_element = 4099, .row_stride = 29};

static void dropout_keeps_the_right_share_and_scales_it(void **state) {
  (void)state;
  enum { N = 100003 };
  static float x[N], y[N];
  struct sl_dropout d = {.p = 0.25f, .key = {1, 2, 3, 4}};
  sl_reduce_fill(x, 3.0f, N);
  sl_dropout_forward(y, x, 1, N, &d);
  size_t kept = 0;
  for (size_t i = 0; i < N; i++) {
    assert_true(y[i] == 0 || y[i] == 4.0f);
    kept += y[i] != 0;
  }
  assert_true(fabs((double)kept / N - 0.75) < 4 * sqrt(0.25 * 0.75 / N));
  d.p = 1;
  sl_dropout_forward(y, x, 1, N, &d);
  for (size_t i = 0; i < N; i++) assert_true(y[i] == 0);
  sl_dropout_forward(y, x, 1, N, NULL);
  assert_memory_equal(x, y, sizeof x);
}

static void dropout_of_a_piece_equals_the_piece_of_the_whole(void **state) {
  (void)state;
  enum { R = 9, C = 1301, R0 = 4, C0 = 607, PR = 5, PC = 691 };
  static float x[R * C], whole[R * C], piece[PR * PC];
  struct sl_dropout d = {.p = 0.4f, .key = {1, 2, 3, 4}, .first_element = 77, .row_stride = C};
  sl_reduce_fill(x, 1.0f, R * C);
  sl_dropout_forward(whole, x, R, C, &d);
  d.first_element += R0 * C + C0;
  sl_dropout_forward(piece, x, PR, PC, &d);
  for (size_t r = 0; r < PR; r++) assert_memory_equal(piece + r * PC, whole + (R0 + r) * C + C0, PC * sizeof *piece);
}

struct residual_case {
  double x[CELLS], bias[COLS], residual[CELLS], out[CELLS], w[CELLS];
};

static double residual_loss(void *context) {
  struct residual_case *c = context;
  sl_dropout_residual_f64(c->out, c->residual, c->x, c->bias, ROWS, COLS, &drop);
  return dot(c->w, c->out, CELLS);
}

static void residual_and_bias_gradients(void **state) {
  (void)state;
  struct residual_case c;
  double dx[CELLS], dbias[COLS], twice[COLS];
  fill(c.x, CELLS, 1, -1, 1), fill(c.bias, COLS, 2, -1, 1), fill(c.residual, CELLS, 3, -1, 1),
      fill(c.w, CELLS, 4, -1, 1);
  sl_dropout_backward_f64(dx, c.w, ROWS, COLS, &drop);
  sl_reduce_bias_backward_f64(dbias, dx, ROWS, COLS, 0);
  check_gradient("dx", residual_loss, &c, c.x, CELLS, dx);
  check_gradient("dbias", residual_loss, &c, c.bias, COLS, dbias);
  check_gradient("dresidual", residual_loss, &c, c.residual, CELLS, c.w);
  memcpy(twice, dbias, sizeof twice);
  sl_reduce_bias_backward_f64(twice, dx, ROWS, COLS, 1);
  for (size_t i = 0; i < COLS; i++) assert_close(twice[i], 2 * dbias[i], 1e-14, "accumulated dbias", i);
  /* Without bias and dropout it is a plain sum; bias_add adds what the fused form would. */
  sl_dropout_residual_f64(c.out, c.residual, c.x, NULL, ROWS, COLS, NULL);
  sl_reduce_bias_add_f64(c.out, c.bias, ROWS, COLS);
  for (size_t i = 0; i < CELLS; i++) assert_close(c.out[i], c.residual[i] + c.x[i] + c.bias[i % COLS], 1e-14, "sum", i);
}

/* Rows longer, and more of them, than the chunks in which the kernels work. */
static void wide_rows_equal_their_parts_one_by_one(void **state) {
  (void)state;
  enum { R = 139, W = 1301 };
  static double x[R * W], bias[W], residual[R * W], fused[R * W], plain[R * W], dbias[W];
  struct sl_dropout d = {.p = 0.4f, .key = {1, 2, 3, 4}, .first_element = 77, .row_stride = 1409};
  fill(x, R * W, 60, -1, 1), fill(bias, W, 61, -1, 1), fill(residual, R * W, 62, -1, 1);
  sl_dropout_residual_f64(fused, residual, x, bias, R, W, &d);
  memcpy(plain, x, sizeof plain);
  sl_reduce_bias_add_f64(plain, bias, R, W);
  sl_dropout_forward_f64(plain, plain, R, W, &d);
  for (size_t i = 0; i < (size_t)R * W; i++) plain[i] += residual[i];
  for (size_t i = 0; i < R * W; i++) assert_close(fused[i], plain[i], 1e-12, "fused", i);
  sl_reduce_bias_backward_f64(dbias, x, R, W, 0);
  for (size_t c = 0; c < W; c++) {
    double sum = 0;
    for (size_t r = 0; r < R; r++) sum += x[r * W + c];
    assert_close(dbias[c], sum, 1e-11, "dbias", c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dropout_keeps_the_right_share_and_scales_it),
      cmocka_unit_test(dropout_of_a_piece_equals_the_piece_of_the_whole),
      cmocka_unit_test(residual_and_bias_gradients),
      cmocka_unit_test(wide_rows_equal_their_parts_one_by_one),
  };
  return cmocka_run_group_tests_name("dropout", tests, NULL, NULL);
}
