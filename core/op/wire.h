/* Bytes that travel: what members of a group send each other for one collective, piece by piece, and what a copy moves between
 * two memories. */
#pragma once

#include "core/op/op.h"

/* How the members of a group share part `part` of a reduce_scatter or all_gather, which has two operands, the
 * whole side and the member's shard. Member g's piece, in elements:
 *   even (no flag)      all of its shard operand: [g*P, (g+1)*P) of the whole, P = elements of the shard operand;
 *   SL_OP_SHARE_CHUNK   [g*stride + lo, g*stride + hi) of the whole, [lo, hi) of the shard: DeepSpeed's chunked
 *                       all-gather;
 *   SL_OP_SHARE_RANGE   [lo, hi) cut by [g*stride, (g+1)*stride): a bucket of a flat partitioned gradient that goes to
 *                       its owners. The parts' whole sides are [lo, hi) one after the other, wherever each lies; every
 *                       shard operand starts at flat element g*stride.
 * dim[0] = elements of all parts' whole sides, dim[1] = lo, dim[2] = hi, dim[3] = stride (the last three unless even).
 */
struct sl_share {
  int64_t whole_first, shard_first, count;
};
struct sl_share sl_share_piece(const struct sl_op *op, const struct sl_slice *slices, int part, int member);
/* Parts of a collective: operand pairs, or operands of an all_reduce or broadcast. */
int sl_op_parts(const struct sl_op *op);

/* nccl-tests' size of a collective or send: the larger of send and receive buffer, bytes; see PERFORMANCE.md there. */
int64_t sl_op_comm_bytes(const struct sl_op *op);
/* Is it a copy between two memories, on the lane of the link that joins them? Bytes that it moves over that link: those of its
 * larger side, since types are converted where they are narrower. */
bool sl_op_is_copy(const struct sl_op *op);
int64_t sl_op_copy_bytes(const struct sl_op *op, const struct sl_slice *slices);
/* An all_to_all: its shard side is a piece for each member, in their order, its whole side one from each; all are alike. */
/* Bytes that member `index` of a ring of `members` puts on the wire, by the moves of the op. Per part: a reduction sends
 * every piece but the one that the member owns (it forwards piece g for every g != index), a gather every piece but its
 * successor's; the pieces are sl_share_piece's, in place sl_ring_piece's; a chain or send: the bytes, where the member
 * sends at all. Exact for uneven pieces. */
int64_t sl_op_wire_bytes(const struct sl_op *op, const struct sl_slice *slices, int members, int index);
/* The most that any member puts on the wire: a ring is as slow as its busiest link. */
double sl_op_most_wire_bytes(const struct sl_op *op, const struct sl_slice *slices, int members);
/* Where a ring cuts `n` elements of an op in place for its members: member g has [*first, *first + *count). */
void sl_ring_piece(int64_t n, int members, int member, int64_t *first, int64_t *count);
