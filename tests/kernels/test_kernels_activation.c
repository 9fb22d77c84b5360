/* label: unit
   libs: kernels_double kernels
 * GELU, ReLU and the mean squared error against their formulas and finite differences (in double). */
#include "tests/support/kernels_support.h"

enum { ROWS = 7, COLS = 11, CELLS = ROWS * COLS };

struct activation_case {
  double x[CELLS], bias[COLS], out[CELLS], w[CELLS];
  int relu;
};

static double activation_loss(void *context) {
  struct activation_case *c = context;
  if (c->relu) {
    sl_mlp_relu_forward_f64(c->out, c->x, c->bias, ROWS, COLS);
  } else {
    sl_gelu_forward_f64(c->out, c->x, c->bias, ROWS, COLS);
  }
  return dot(c->w, c->out, CELLS);
}

static void activation_gradients(void **state) {
  (void)state;
  struct activation_case c;
  double dx[CELLS], dbias[COLS];
  fill(c.x, CELLS, 5, -3, 3), fill(c.bias, COLS, 6, -1, 1), fill(c.w, CELLS, 7, -1, 1);
  for (c.relu = 0; c.relu < 2; c.relu++) {
    activation_loss(&c);
    if (c.relu) {
      sl_mlp_relu_backward_f64(dx, c.w, c.out, ROWS, COLS);
    } else {
      sl_gelu_backward_f64(dx, c.w, c.x, c.bias, ROWS, COLS);
    }
    sl_reduce_bias_backward_f64(dbias, dx, ROWS, COLS, 0);
    check_gradient(c.relu ? "relu dx" : "gelu dx", activation_loss, &c, c.x, CELLS, dx);
    check_gradient(c.relu ? "relu dbias" : "gelu dbias", activation_loss, &c, c.bias, COLS, dbias);
  }
}

static void gelu_follows_its_formula_to_both_tails(void **state) {
  (void)state;
  float x[513], y[513], dx[513], one[513];
  for (int i = 0; i < 513; i++) x[i] = (float)(i - 256) / 21.0f, one[i] = 1;
  sl_gelu_forward(y, x, NULL, 27, 19);
  sl_gelu_backward(dx, one, x, NULL, 27, 19);
  for (size_t i = 0; i < 513; i++) {
    double v = (double)x[i], k = sqrt(2 / acos(-1.0)), u = k * (v + 0.044715 * v * v * v);
    double s = 1 / (1 + exp(-2 * u)), slope = s + 2 * v * s * (1 - s) * k * (1 + 3 * 0.044715 * v * v);
    /* The exponent carries a rounding of u, so the relative error grows with |u|. */
    assert_true(fabs(y[i] - v * s) <= 2e-7 * (1 + fabs(u)) * fabs(v * s) + 1e-33);
    assert_true(fabs(dx[i] - slope) <= 4e-7);
  }
  float far[4] = {-1e4f, -40, 40, 1e4f}, out[4];
  sl_gelu_forward(out, far, NULL, 1, 4);
  assert_true(fabsf(out[0]) < 1e-25f && fabsf(out[1]) < 1e-30f && out[2] == 40 && out[3] == 1e4f);
}

struct mse_case {
  double prediction[CELLS], target[CELLS], scratch[1];
};

static double mse_loss(void *context) {
  struct mse_case *c = context;
  double sum;
  sl_mlp_mse_f64(&sum, NULL, c->prediction, c->target, CELLS, 0, 0, c->scratch);
  return sum / CELLS;
}

static void mse_gradient(void **state) {
  (void)state;
  struct mse_case c;
  double d[CELLS], sum = 2.5;
  fill(c.prediction, CELLS, 8, -1, 1), fill(c.target, CELLS, 9, -1, 1);
  sl_mlp_mse_f64(&sum, d, c.prediction, c.target, CELLS, 1.0 / CELLS, 1, c.scratch);
  double expected = 2.5;
  for (size_t i = 0; i < CELLS; i++) expected += (c.prediction[i] - c.target[i]) * (c.prediction[i] - c.target[i]);
  assert_close(sum, expected, 1e-14, "sum of squares", 0);
  check_gradient("dprediction", mse_loss, &c, c.prediction, CELLS, d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(activation_gradients),
      cmocka_unit_test(gelu_follows_its_formula_to_both_tails),
      cmocka_unit_test(mse_gradient),
  };
  return cmocka_run_group_tests_name("activation", tests, NULL, NULL);
}
