/* Matrix products of the host backend: OpenBLAS, one block of the result per thread. */
#pragma once

#include <stdbool.h>

/* c (m, n) = scale a b, or c += scale a b with `add`; row-major and dense, a (m, k) or stored (k, m), b (k, n) or stored
 * (n, k). */
struct sl_product {
  int m, n, k;
  bool trans_a, trans_b, add;
  float scale;
  const float *a, *b;
  float *c;
};

/* Runs on omp_get_max_threads() threads. OpenBLAS itself must be set to one thread, or be built with OpenMP. */
void sl_host_product(const struct sl_product *product);
