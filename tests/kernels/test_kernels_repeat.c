/* label: unit
   libs: kernels_double kernels
 * Optimizers and sums against plain formulas; float kernels against their double build; and every kernel on 1, 2 and 3
 * threads, bit for bit. */
#include "kernels/vecmath.h"
#include "tests/support/kernels_support.h"

#include <omp.h>

/* ---- optimizers ---- */

enum { ON = 37, STEPS = 10 };

static void adam_follows_its_formula(void **state) {
  (void)state;
  for (int decoupled = 0; decoupled < 2; decoupled++) {
    for (int precision = 0; precision < 2; precision++) {
      double p[ON], m[ON] = {0}, v[ON] = {0}, g[ON], rp[ON], rm[ON] = {0}, rv[ON] = {0};
      float fp[ON], fm[ON] = {0}, fv[ON] = {0}, fg[ON];
      struct sl_adam a = {1e-2, 0.87, 0.993, 1e-7, 0.13, 0.37, decoupled, 1, 0};
      fill(p, ON, 30, -1, 1), memcpy(rp, p, sizeof p), to_float(fp, p, ON);
      for (a.step = 1; a.step <= STEPS; a.step++) {
        fill(g, ON, 100 + (uint32_t)a.step, -2, 2), to_float(fg, g, ON);
        sl_optimizer_adam_f64(p, m, v, g, ON, &a);
        sl_optimizer_adam(fp, fm, fv, fg, ON, &a);
        for (size_t i = 0; i < ON; i++) {
          double gi = g[i] * 0.37, t = (double)a.step;
          if (decoupled) rp[i] -= 1e-2 * 0.13 * rp[i];
          if (!decoupled) gi += 0.13 * rp[i];
          rm[i] = 0.87 * rm[i] + (1 - 0.87) * gi;
          rv[i] = 0.993 * rv[i] + (1 - 0.993) * gi * gi;
          rp[i] -= 1e-2 * (rm[i] / (1 - pow(0.87, t))) / (sqrt(rv[i] / (1 - pow(0.993, t))) + 1e-7);
        }
      }
      for (size_t i = 0; i < ON; i++) {
        assert_close(p[i], rp[i], 1e-12, "adam param", i);
        assert_close(v[i], rv[i], 1e-12, "adam v", i);
      }
      assert_true(distance(fp, rp, ON) < 5e-7);
    }
  }
}

static void sgd_follows_its_formula(void **state) {
  (void)state;
  static const struct sl_sgd kinds[] = {{0.05, 0, 0, 0.11, 0.7, 0, 0},
                                        {0.05, 0.9, 0, 0.11, 0.7, 0, 0},
                                        {0.05, 0.9, 0.3, 0, 0.7, 0, 0},
                                        {0.05, 0.8, 0, 0.02, 0.7, 1, 0}};
  for (size_t kind = 0; kind < 4; kind++) {
    struct sl_sgd s = kinds[kind];
    double p[ON], buf[ON], g[ON], rp[ON], rb[ON] = {0};
    float fp[ON], fb[ON], fg[ON];
    fill(p, ON, 31, -1, 1), memcpy(rp, p, sizeof p), to_float(fp, p, ON);
    for (size_t i = 0; i < ON; i++) buf[i] = NAN, fb[i] = NAN; /* the first step must not read it */
    for (s.step = 1; s.step <= STEPS; s.step++) {
      fill(g, ON, 200 + (uint32_t)s.step, -2, 2), to_float(fg, g, ON);
      sl_optimizer_sgd_f64(p, s.momentum > 0 ? buf : NULL, g, ON, &s);
      sl_optimizer_sgd(fp, s.momentum > 0 ? fb : NULL, fg, ON, &s);
      for (size_t i = 0; i < ON; i++) {
        double gi = g[i] * s.grad_scale + s.weight_decay * rp[i];
        rb[i] = s.step == 1 ? gi : s.momentum * rb[i] + (1 - s.dampening) * gi;
        rp[i] -= s.lr * (s.momentum == 0 ? gi : s.nesterov ? gi + s.momentum * rb[i] : rb[i]);
      }
    }
    for (size_t i = 0; i < ON; i++) {
      assert_close(p[i], rp[i], 1e-12, "sgd param", i);
    }
    assert_true(distance(fp, rp, ON) < 5e-7);
  }
}

