/* Counts every message size of one rank, how often it occurred and how fast it was (comms_logger). An observer of the
 * executor loop.
 *
 * Sizes and bandwidths are those of nccl-tests: `bytes` is the larger of a call's send and receive buffer, algbw =
 * bytes / time, busbw = algbw times 2 (n - 1) / n for an all_reduce, (n - 1) / n for an all_gather or reduce_scatter
 * over n ranks, and algbw itself for other ops. A collective of a single member does not count. The time of a call is
 * from when its inputs were ready to its end, so it includes waiting for a late peer. */
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
    double time_s; /* summed over calls */
  } * rows;        /* in the order of first use; owned */
  size_t count, capacity;
  enum sl_status status; /* SL_ERR_MEMORY if a call could not be recorded */
};

/* Adds one completion of the step program of rank `rank`; other programs, and ops that are no messages, are ignored.
 * With `out`, a line about the call is printed there in DeepSpeed's form. */
void sl_comm_log_add(struct sl_comm_log *log, const struct sl_plan *plan, int rank, const struct sl_program *program,
                     const struct sl_completion *done, FILE *out);
/* Average byte/s of a row's calls; 0 if they took no time. */
double sl_comm_log_algbw(const struct sl_comm_row *row);
double sl_comm_log_busbw(const struct sl_comm_row *row);
/* Prints the table with DeepSpeed's columns; GB/s. */
void sl_comm_log_print(const struct sl_comm_log *log, FILE *out);
/* Accepts a zeroed one. */
void sl_comm_log_free(struct sl_comm_log *log);
