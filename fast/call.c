/* The seconds of collectives; see call.h. */
#include "fast/call.h"

#include "cost/collective.h"

struct sl_fast_call sl_fast_call_open(const struct sl_fast_setting *s, enum sl_op_kind kind, enum sl_dtype dtype,
                                      int64_t first, int64_t stride, int members) {
  const struct sl_cost_group group = {.first = first, .stride = stride, .size = members, .inner = members};
  return (struct sl_fast_call){kind, dtype, members, sl_cost_group_link(s->cluster, &group)};
}

double sl_fast_call_seconds(const struct sl_fast_call *c, const struct sl_cost_rank *rank, int64_t count, int64_t wire,
                            bool uneven) {
  const double element = (double)sl_dtype_bytes(c->dtype);
  const struct sl_work work = {.kind = c->kind,
                               .dtype = c->dtype,
                               .lane = SL_LANE_DP,
                               .members = c->members,
                               .parts = 1,
                               .uneven = uneven,
                               .bytes = element * (double)wire,
                               .size = element * (double)count};
  return sl_cost_collective(rank, &c->link, &work);
}
