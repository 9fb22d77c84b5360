/* Pieces of collectives; see wire.h. */
#include "core/op/wire.h"

#include "core/op/operands.h"

int sl_op_parts(const struct sl_op *op) {
  return sl_op_in_place(op->kind) ? op->slice_count : op->slice_count / 2;
}

/* Does a member take its piece of a flat space that it has a part of? */
static bool takes(const struct sl_op *op) {
  return (op->kind == SL_OP_COPY || op->kind == SL_OP_ADD) && op->flags & SL_OP_SHARE_RANGE;
}

enum sl_group sl_share_group(const struct sl_op *op, int operand) {
  if (takes(op)) return operand == sl_op_at(op, SL_AT_OUT) ? op->place_group : SL_GROUP_NONE;
  const bool shard = sl_op_moves(op->kind) & SL_MOVE_REDUCE && operand == sl_op_part_at(op, SL_AT_SHARD, operand / 2);
  return shard ? op->group : SL_GROUP_NONE;
}

/* Elements of the whole side of part `part`, or of the shard side. */
static int64_t side_count(const struct sl_op *op, const struct sl_slice *slices, int part, bool whole) {
  if (takes(op)) return op->dim[whole ? 0 : 3];
  return slices[sl_op_part_at(op, whole ? SL_AT_WHOLE : SL_AT_SHARD, part)].bytes / sl_dtype_bytes(op->dtype);
}

struct sl_share sl_share_piece(const struct sl_op *op, const struct sl_slice *slices, int part, int member) {
  const int64_t stride = op->dim[3];
  if (op->flags & SL_OP_SHARE_CHUNK)
    return (struct sl_share){member * stride + op->dim[1], op->dim[1], op->dim[2] - op->dim[1]};
  if (op->flags & SL_OP_SHARE_RANGE) {
    int64_t lo = op->dim[1];
    for (int i = 0; i < part; i++) lo += side_count(op, slices, i, true);
    const int64_t part_end = lo + side_count(op, slices, part, true), own = member * stride;
    const int64_t hi = part_end < op->dim[2] ? part_end : op->dim[2];
    const int64_t first = lo > own ? lo : own, end = hi < own + stride ? hi : own + stride;
    if (end <= first) return (struct sl_share){0};
    return (struct sl_share){first - lo, first - own, end - first};
  }
  const int64_t count = side_count(op, slices, part, false);
  return (struct sl_share){member * count, 0, count};
}

int64_t sl_op_comm_bytes(const struct sl_op *op) {
  return op->dim[0] * sl_dtype_bytes(op->dtype);
}

void sl_ring_piece(int64_t n, int members, int member, int64_t *first, int64_t *count) {
  const int64_t base = n / members, extra = n % members;
  *first = member * base + (member < extra ? member : extra);
  *count = base + (member < extra);
}

/* Elements of one part of a bucket over all members. Their ranges are adjacent and start at 0, so no sum is needed:
 * there may be a million members, and each of them asks. */
static int64_t of_all_members(const struct sl_op *op, const struct sl_slice *slices, int part, int members) {
  struct sl_op together = *op;
  together.dim[3] *= members;
  return sl_share_piece(&together, slices, part, 0).count;
}

/* Elements that a member sends in one ring: every piece but `skipped`, which is its own or its successor's. */
static int64_t ring_sends(const struct sl_op *op, const struct sl_slice *slices, int part, int members, int skipped) {
  int64_t first, count;
  if (sl_op_in_place(op->kind)) {
    const int64_t n = slices[part].bytes / sl_dtype_bytes(op->dtype);
    sl_ring_piece(n, members, skipped, &first, &count);
    return n - count;
  }
  if (!(op->flags & SL_OP_SHARE_RANGE)) return (members - 1) * sl_share_piece(op, slices, part, 0).count;
  return of_all_members(op, slices, part, members) - sl_share_piece(op, slices, part, skipped).count;
}

