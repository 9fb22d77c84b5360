/* Locates the state of a tensor (parameter, gradient, optimizer moments, master copy, scales of fp8) in the buffers of a
 * rank. The
 * init and save programs, checkpoints and the tools that print tensors ask here. */
#pragma once

#include "core/program/program.h"

/* Where a rank keeps the elements [first, first + count) of one state of a tensor: from byte `offset` of slot 0 of
 * `buffer` on. Elements are counted in the rank's local tensor, that is after tensor-parallel slicing
 * (sl_plan_logical_run), but the states of fp8 belong to the whole tensor; count is 0 where the rank holds none of them.
 *   writer              this rank is the one of all replicas that writes the elements when saving
 *   replica, replicas   this rank's index among the data-parallel ranks that hold the same elements, and their number;
 *                       replica is -1 where ranks of another tp or pp coordinate write them */
struct sl_located {
  int32_t buffer;
  int64_t offset, first, count;
  bool writer;
  int replica, replicas;
};
/* Where a rank is: what sl_job_locate_in needs of it, whatever the state, so that many states of a rank are located
 * fast. */
struct sl_standing {
  const struct sl_class *rank_class;
  struct sl_coord at;
  struct sl_members groups[SL_GROUP_COUNT];
};
struct sl_standing sl_job_stand(const struct sl_job *job, int rank);
struct sl_located sl_job_locate_in(const struct sl_job *job, const struct sl_standing *rank, enum sl_role role,
                                   int placed);
struct sl_located sl_job_locate(const struct sl_job *job, int rank, enum sl_role role, int placed);
