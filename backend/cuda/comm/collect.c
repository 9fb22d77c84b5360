/* Communication ops as NCCL calls. Shards of equal length use NCCL's all-gather and reduce-scatter. If members own
 * ranges of different lengths, or chunks that are not contiguous, each piece is a broadcast from its owner, or a reduce
 * to it, and the pieces of an op form one NCCL group. The bytes counted are those handed to NCCL. */
#include "backend/cuda/cuda.h"

#include "core/op/operands.h"
#include "core/op/wire.h"
#include "kernels/gpu/cuda.h"

/* An op that is being handed to NCCL. */
struct transfer {
  struct sl_cuda *cuda;
  cudaStream_t stream;
  const struct sl_issued *it;
  const struct sl_op *op;
  const struct sl_cuda_comm *comm;
  ncclDataType_t type;
  int64_t element; /* bytes */
  int64_t moved;   /* bytes of the larger side, summed over the calls */
};

static ncclDataType_t number_of(enum sl_dtype type) {
  switch (type) {
  case SL_BF16:
    return ncclBfloat16;
  case SL_F16:
    return ncclFloat16;
  case SL_F64:
    return ncclFloat64;
  case SL_I32:
    return ncclInt32;
  case SL_U8:
    return ncclUint8;
  default:
    return ncclFloat32;
  }
}

/* Operand `name` of one part of the op. */
static const struct sl_slice *slice_of(const struct transfer *t, enum sl_at name, int part) {
  return &t->it->program->slices[t->op->slice + sl_op_part_at(t->op, name, part)];
}

static int64_t elements_of(const struct transfer *t, enum sl_at name, int part) {
  return slice_of(t, name, part)->bytes / t->element;
}

static char *operand(const struct transfer *t, enum sl_at name, int part) {
  return sl_cuda_operand(t->cuda, t->it, sl_op_part_at(t->op, name, part));
}

static enum sl_status ran(int code) {
  return code == 0 ? SL_OK : sl_cuda_failed("a kernel of a collective", (cudaError_t)code);
}

/* --- one part --- */

static enum sl_status all_reduce(struct transfer *t, int part) {
  char *x = operand(t, SL_AT_X, part);
  const int64_t n = elements_of(t, SL_AT_X, part);
  t->moved += n * t->element;
  const ncclRedOp_t reduction = t->op->flags & SL_OP_MOST ? ncclMax : ncclSum;
  if (t->comm->nccl) SL_NCCL_TRY(ncclAllReduce(x, x, (size_t)n, t->type, reduction, t->comm->nccl, t->stream));
  return SL_OK;
}

static enum sl_status broadcast(struct transfer *t, int part) {
  char *x = operand(t, SL_AT_X, part);
  const int64_t n = elements_of(t, SL_AT_X, part);
  t->moved += n * t->element;
  if (t->comm->nccl) SL_NCCL_TRY(ncclBroadcast(x, x, (size_t)n, t->type, t->op->peer, t->comm->nccl, t->stream));
  return SL_OK;
}

static bool even(const struct transfer *t) {
  return !(t->op->flags & (SL_OP_SHARE_CHUNK | SL_OP_SHARE_RANGE));
}

/* Sends the own shard into every member's whole. */
static enum sl_status all_gather(struct transfer *t, int part) {
  char *shard = operand(t, SL_AT_SHARD, part), *whole = operand(t, SL_AT_WHOLE, part);
  const struct sl_share own = sl_share_piece(t->op, sl_op_slices(t->it->program, t->op), part, t->comm->index);
  t->moved += elements_of(t, SL_AT_WHOLE, part) * t->element;
  if (!t->comm->nccl) {
    char *to = whole + own.whole_first * t->element, *from = shard + own.shard_first * t->element;
    if (to != from && own.count > 0)
      SL_CUDA_TRY(cudaMemcpyAsync(to, from, (size_t)(own.count * t->element), cudaMemcpyDeviceToDevice, t->stream));
    return SL_OK;
  }
  if (even(t)) {
    SL_NCCL_TRY(ncclAllGather(shard, whole, (size_t)own.count, t->type, t->comm->nccl, t->stream));
    return SL_OK;
  }
  for (int g = 0; g < t->comm->size; g++) {
    const struct sl_share piece = sl_share_piece(t->op, sl_op_slices(t->it->program, t->op), part, g);
    char *to = whole + piece.whole_first * t->element;
    const char *from = g == t->comm->index ? shard + piece.shard_first * t->element : to;
    if (piece.count > 0)
      SL_NCCL_TRY(ncclBroadcast(from, to, (size_t)piece.count, t->type, g, t->comm->nccl, t->stream));
  }
  return SL_OK;
}

/* Where this member's piece of the sum arrives: in its shard, or, if it is to be added to the shard, at its place in
 * the whole. */
static char *landing(const struct transfer *t, int part, const struct sl_share *own) {
  if (slice_of(t, SL_AT_SHARD, part)->access == SL_READ_WRITE)
    return operand(t, SL_AT_WHOLE, part) + own->whole_first * t->element;
  return operand(t, SL_AT_SHARD, part) + own->shard_first * t->element;
}

