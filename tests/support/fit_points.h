/* Points of an imaginary machine with known costs, for tests of the fit: products with exactly those costs, or with
 * noise. */
#pragma once

#include "analysis/fit.h"
#include "core/program/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { POINTS = 64 };

static uint64_t state; /* of the random numbers; a test that sets it repeats exactly */

static inline double uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static inline double normal(void) {
  return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* seconds per unit of launch, flop, a, b, c: a core of 53 GFLOPS */
static const double truth[SL_TERM_COUNT] = {[SL_TERM_LAUNCH] = 7e-6,
                                            [SL_TERM_FLOPS] = 1 / 53e9,
                                            [SL_TERM_A] = 1 / 3.7e9,
                                            [SL_TERM_B] = 1 / 11e9,
                                            [SL_TERM_C] = 1 / 5.3e9};

static inline void open_points(struct sl_points *points) {
  struct sl_cluster local;
  memset(points, 0, sizeof *points);
  assert_int_equal(sl_cluster_load(&local, "localhost"), SL_OK);
  points->cluster = sl_cluster_to_json(&local);
  sl_cluster_free(&local);
}

static inline struct sl_point product(double noise) {
  struct sl_point p = {.kind = SL_OP_GEMM, .dtype = SL_F32, .ranks = 1, .parts = 1, .repeats = 9};
  double seconds = 0;
  for (int i = 0; i < 3; i++) p.dim[i] = (int64_t)exp(2 + 5.5 * uniform());
  const struct sl_work work = sl_point_work(&p);
  for (int t = 0; t < SL_TERM_COUNT; t++) seconds += truth[t] * work.terms[t];
  p.median_s = seconds * exp(noise * normal());
  p.low_s = p.median_s * 0.98;
  p.high_s = p.median_s * 1.02;
  return p;
}