/* ---- sums ---- */

static void a_sum_of_squares_adds_to_what_is_there(void **state) {
  (void)state;
  enum { N = 30011 };
  static double x[N];
  static float f[N];
  fill(x, N, 40, -1, 1), to_float(f, x, N);
  double sum = 2.5, expected = 2.5, *scratch = malloc(sl_reduce_scratch_bytes(N));
  for (size_t i = 0; i < N; i++) expected += (double)f[i] * (double)f[i];
  sl_reduce_sum_squares(&sum, f, N, 1, scratch);
  assert_close(sum, expected, 1e-12, "sum of squares", 0);
  free(scratch);
}

/* ---- exp ---- */

static void exp_is_accurate_and_has_the_right_ends(void **state) {
  (void)state;
  double worst = 0;
  for (int i = -8700000; i <= 8870000; i += 7) {
    float x = (float)i * 1e-5f;
    double exact = exp((double)x);
    worst = fmax(worst, fabs((double)sl_exp(x) - exact) / (double)(nextafterf((float)exact, INFINITY) - (float)exact));
  }
  assert_true(worst < 1.1); /* ulp */
  assert_true(sl_exp(0) == 1 && sl_exp(-INFINITY) == 0 && sl_exp(INFINITY) == INFINITY && isnan(sl_exp(NAN)));
  assert_true(sl_exp(-200) == 0 && sl_exp(200) == INFINITY && sl_exp(88.7f) < INFINITY);
  assert_true(fabs((double)sl_exp(-100) - exp(-100)) < 2e-45); /* denormal */
}

/* ---- every kernel at once, at sizes that are cut unevenly ---- */

enum { B = 3, T = 71, H = 5, D = 13, C = H * D, N = B * T, V = 1031, P = 80 };

struct results {
  double loss, squares;
  double losses[N];
  float normal[N * C], emb[N * C], dwte[V * C], dwpe[P * C];
  float ln[N * C], mean[N], rstd[N], dln[N * C], dweight[C], dbias[C];
  float gelu[N * C], dgelu[N * C], residual[N * C], bias_gradient[C];
  float qkv[N * 3 * C], attention[N * C], probs[B * H * T * T], dqkv[N * 3 * C], dlogits[N * V];
  float param[V * C], m[V * C], v[V * C];
};

static const struct sl_dropout drop = {.p = 0.1f, .key = {21, 2, 5, 13}, .first_element = 4099, .row_stride = C};
static const struct sl_embedding_shape table = {B, T, C, 0, V, 1, .scale = 0};
static const struct sl_attention_shape heads = {B, T, H, H, D, 3 * C, 3 * C, 3 * C, C, H, .scale = 0};

