/* Bandwidths of a GPU's host memory; see fit.h. */
#include "analysis/fit.h"

#include <stdlib.h>

enum { LAUNCHES = 5 }; /* the least duration of a point, in launches, for it to determine a rate */

/* The bytes that a variant's rate refers to: those of a copy, or all that the CPUs of all ranks read and write. */
static double bytes_of(const struct sl_point *p) {
  if (p->variant == SL_VARIANT_HOST_LINK) return (double)p->dim[0] * (double)sl_dtype_bytes(p->dtype);
  return p->bytes * p->ranks;
}

static enum sl_status fit_rate(struct sl_fit *fit, enum sl_variant variant, double *rate, const char *key) {
  const double launch = fit->profile.device.launch_latency;
  double *each = NULL, error;
  size_t n = 0;
  SL_TRY(sl_calloc(&each, fit->merged.count > 0 ? fit->merged.count : 1, sizeof *each));
  for (size_t i = 0; i < fit->merged.count; i++) {
    const struct sl_point *p = &fit->merged.items[i];
    if (p->variant == variant && p->median_s > LAUNCHES * launch) each[n++] = bytes_of(p) / (p->median_s - launch);
  }
  if (n > 0) {
    *rate = sl_fit_median(each, n, &error);
    sl_fit_found(fit, key, error / 1e9);
  }
  free(each);
  return SL_OK;
}

enum sl_status sl_fit_host(struct sl_fit *fit) {
  struct sl_device *d = &fit->profile.device;
  SL_TRY(fit_rate(fit, SL_VARIANT_HOST_LINK, &d->host_link, "device.host_link_GBps"));
  return fit_rate(fit, SL_VARIANT_ON_HOST, &d->host_bandwidth, "device.host_bandwidth_GBps");
}
