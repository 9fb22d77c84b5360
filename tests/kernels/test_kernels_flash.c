/* label: unit
   libs: kernels_double kernels
 * Flash attention against the materialised kernels, which have their own tests, and against finite differences. */
#include "tests/support/kernels_support.h"

#include <omp.h>

/* One problem, in double and rounded to float. Strides are larger than the rows, so that a kernel that ignores them
 * reads the gaps. */
struct problem {
  struct sl_attention_shape shape;
  const struct sl_dropout *dropout;
  size_t q_n, k_n, out_n, probs_n, lse_n;
  double *q, *k, *v, *w, *out, *probs, *lse, *dq, *dk, *dv;
  void *scratch;
  size_t scratch_bytes;
};

static const struct sl_dropout drop = {.p = 0.2f, .key = {21, 2, 5, 14}, .first_element = 1003};

/* B, T, H, KV, D; T below, at and above a tile of 256 keys */
static const size_t sizes[][5] = {{2, 5, 3, 3, 2},    {1, 37, 2, 2, 3},   {2, 33, 6, 2, 5},
                                  {1, 256, 2, 1, 16}, {1, 301, 2, 1, 37}, {2, 531, 2, 2, 9}};
enum { SIZES = sizeof sizes / sizeof *sizes, SMALL = 3, THREADS = 3 };

static struct problem new_problem(const size_t n[5]) {
  const size_t B = n[0], T = n[1], H = n[2], KV = n[3], D = n[4];
  struct problem p = {.shape = {.B = B,
                                .T = T,
                                .H = H,
                                .KV = KV,
                                .D = D,
                                .q_stride = H * D + 3,
                                .k_stride = KV * D + 2,
                                .v_stride = KV * D + 5,
                                .out_stride = H * D + 1,
                                .global_heads = H + 2}};
  p.q_n = B * T * p.shape.q_stride, p.k_n = B * T * p.shape.v_stride, p.out_n = B * T * p.shape.out_stride;
  p.probs_n = B * H * T * T, p.lse_n = B * H * T;
  p.q = reals(p.q_n, 22), p.k = reals(p.k_n, 23), p.v = reals(p.k_n, 24), p.w = reals(p.out_n, 25);
  p.out = calloc(p.out_n, sizeof(double)), p.probs = calloc(p.probs_n, sizeof(double));
  p.lse = calloc(p.lse_n, sizeof(double)), p.dq = calloc(p.q_n, sizeof(double));
  p.dk = calloc(p.k_n, sizeof(double)), p.dv = calloc(p.k_n, sizeof(double));
  for (size_t i = 0; i < p.q_n; i++) p.q[i] *= 3; /* peaked rows: the largest score moves from tile to tile */
  for (size_t i = 0; i < p.out_n; i++) p.w[i] *= i % p.shape.out_stride < H * D;
  p.scratch_bytes = sl_attention_backward_scratch_bytes_f64(&p.shape, THREADS) +
                    sl_flash_attention_backward_scratch_bytes_f64(&p.shape, THREADS);
  p.scratch = malloc(p.scratch_bytes);
  assert_true(p.out && p.probs && p.lse && p.dq && p.dk && p.dv && p.scratch);
  return p;
}

static void free_problem(struct problem *p) {
  free(p->q), free(p->k), free(p->v), free(p->w), free(p->out), free(p->probs), free(p->lse);
  free(p->dq), free(p->dk), free(p->dv), free(p->scratch);
}

static double flash_loss(void *context) {
  struct problem *p = context;
  sl_flash_attention_forward_f64(p->out, p->lse, p->q, p->k, p->v, &p->shape, p->dropout, p->scratch, p->scratch_bytes);
  return dot(p->w, p->out, p->out_n);
}

static void flash_backward(struct problem *p) {
  sl_flash_attention_backward_f64(p->dq, p->dk, p->dv, p->w, p->q, p->k, p->v, p->out, p->lse, &p->shape, p->dropout,
                                  p->scratch, p->scratch_bytes);
}

static void materialised(struct problem *p) {
  sl_attention_forward_f64(p->out, p->probs, NULL, p->q, p->k, p->v, &p->shape, p->dropout, p->scratch,
                           p->scratch_bytes);
  sl_attention_backward_f64(p->dq, p->dk, p->dv, p->w, p->q, p->k, p->v, p->probs, NULL, &p->shape, p->dropout,
                            p->scratch, p->scratch_bytes);
}

static void assert_all_close(const double *x, const double *y, size_t n, const char *what) {
  for (size_t i = 0; i < n; i++) {
    if (!(fabs(x[i] - y[i]) <= 1e-12 * (1 + fabs(y[i])))) fail_msg("%s[%zu]: %.17g, not %.17g", what, i, x[i], y[i]);
  }
}

