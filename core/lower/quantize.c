/* Quantised collectives; see quantize.h. A buffer of bytes is communicated, packed by an op before and unpacked by one
 * after, both on the collective's lane: on the compute lane everything after them would wait for the transfer.
 * DeepSpeed too runs them on the stream of the transfer. It sends codes and scales in separate calls, and packs what a
 * call gathers as one run of numbers; here each tensor is packed separately, its scales before its codes. */
#include "core/lower/quantize.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/lower/lower.h"
#include "core/op/quantized.h"

/* How pieces of n numbers are packed. */
struct packing {
  int64_t n, block, bytes;
  int bits;
};

static struct packing packing_of(int64_t n, int64_t block, int bits) {
  return (struct packing){n, block, sl_quantized_bytes(n, block, bits), bits};
}

/* An op that packs or unpacks for the collective `call`. */
static struct sl_op op_of(enum sl_op_kind kind, enum sl_dtype dtype, const struct sl_op *call, struct packing packing,
                          int64_t dim3, int64_t dim4) {
  struct sl_op op = sl_zero_op(kind, dtype, call->phase, packing.n);
  op.dim[1] = packing.block, op.dim[2] = packing.bits, op.dim[3] = dim3, op.dim[4] = dim4;
  op.lane = call->lane;
  op.flags = call->flags;
  return op;
}

/* A new buffer of `pieces` packed pieces, named after the one of `of`. */
static enum sl_status packed(struct sl_lowering *l, const struct sl_operand *of, enum sl_scope scope,
                             struct packing packing, int64_t pieces, const char *what, int32_t *out) {
  char name[64];
  snprintf(name, sizeof name, "%s", l->rank_class->buffers[of->buffer].name); /* buffers may be reallocated */
  return sl_build_buffer(l, out, scope, SL_CATEGORY_COMMUNICATION, SL_U8, packing.bytes * pieces, "%.48s.%s", name,
                         what);
}

/* ---- weights ---- */

/* A part that is gathered, and its packed form. */
struct gathered {
  struct sl_operand whole;
  struct packing packing;
  int64_t members;
};

static enum sl_status pack_part(struct sl_lowering *l, struct sl_program *p, struct sl_op *gather,
                                struct sl_operand pair[2], struct gathered *g) {
  const enum sl_dtype dtype = gather->dtype;
  const int64_t n = pair[0].slice.bytes / sl_dtype_bytes(dtype);
  int32_t own, all;
  *g = (struct gathered){.whole = pair[1],
                         .packing = packing_of(n, sl_quantized_weight_block(n), SL_WEIGHT_BITS),
                         .members = pair[1].slice.bytes / pair[0].slice.bytes};
  SL_TRY(packed(l, &pair[1], SL_SCOPE_WRITTEN, g->packing, 1, "packed", &own));
  SL_TRY(packed(l, &pair[1], SL_SCOPE_WRITTEN, g->packing, g->members, "arrived", &all));
  SL_TRY(SL_BUILD_EMIT(p, op_of(SL_OP_QUANTIZE, dtype, gather, g->packing, 1, 1), pair[0], sl_build_write(l, own)));
  pair[0] = sl_build_read(l, own);
  pair[1] = sl_build_write(l, all);
  gather->dim[0] += g->packing.bytes * g->members;
  return SL_OK;
}

enum sl_status sl_quantize_gather(struct sl_lowering *l, struct sl_program *p, struct sl_op op, int count,
                                  struct sl_operand *operands) {
  enum sl_status status;
  struct gathered *parts = NULL;
  if (!l->plan->strategy.quantized_weights) return sl_build_emit(p, op, count, operands);
  const enum sl_dtype dtype = op.dtype;
  op.dim[0] = 0;
  SL_GO(sl_calloc(&parts, (size_t)count / 2, sizeof *parts));
  for (int i = 0; i < count; i += 2) SL_GO(pack_part(l, p, &op, &operands[i], &parts[i / 2]));
  op.dtype = SL_U8;
  SL_GO(sl_build_emit(p, op, count, operands));
  for (int i = 0; i < count; i += 2) {
    const struct gathered *g = &parts[i / 2];
    SL_GO(SL_BUILD_EMIT(p, op_of(SL_OP_DEQUANTIZE, dtype, &op, g->packing, g->members, 0),
                        sl_build_as(operands[i + 1], SL_READ), g->whole));
  }
done:
  free(parts);
  return status;
}

