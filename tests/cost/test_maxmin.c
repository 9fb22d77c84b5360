/* label: unit
   libs: cost
 * Max-min fairness: closed forms of few flows, and on random systems what makes an allocation max-min fair. */
#include "cost/maxmin.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { FLOWS = 12, LINKS = 6, USES = FLOWS * LINKS };

struct system {
  struct sl_maxmin m;
  int first[FLOWS + 1], resource[USES], users[LINKS];
  double use[USES], rate[FLOWS], weight[FLOWS], stop[FLOWS], room[LINKS], slope[LINKS];
};

static void open_system(struct system *s, int links) {
  *s = (struct system){0};
  s->m = (struct sl_maxmin){.resources = links,
                            .first = s->first,
                            .resource = s->resource,
                            .use = s->use,
                            .rate = s->rate,
                            .weight = s->weight,
                            .stop = s->stop,
                            .room = s->room,
                            .slope = s->slope,
                            .users = s->users};
}

/* use[r] of each link; 0: none. */
static void add_flow(struct system *s, const double *use) {
  int *end = &s->first[s->m.flows + 1];
  *end = s->first[s->m.flows++];
  for (int r = 0; r < s->m.resources; r++) {
    if (use[r] == 0) continue;
    s->resource[*end] = r;
    s->use[(*end)++] = use[r];
  }
}

static void near(double value, double expected) {
  if (fabs(value - expected) > 1e-12) fail_msg("%.17g, expected %.17g", value, expected);
}

static void two_that_fill_a_link_have_half_of_it_each(void **state) {
  (void)state;
  struct system s;
  open_system(&s, 1);
  add_flow(&s, (const double[]){1});
  sl_cost_maxmin(&s.m);
  assert_true(s.rate[0] == 1);
  add_flow(&s, (const double[]){1});
  sl_cost_maxmin(&s.m);
  near(s.rate[0], 0.5), near(s.rate[1], 0.5);
}

/* One wants a fifth of the link: it has it, and the others have two fifths each. */
static void what_one_leaves_falls_to_the_others(void **state) {
  (void)state;
  struct system s;
  open_system(&s, 1);
  add_flow(&s, (const double[]){1});
  add_flow(&s, (const double[]){0.2});
  add_flow(&s, (const double[]){1});
  sl_cost_maxmin(&s.m);
  near(s.rate[0], 0.4), near(s.rate[2], 0.4);
  assert_true(s.rate[1] == 1);
}

/* Flows 0 and 1 share link 0, flows 1 and 2 link 1, of which flow 2 takes at most 0.3: so flow 1 is bound by link 0. */
static void a_flow_is_bound_by_its_fullest_link(void **state) {
  (void)state;
  struct system s;
  open_system(&s, 2);
  add_flow(&s, (const double[]){1, 0});
  add_flow(&s, (const double[]){1, 1});
  add_flow(&s, (const double[]){0, 0.3});
  sl_cost_maxmin(&s.m);
  near(s.rate[0], 0.5), near(s.rate[1], 0.5);
  assert_true(s.rate[2] == 1);
}

/* Three on link 0, of which one also meets a fourth on link 1: that has what the one leaves there. */
static void a_flow_that_is_bound_elsewhere_leaves_room(void **state) {
  (void)state;
  struct system s;
  open_system(&s, 2);
  add_flow(&s, (const double[]){1, 0});
  add_flow(&s, (const double[]){1, 0});
  add_flow(&s, (const double[]){1, 1});
  add_flow(&s, (const double[]){0, 1});
  sl_cost_maxmin(&s.m);
  for (int f = 0; f < 3; f++) near(s.rate[f], 1.0 / 3);
  near(s.rate[3], 2.0 / 3);
}

static uint32_t draw(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

static double share_of(const struct system *s, int f) {
  double most = 0;
  for (int i = s->first[f]; i < s->first[f + 1]; i++) {
    int users = 0;
    for (int k = 0; k < s->first[s->m.flows]; k++) users += s->resource[k] == s->resource[i];
    if (users > 1 && s->use[i] > most) most = s->use[i];
  }
  return most * s->rate[f];
}

/* No link carries more than it can; and a flow that is held up has a full link on which no other has a larger share:
 * nobody can have more but at the cost of one that has no more. */
static void check(const struct system *s) {
  double carried[LINKS] = {0};
  for (int f = 0; f < s->m.flows; f++) {
    assert_true(s->rate[f] > 0 && s->rate[f] <= 1);
    for (int i = s->first[f]; i < s->first[f + 1]; i++) carried[s->resource[i]] += s->use[i] * s->rate[f];
  }
  for (int r = 0; r < s->m.resources; r++) assert_true(carried[r] <= 1 + 1e-9);
  for (int f = 0; f < s->m.flows; f++) {
    bool bound = s->rate[f] == 1;
    for (int i = s->first[f]; i < s->first[f + 1] && !bound; i++) {
      if (carried[s->resource[i]] < 1 - 1e-9) continue;
      bound = true;
      for (int g = 0; g < s->m.flows; g++)
        for (int k = s->first[g]; k < s->first[g + 1]; k++)
          if (s->resource[k] == s->resource[i] && share_of(s, g) > share_of(s, f) + 1e-9) bound = false;
    }
    assert_true(bound);
  }
}

static void random_systems_are_max_min_fair(void **state) {
  (void)state;
  uint32_t seed = 7;
  for (int round = 0; round < 2000; round++) {
    struct system s;
    open_system(&s, 1 + (int)(draw(&seed) % LINKS));
    const int flows = 1 + (int)(draw(&seed) % FLOWS);
    for (int f = 0; f < flows; f++) {
      double use[LINKS];
      for (int r = 0; r < LINKS; r++) use[r] = draw(&seed) % 3 > 0 ? 0 : (double)(1 + draw(&seed) % 16) / 16;
      add_flow(&s, use);
    }
    sl_cost_maxmin(&s.m);
    check(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_that_fill_a_link_have_half_of_it_each),
      cmocka_unit_test(what_one_leaves_falls_to_the_others),
      cmocka_unit_test(a_flow_is_bound_by_its_fullest_link),
      cmocka_unit_test(a_flow_that_is_bound_elsewhere_leaves_room),
      cmocka_unit_test(random_systems_are_max_min_fair),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
