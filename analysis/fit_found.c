/* Notes the numbers that the fit finds, their errors, and their sources in the profile; see fit.h. */
#include "analysis/fit.h"

#include "core/base/stats.h"
#include "core/cluster/provenance.h"

#include <math.h>

double sl_fit_median(double *values, size_t n, double *error) {
  *error = 0;
  if (n == 0) return 0;
  sl_stats_sort(values, n);
  const double median = sl_stats_median(values, n);
  for (size_t i = 0; i < n; i++) values[i] = fabs(values[i] - median);
  sl_stats_sort(values, n);
  *error = 1.2533 * values[n / 2] / 0.6745 / sqrt((double)n);
  return median;
}

void sl_fit_found(struct sl_fit *fit, const char *path, double error) {
  sl_annotation_set(fit->profile.annotations, path, fit->source, error);
}

void sl_fit_set(struct sl_fit *fit, const char *path, const char *reason) {
  char source[256];
  snprintf(source, sizeof source, "set by the fit: %s", reason);
  sl_annotation_set(fit->profile.annotations, path, source, NAN);
}
