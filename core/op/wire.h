/* Bytes on the wire: what the members of a group send each other in one collective, piece by piece, and what a copy
 * moves between two memories. */
#pragma once

#include "core/op/op.h"

/* How the members of a group share part `part` of a reduce_scatter or all_gather. A part has two operands: the whole,
 * and the member's shard. The piece of member g, in elements:
 *   even (no flag)      all of its shard operand: [g*P, (g+1)*P) of the whole, P = elements of the shard operand;
 *   SL_OP_SHARE_CHUNK   [g*stride + lo, g*stride + hi) of the whole, [lo, hi) of the shard: DeepSpeed's chunked
 *                       all-gather;
 *   SL_OP_SHARE_RANGE   the intersection of [lo, hi) and [g*stride, (g+1)*stride): a bucket of a flat partitioned
 *                       gradient that is reduced to its owners. The wholes of the parts are [lo, hi) one after the
 *                       other, wherever each is stored; every shard operand starts at flat element g*stride.
 * dim[0] = elements of the wholes of all parts; unless even, dim[1] = lo, dim[2] = hi, dim[3] = stride. */
struct sl_share {
  int64_t whole_first, shard_first, count;
};
struct sl_share sl_share_piece(const struct sl_op *op, const struct sl_slice *slices, int part, int member);
/* The group in which a rank's index says what piece of operand `operand` it writes: that of a collective with shards,
 * or of a copy or a sum with SL_OP_SHARE_RANGE, which takes the piece of part 0 out of a whole that the rank has.
 * SL_GROUP_NONE: all that the operand names is touched. */
enum sl_group sl_share_group(const struct sl_op *op, int operand);
/* Number of parts of a collective: operand pairs, or operands of an all_reduce or broadcast. */
int sl_op_parts(const struct sl_op *op);

/* The size of a collective or send as nccl-tests defines it, in bytes: the larger of send and receive buffer; see its
 * PERFORMANCE.md. */
int64_t sl_op_comm_bytes(const struct sl_op *op);
/* Is it a copy between two memories, on the lane of the link that connects them? sl_op_copy_bytes: the bytes on that
 * link, those of the larger side, since types are converted on the side where they are narrower. */
bool sl_op_is_copy(const struct sl_op *op);
int64_t sl_op_copy_bytes(const struct sl_op *op, const struct sl_slice *slices);
/* Bytes that member `index` of a ring of `members` sends, given the moves of the op. Per part, a reduction sends every
 * piece except the one that the member owns (it forwards piece g for every g != index), a gather every piece except its
 * successor's. The pieces are those of sl_share_piece, or of sl_ring_piece for an op in place. A chain or a send counts
 * all bytes, if the member sends at all. In an all_to_all the shard side has one piece for each member in order, the
 * whole side one from each, all of equal size. Exact for uneven pieces. */
int64_t sl_op_wire_bytes(const struct sl_op *op, const struct sl_slice *slices, int members, int index);
/* The same of one part. */
int64_t sl_op_part_wire_bytes(const struct sl_op *op, const struct sl_slice *slices, int part, int members, int index);
/* Members at which sl_op_part_wire_bytes may change, 0 among them, in no order and some of them twice; returns how
 * many. From one of them to the next all members send the same, so that of a million only these must be asked. */
enum { SL_WIRE_BOUNDS = 16 };
int sl_op_wire_bounds(const struct sl_op *op, const struct sl_slice *slices, int part, int members,
                      int bounds[SL_WIRE_BOUNDS]);
/* The most bytes that any member sends: a ring is as slow as its busiest link. */
double sl_op_most_wire_bytes(const struct sl_op *op, const struct sl_slice *slices, int members);
/* How a ring divides the `n` elements of an in-place op among its members: member g has [*first, *first + *count). */
void sl_ring_piece(int64_t n, int members, int member, int64_t *first, int64_t *count);