/* The kernels of one small step, in float or in double: K names the symbol, R the type. */
#define DEFINE_STEP(NAME, R, K, RESULTS)                                                                               \
  static void NAME(RESULTS *r, const R *wte, const R *wpe, const R *w, const int32_t *tokens, void *scratch,           \
                   size_t bytes) {                                                                                     \
    struct sl_adam adam = {1e-3, 0.9, 0.95, 1e-8, 0.1, 0.5, 1, 1, 3};                                                  \
    K(sl_embedding_forward)(r->emb, tokens, wte, wpe, &table, &drop);                                                  \
    K(sl_layernorm_forward)(r->ln, r->mean, r->rstd, r->emb, w, w + C, N, C, 1e-5f, 0);                                \
    K(sl_gelu_forward)(r->gelu, r->ln, w, N, C);                                                                       \
    K(sl_dropout_residual)(r->residual, r->emb, r->gelu, w, N, C, &drop);                                              \
    for (size_t i = 0; i < (size_t)N * 3 * C; i++) r->qkv[i] = 2 * r->residual[i / 3];                                 \
    K(sl_attention_forward)                                                                                            \
    (r->attention, r->probs, NULL, r->qkv, r->qkv + C, r->qkv + 2 * C, &heads, &drop, scratch, bytes);                 \
    for (size_t i = 0; i < (size_t)N * V; i++) r->dlogits[i] = 3 * r->attention[i * 31 % (N * C)];                     \
    K(sl_classifier_fused)(&r->loss, r->losses, r->dlogits, tokens, N, V, V, (R)1 / N, 0);                             \
    K(sl_attention_backward)                                                                                           \
    (r->dqkv, r->dqkv + C, r->dqkv + 2 * C, r->dlogits, r->qkv, r->qkv + C, r->qkv + 2 * C, r->probs, NULL, &heads,    \
     &drop, scratch, bytes);                                                                                           \
    K(sl_gelu_backward)(r->dgelu, r->dqkv, r->ln, w, N, C);                                                            \
    K(sl_reduce_bias_backward)(r->bias_gradient, r->dgelu, N, C, 0);                                                   \
    K(sl_layernorm_backward)                                                                                           \
    (r->dln, 0, r->dweight, r->dbias, 0, 0, r->dgelu, r->emb, w, r->mean, r->rstd, N, C, 0, scratch);                  \
    K(sl_embedding_backward)(r->dwte, 0, r->dwpe, P, 0, 0, r->dln, tokens, &table, &drop);                             \
    memcpy(r->param, wte, sizeof r->param);                                                                            \
    memcpy(r->m, r->dwte, sizeof r->m);                                                                                \
    K(sl_reduce_fill)(r->v, (R)0.01, V * C);                                                                           \
    K(sl_optimizer_adam)(r->param, r->m, r->v, r->dwte, V * C, &adam);                                                 \
    K(sl_reduce_sum_squares)(&r->squares, r->dwte, V * C, 0, scratch);                                                 \
  }

struct results_f64 {
  double loss, squares;
  double losses[N];
  double emb[N * C], dwte[V * C], dwpe[P * C];
  double ln[N * C], mean[N], rstd[N], dln[N * C], dweight[C], dbias[C];
  double gelu[N * C], dgelu[N * C], residual[N * C], bias_gradient[C];
  double qkv[N * 3 * C], attention[N * C], probs[B * H * T * T], dqkv[N * 3 * C], dlogits[N * V];
  double param[V * C], m[V * C], v[V * C];
};

#define PLAIN(name) name
#define F64(name) name##_f64
DEFINE_STEP(step_float, float, PLAIN, struct results)
DEFINE_STEP(step_double, double, F64, struct results_f64)

struct inputs {
  double *wte, *wpe, *w;
  float *fwte, *fwpe, *fw;
  int32_t tokens[N];
  void *scratch;
  size_t bytes;
};

static float *floats(const double *x, size_t n) {
  float *y = malloc(n * sizeof *y);
  assert_non_null(y);
  to_float(y, x, n);
  return y;
}

static struct inputs inputs_make(void) {
  struct inputs in = {.wte = reals(V * C, 50), .wpe = reals(P * C, 51), .w = reals(2 * C, 52)};
  in.fwte = floats(in.wte, V * C), in.fwpe = floats(in.wpe, P * C), in.fw = floats(in.w, 2 * C);
  for (size_t i = 0; i < N; i++) in.tokens[i] = (int32_t)(i * i * 7 % V);
  in.bytes = sl_attention_backward_scratch_bytes_f64(&heads, 3) + sl_layernorm_scratch_bytes_f64(N, C);
  in.scratch = malloc(in.bytes);
  assert_non_null(in.scratch);
  return in;
}

