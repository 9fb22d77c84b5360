/* Numbers and comparisons shared by the tests of the kernels. */
#pragma once

#include "kernels/numbers/every.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The numbers of the tests come from Philox itself, each array under its own name. */
static inline void fill(double *x, size_t n, uint32_t name, double low, double high) {
  struct sl_philox_key key = {2385, 9, 0, name};
  uint32_t *words = malloc(n * sizeof *words);
  assert_non_null(words);
  sl_philox_words(words, &key, 0, n);
  for (size_t i = 0; i < n; i++) x[i] = low + (high - low) * (words[i] * 0x1p-32);
  free(words);
}

static inline void to_float(float *y, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] = (float)x[i];
}

static inline double dot(const double *x, const double *y, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* |x - y| / |y| in the Euclidean norm. */
static inline double distance(const float *x, const double *y, size_t n) {
  double d = 0, s = 0;
  for (size_t i = 0; i < n; i++) {
    d += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
    s += y[i] * y[i];
  }
  return sqrt(d / s);
}

static inline void assert_close(double x, double y, double relative, const char *what, size_t i) {
  if (!(fabs(x - y) <= relative * (fabs(y) + 1e-3))) fail_msg("%s[%zu]: %.17g, expected %.17g", what, i, x, y);
}

/* Asserts that d loss / d x[i] by central differences equals gradient[i] for every i. */
static inline void check_gradient(const char *what, double (*loss)(void *), void *context, double *x, size_t n,
                                  const double *gradient) {
  const double h = 1e-5;
  for (size_t i = 0; i < n; i += SL_EVERY) { /* every evaluation reads and writes all there is */
    double keep = x[i];
    x[i] = keep + h;
    double above = loss(context);
    x[i] = keep - h;
    double below = loss(context);
    x[i] = keep;
    double slope = (above - below) / (2 * h);
    if (!(fabs(slope - gradient[i]) <= 2e-8 * (1 + fabs(slope)))) {
      fail_msg("%s[%zu]: backward %.12g, finite difference %.12g", what, i, gradient[i], slope);
    }
  }
}

/* n numbers in [-1, 1), to be freed. */
static inline double *reals(size_t n, uint32_t name) {
  double *x = malloc(n * sizeof *x);
  assert_non_null(x);
  fill(x, n, name, -1, 1);
  return x;
}
