/* Products cut into a block a thread, against three plain loops: every storage, sums, edges that no block divides. */
#include "backend/host/product.h"

#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static float number(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / (float)(1 << 24) - 0.37f;
}

static float *numbers(size_t count, uint32_t seed) {
  float *x = malloc(count * sizeof *x);
  for (size_t i = 0; i < count; i++) x[i] = number(&seed);
  return x;
}

static double element(const struct sl_product *p, const float *before, int i, int j) {
  double sum = 0;
  for (int q = 0; q < p->k; q++) {
    const float a = p->a[p->trans_a ? (size_t)q * (size_t)p->m + (size_t)i : (size_t)i * (size_t)p->k + (size_t)q];
    const float b = p->b[p->trans_b ? (size_t)j * (size_t)p->k + (size_t)q : (size_t)q * (size_t)p->n + (size_t)j];
    sum += (double)a * b;
  }
  return (p->add ? before[(size_t)i * (size_t)p->n + (size_t)j] : 0) + p->scale * sum;
}

static void check(int m, int n, int k, bool trans_a, bool trans_b, bool add) {
  const size_t rows = (size_t)m, columns = (size_t)n, inner = (size_t)k;
  float *a = numbers(rows * inner, 1), *b = numbers(inner * columns, 2), *c = numbers(rows * columns, 3),
        *before = numbers(rows * columns, 3);
  const struct sl_product p = {.m = m,
                               .n = n,
                               .k = k,
                               .trans_a = trans_a,
                               .trans_b = trans_b,
                               .add = add,
                               .scale = k % 2 == 0 ? 1 : 0.5f,
                               .a = a,
                               .b = b,
                               .c = c};
  sl_host_product(&p);
  for (int i = 0; i < m; i++) {
    for (int j = i % SL_EVERY; j < n; j += SL_EVERY) {
      const double want = element(&p, before, i, j), got = c[(size_t)i * columns + (size_t)j];
      if (!(fabs(got - want) < 2e-6 * k))
        fail_msg("%d x %d x %d with %d threads: (%d, %d) is %g, expected %g", m, n, k, omp_get_max_threads(), i, j, got,
                 want);
    }
  }
  free(a);
  free(b);
  free(c);
  free(before);
}

static void blocks_make_the_whole_product(void **state) {
  (void)state;
  static const int shapes[][3] = {{131, 257, 67}, {5, 1003, 301}, {1009, 3, 211}, {17, 19, 23}, {70, 90, 131}};
  static const int threads[] = {1, 2, 3, 4, 6, 7};
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    omp_set_num_threads(threads[t]);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (int form = 0; form < 8; form++)
        check(shapes[s][0], shapes[s][1], shapes[s][2], form & 1, form & 2, form & 4);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_make_the_whole_product)};
  return cmocka_run_group_tests_name("product", tests, NULL, NULL);
}