static void inputs_free(struct inputs *in) {
  free(in->wte), free(in->wpe), free(in->w), free(in->fwte), free(in->fwpe), free(in->fw), free(in->scratch);
}

static void results_do_not_depend_on_the_number_of_threads(void **state) {
  (void)state;
  struct inputs in = inputs_make();
  struct results *one = calloc(1, sizeof *one), *many = calloc(1, sizeof *many);
  assert_true(one && many);
  const int before = omp_get_max_threads();
  for (int threads = 1; threads <= 3; threads++) {
    struct results *r = threads == 1 ? one : many;
    omp_set_num_threads(threads);
    memset(in.scratch, 0xff, in.bytes); /* NaN: nothing may be read before it is written */
    step_float(r, in.fwte, in.fwpe, in.fw, in.tokens, in.scratch, in.bytes);
    sl_philox_normal(r->normal, &drop.key, 5, N * C, 0, 1);
    if (threads > 1) assert_memory_equal(one, many, sizeof *one);
  }
  /* Scratch for one thread only: the same bits. */
  memset(many, 0, sizeof *many);
  step_float(many, in.fwte, in.fwpe, in.fw, in.tokens, in.scratch, sl_attention_backward_scratch_bytes(&heads, 1));
  memcpy(many->normal, one->normal, sizeof one->normal);
  assert_memory_equal(one, many, sizeof *one);
  omp_set_num_threads(before);
  assert_true(isfinite(one->loss) && one->squares > 0);
  free(one), free(many);
  inputs_free(&in);
}

static void float_agrees_with_double(void **state) {
  (void)state;
  struct inputs in = inputs_make();
  struct results *f = calloc(1, sizeof *f);
  struct results_f64 *d = calloc(1, sizeof *d);
  assert_true(f && d);
  step_float(f, in.fwte, in.fwpe, in.fw, in.tokens, in.scratch, in.bytes);
  for (size_t i = 0; i < V * C; i++) in.wte[i] = (double)in.fwte[i];
  for (size_t i = 0; i < P * C; i++) in.wpe[i] = (double)in.fwpe[i];
  for (size_t i = 0; i < 2 * C; i++) in.w[i] = (double)in.fw[i];
  step_double(d, in.wte, in.wpe, in.w, in.tokens, in.scratch, in.bytes);
  assert_close(f->loss, d->loss, 2e-7, "loss", 0);
  assert_close(f->squares, d->squares, 1e-5, "sum of squares", 0);
#define AGREE(field, tolerance)                                                                                        \
  if (distance(f->field, d->field, sizeof f->field / sizeof *f->field) > (tolerance))                                  \
  fail_msg(#field ": %g", distance(f->field, d->field, sizeof f->field / sizeof *f->field))
  AGREE(emb, 1e-7);
  AGREE(ln, 3e-7);
  AGREE(gelu, 3e-7);
  AGREE(residual, 3e-7);
  AGREE(attention, 1e-6);
  AGREE(probs, 2e-6);
  AGREE(dlogits, 2e-6);
  AGREE(dqkv, 5e-6);
  AGREE(dgelu, 5e-6);
  AGREE(bias_gradient, 5e-6);
  AGREE(dln, 5e-6);
  AGREE(dweight, 5e-6);
  AGREE(dwte, 5e-6);
  AGREE(dwpe, 5e-6);
  AGREE(param, 2e-7);
#undef AGREE
  free(f), free(d);
  inputs_free(&in);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adam_follows_its_formula),
      cmocka_unit_test(sgd_follows_its_formula),
      cmocka_unit_test(a_sum_of_squares_adds_to_what_is_there),
      cmocka_unit_test(exp_is_accurate_and_has_the_right_ends),
      cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
      cmocka_unit_test(float_agrees_with_double),
  };
  return cmocka_run_group_tests_name("kernels_repeat", tests, NULL, NULL);
}