/* Sums the wholes over the members; each member's piece of the sum goes to its shard. */
static enum sl_status reduce_scatter(struct transfer *t, int part) {
  char *whole = operand(t, SL_AT_WHOLE, part);
  const struct sl_share own = sl_share_piece(t->op, sl_op_slices(t->it->program, t->op), part, t->comm->index);
  t->moved += elements_of(t, SL_AT_WHOLE, part) * t->element;
  if (!t->comm->nccl) return SL_OK;
  if (even(t)) {
    SL_NCCL_TRY(ncclReduceScatter(whole, landing(t, part, &own), (size_t)own.count, t->type, ncclSum, t->comm->nccl,
                                  t->stream));
    return SL_OK;
  }
  for (int g = 0; g < t->comm->size; g++) {
    const struct sl_share piece = sl_share_piece(t->op, sl_op_slices(t->it->program, t->op), part, g);
    char *from = whole + piece.whole_first * t->element;
    char *to = g == t->comm->index ? landing(t, part, &piece) : from; /* unused on a member that is not the root */
    if (piece.count > 0)
      SL_NCCL_TRY(ncclReduce(from, to, (size_t)piece.count, t->type, ncclSum, g, t->comm->nccl, t->stream));
  }
  return SL_OK;
}

/* What NCCL has no call for: adds the received sum to the shard, or, in a group of one, copies it there. */
static enum sl_status store_part(struct transfer *t, int part) {
  const struct sl_share own = sl_share_piece(t->op, sl_op_slices(t->it->program, t->op), part, t->comm->index);
  const bool adds = slice_of(t, SL_AT_SHARD, part)->access == SL_READ_WRITE;
  char *from = operand(t, SL_AT_WHOLE, part) + own.whole_first * t->element;
  char *to = operand(t, SL_AT_SHARD, part) + own.shard_first * t->element;
  const enum sl_number type = (enum sl_number)t->op->dtype;
  if (own.count == 0) return SL_OK;
  if (adds) return ran(sl_cuda_convert_add(t->stream, to, type, from, type, (size_t)own.count));
  if (!t->comm->nccl && to != from)
    SL_CUDA_TRY(cudaMemcpyAsync(to, from, (size_t)(own.count * t->element), cudaMemcpyDeviceToDevice, t->stream));
  return SL_OK;
}

/* Sends one piece of the shard to every member and receives one from each into the whole; all pieces have the same
 * size. */
static enum sl_status all_to_all(struct transfer *t, int part) {
  char *shard = operand(t, SL_AT_SHARD, part), *whole = operand(t, SL_AT_WHOLE, part);
  const int64_t bytes = elements_of(t, SL_AT_WHOLE, part) * t->element, piece = bytes / t->comm->size;
  t->moved += bytes;
  if (!t->comm->nccl) {
    SL_CUDA_TRY(cudaMemcpyAsync(whole, shard, (size_t)bytes, cudaMemcpyDeviceToDevice, t->stream));
    return SL_OK;
  }
  for (int g = 0; g < t->comm->size; g++) {
    const size_t count = (size_t)(piece / t->element);
    SL_NCCL_TRY(ncclSend(shard + g * piece, count, t->type, g, t->comm->nccl, t->stream));
    SL_NCCL_TRY(ncclRecv(whole + g * piece, count, t->type, g, t->comm->nccl, t->stream));
  }
  return SL_OK;
}

/* --- ops --- */

static enum sl_status part_of(struct transfer *t, int part) {
  switch (sl_op_moves(t->op->kind)) {
  case SL_MOVE_REDUCE | SL_MOVE_GATHER:
    return all_reduce(t, part);
  case SL_MOVE_REDUCE:
    return reduce_scatter(t, part);
  case SL_MOVE_GATHER:
    return all_gather(t, part);
  case SL_MOVE_CHAIN:
    return broadcast(t, part);
  case SL_MOVE_EXCHANGE:
    return all_to_all(t, part);
  default:
    return sl_fail(SL_ERR_INTERNAL, "NCCL has no call for %s", sl_op_name(t->op->kind));
  }
}

static enum sl_status collective(struct transfer *t) {
  const int parts = sl_op_parts(t->op);
  enum sl_status status = SL_OK;
  SL_NCCL_TRY(ncclGroupStart());
  for (int i = 0; status == SL_OK && i < parts; i++) status = part_of(t, i);
  const ncclResult_t code = ncclGroupEnd(); /* also after a failure: the group must not stay open */
  SL_TRY(status);
  if (code != ncclSuccess) return sl_cuda_nccl_failed("ncclGroupEnd", code);
  for (int i = 0; sl_op_moves(t->op->kind) == SL_MOVE_REDUCE && i < parts; i++) SL_TRY(store_part(t, i));
  return SL_OK;
}

static enum sl_status message(struct transfer *t) {
  const int link = sl_cuda_links_of(&t->cuda->comms.plan, t->cuda->coord.pp, t->op);
  const size_t n = (size_t)elements_of(t, SL_AT_X, 0);
  if (link < 0 || !t->cuda->comms.links[link])
    return sl_fail(SL_ERR_INTERNAL, "%s with stage %d has no communicator", sl_op_name(t->op->kind), t->op->peer);
  t->moved = (int64_t)n * t->element;
  if (t->op->kind == SL_OP_SEND)
    SL_NCCL_TRY(ncclSend(operand(t, SL_AT_X, 0), n, t->type, 1, t->cuda->comms.links[link], t->stream));
  else
    SL_NCCL_TRY(ncclRecv(operand(t, SL_AT_X, 0), n, t->type, 0, t->cuda->comms.links[link], t->stream));
  return SL_OK;
}

enum sl_status sl_cuda_collect(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it, int64_t *bytes) {
  const struct sl_op *op = it->op;
  const bool pair = sl_op_class_of(op->kind) == SL_CLASS_P2P;
  struct transfer t = {.cuda = cuda,
                       .stream = stream,
                       .it = it,
                       .op = op,
                       .comm = pair ? NULL : &cuda->comms.groups[op->group],
                       .type = number_of(op->dtype),
                       .element = sl_dtype_bytes(op->dtype)};
  const enum sl_status status = pair ? message(&t) : collective(&t);
  *bytes = t.moved;
  return status;
}
