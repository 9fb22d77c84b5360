/* Communication between the regions of tensor and sequence parallelism; see regions.h. With one member nothing here
 * adds an op. */
#include "core/models/regions.h"

#include "core/base/checked.h"
#include "core/models/casts.h"
#include "core/plan/kernels.h"

static const struct sl_kernel_set *set_of(const struct sl_transformer *g) {
  return sl_kernel_set(g->l->plan->config->sl.kernels);
}

struct sl_op sl_regions_call(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int64_t count) {
  struct sl_op op = sl_transformer_op(g, kind, layer, -1);
  op.lane = SL_LANE_TP;
  op.group = SL_GROUP_TP;
  op.payload = SL_PAYLOAD_ACTIVATION;
  op.dim[0] = count;
  /* torch's functional collectives are waited for where they are called: nothing is moved in between unless
   * torch/_inductor/config.py, reorder_for_compute_comm_overlap, asks for it */
  if (set_of(g)->torch_blocks || set_of(g)->waits_for_sums) op.flags = SL_OP_AFTER_COMPUTE | SL_OP_BLOCKING;
  if (sl_regions_by_member(g, layer)) op.flags |= SL_OP_IN_CALL;
  return op;
}

/* ---- transfers in pieces ----
 *
 * shardlab.tp_comm_overlap is Megatron-LM's --tp-comm-overlap: Transformer Engine's userbuffers with their default
 * methods (transformer_engine/pytorch/module/base.py at 0004dbd, initialize_ub). For a block's linear layers:
 *   qkv_fprop, fc1_fprop, proj_dgrad, fc2_dgrad   "ring_exchange": a gather arrives member by member, and the product
 *                                                 of a member's rows runs while the next member's arrive
 *   proj_fprop, fc2_fprop                         "pipeline": a piece of the product is sent to be summed while the
 *                                                 next is computed
 *   {qkv,fc1}_dgrad, {qkv,fc1}_wgrad              "bulk": a whole gather overlaps with one product, a whole reduction
 *                                                 with the other, which these layers do anyway
 * A piece is the rows of one member, which are gathered from it or reduced to it, or those of several: Transformer
 * Engine lets the products of pieces run on three streams (_NUM_MAX_UB_STREAMS), so that small ones fill the device
 * together. Here one runs at a time, and what would run together is one piece. All members process pieces in the same
 * order, where a ring starts with the member's own rows, so the first piece of a gather and the last of a reduction
 * have no product to overlap with. "pipeline" has four pieces, of columns. One call of C++ launches the transfers, which
 * are copies by userbuffers, and all pieces of the product: the host pays for the first (SL_OP_IN_CALL).
 *
 * shardlab.async_tp is torch/_inductor/fx_passes/micro_pipeline_tp.py (pytorch at 38410cf), which cuts a gather and the
 * product that reads it, or a product and the reduce-scatter of its output, into one piece per member, so that they
 * overlap. A gather of data that is scaled by rows is not cut (pytorch/pytorch#149990), nor is a reduce-scatter of a
 * sum of several products. A piece is taken to be a contiguous range of the rows, where torch takes some of each
 * member's: as many, of the same size. */

bool sl_regions_by_member(const struct sl_transformer *g, int layer) {
  return g->l->plan->config->sl.tp_comm_overlap && g->s != g->r && sl_transformer_in_block(g, layer);
}

enum { UB_STREAMS = 3 };

/* The number of members whose rows form a piece: pieces are equal, and there is more than one. */
static int members_of_piece(int tp) {
  int members = UB_STREAMS < tp ? UB_STREAMS : tp - 1;
  while (tp % members != 0) members--;
  return members;
}

int sl_regions_pieces(const struct sl_transformer *g, int layer) {
  const bool cut =
      g->l->plan->config->sl.async_tp && set_of(g)->torch_blocks && g->s != g->r && sl_transformer_in_block(g, layer);
  if (sl_regions_by_member(g, layer)) return g->tp / members_of_piece(g->tp);
  return cut ? g->tp : 1;
}

/* A gather that only the gradient of a weight reads is done in bulk. */
int sl_regions_gather_pieces(const struct sl_transformer *g, int layer, enum sl_half half) {
  const bool scaled = sl_casts_layer(g->l, layer) && !sl_casts_gathers(g->l, layer);
  const bool bulk = sl_regions_by_member(g, layer) && half == SL_HALF_WEIGHT;
  return scaled || bulk ? 1 : sl_regions_pieces(g, layer);
}

struct sl_transformer sl_regions_part(const struct sl_transformer *g, int layer, int i, int pieces) {
  struct sl_transformer part = *g;
  part.r /= pieces;
  part.in_call = i > 0 && sl_regions_by_member(g, layer);
  return part;
}

struct sl_operand sl_regions_piece(struct sl_operand o, int i, int pieces) {
  o.slice.bytes /= pieces;
  o.slice.offset += i * o.slice.bytes;
  return o;
}

struct sl_op sl_regions_call_of_piece(const struct sl_transformer *g, int layer, struct sl_op whole, int i,
                                      int pieces) {
  if (pieces == 1) return whole;
  whole.dim[0] /= pieces;
  whole.flags = 0;
  if (!sl_regions_by_member(g, layer)) return whole;
  whole.flags = SL_OP_SHARE_RANGE | SL_OP_IN_CALL;
  whole.dim[1] = i * whole.dim[0], whole.dim[2] = (i + 1) * whole.dim[0], whole.dim[3] = g->s * g->c;
  return whole;
}

