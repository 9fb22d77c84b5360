/* Rows of messages; see comm_log.h. */
#include "core/run/comm_log.h"

#include "core/base/units.h"
#include "core/op/wire.h"

#include <stdlib.h>

static struct sl_comm_row *row_of(struct sl_comm_log *log, const struct sl_comm_row *like) {
  for (size_t i = 0; i < log->count; i++) {
    struct sl_comm_row *row = &log->rows[i];
    if (row->op == like->op && row->group == like->group && row->bytes == like->bytes) return row;
  }
  log->status = sl_grow(&log->rows, &log->capacity, log->count + 1, sizeof *log->rows);
  if (log->status != SL_OK) return NULL;
  log->rows[log->count] = *like;
  return &log->rows[log->count++];
}

static void print_call(const struct sl_comm_row *call, FILE *out) {
  char size[32];
  sl_format_bytes(size, sizeof size, (double)call->bytes);
  fprintf(out, "comm op: %s | group: %s | time (ms): %.3f | msg size: %s | algbw (GB/s): %.3f | busbw (GB/s): %.3f\n",
          sl_op_name(call->op), sl_group_name(call->group), 1e3 * call->time_s, size, 1e-9 * sl_comm_log_algbw(call),
          1e-9 * sl_comm_log_busbw(call));
}

void sl_comm_log_add(struct sl_comm_log *log, const struct sl_plan *plan, int rank, const struct sl_program *program,
                     const struct sl_completion *done, FILE *out) {
  const struct sl_op *op = sl_issue_op(program, done->index);
  if (!sl_program_is_step(program->kind) || log->status != SL_OK || !sl_op_is_comm(op->kind)) return;
  const bool p2p = sl_op_class_of(op->kind) == SL_CLASS_P2P;
  const struct sl_comm_row call = {.op = op->kind,
                                   .group = op->group,
                                   .members = p2p ? 2 : sl_plan_group(plan, op->group, rank).size,
                                   .bytes = sl_op_comm_bytes(op),
                                   .calls = 1,
                                   .time_s = done->end_s - done->start_s};
  if (call.members < 2) return;
  if (out != NULL) print_call(&call, out);
  struct sl_comm_row *row = row_of(log, &(struct sl_comm_row){call.op, call.group, call.members, call.bytes, 0, 0});
  if (row == NULL) return;
  row->calls++;
  row->time_s += call.time_s;
}

double sl_comm_log_algbw(const struct sl_comm_row *row) {
  return row->time_s > 0 ? (double)row->bytes * (double)row->calls / row->time_s : 0;
}

double sl_comm_log_busbw(const struct sl_comm_row *row) {
  const double n = row->members, share = (n - 1) / n;
  const double factor = row->op == SL_OP_ALL_REDUCE                                      ? 2 * share
                        : row->op == SL_OP_ALL_GATHER || row->op == SL_OP_REDUCE_SCATTER ? share
                                                                                         : 1;
  return factor * sl_comm_log_algbw(row);
}

void sl_comm_log_print(const struct sl_comm_log *log, FILE *out) {
  fprintf(out, "%-16s %-8s %-14s %-8s %-20s %-18s %-14s %s\n", "Comm. Op", "Group", "Message Size", "Count",
          "Total Latency(ms)", "Avg Latency(ms)", "algbw (GB/s)", "busbw (GB/s)");
  for (size_t i = 0; i < log->count; i++) {
    const struct sl_comm_row *row = &log->rows[i];
    char size[32];
    sl_format_bytes(size, sizeof size, (double)row->bytes);
    fprintf(out, "%-16s %-8s %-14s %-8lld %-20.3f %-18.3f %-14.3f %.3f\n", sl_op_name(row->op),
            sl_group_name(row->group), size, (long long)row->calls, 1e3 * row->time_s,
            1e3 * row->time_s / (double)row->calls, 1e-9 * sl_comm_log_algbw(row), 1e-9 * sl_comm_log_busbw(row));
  }
}

void sl_comm_log_free(struct sl_comm_log *log) {
  free(log->rows);
  *log = (struct sl_comm_log){0};
}
