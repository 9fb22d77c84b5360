/* The seconds of collectives of a group, which differ in size only. */
#pragma once

#include "core/op/op.h"
#include "cost/topology.h"
#include "fast/stage.h"

struct sl_fast_call {
  enum sl_op_kind kind;
  enum sl_dtype dtype;
  int members;
  struct sl_link link;
};

/* Collectives of the `members` devices first, first + stride, ... */
struct sl_fast_call sl_fast_call_open(const struct sl_fast_setting *setting, enum sl_op_kind kind, enum sl_dtype dtype,
                                      int64_t first, int64_t stride, int members);
/* The seconds of one over `count` elements. If shares are uneven, the busiest member sends `wire` elements. */
double sl_fast_call_seconds(const struct sl_fast_call *call, const struct sl_cost_rank *rank, int64_t count,
                            int64_t wire, bool uneven);