/* ---- gradients ---- */

static const struct sl_tensor *tensor_of(const struct sl_lowering *l, const struct sl_unit *u) {
  return &l->plan->model->tensors[l->pp_rank->tensors[u->first_tensor].tensor];
}

bool sl_quantize_reduces(const struct sl_lowering *l, const struct sl_unit *u) {
  const int64_t members = sl_layout_of(l->pp_rank, u)->group.members;
  return l->plan->nodes > 1 && tensor_of(l, u)->n_dim > 1 && u->numel % (2 * members) == 0;
}

/* Exchanges the packed pieces in `sent` over a group, into a new buffer. */
static enum sl_status exchange(struct sl_lowering *l, struct sl_program *p, struct sl_op op,
                               const struct sl_operand *whole, struct packing packing, int64_t pieces, int32_t sent,
                               int32_t *arrived) {
  SL_TRY(packed(l, whole, SL_SCOPE_MICRO, packing, pieces, sl_group_name(op.group), arrived));
  op.dim[0] = packing.bytes * pieces;
  return SL_BUILD_EMIT(p, op, sl_build_read(l, sent), sl_build_write(l, *arrived));
}

static struct sl_op exchange_op(const struct sl_lowering *l, enum sl_group group) {
  return sl_zero_collective(l, SL_OP_ALL_TO_ALL, group, SL_U8, SL_PHASE_BACKWARD, SL_PAYLOAD_GRADIENT, 0);
}

/* Pieces are owned by members in the order of nodes. Within a node, each member collects the pieces of the members that
 * have its position in their nodes, one per node, so they are packed in that order. */
enum sl_status sl_quantize_reduce(struct sl_lowering *l, struct sl_program *p, const struct sl_unit *u,
                                  struct sl_operand whole, struct sl_operand shard) {
  const struct sl_tensor *t = tensor_of(l, u);
  const int64_t node = l->plan->node, nodes = l->plan->nodes;
  const int64_t members = sl_layout_of(l->pp_rank, u)->group.members; /* all ranks */
  const int64_t block = sl_quantized_gradient_block(u->numel, t->shape[0], t->shape[1], members);
  const struct packing packing = packing_of(u->part, block, SL_GRADIENT_BITS);
  const struct sl_op inside = exchange_op(l, SL_GROUP_NODE), across = exchange_op(l, SL_GROUP_ACROSS);
  int32_t sent, arrived, sums, final;
  SL_TRY(packed(l, &whole, SL_SCOPE_MICRO, packing, members, "packed", &sent));
  SL_TRY(SL_BUILD_EMIT(p, op_of(SL_OP_QUANTIZE, l->wire, &inside, packing, members, nodes), sl_build_as(whole, SL_READ),
                       sl_build_write(l, sent)));
  SL_TRY(exchange(l, p, inside, &whole, packing, members, sent, &arrived));
  SL_TRY(packed(l, &whole, SL_SCOPE_MICRO, packing, nodes, "sums", &sums));
  SL_TRY(SL_BUILD_EMIT(p, op_of(SL_OP_REQUANTIZE, l->wire, &across, packing, node, nodes), sl_build_read(l, arrived),
                       sl_build_write(l, sums)));
  SL_TRY(exchange(l, p, across, &whole, packing, nodes, sums, &final));
  struct sl_op sum = op_of(SL_OP_QUANTIZED_SUM, l->wire, &across, packing, nodes, 0);
  sum.place_group = shard.slice.shard_stride != 0 ? shard.place_group : SL_GROUP_NONE;
  return SL_BUILD_EMIT(p, sum, sl_build_read(l, final), shard);
}
