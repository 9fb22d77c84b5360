/* Products and sums of numbers that a user gave, for the places that form them before anybody has compared them with a limit
 * (core/base/limits.h). They saturate: what does not fit in 63 bits is SL_HUGE, and so is all that is formed of it, so that one
 * comparison at the end finds what went wrong on the way. Operands count something: they are not negative.
 *
 * The plan is where that comparison stands (core/plan/bounds.c, buffers in core/lower/build.c, a rank's memory in
 * core/job/job.c). Behind it products are plain: limits.h has the reason why they fit. */
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

/* `value` as it stands in a message, in `text`: SL_HUGE is a number that nobody knows. */
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
