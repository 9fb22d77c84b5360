/* Communication ops as calls of the ring engine (comm.c), and their counts: the bytes counted are those handed to
 * MPI. */
#include "backend/host/host.h"
#include "core/op/operands.h"
#include "core/op/wire.h"

#include <string.h>

/* How part `part` is divided among the members, as core decides. `context` is the issued op of the lane. */
static struct sl_comm_piece piece_of(const void *context, int part, int member) {
  const struct sl_issued *it = context;
  struct sl_share share = sl_share_piece(it->op, sl_op_slices(it->program, it->op), part, member);
  return (struct sl_comm_piece){share.whole_first, share.shard_first, share.count};
}

static int64_t elements_of(const struct sl_issued *it, int operand) {
  return it->program->slices[it->op->slice + operand].bytes / sl_dtype_bytes(it->op->dtype);
}

static struct sl_comm_piece ring_piece_of(const void *context, int part, int member) {
  const struct sl_host_lane *lane = context;
  struct sl_comm_piece piece = {0};
  sl_ring_piece(lane->parts[part].count, lane->comm->size, member, &piece.whole_first, &piece.count);
  return piece;
}

/* Turns operands into parts: one operand per part for all_reduce, broadcast, send or receive; pairs otherwise. */
static enum sl_status fill_parts(struct sl_host *host, struct sl_host_lane *lane, const struct sl_issued *it,
                                 int parts) {
  const struct sl_op *op = it->op;
  SL_TRY(sl_grow(&lane->parts, &lane->part_capacity, (size_t)parts, sizeof *lane->parts));
  const bool pairs = !sl_op_in_place(op->kind);
  for (int i = 0; i < parts; i++) {
    const int whole = sl_op_part_at(op, pairs ? SL_AT_WHOLE : SL_AT_X, i), shard = sl_op_part_at(op, SL_AT_SHARD, i);
    const bool adds = pairs && it->program->slices[op->slice + shard].access == SL_READ_WRITE;
    lane->parts[i] = (struct sl_comm_part){.whole = sl_host_operand(host, it, whole),
                                           .count = elements_of(it, whole),
                                           .shard = pairs ? sl_host_operand(host, it, shard) : NULL,
                                           .accumulate = adds};
  }
  return SL_OK;
}

/* Pipeline neighbours differ only in the pp coordinate. */
static int peer_rank(const struct sl_host *host, int stage) {
  struct sl_coord peer = host->coord;
  peer.pp = stage;
  return sl_plan_rank(host->job->plan, peer);
}

enum sl_status sl_host_comm_start(struct sl_host *host, struct sl_host_lane *lane, const struct sl_issued *it) {
  const struct sl_op *op = it->op;
  const bool pair = sl_op_class_of(op->kind) == SL_CLASS_P2P, in_place = sl_op_in_place(op->kind);
  int parts = pair ? 1 : sl_op_parts(op);
  lane->comm = pair ? &host->pipeline : &host->groups[op->group];
  SL_TRY(fill_parts(host, lane, it, parts));
  struct sl_comm_call call = {.moves = sl_op_moves(op->kind),
                              .dtype = op->dtype,
                              .most = op->kind == SL_OP_ALL_REDUCE && op->flags & SL_OP_MOST,
                              .peer = pair ? peer_rank(host, op->peer) : op->peer,
                              .channel = op->lane == SL_LANE_SEND_B || op->lane == SL_LANE_RECV_B,
                              .parts = lane->parts,
                              .part_count = parts,
                              .piece = in_place ? ring_piece_of : piece_of,
                              .piece_context = in_place ? (const void *)lane : it};
  return sl_comm_start(lane->comm, &lane->request, &call);
}

enum sl_status sl_host_comm_count(struct sl_host *host, const struct sl_host_lane *lane, const struct sl_issued *it,
                                  double end_s) {
  if (!sl_program_counts(host->kind)) return SL_OK;
  const struct sl_op *op = it->op;
  return sl_traffic_add(&host->traffic, op, sl_op_comm_bytes(op), lane->request.wire_bytes, end_s - lane->start_s);
}
