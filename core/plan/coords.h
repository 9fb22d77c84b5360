/* Where ranks stand: coordinates (pp, dp, cp, tp) in Megatron-LM's order, tp varying fastest, and process groups. Every rank
 * belongs to one group of each class. */
#pragma once

#include "core/op/group.h"

struct sl_plan;

struct sl_coord {
  int pp, dp, cp, tp;
};

struct sl_coord sl_plan_coord(const struct sl_plan *plan, int rank);
int sl_plan_rank(const struct sl_plan *plan, struct sl_coord coord);

/* The group of class `group` that `rank` is in; of SL_GROUP_NONE, one of the rank alone. Member i is first + (i % inner) * stride + (i / inner) * outer; only
 * the model group of a plan with both tp and pp needs the outer step. `index` is the rank's own place; `id` numbers the
 * groups of a class, equal for all members of one and different between two. */
struct sl_members {
  int first, stride, size, inner, outer, index, id;
};
struct sl_members sl_plan_group(const struct sl_plan *plan, enum sl_group group, int rank);
static inline int sl_members_rank(const struct sl_members *m, int i) {
  return m->first + i % m->inner * m->stride + i / m->inner * m->outer;
}
