/* label: unit
   libs: kernels_double kernels
 * LayerNorm: its statistics by their formulas, its gradients by finite differences (in double). */
#include "tests/support/kernels_support.h"

enum { LN_MAX_ROWS = 29, LN_MAX_C = 1301, LN_MAX_CELLS = 2 * LN_MAX_C };

static struct layernorm_case {
  size_t rows, C;
  double x[LN_MAX_CELLS], weight[LN_MAX_C], bias[LN_MAX_C], out[LN_MAX_CELLS], w[LN_MAX_CELLS];
  double mean[LN_MAX_ROWS], rstd[LN_MAX_ROWS];
} ln;

static double layernorm_loss(void *context) {
  (void)context;
  sl_layernorm_forward_f64(ln.out, ln.mean, ln.rstd, ln.x, ln.weight, ln.bias, ln.rows, ln.C, 1e-5f, 0);
  return dot(ln.w, ln.out, ln.rows * ln.C);
}

static void layernorm_statistics(void) {
  for (size_t r = 0; r < ln.rows; r++) {
    const double *x = ln.x + r * ln.C;
    double mean = 0, var = 0;
    for (size_t i = 0; i < ln.C; i++) mean += x[i] / (double)ln.C;
    for (size_t i = 0; i < ln.C; i++) var += (x[i] - mean) * (x[i] - mean) / (double)ln.C;
    assert_close(ln.mean[r], mean, 1e-12, "mean", r);
    assert_close(ln.rstd[r], 1 / sqrt(var + (double)1e-5f), 1e-12, "rstd", r);
  }
}

/* The second size is wider than the chunks in which a row is summed. */
static void layernorm_gradients(void **state) {
  (void)state;
  static const size_t sizes[][2] = {{LN_MAX_ROWS, 6}, {2, LN_MAX_C}};
  static double dx[LN_MAX_CELLS], dw[LN_MAX_C], db[LN_MAX_C], dx2[LN_MAX_CELLS], dw2[LN_MAX_C], db2[LN_MAX_C];
  for (size_t k = 0; k < 2; k++) {
    const size_t R = ln.rows = sizes[k][0], C = ln.C = sizes[k][1], n = R * C;
    fill(ln.x, n, 10, -2, 3), fill(ln.weight, C, 11, -1, 1), fill(ln.bias, C, 12, -1, 1), fill(ln.w, n, 13, -1, 1);
    void *scratch = malloc(sl_layernorm_scratch_bytes_f64(R, C));
    layernorm_loss(NULL);
    layernorm_statistics();
    sl_layernorm_backward_f64(dx, 0, dw, db, 0, 0, ln.w, ln.x, ln.weight, ln.mean, ln.rstd, R, C, 0, scratch);
    memcpy(dx2, ln.w, n * sizeof *dx2), memcpy(dw2, dw, C * sizeof *dw), memcpy(db2, db, C * sizeof *db);
    sl_layernorm_backward_f64(dx2, 1, dw2, db2, 0, 1, ln.w, ln.x, ln.weight, ln.mean, ln.rstd, R, C, 0, scratch);
    for (size_t i = 0; i < n; i++) assert_close(dx2[i], ln.w[i] + dx[i], 1e-12, "accumulated dx", i);
    for (size_t i = 0; i < C; i++) {
      assert_close(dw2[i], 2 * dw[i], 1e-12, "accumulated dweight", i);
      assert_close(db2[i], 2 * db[i], 1e-12, "accumulated dbias", i);
    }
    check_gradient("dx", layernorm_loss, NULL, ln.x, n, dx);
    check_gradient("dweight", layernorm_loss, NULL, ln.weight, C, dw);
    check_gradient("dbias", layernorm_loss, NULL, ln.bias, C, db);
    free(scratch);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layernorm_gradients),
  };
  return cmocka_run_group_tests_name("layernorm", tests, NULL, NULL);
}
