/* Order statistics; see stats.h. */
#include "core/base/stats.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void sl_stats_sort(double *values, size_t n) {
  qsort(values, n, sizeof *values, by_value);
}

double sl_stats_quantile(const double *sorted, size_t n, double q) {
  const double at = q * (double)(n - 1);
  const size_t i = (size_t)at;
  return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

double sl_stats_median(const double *sorted, size_t n) {
  return sl_stats_quantile(sorted, n, 0.5);
}

struct sl_stats_range sl_stats_range(double *values, size_t n) {
  sl_stats_sort(values, n);
  return (struct sl_stats_range){sl_stats_quantile(values, n, 0.1), sl_stats_median(values, n),
                                 sl_stats_quantile(values, n, 0.9)};
}
