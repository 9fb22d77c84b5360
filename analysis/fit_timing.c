/* What the timing of single ops adds to their times; see fit.h. */
#include "analysis/fit.h"

#include <math.h>
#include <stdlib.h>

static const double least_share = 0.25; /* of a point's time that is left to it */

static bool is_timed_alone(const struct sl_point *p) {
  return !sl_op_is_comm((enum sl_op_kind)p->kind) && !sl_variant_is_rated(p->variant);
}

static double without(double seconds, double overhead) {
  return seconds > 0 ? fmax(least_share * seconds, seconds - overhead) : seconds;
}

enum sl_status sl_fit_timing(struct sl_fit *fit, const struct sl_points *points) {
  double *work, unused;
  size_t n = 0;
  if (fit->profile.device.kind != SL_DEVICE_GPU) return SL_OK;
  SL_TRY(sl_calloc(&work, points->step_count, sizeof *work));
  for (size_t i = 0; i < points->step_count; i++) {
    const struct sl_point_step *s = &points->steps[i];
    if (s->ranks == 1 && s->ops > 0)
      work[n++] = (s->compute_s - sl_fit_undisturbed(s->low_s, s->median_s)) / s->ops;
  }
  fit->overhead_s = fmax(0, sl_fit_median(work, n, &unused));
  free(work);
  for (size_t i = 0; i < fit->merged.count; i++) {
    struct sl_point *p = &fit->merged.items[i];
    if (!is_timed_alone(p)) continue;
    p->low_s = without(p->low_s, fit->overhead_s);
    p->median_s = without(p->median_s, fit->overhead_s);
    p->high_s = without(p->high_s, fit->overhead_s);
  }
  return SL_OK;
}

double sl_fit_compute(const struct sl_fit *fit, const struct sl_point_step *step) {
  return step->compute_s - fit->overhead_s * step->ops;
}