struct sl_operand sl_regions_own_side(const struct sl_transformer *g, int layer, struct sl_operand own, int i,
                                      int pieces) {
  return sl_regions_by_member(g, layer) ? own : sl_regions_piece(own, i, pieces);
}

/* ---- copies into another order ----
 *
 * A collective joins and divides the outermost dimension. Where a framework divides tokens along an inner one, what was
 * gathered is concatenated along that, and what will be scattered is cut along it and stacked first. */

static bool rearranges(const struct sl_transformer *g) {
  return set_of(g)->rearranges_gathered && g->s != g->r;
}

static enum sl_status rearrange(struct sl_transformer *g, int layer, enum sl_half half, enum sl_dtype dtype,
                                struct sl_operand from, struct sl_operand to) {
  struct sl_op pass = sl_transformer_op(g, SL_OP_PASS, layer, -1);
  pass.dtype = SL_U8;
  pass.flags = SL_OP_KEEPS | SL_OP_READS_KEPT;
  pass.dim[0] = 2 * sl_dtype_bytes(dtype) * g->r * g->c, pass.dim[1] = 1;
  return sl_transformer_add(g, half, pass, 2,
                            (struct sl_operand[]){sl_build_as(to, SL_WRITE), sl_build_as(from, SL_READ)});
}

/* Casts first if fp8 is gathered. */
enum sl_status sl_regions_gather_into(struct sl_transformer *g, int layer, enum sl_half half, struct sl_operand x,
                                      struct sl_operand whole) {
  const int pieces = sl_regions_gather_pieces(g, layer, half);
  const bool copies = rearranges(g) && pieces == 1;
  struct sl_op op = sl_regions_call(g, SL_OP_ALL_GATHER, layer, g->r * g->c);
  struct sl_operand arrived = whole;
  int32_t cast, received;
  if (sl_casts_gathers(g->l, layer)) {
    SL_TRY(sl_transformer_buffer(g, &cast, SL_U8, g->s * g->c, layer, "cast", false));
    SL_TRY(sl_casts_make(g, half, layer, cast, sl_product(sl_casts_before_gather(g->l), g->s * g->c)));
    x = sl_build_read(g->l, cast);
    op.dtype = SL_U8;
  }
  if (copies) {
    SL_TRY(sl_transformer_buffer(g, &received, op.dtype, g->r * g->c, layer, "received", false));
    arrived = sl_build_write(g->l, received);
  }
  for (int i = 0; i < pieces; i++)
    SL_TRY(sl_transformer_add(g, half, sl_regions_call_of_piece(g, layer, op, i, pieces), 2,
                              (struct sl_operand[]){sl_regions_own_side(g, layer, sl_build_as(x, SL_READ), i, pieces),
                                                    sl_regions_piece(sl_build_as(arrived, SL_WRITE), i, pieces)}));
  return copies ? rearrange(g, layer, half, op.dtype, arrived, whole) : SL_OK;
}

enum sl_dtype sl_regions_gathered_dtype(const struct sl_transformer *g, int layer) {
  return sl_casts_gathers(g->l, layer) ? SL_U8 : g->l->dtype;
}

enum sl_status sl_regions_gather(struct sl_transformer *g, int layer, enum sl_half half, struct sl_operand x,
                                 struct sl_operand *out) {
  const enum sl_dtype dtype = sl_regions_gathered_dtype(g, layer);
  int32_t whole;
  *out = sl_build_as(x, SL_READ);
  if (g->s == g->r) return SL_OK;
  SL_TRY(sl_transformer_buffer(g, &whole, dtype, g->r * g->c, layer, "gathered", false));
  *out = sl_build_read(g->l, whole);
  return sl_regions_gather_into(g, layer, half, x, *out);
}

enum sl_status sl_regions_reduce(struct sl_transformer *g, int layer, struct sl_operand partial, bool kept,
                                 struct sl_operand *out) {
  struct sl_operand sum = sl_build_as(partial, SL_READ_WRITE);
  int32_t own, stacked;
  *out = sl_build_as(partial, SL_READ);
  if (g->tp == 1) return SL_OK;
  if (g->s == g->r)
    return sl_transformer_add(g, SL_HALF_INPUT, sl_regions_call(g, SL_OP_ALL_REDUCE, layer, g->r * g->c), 1, &sum);
  if (rearranges(g)) {
    SL_TRY(sl_transformer_buffer(g, &stacked, g->l->dtype, g->r * g->c, layer, "stacked", false));
    SL_TRY(rearrange(g, layer, SL_HALF_INPUT, g->l->dtype, partial, sl_build_write(g->l, stacked)));
    sum = sl_build_update(g->l, stacked);
  }
  SL_TRY(sl_transformer_buffer(g, &own, g->l->dtype, g->s * g->c, layer, "scattered", kept));
  *out = sl_build_read(g->l, own);
  return sl_transformer_add(g, SL_HALF_INPUT, sl_regions_call(g, SL_OP_REDUCE_SCATTER, layer, g->r * g->c), 2,
                            (struct sl_operand[]){sum, sl_build_write(g->l, own)});
}
