/* label: property
 * The order of the axes: where ranks stand and who is in which group, for every order, against what the words say. */
#include "core/check/rendezvous.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const names[SL_RANK_ORDERS] = {"tp-dp-pp", "tp-pp-dp", "dp-tp-pp",
                                                  "dp-pp-tp", "pp-tp-dp", "pp-dp-tp"};

static void open_order(struct fixture *f, const char *order, int tp, int pp, int world, const char *more) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 4, "
           "\"optimizer\": {\"type\": \"AdamW\"}%s, \"shardlab\": {\"tp\": %d, \"pp\": %d, \"seq_len\": 9, "
           "\"rank_order\": \"%s\"}}",
           more, tp, pp, order);
  if (fixture_open(f, "gpt2", config, "localhost", world, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

static int axis_of(const struct sl_coord *c, char axis) {
  return axis == 't' ? c->tp : axis == 'd' ? c->dp : c->pp;
}

/* Rank r is the number whose digits are the coordinates, that of the first axis of the name the lowest. */
static void ranks_count_through_the_axes_in_the_order_of_the_name(void **state) {
  (void)state;
  for (int order = 0; order < SL_RANK_ORDERS; order++) {
    struct fixture f;
    open_order(&f, names[order], 2, 3, 24, "");
    const struct sl_plan *plan = &f.plan;
    assert_int_equal(plan->rank_order, order);
    for (int rank = 0; rank < plan->world; rank++) {
      const struct sl_coord c = sl_plan_coord(plan, rank);
      int number = 0;
      for (int i = 2; i >= 0; i--) {
        const char axis = names[order][3 * i];
        number = number * (axis == 't' ? plan->tp : axis == 'd' ? plan->dp : plan->pp) + axis_of(&c, axis);
      }
      assert_int_equal(number, rank);
      assert_int_equal(sl_plan_rank(plan, c), rank);
    }
    fixture_close(&f);
  }
}

static bool shares(enum sl_group group, const struct sl_plan *plan, const struct sl_coord *a,
                   const struct sl_coord *b) {
  switch (group) {
  case SL_GROUP_TP:
    return a->dp == b->dp && a->pp == b->pp;
  case SL_GROUP_DP:
    return a->tp == b->tp && a->pp == b->pp;
  case SL_GROUP_SHARD:
    return a->tp == b->tp && a->pp == b->pp && a->dp / plan->shard == b->dp / plan->shard;
  case SL_GROUP_REPLICATE:
    return a->tp == b->tp && a->pp == b->pp && a->dp % plan->shard == b->dp % plan->shard;
  case SL_GROUP_MODEL:
    return a->dp == b->dp;
  case SL_GROUP_EMBED:
    return a->tp == b->tp && a->dp == b->dp && a->pp % (plan->pp - 1) == 0 && b->pp % (plan->pp - 1) == 0;
  default:
    return group == SL_GROUP_WORLD;
  }
}

/* Those and no others, in the order of their numbers; a rank that is in none stands alone. */
static void check_members(const struct sl_plan *plan, enum sl_group group, int rank) {
  const struct sl_coord me = sl_plan_coord(plan, rank);
  const struct sl_members m = sl_plan_group(plan, group, rank);
  int at = 0;
  for (int other = 0; other < plan->world; other++) {
    const struct sl_coord it = sl_plan_coord(plan, other);
    if (other != rank && !shares(group, plan, &me, &it)) continue;
    assert_true(at < m.size);
    assert_int_equal(sl_members_rank(&m, at), other);
    assert_int_equal(sl_plan_group(plan, group, other).id, m.id);
    if (other == rank) assert_int_equal(m.index, at);
    at++;
  }
  assert_int_equal(m.size, at);
}

static void groups_hold_those_that_share_the_other_coordinates(void **state) {
  (void)state;
  for (int order = 0; order < SL_RANK_ORDERS; order++) {
    struct fixture f;
    open_order(&f, names[order], 2, 3, 24, ", \"zero_optimization\": {\"stage\": 3, \"mics_shard_size\": 2}");
    for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) {
      if (g == SL_GROUP_CP || g >= SL_GROUP_SECONDARY) continue; /* of one */
      for (int rank = 0; rank < f.plan.world; rank++) check_members(&f.plan, (enum sl_group)g, rank);
    }
    fixture_close(&f);
  }
}

/* The groups of all ranks in one pass are those of each rank alone, also where context-parallel ranks stand between. */
static void one_pass_over_the_ranks_names_the_groups_of_each(void **state) {
  (void)state;
  for (int order = 0; order < SL_RANK_ORDERS; order++) {
    struct fixture f;
    open_order(&f, names[order], 2, 3, 24, ", \"zero_optimization\": {\"stage\": 3, \"mics_shard_size\": 2}");
    struct sl_plan plan = f.plan;
    plan.cp = 2, plan.dp /= 2;
    for (int g = SL_GROUP_NONE; g < SL_GROUP_COUNT; g++) {
      int ids[24];
      sl_plan_group_ids(&plan, (enum sl_group)g, ids);
      for (int rank = 0; rank < plan.world; rank++)
        assert_int_equal(ids[rank], sl_plan_group(&plan, (enum sl_group)g, rank).id);
    }
    struct sl_coord at = {0};
    for (int rank = 0; rank < plan.world; rank++, sl_plan_next(&plan, &at))
      assert_int_equal(sl_plan_rank(&plan, at), rank);
    assert_int_equal(sl_plan_rank(&plan, at), 0); /* it begins anew */
    fixture_close(&f);
  }
}

/* First and last rank of a class are of it, whatever stands between. */
static void programs_are_proved_in_every_order(void **state) {
  (void)state;
  static const char *const zero[] = {", \"zero_optimization\": {\"stage\": 1}",
                                     ", \"zero_optimization\": {\"stage\": 3}"};
  for (int order = 0; order < SL_RANK_ORDERS; order++) {
    for (int i = 0; i < 2; i++) {
      struct fixture f;
      open_order(&f, names[order], 2, 2, 16, zero[i]);
      for (int c = 0; c < f.job.class_count; c++) {
        assert_int_equal(sl_job_class_of(&f.job, f.job.classes[c].first_rank), c);
        assert_int_equal(sl_job_class_of(&f.job, f.job.classes[c].last_rank), c);
      }
      if (sl_check(&f.job) != SL_OK) fail_msg("%s: %s", names[order], sl_error_message());
      fixture_close(&f);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_count_through_the_axes_in_the_order_of_the_name),
      cmocka_unit_test(groups_hold_those_that_share_the_other_coordinates),
      cmocka_unit_test(one_pass_over_the_ranks_names_the_groups_of_each),
      cmocka_unit_test(programs_are_proved_in_every_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
