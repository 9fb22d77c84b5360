/* Every size of message that one rank had, how often and how fast (comms_logger). An observer of the executor loop.
 *
 * Sizes and bandwidths are those of nccl-tests: `bytes` the larger of a call's send and receive buffer, algbw = bytes / time, busbw =
 * algbw times 2 (n - 1) / n of an all_reduce and (n - 1) / n of an all_gather or reduce_scatter over n ranks, algbw itself of other
 * ops. A message of one member is none. A call's time is from when its inputs were ready to its end, so it has the wait for a late peer in it. */
#pragma once

#include "core/plan/plan.h"
#include "core/run/executor.h"

#include <stdio.h>

struct sl_comm_log {
  struct sl_comm_row {
    enum sl_op_kind op;
    enum sl_group group;
    int members;
    int64_t bytes, calls;
    double time_s; /* of all calls */
  } * rows;        /* in the order of first use; owned */
  size_t count, capacity;
  enum sl_status status; /* SL_ERR_MEMORY once a call was lost */
};

/* Add one completion of the step program of rank `rank`; others, and ops that are no messages, are ignored. With `out` a line about
 * the call goes there, in DeepSpeed's form. */
void sl_comm_log_add(struct sl_comm_log *log, const struct sl_plan *plan, int rank, const struct sl_program *program,
                     const struct sl_completion *done, FILE *out);
/* bytes per second of a row's calls together; 0 where they took no time. */
double sl_comm_log_algbw(const struct sl_comm_row *row);
double sl_comm_log_busbw(const struct sl_comm_row *row);
/* The table, in DeepSpeed's columns, with GB/s. */
void sl_comm_log_print(const struct sl_comm_log *log, FILE *out);
/* Accepts a zeroed one. */
void sl_comm_log_free(struct sl_comm_log *log);
