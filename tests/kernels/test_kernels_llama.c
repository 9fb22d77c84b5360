/* label: unit
   libs: kernels_double kernels
 * Llama's kernels: gradients by finite differences, and their own defining properties. */
#include "tests/support/kernels_support.h"

enum { MAX_CELLS = 2 * 1301 };

static struct rmsnorm_case {
  size_t rows, C;
  double x[MAX_CELLS], weight[1301], out[MAX_CELLS], rstd[29], w[MAX_CELLS];
} rms;

static double rmsnorm_loss(void *context) {
  (void)context;
  sl_llama_rmsnorm_forward_f64(rms.out, rms.rstd, rms.x, rms.weight, rms.rows, rms.C, 1e-5f, 0);
  return dot(rms.w, rms.out, rms.rows * rms.C);
}

static void rmsnorm_gradients(void **state) {
  (void)state;
  static const size_t sizes[][2] = {{29, 7}, {2, 1301}};
  static double dx[MAX_CELLS], dw[1301], dx2[MAX_CELLS], dw2[1301];
  for (size_t k = 0; k < 2; k++) {
    const size_t R = rms.rows = sizes[k][0], C = rms.C = sizes[k][1], n = R * C;
    fill(rms.x, n, 1, -2, 3), fill(rms.weight, C, 2, -1, 1), fill(rms.w, n, 3, -1, 1);
    void *scratch = malloc(sl_llama_rmsnorm_scratch_bytes_f64(R, C));
    rmsnorm_loss(NULL);
    for (size_t r = 0; r < R; r++) {
      double square = dot(rms.x + r * C, rms.x + r * C, C) / (double)C;
      assert_close(rms.rstd[r], 1 / sqrt(square + (double)1e-5f), 1e-12, "rstd", r);
    }
    sl_llama_rmsnorm_backward_f64(dx, 0, dw, 0, 0, rms.w, rms.x, rms.weight, rms.rstd, R, C, 0, scratch);
    memcpy(dx2, rms.w, n * sizeof *dx2), memcpy(dw2, dw, C * sizeof *dw);
    sl_llama_rmsnorm_backward_f64(dx2, 1, dw2, 0, 1, rms.w, rms.x, rms.weight, rms.rstd, R, C, 0, scratch);
    for (size_t i = 0; i < n; i++) assert_close(dx2[i], rms.w[i] + dx[i], 1e-12, "accumulated dx", i);
    for (size_t i = 0; i < C; i++) assert_close(dw2[i], 2 * dw[i], 1e-12, "accumulated dweight", i);
    check_gradient("dx", rmsnorm_loss, NULL, rms.x, n, dx);
    check_gradient("dweight", rmsnorm_loss, NULL, rms.weight, C, dw);
    free(scratch);
  }
}

enum { RB = 2, RT = 5, RH = 3, RD = 6, STRIDE = RH * RD + 1, ROPE_N = RB * RT * STRIDE };

static void rope_turns_by_the_position_and_back(void **state) {
  (void)state;
  double x[ROPE_N], y[ROPE_N];
  fill(x, ROPE_N, 4, -1, 1);
  memcpy(y, x, sizeof y);
  const struct sl_rope_shape shape = {.B = RB, .T = RT, .heads = RH, .D = RD, .stride = STRIDE, .step = RD};
  const struct sl_rope rope = {.base = 500};
  sl_llama_rope_f64(y, &shape, 3, &rope, 1);
  for (size_t i = 0; i < ROPE_N; i++) {
    size_t t = i / STRIDE % RT, at = i % STRIDE, d = at % RD, pair = d % (RD / 2);
    double angle = (double)(3 + t) * pow(500.0, -2.0 * (double)pair / RD), expected = x[i];
    if (at < RH * RD) {
      expected =
          d < RD / 2 ? x[i] * cos(angle) - x[i + RD / 2] * sin(angle) : x[i] * cos(angle) + x[i - RD / 2] * sin(angle);
    }
    assert_close(y[i], expected, 1e-12, "rope", i);
  }
  sl_llama_rope_f64(y, &shape, 3, &rope, -1); /* the inverse of a rotation is its transpose */
  for (size_t i = 0; i < ROPE_N; i++) assert_close(y[i], x[i], 1e-12, "rope and back", i);
}

enum { SR = 3, SC = 7, SWIDE = 2 * SC };

struct swiglu_case {
  double both[SR * SWIDE], out[SR * SC], w[SR * SC];
};

static double swiglu_loss(void *context) {
  struct swiglu_case *c = context;
  sl_llama_swiglu_forward_f64(c->out, c->both, c->both + SC, SR, SC, SWIDE);
  return dot(c->w, c->out, SR * SC);
}

static void swiglu_gradients(void **state) {
  (void)state;
  struct swiglu_case c;
  double d[SR * SWIDE], in_place[SR * SWIDE];
  fill(c.both, SR * SWIDE, 5, -4, 4), fill(c.w, SR * SC, 6, -1, 1);
  sl_llama_swiglu_backward_f64(d, d + SC, c.w, c.both, c.both + SC, SR, SC, SWIDE);
  check_gradient("dgate, dup", swiglu_loss, &c, c.both, SR * SWIDE, d);
  memcpy(in_place, c.both, sizeof in_place);
  sl_llama_swiglu_backward_f64(in_place, in_place + SC, c.w, in_place, in_place + SC, SR, SC, SWIDE);
  assert_memory_equal(in_place, d, sizeof d);
  swiglu_loss(&c);
  double g = c.both[0], expected = g / (1 + exp(-g)) * c.both[SC];
  assert_close(c.out[0], expected, 1e-13, "swiglu", 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rmsnorm_gradients),
      cmocka_unit_test(rope_turns_by_the_position_and_back),
      cmocka_unit_test(swiglu_gradients),
  };
  return cmocka_run_group_tests_name("kernels_llama", tests, NULL, NULL);
}
