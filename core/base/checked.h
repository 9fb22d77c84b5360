/* Products and sums of numbers from the user, for code that computes them before they have been compared with a limit
 * (core/base/limits.h). They saturate: a result that does not fit in 63 bits is SL_HUGE, and so is everything computed
 * from it, so a single comparison at the end finds any overflow on the way. Operands are counts: they are not negative.
 *
 * The plan does that comparison (core/plan/bounds.c; for buffers core/lower/build.c, for a rank's memory
 * core/job/job.c). After it, products are plain: limits.h explains why they fit. */
#pragma once

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#define SL_HUGE INT64_MAX

static inline int64_t sl_product(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_mul_overflow(a, b, &out) ? SL_HUGE : out;
}

static inline int64_t sl_sum(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? SL_HUGE : out;
}

/* The least multiple of `unit` that is not below n. Only where the sum of both fits. */
static inline int64_t sl_round_up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

/* The greatest common divisor of two numbers, one of them above 0. */
static inline int64_t sl_common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

/* `value` as text for a message; SL_HUGE becomes words, as its true value is unknown. */
struct sl_count_text {
  char text[32];
};
static inline struct sl_count_text sl_count_text(int64_t value) {
  struct sl_count_text out;
  if (value == SL_HUGE)
    snprintf(out.text, sizeof out.text, "2^63 or more");
  else
    snprintf(out.text, sizeof out.text, "%" PRId64, value);
  return out;
}