int64_t sl_op_part_wire_bytes(const struct sl_op *op, const struct sl_slice *slices, int part, int members, int index) {
  const int successor = (index + 1) % members;
  const unsigned moves = sl_op_moves(op->kind);
  const bool whole = moves & SL_MOVE_SEND || (moves & SL_MOVE_CHAIN && successor != op->peer);
  int64_t elements = 0;
  if (moves & SL_MOVE_REDUCE) elements += ring_sends(op, slices, part, members, index);
  if (moves & SL_MOVE_GATHER) elements += ring_sends(op, slices, part, members, successor);
  if (moves & SL_MOVE_EXCHANGE) elements += (members - 1) * sl_share_piece(op, slices, part, 0).count / members;
  return elements * sl_dtype_bytes(op->dtype) + (whole ? slices[part].bytes : 0);
}

int64_t sl_op_wire_bytes(const struct sl_op *op, const struct sl_slice *slices, int members, int index) {
  int64_t bytes = 0;
  for (int part = 0; part < sl_op_parts(op); part++) bytes += sl_op_part_wire_bytes(op, slices, part, members, index);
  return bytes;
}

/* Appends `member` and its predecessor, whose successor it is. */
static int add_bound(int *bounds, int count, int64_t member, int members) {
  for (int64_t m = member - 1; m <= member; m++)
    if (m > 0 && m < members) bounds[count++] = (int)m;
  return count;
}

int sl_op_wire_bounds(const struct sl_op *op, const struct sl_slice *slices, int part, int members,
                      int bounds[SL_WIRE_BOUNDS]) {
  int count = 1;
  bounds[0] = 0;
  if (sl_op_moves(op->kind) & SL_MOVE_CHAIN) count = add_bound(bounds, count, op->peer, members);
  if (sl_op_in_place(op->kind)) {
    const int64_t n = slices[part].bytes / sl_dtype_bytes(op->dtype);
    count = add_bound(bounds, count, n % members, members);
  } else if (op->flags & SL_OP_SHARE_RANGE && op->dim[3] > 0) {
    int64_t lo = op->dim[1];
    for (int i = 0; i < part; i++) lo += side_count(op, slices, i, true);
    const int64_t end = lo + side_count(op, slices, part, true), hi = end < op->dim[2] ? end : op->dim[2];
    for (int after = 0; after < 2; after++) { /* a member that holds an end of the range, and the next one */
      count = add_bound(bounds, count, lo / op->dim[3] + after, members);
      count = add_bound(bounds, count, hi / op->dim[3] + after, members);
    }
  }
  return add_bound(bounds, count, members, members); /* the last one's successor is the first */
}

/* The elements of a bucket minus the smallest share of a member: that member, or its predecessor, sends so many. A
 * bucket is one contiguous range of elements, so the first or the last member has the smallest share. */
static int64_t most_of_range(const struct sl_op *op, const struct sl_slice *slices, int members) {
  int64_t all = 0, first = 0, last = 0;
  for (int part = 0; part < sl_op_parts(op); part++) {
    all += of_all_members(op, slices, part, members);
    first += sl_share_piece(op, slices, part, 0).count;
    last += sl_share_piece(op, slices, part, members - 1).count;
  }
  return all - (first < last ? first : last);
}

/* Only the shares of a bucket must be examined one by one. Of the pieces of sl_ring_piece none is smaller than the last
 * two, so the member before the last sends the most; a root always sends; and members with even shares send equal
 * amounts. */
double sl_op_most_wire_bytes(const struct sl_op *op, const struct sl_slice *slices, int members) {
  if (members < 2) return 0;
  if (op->flags & SL_OP_SHARE_RANGE) return (double)(most_of_range(op, slices, members) * sl_dtype_bytes(op->dtype));
  const int index = sl_op_moves(op->kind) & SL_MOVE_CHAIN ? op->peer : members - 2;
  return (double)sl_op_wire_bytes(op, slices, members, index);
}

bool sl_op_is_copy(const struct sl_op *op) {
  return sl_lane_is_link(op->lane);
}

int64_t sl_op_copy_bytes(const struct sl_op *op, const struct sl_slice *slices) {
  const int64_t from = sl_op_operand(op, slices, SL_AT_X)->bytes, to = sl_op_operand(op, slices, SL_AT_OUT)->bytes;
  return from > to ? from : to;
}