static void flash_equals_materialised_in_double(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * (size_t)SIZES; i++) {
    struct problem flash = new_problem(sizes[i / 2]), plain = new_problem(sizes[i / 2]);
    flash.dropout = plain.dropout = i % 2 ? &drop : NULL;
    flash_loss(&flash), flash_backward(&flash);
    materialised(&plain);
    assert_all_close(flash.out, plain.out, plain.out_n, "out");
    assert_all_close(flash.dq, plain.dq, plain.q_n, "dq");
    assert_all_close(flash.dk, plain.dk, plain.k_n, "dk");
    assert_all_close(flash.dv, plain.dv, plain.k_n, "dv");
    const struct sl_attention_shape s = plain.shape;
    for (size_t row = 0; row < plain.lse_n; row++) { /* P of the first key is exp(score - lse) */
      const size_t t = row % s.T, h = row / s.T % s.H, b = row / s.T / s.H, g = h / (s.H / s.KV);
      const double *q = plain.q + (b * s.T + t) * s.q_stride + h * s.D, *k = plain.k + b * s.T * s.k_stride + g * s.D;
      const double expected = dot(q, k, s.D) / sqrt((double)s.D) - log(plain.probs[row * s.T]);
      assert_close(flash.lse[row], expected, 1e-12, "lse", row);
    }
    free_problem(&flash), free_problem(&plain);
  }
}

static void flash_gradients(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * (size_t)SMALL; i++) {
    struct problem p = new_problem(sizes[i / 2]);
    p.dropout = i % 2 ? &drop : NULL;
    flash_loss(&p), flash_backward(&p);
    check_gradient("dq", flash_loss, &p, p.q, p.q_n, p.dq);
    check_gradient("dk", flash_loss, &p, p.k, p.k_n, p.dk);
    check_gradient("dv", flash_loss, &p, p.v, p.k_n, p.dv);
    free_problem(&p);
  }
}

static float *narrow(const double *x, size_t n) {
  float *y = malloc(n * sizeof *y);
  assert_non_null(y);
  to_float(y, x, n);
  return y;
}

/* In float, on given threads; out, lse, dq, dk and dv one after the other in `result`. */
static void flash_float(const struct problem *p, float *result, int threads) {
  float *q = narrow(p->q, p->q_n), *k = narrow(p->k, p->k_n), *v = narrow(p->v, p->k_n), *w = narrow(p->w, p->out_n);
  float *out = result, *lse = out + p->out_n, *dq = lse + p->lse_n, *dk = dq + p->q_n, *dv = dk + p->k_n;
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  const size_t forward_bytes = sl_flash_attention_forward_scratch_bytes(&p->shape, threads);
  const size_t backward_bytes = sl_flash_attention_backward_scratch_bytes(&p->shape, threads);
  void *forward = malloc(forward_bytes), *backward = malloc(backward_bytes); /* exact: a sanitizer sees one byte more */
  sl_flash_attention_forward(out, lse, q, k, v, &p->shape, p->dropout, forward, forward_bytes);
  sl_flash_attention_backward(dq, dk, dv, w, q, k, v, out, lse, &p->shape, p->dropout, backward, backward_bytes);
  omp_set_num_threads(before);
  free(q), free(k), free(v), free(w), free(forward), free(backward);
}

static void flash_in_float_equals_double_on_any_number_of_threads(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * (size_t)SIZES; i++) {
    struct problem p = new_problem(sizes[i / 2]);
    p.dropout = i % 2 ? &drop : NULL;
    materialised(&p);
    const size_t n = p.out_n + p.lse_n + p.q_n + 2 * p.k_n;
    float *one = calloc(n, sizeof *one), *many = calloc(n, sizeof *many), *gradient = one + p.out_n + p.lse_n;
    assert_true(one && many);
    flash_float(&p, one, 1);
    assert_true(distance(one, p.out, p.out_n) < 1e-6);
    assert_true(distance(gradient, p.dq, p.q_n) < 1e-6);
    assert_true(distance(gradient + p.q_n, p.dk, p.k_n) < 1e-6);
    assert_true(distance(gradient + p.q_n + p.k_n, p.dv, p.k_n) < 1e-6);
    for (int threads = 2; threads <= THREADS; threads++) {
      flash_float(&p, many, threads);
      assert_memory_equal(one, many, n * sizeof *one);
    }
    free(one), free(many);
    free_problem(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(flash_equals_materialised_in_double),
      cmocka_unit_test(flash_gradients),
      cmocka_unit_test(flash_in_float_equals_double_on_any_number_of_threads),
  };
  return cmocka_run_group_tests_name("flash attention", tests, NULL, NULL);
}
