/* The two numbers of each direction to and from NVMe; see fit.h. */
#include "analysis/fit.h"

#include "cost/compute.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 40, ROUNDS = 6 };

static double seconds_of(const struct sl_point *p, double latency, double rate) {
  const double size = (double)p->dim[0] * (double)sl_dtype_bytes(p->dtype);
  return sl_cost_nvme(latency, rate / p->ranks, size, (double)p->dim[1], (double)p->dim[2]);
}

/* The sum of |ln(formula / measured)| over the points of one direction; `each` (optional): the single values. */
static double misses(const struct sl_fit *fit, enum sl_variant way, double latency, double rate, double *each) {
  double sum = 0;
  size_t n = 0;
  for (size_t i = 0; i < fit->merged.count; i++) {
    const struct sl_point *p = &fit->merged.items[i];
    if (p->variant != way) continue;
    const double miss = fabs(log(seconds_of(p, latency, rate) / p->median_s));
    if (each != NULL) each[n++] = miss;
    sum += miss;
  }
  return sum;
}

/* Finds the best point of a grid over the logarithms of both numbers, and then of finer grids around it. */
static void search(const struct sl_fit *fit, enum sl_variant way, double *latency, double *rate) {
  double centre[2] = {log(1e-4), log(1e9)}, width[2] = {log(1e4), log(1e4)}, best = INFINITY;
  for (int round = 0; round < ROUNDS; round++) {
    const double from[2] = {centre[0] - width[0], centre[1] - width[1]};
    for (int i = 0; i <= STEPS; i++) {
      for (int k = 0; k <= STEPS; k++) {
        const double at[2] = {from[0] + 2 * width[0] * i / STEPS, from[1] + 2 * width[1] * k / STEPS};
        const double miss = misses(fit, way, exp(at[0]), exp(at[1]), NULL);
        if (miss < best) best = miss, centre[0] = at[0], centre[1] = at[1];
      }
    }
    width[0] /= 5, width[1] /= 5;
  }
  *latency = exp(centre[0]);
  *rate = exp(centre[1]);
}

static enum sl_status fit_way(struct sl_fit *fit, enum sl_variant way, double *latency, double *rate,
                              const char *latency_key, const char *rate_key) {
  double *each = NULL, error;
  size_t n = 0;
  for (size_t i = 0; i < fit->merged.count; i++) n += fit->merged.items[i].variant == way;
  if (n < 3) return SL_OK; /* there are two numbers to fit */
  SL_TRY(sl_calloc(&each, n, sizeof *each));
  search(fit, way, latency, rate);
  misses(fit, way, *latency, *rate, each);
  const double typical = sl_fit_median(each, n, &error) / 0.6745 / sqrt((double)n);
  sl_fit_found(fit, latency_key, 1e6 * *latency * typical);
  sl_fit_found(fit, rate_key, *rate / 1e9 * typical);
  free(each);
  return SL_OK;
}

enum sl_status sl_fit_nvme(struct sl_fit *fit) {
  struct sl_device *d = &fit->profile.device;
  SL_TRY(fit_way(fit, SL_VARIANT_NVME_READ, &d->nvme_read_latency, &d->nvme_read, "device.nvme_read_us",
                 "device.nvme_read_GBps"));
  return fit_way(fit, SL_VARIANT_NVME_WRITE, &d->nvme_write_latency, &d->nvme_write, "device.nvme_write_us",
                 "device.nvme_write_GBps");
}
