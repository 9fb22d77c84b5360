/* Where a tensor's state stands on a rank. */
#pragma once

#include "core/program/program.h"

/* Where the elements [first, first + count) of one tensor's state, counted in the rank's local tensor (after tp; see
 * sl_plan_logical_run), stand on a rank: `offset` bytes into slot 0 of `buffer`. `writer`: this rank is the one of its replicas that writes them when saving. count 0: the rank holds none
 * of it. `replica` of `replicas`: this rank's place among the data-parallel ranks that hold the same; -1 where ranks of
 * another tp or pp coordinate write it. */
struct sl_located {
  int32_t buffer;
  int64_t offset, first, count;
  bool writer;
  int replica, replicas;
};
struct sl_located sl_job_locate(const struct sl_job *job, int rank, enum sl_role role, int placed);
