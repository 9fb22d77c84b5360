/* Merges the rounds of a calibration: points that differ only in their times become one. Its time is the median of the
 * rounds; its low and high are their 10th and 90th percentile. Another guest of the machine, or a host that moves
 * virtual cores apart, slows all repeats of a round equally, so only another round shows how large that effect is. */
#include "analysis/fit.h"

#include "core/base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double sl_fit_undisturbed(double low_s, double median_s) {
  static const double most = 1.15; /* the largest plausible ratio of median to 10th percentile; quiet machines have 1.02
                                    * to 1.08 */
  return low_s > 0 ? fmin(median_s, most * low_s) : median_s;
}

/* Merges points[first] and all points that match it; `seconds` has room for one number per point. */
static struct sl_point merged(const struct sl_points *points, size_t first, bool *taken, double *seconds) {
  struct sl_point p = points->items[first];
  size_t n = 0;
  p.repeats = 0;
  for (size_t i = first; i < points->count; i++) {
    const struct sl_point *q = &points->items[i];
    if (taken[i] || !sl_point_alike(q, &p)) continue;
    taken[i] = true;
    seconds[n++] = sl_fit_undisturbed(q->low_s, q->median_s);
    p.repeats += q->repeats;
  }
  const struct sl_stats_range of_rounds = sl_stats_range(seconds, n);
  p.low_s = of_rounds.low, p.median_s = of_rounds.median, p.high_s = of_rounds.high;
  return p;
}

enum sl_status sl_fit_merge(struct sl_points *out, const struct sl_points *in) {
  bool *taken = NULL;
  double *seconds = NULL;
  enum sl_status status;
  memset(out, 0, sizeof *out);
  SL_GO(sl_calloc(&taken, in->count, sizeof *taken));
  SL_GO(sl_calloc(&seconds, in->count, sizeof *seconds));
  for (size_t i = 0; i < in->count; i++) {
    if (taken[i]) continue;
    const struct sl_point p = merged(in, i, taken, seconds);
    SL_GO(sl_points_add(out, &p));
  }
done:
  free(taken);
  free(seconds);
  return status;
}
