/* Counts communication calls and copies between memories: the list behind sl_exec_report.traffic and the hash behind
 * its call_hash.
 *
 * The simulator adds a call where it charges its cost, a backend where it makes it. Both use these functions, so that
 * their reports have the same rows in the same form. Rows are in the order of first use. */
#pragma once

#include "core/op/wire.h"
#include "core/run/executor.h"

/* Rows distinguished by (program, group, op, dtype, payload, link). Zero it to start; items are owned. */
struct sl_traffic_list {
  struct sl_traffic *items;
  size_t count, capacity;
  enum sl_program_kind program; /* the program being counted */
};

/* Is `op` counted: a communication op, or a copy between memories? */
bool sl_traffic_counts(const struct sl_op *op);
/* Counts one call of `op`: `bytes` as nccl-tests defines it (sl_op_comm_bytes), `wire_bytes` that this rank sends (for
 * a copy both are sl_op_copy_bytes), `time_s` from start to end (0: unknown). Errors: SL_ERR_MEMORY. */
enum sl_status sl_traffic_add(struct sl_traffic_list *list, const struct sl_op *op, int64_t bytes, int64_t wire_bytes,
                              double time_s);
/* The row of such calls, created with zero counts if it is new, for callers that remember the index and add to the row
 * themselves. Errors: SL_ERR_MEMORY. */
enum sl_status sl_traffic_row(struct sl_traffic_list *list, const struct sl_op *op, size_t *row);
/* The same for a row of another list. */
enum sl_status sl_traffic_row_like(struct sl_traffic_list *list, const struct sl_traffic *like, size_t *row);
/* A step of `program` begins: clears the counts of its last step but keeps the rows. Those of the other kind of step
 * are kept. */
void sl_traffic_reset(struct sl_traffic_list *list, enum sl_program_kind program);
/* A copy of the rows that have calls, for sl_exec_report (the receiver frees it). Errors: SL_ERR_MEMORY. */
enum sl_status sl_traffic_copy(const struct sl_traffic_list *list, struct sl_traffic **rows, int *count);
void sl_traffic_free(struct sl_traffic_list *list);

/* The order of calls as one number: 64-bit FNV-1a over each call's group (4 bytes), kind (4) and bytes (8),
 * little-endian on every machine. Start with SL_HASH_CALLS and chain. Constants:
 * http://www.isthe.com/chongo/tech/comp/fnv/ */
#define SL_HASH_CALLS UINT64_C(0xcbf29ce484222325)
uint64_t sl_hash_call(uint64_t hash, enum sl_group group, enum sl_op_kind kind, int64_t bytes);
