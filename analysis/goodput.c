/* See goodput.h. */
#include "analysis/goodput.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

double sl_goodput_daly(const struct sl_goodput_model *m, double interval_s) {
  const double cycle = expm1((interval_s + m->save_s) / m->mtbf_s), restart = exp(m->restart_s / m->mtbf_s);
  return interval_s / (m->mtbf_s * restart * cycle);
}

double sl_goodput_first_order(const struct sl_goodput_model *m, double interval_s) {
  return fmax(0, 1 - m->save_s / interval_s - (interval_s / 2 + m->restart_s) / m->mtbf_s);
}

double sl_goodput_young_s(const struct sl_goodput_model *m) {
  return sqrt(2 * m->save_s * m->mtbf_s);
}

double sl_goodput_daly_s(const struct sl_goodput_model *m) {
  const double x = m->save_s / (2 * m->mtbf_s);
  if (x >= 1) return m->mtbf_s;
  return sl_goodput_young_s(m) * (1 + sqrt(x) / 3 + x / 9) - m->save_s;
}

int64_t sl_goodput_best_steps(const struct sl_goodput_model *m, double step_s) {
  const double best = sl_goodput_best_s(m), whole = floor((isnan(best) ? sl_goodput_daly_s(m) : best) / step_s);
  const double written = ceil(m->write_s / step_s); /* sooner the next save would wait */
  if (!(fmax(whole, written) >= 1)) return 1;
  if (written > whole) return written > 1e15 ? INT64_C(1000000000000000) : (int64_t)written;
  if (whole > 1e15) return INT64_C(1000000000000000);
  const bool more = sl_goodput_daly(m, (whole + 1) * step_s) > sl_goodput_daly(m, whole * step_s);
  return (int64_t)whole + more;
}

#ifndef SL_HAVE_GSL

double sl_goodput_best_s(const struct sl_goodput_model *m) {
  (void)m;
  return NAN;
}

enum sl_status sl_goodput_draw(const struct sl_goodput_model *model, double interval_s, int saves, int runs,
                               uint64_t seed, struct sl_goodput_drawn *out) {
  (void)model, (void)interval_s, (void)saves, (void)runs, (void)seed, (void)out;
  return sl_fail(SL_ERR_ABSENT, "drawing failures needs GSL, which was absent when shardlab-analyze was built");
}

#else

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_lambert.h>
#include <gsl/gsl_statistics_double.h>

static const double most_failures = 3000; /* per interval; with more failures there is no progress worth simulating */

double sl_goodput_best_s(const struct sl_goodput_model *m) {
  return m->mtbf_s * (1 + gsl_sf_lambert_W0(-exp(-1 - m->save_s / m->mtbf_s)));
}

/* The state of a simulated training. */
struct training {
  const struct sl_goodput_model *model;
  gsl_rng *random;
  double scale; /* of the distribution of times between failures */
  double now, fails_s;
  double failures, most; /* so far; the limit */
  int taken, done;       /* intervals of work: finished, and in a complete checkpoint */
  double complete_s;     /* when the checkpoint in flight will be complete; -1: there is none */
};

static double next_life(const struct training *t) {
  return gsl_ran_weibull(t->random, t->scale, t->model->shape);
}

/* Completes the checkpoint in flight if it is complete by `until`. */
static void write_until(struct training *t, double until) {
  if (t->complete_s < 0 || t->complete_s > until) return;
  t->done = t->taken;
  t->complete_s = -1;
}

/* A failure, and restarts until one succeeds. */
static void fail(struct training *t) {
  write_until(t, t->fails_s);
  t->taken = t->done;
  t->complete_s = -1;
  do {
    t->now = t->fails_s;
    t->fails_s += next_life(t);
    t->failures++;
  } while (t->fails_s < t->now + t->model->restart_s && t->failures <= t->most);
  t->now += t->model->restart_s;
}

/* An interval of work and its save, or the failure that interrupts it. */
static void work(struct training *t, double interval_s) {
  const double worked = t->now + interval_s, end = fmax(worked, t->complete_s) + t->model->save_s;
  if (t->fails_s < end) {
    fail(t);
    return;
  }
  write_until(t, end);
  t->now = end;
  t->taken++;
  t->complete_s = end + t->model->write_s;
}

/* The seconds of a training of `saves` intervals, until the last is in a complete checkpoint; NaN if it fails too
 * often. */
static double train(struct training *t, double interval_s, int saves) {
  t->now = 0;
  t->taken = t->done = 0;
  t->complete_s = -1;
  t->fails_s = next_life(t);
  t->failures = 0;
  t->most = most_failures * saves;
  while (t->done < saves && t->failures <= t->most) {
    if (t->taken < saves)
      work(t, interval_s);
    else if (t->fails_s < t->complete_s)
      fail(t);
    else
      t->now = t->complete_s, write_until(t, t->now);
    if (t->model->write_s == 0) write_until(t, t->now);
  }
  return t->done < saves ? NAN : t->now;
}

enum sl_status sl_goodput_draw(const struct sl_goodput_model *m, double interval_s, int saves, int runs, uint64_t seed,
                               struct sl_goodput_drawn *out) {
  struct training t = {.model = m, .scale = m->mtbf_s / gsl_sf_gamma(1 + 1 / m->shape)};
  double *times;
  *out = (struct sl_goodput_drawn){NAN, NAN};
  SL_TRY(sl_calloc(&times, (size_t)runs, sizeof *times));
  t.random = gsl_rng_alloc(gsl_rng_mt19937);
  if (t.random == NULL) return free(times), sl_fail(SL_ERR_MEMORY, "out of memory: random numbers");
  gsl_rng_set(t.random, (unsigned long)seed);
  for (int i = 0; i < runs; i++) {
    times[i] = train(&t, interval_s, saves);
    if (isnan(times[i])) goto done;
  }
  const double mean = gsl_stats_mean(times, 1, (size_t)runs);
  const double spread = runs > 1 ? gsl_stats_sd_m(times, 1, (size_t)runs, mean) : 0;
  /* the mean is of the time, whose expectation the closed form gives; its error is propagated to the goodput */
  out->mean = saves * interval_s / mean;
  out->error = out->mean * spread / mean / sqrt((double)runs);
done:
  gsl_rng_free(t.random);
  free(times);
  return SL_OK;
}

#endif
