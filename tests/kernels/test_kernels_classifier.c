/* label: unit
   libs: kernels_double kernels
 * The fused classifier: loss and gradient, padded columns, and a vocabulary of 50257. */
#include "tests/support/kernels_support.h"

enum { KN = 5, KV = 13 };

static const int32_t classes[KN] = {3, 12, -1, 0, 7};

static double classifier_loss(void *context) {
  double sum, losses[KN], logits[KN * KV];
  memcpy(logits, context, sizeof logits);
  sl_classifier_fused_f64(&sum, losses, logits, classes, KN, KV, KV, 1, 0);
  return sum / 4;
}

static void classifier_gradient(void **state) {
  (void)state;
  double x[KN * KV], d[KN * KV], losses[KN], sum = 1.5;
  fill(x, KN * KV, 20, -4, 4);
  x[KV + 12] = 19; /* nearly certain */
  memcpy(d, x, sizeof d);
  sl_classifier_fused_f64(&sum, losses, d, classes, KN, KV, KV, 0.25, 1);
  double total = 1.5;
  for (size_t n = 0; n < KN; n++) {
    double z = 0;
    for (size_t v = 0; v < KV; v++) z += exp(x[n * KV + v]);
    double loss = classes[n] < 0 ? 0 : log(z) - x[n * KV + (size_t)classes[n]];
    assert_close(losses[n], loss, 1e-10, "loss", n);
    total += loss;
  }
  assert_close(sum, total, 1e-12, "loss sum", 0);
  check_gradient("dlogits", classifier_loss, x, x, KN * KV, d);
  for (size_t v = 0; v < KV; v++) assert_true(d[2 * KV + v] == 0);
}

/* What stands in the columns from `total` on is no part of the softmax, and its gradient is 0, also in an ignored
 * row. */
static void classifier_ignores_padding(void **state) {
  (void)state;
  enum { KP = KV + 6 };
  double dense[KN * KV], padded[KN * KP], losses[2][KN], sum[2];
  fill(dense, KN * KV, 22, -4, 4);
  fill(padded, KN * KP, 23, 30, 40);
  for (size_t n = 0; n < KN; n++) memcpy(padded + n * KP, dense + n * KV, KV * sizeof *dense);
  sl_classifier_fused_f64(&sum[0], losses[0], dense, classes, KN, KV, KV, 0.25, 0);
  sl_classifier_fused_f64(&sum[1], losses[1], padded, classes, KN, KP, KV, 0.25, 0);
  assert_true(sum[0] > 0 && sum[1] == sum[0]);
  assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
  for (size_t n = 0; n < KN; n++) {
    assert_memory_equal(padded + n * KP, dense + n * KV, KV * sizeof *dense);
    for (size_t v = KV; v < KP; v++) assert_true(padded[n * KP + v] == 0);
  }
}

static void classifier_survives_large_logits_and_vocabularies(void **state) {
  (void)state;
  enum { V = 50257 };
  static double x[V];
  static float f[V];
  const int32_t target = 40009;
  double sum, loss;
  fill(x, V, 21, -3, 3);
  for (size_t i = 0; i < V; i++) x[i] = (double)(float)(1000 + 0.0003 * (double)i + x[i]); /* a late maximum */
  to_float(f, x, V);
  double z = 0;
  for (size_t i = 0; i < V; i++) z += exp(x[i] - 1010);
  sl_classifier_fused(&sum, &loss, f, &target, 1, V, V, 1, 0);
  assert_close(sum, log(z) + 1010 - x[target], 3e-7, "loss", 0);
  for (size_t i = 0; i < V; i++) x[i] = exp(x[i] - 1010) / z - (i == (size_t)target);
  assert_true(distance(f, x, V) < 3e-7);
  /* A masked part of the vocabulary has probability 0, also where it fills a chunk of the row. */
  for (size_t i = 0; i < V; i++) f[i] = i % 2 || i < 30000 ? -INFINITY : 1.5f;
  double kept = 0, masked = 0;
  const int32_t even = 40010;
  sl_classifier_fused(&sum, &loss, f, &even, 1, V, V, 1, 0);
  for (size_t i = 0; i < V; i++) *(i % 2 || i < 30000 ? &masked : &kept) += fabs((double)f[i]);
  assert_close(loss, log(10129), 1e-6, "masked loss", 0);
  assert_true(masked == 0);
  assert_close(kept, 2 - 2 / 10129.0, 1e-6, "masked gradient", 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classifier_gradient),
      cmocka_unit_test(classifier_ignores_padding),
      cmocka_unit_test(classifier_survives_large_logits_and_vocabularies),
  };
  return cmocka_run_group_tests_name("classifier", tests, NULL, NULL);
}
