/* label: property
   libs: fast
 * Longest paths in closed form against the same schedules played action by action, and against what papers say of equal stages. */
#include "fast/paths.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 24 };

struct pipeline {
  struct sl_fast_stage_cost cost[MOST];
  const struct sl_fast_stage_cost *stage[MOST];
  double transfer[MOST];
  struct sl_fast_pipeline p;
};

static struct sl_fast_timed all_wait(double seconds) {
  return (struct sl_fast_timed){.end = seconds, .end_arrived = seconds, .out = seconds, .out_arrived = seconds};
}

/* Equal stages but for the ends, which take `first` and `last` more. */
static void fill(struct pipeline *x, enum sl_fast_schedule schedule, int stages, int64_t micro_batches, double f,
                 double b, double c, double first, double last) {
  *x = (struct pipeline){.p = {schedule, stages, micro_batches, x->stage, 0, x->transfer}};
  for (int s = 0; s < stages; s++) {
    const double more = s == 0 ? first : s == stages - 1 ? last : 0;
    struct sl_fast_stage_cost *k = &x->cost[s];
    k->forward = all_wait(f + more);
    k->first = k->next = k->last[0] = k->last[1] = all_wait(b + 2 * more);
    x->stage[s] = k;
    x->transfer[s] = c;
  }
}

static double most(const double *ends, int stages) {
  double end = 0;
  for (int s = 0; s < stages; s++) end = ends[s] > end ? ends[s] : end;
  return end;
}

static void equal_stages_without_transfers_have_the_bubble_of_the_papers(void **state) {
  (void)state;
  const int64_t m = 13;
  double ends[MOST];
  struct pipeline x = {0};
  for (int schedule = SL_FAST_GPIPE; schedule <= SL_FAST_1F1B; schedule++) {
    fill(&x, (enum sl_fast_schedule)schedule, 7, m, 2.385, 4.11, 0, 0, 0);
    assert_true(sl_fast_sum_pipeline(&x.p, ends));
    assert_true(fabs(most(ends, 7) - (double)(m + 6) * (2.385 + 4.11)) < 1e-9);
  }
}

static int refused;

static void agree(const struct pipeline *x, double tolerance) {
  double closed[MOST], played[MOST];
  if (!sl_fast_sum_pipeline(&x->p, closed)) {
    refused++;
    return;
  }
  if (sl_fast_run_pipeline(&x->p, played, NULL) != SL_OK) fail_msg("%s", sl_error_message());
  const double difference = most(closed, x->p.stages) / most(played, x->p.stages) - 1;
  if (fabs(difference) > tolerance)
    fail_msg("%d stages, %lld micro-batches, schedule %d, transfer %g: %+.5f %%", x->p.stages,
             (long long)x->p.micro_batches, x->p.schedule, x->transfer[0], 100 * difference);
}

static void equal_stages_are_exact(void **state) {
  (void)state;
  struct pipeline x = {0};
  for (int stages = 1; stages <= MOST; stages++) {
    for (int64_t m = 1; m < 80; m += 1 + m / 9) {
      for (int schedule = SL_FAST_GPIPE; schedule <= SL_FAST_1F1B; schedule++) {
        fill(&x, (enum sl_fast_schedule)schedule, stages, m, 2.385, 4.11, 0.137, 0, 0);
        agree(&x, 1e-12);
      }
    }
  }
  assert_int_equal(refused, 0);
}

static void heavy_ends_are_within_a_fifth_of_a_percent(void **state) {
  static const double ends[][2] = {{0.4, 0}, {0, 0.4}, {0.1, 0.9}, {0.9, 0.1}, {0.02, 0.01}, {3, 2}};
  (void)state;
  struct pipeline x = {0};
  for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
    for (int stages = 2; stages <= MOST; stages++) {
      for (int64_t m = 1; m < 80; m += 1 + m / 9) {
        for (int schedule = SL_FAST_GPIPE; schedule <= SL_FAST_1F1B; schedule++) {
          fill(&x, (enum sl_fast_schedule)schedule, stages, m, 2.385, 4.11, 0.02, ends[e][0], ends[e][1]);
          agree(&x, 0.002);
        }
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_stages_without_transfers_have_the_bubble_of_the_papers),
      cmocka_unit_test(equal_stages_are_exact),
      cmocka_unit_test(heavy_ends_are_within_a_fifth_of_a_percent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
