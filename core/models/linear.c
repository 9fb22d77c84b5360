/* Linear layers cut over the tp group as Megatron-LM does, and the communication between their regions; see
 * models/transformer.h, where the letters stand. With one member everything here is a plain product. */
#include "core/models/linear.h"

#include "core/models/casts.h"
#include "core/plan/kernels.h"

static const struct sl_kernel_set *set_of(const struct sl_transformer *g) {
  return sl_kernel_set(g->l->plan->config->sl.kernels);
}

struct sl_op sl_transformer_tp_call(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int64_t count) {
  struct sl_op op = sl_transformer_op(g, kind, layer, -1);
  op.lane = SL_LANE_TP;
  op.group = SL_GROUP_TP;
  op.payload = SL_PAYLOAD_ACTIVATION;
  op.dim[0] = count;
  /* torch's functional collectives are waited for where they stand: nothing is moved in between unless
   * torch/_inductor/config.py, reorder_for_compute_comm_overlap, asks for it */
  if (set_of(g)->torch_blocks || set_of(g)->waits_for_sums) op.flags = SL_OP_AFTER_COMPUTE | SL_OP_BLOCKING;
  return op;
}

/* ---- transfers in pieces ----
 * shardlab.tp_comm_overlap: Megatron-LM's --tp-comm-overlap, which are Transformer Engine's userbuffers by the methods that are their
 * defaults (transformer_engine/pytorch/module/base.py at 0004dbd, initialize_ub). Of a block's linear layers
 *   qkv_fprop, fc1_fprop, proj_dgrad, fc2_dgrad   "ring_exchange": a gather comes member by member, and the product of a member's
 *                                                 rows runs while the next member's come
 *   proj_fprop, fc2_fprop                         "pipeline": a piece of the product is on its way to be summed while the next is made
 *   {qkv,fc1}_dgrad, {qkv,fc1}_wgrad              "bulk": a whole gather beside one product, a whole sum beside the other, which is
 *                                                 what these layers do anyway
 * A piece is the rows of a member, which are gathered from it or summed to it, or those of several: Transformer Engine lets the
 * products of pieces run on three streams (_NUM_MAX_UB_STREAMS), so that small ones fill the device together. Here one runs at a
 * time, and what would run together is one piece. All members take pieces in one order, where a ring starts with the member's own
 * rows, so that the first piece of a gather has no product beside it, as the last of a sum has none. "pipeline" has four pieces, of
 * columns.
 *
 * shardlab.async_tp: torch/_inductor/fx_passes/micro_pipeline_tp.py (pytorch at 38410cf) cuts a gather and the product that reads it,
 * or a product and the reduce-scatter of what it makes, into a piece a member, so that they run beside each other. A gather of what
 * is scaled by rows is not cut (pytorch/pytorch#149990), nor is a reduce-scatter of a sum of several products. A piece is taken
 * to be a run of the rows, where torch takes each member's: as many, of one length. */

static bool in_block(const struct sl_transformer *g, int layer) {
  return layer >= 0 && layer < g->l->plan->model->n_layer;
}

/* Are pieces whole members' rows, as tp_comm_overlap has them? */
static bool by_member(const struct sl_transformer *g, int layer) {
  return g->l->plan->config->sl.tp_comm_overlap && g->s != g->r && in_block(g, layer);
}

enum { UB_STREAMS = 3 };

/* Members whose rows are a piece: they come out even, and there is more than one piece. */
static int members_of_piece(int tp) {
  int members = UB_STREAMS < tp ? UB_STREAMS : tp - 1;
  while (tp % members != 0) members--;
  return members;
}

static int pieces_of(const struct sl_transformer *g, int layer) {
  const bool cut = g->l->plan->config->sl.async_tp && set_of(g)->torch_blocks && g->s != g->r && in_block(g, layer);
  if (by_member(g, layer)) return g->tp / members_of_piece(g->tp);
  return cut ? g->tp : 1;
}

/* What the gradient of a weight alone reads goes in bulk. */
static int gather_pieces(const struct sl_transformer *g, int layer, enum sl_half half) {
  const bool scaled = sl_casts_layer(g->l, layer) && !sl_casts_gathers(g->l, layer);
  const bool bulk = by_member(g, layer) && half == SL_HALF_WEIGHT;
  return scaled || bulk ? 1 : pieces_of(g, layer);
}

/* Piece `i` of an operand. */
static struct sl_operand piece(struct sl_operand o, int i, int pieces) {
  o.slice.bytes /= pieces;
  o.slice.offset += i * o.slice.bytes;
  return o;
}

/* What moves piece `i` of the rows that `whole` moves. */
static struct sl_op call_of_piece(const struct sl_transformer *g, int layer, struct sl_op whole, int i, int pieces) {
  if (pieces == 1) return whole;
  whole.dim[0] /= pieces;
  whole.flags = 0;
  if (!by_member(g, layer)) return whole;
  whole.flags = SL_OP_SHARE_RANGE;
  whole.dim[1] = i * whole.dim[0], whole.dim[2] = (i + 1) * whole.dim[0], whole.dim[3] = g->s * g->c;
  return whole;
}

/* This member's side of it: a piece, or all of its rows, of which a range is asked for. */
static struct sl_operand own_side(const struct sl_transformer *g, int layer, struct sl_operand own, int i, int pieces) {
  return by_member(g, layer) ? own : piece(own, i, pieces);
}

/* Cast first, where fp8 is gathered: 2 bytes to find the largest, 3 to cast. */
static enum sl_status gather_into(struct sl_transformer *g, int layer, enum sl_half half, struct sl_operand x,
                                  int32_t whole) {
  const int pieces = gather_pieces(g, layer, half);
  struct sl_op op = sl_transformer_tp_call(g, SL_OP_ALL_GATHER, layer, g->r * g->c);
  int32_t cast;
  if (sl_casts_gathers(g->l, layer)) {
    SL_TRY(sl_transformer_bytes(g, &cast, g->s * g->c, layer, "cast", false));
    SL_TRY(sl_casts_make(g, half, layer, cast, 5 * g->s * g->c));
    x = sl_build_read(g->l, cast);
    op.dtype = SL_U8;
  }
  for (int i = 0; i < pieces; i++)
    SL_TRY(sl_transformer_add(g, half, call_of_piece(g, layer, op, i, pieces), 2,
                              (struct sl_operand[]){own_side(g, layer, sl_build_as(x, SL_READ), i, pieces),
                                                    piece(sl_build_write(g->l, whole), i, pieces)}));
  return SL_OK;
}

/* Room for what is gathered. */
static enum sl_status gathered_buffer(struct sl_transformer *g, int layer, bool kept, int32_t *out) {
  const char *name = kept ? "gathered.kept" : "gathered";
  if (sl_casts_gathers(g->l, layer)) return sl_transformer_bytes(g, out, g->r * g->c, layer, name, kept);
  return (kept ? sl_transformer_kept : sl_transformer_temporary)(g, out, g->r * g->c, layer, name);
}

enum sl_status sl_transformer_gather(struct sl_transformer *g, int layer, enum sl_half half, struct sl_operand x,
                                     struct sl_operand *out) {
  int32_t whole;
  *out = sl_build_as(x, SL_READ);
  if (g->s == g->r) return SL_OK;
  SL_TRY(gathered_buffer(g, layer, false, &whole));
  *out = sl_build_read(g->l, whole);
  return gather_into(g, layer, half, x, whole);
}

enum sl_status sl_transformer_reduce(struct sl_transformer *g, int layer, struct sl_operand partial,
                                     struct sl_operand *out) {
  const struct sl_operand sum = sl_build_as(partial, SL_READ_WRITE);
  int32_t own;
  *out = sl_build_as(partial, SL_READ);
  if (g->tp == 1) return SL_OK;
  if (g->s == g->r)
    return sl_transformer_add(g, SL_HALF_INPUT, sl_transformer_tp_call(g, SL_OP_ALL_REDUCE, layer, g->r * g->c), 1,
                              &sum);
  SL_TRY(sl_transformer_temporary(g, &own, g->s * g->c, layer, "scattered"));
  *out = sl_build_read(g->l, own);
  return sl_transformer_add(g, SL_HALF_INPUT, sl_transformer_tp_call(g, SL_OP_REDUCE_SCATTER, layer, g->r * g->c), 2,
                            (struct sl_operand[]){sum, sl_build_write(g->l, own)});
}

/* out(R, n) = x(R, k) w [+ bias] */
static enum sl_status product(struct sl_transformer *g, int layer, struct sl_operand x, int w, bool biased,
                              struct sl_operand out, int64_t n, int64_t k) {
  const struct sl_operand bias = biased ? sl_build_param(g->l, w + 1) : (struct sl_operand){0};
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, layer, w);
  if (g->out_in) op.flags = SL_OP_TRANS_B;
  return sl_build_gemm(g->l, g->drafts, op, (int64_t[]){g->r, n, k}, x, sl_build_param(g->l, w), out,
                       biased ? &bias : NULL);
}

static enum sl_status column(struct sl_transformer *g, int layer, struct sl_operand x, const struct sl_column *column,
                             struct sl_operand out) {
  return product(g, layer, x, column->w, g->biases, out, column->n, g->c);
}

/* The products of columns behind a gather in pieces. torch cuts the first alone; to Transformer Engine all are one product. */
static enum sl_status columns_in_pieces(struct sl_transformer *g, int layer, struct sl_operand x, int count,
                                        const struct sl_column *columns, int pieces) {
  const int cut = by_member(g, layer) ? count : 1;
  struct sl_transformer part = *g;
  part.r /= pieces;
  for (int i = 0; i < pieces; i++)
    for (int k = 0; k < cut; k++)
      SL_TRY(column(&part, layer, piece(x, i, pieces), &columns[k],
                    piece(sl_build_write(g->l, columns[k].out), i, pieces)));
  for (int k = cut; k < count; k++) SL_TRY(column(g, layer, x, &columns[k], sl_build_write(g->l, columns[k].out)));
  return SL_OK;
}

/* dx(R, k) = or += dout(R, n) w^T */
static enum sl_status input_gradient(struct sl_transformer *g, int layer, struct sl_operand dout, int w,
                                     struct sl_operand dx, int64_t n, int64_t k) {
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, layer, w);
  if (!g->out_in) op.flags = SL_OP_TRANS_B;
  return sl_build_gemm(g->l, g->drafts, op, (int64_t[]){g->r, k, n}, dout, sl_build_param(g->l, w), dx, NULL);
}

/* dw = x(R, k)^T dout(R, n), or its transpose */
static enum sl_status weight_gradient(struct sl_transformer *g, int layer, struct sl_operand dout, struct sl_operand x,
                                      int w, int64_t n, int64_t k) {
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, layer, w);
  op.flags = SL_OP_TRANS_A;
  if (g->out_in)
    return sl_build_gemm(g->l, g->drafts, op, (int64_t[]){n, k, g->r}, dout, x, sl_build_grad(g->l, w), NULL);
  return sl_build_gemm(g->l, g->drafts, op, (int64_t[]){k, n, g->r}, x, dout, sl_build_grad(g->l, w), NULL);
}

static enum sl_status bias_gradient(struct sl_transformer *g, int layer, struct sl_operand dout, int bias, int64_t rows,
                                    int64_t n) {
  return SL_BUILD_DRAFT(g->drafts, sl_transformer_rows_op(g, SL_OP_BIAS_BWD, layer, bias, rows, n), dout,
                        sl_build_grad(g->l, bias));
}

enum sl_status sl_transformer_columns(struct sl_transformer *g, int layer, struct sl_operand x, int count,
                                      const struct sl_column *columns, int32_t *gathered) {
  struct sl_operand in;
  /* what recomputation by op makes again, it gathers again */
  const bool forgets = g->phase == SL_PHASE_FORWARD && sl_transformer_recompute(g, layer) == SL_RECOMPUTE_SELECTIVE_OP;
  *gathered = -1;
  if (g->s != g->r && set_of(g)->keeps_gathered && !forgets) {
    SL_TRY(gathered_buffer(g, layer, true, gathered));
    in = sl_build_read(g->l, *gathered);
    SL_TRY(gather_into(g, layer, SL_HALF_INPUT, x, *gathered));
  } else {
    SL_TRY(sl_transformer_gather(g, layer, SL_HALF_INPUT, x, &in));
  }
  return columns_in_pieces(g, layer, in, count, columns, gather_pieces(g, layer, SL_HALF_INPUT));
}

/* The weights' gradients of columns, whose input is `in`. */
static enum sl_status column_weights_bwd(struct sl_transformer *g, int layer, struct sl_operand in, int count,
                                         const struct sl_column *columns) {
  for (int i = 0; i < count; i++) {
    const struct sl_operand dout = sl_build_read(g->l, columns[i].out);
    SL_TRY(weight_gradient(g, layer, dout, in, columns[i].w, columns[i].n, g->c));
    if (g->biases) SL_TRY(bias_gradient(g, layer, dout, columns[i].w + 1, g->r, columns[i].n));
  }
  return SL_OK;
}

/* Columns that are modules of their own, each of which sums the gradient of its input over the group before autograd adds them up. */
static enum sl_status columns_apart_bwd(struct sl_transformer *g, int layer, struct sl_operand in, int count,
                                        const struct sl_column *columns, struct sl_operand *dx) {
  for (int i = 0; i < count; i++) {
    struct sl_operand sum;
    struct sl_op add = sl_transformer_op(g, SL_OP_ADD, layer, -1);
    int32_t partial;
    SL_TRY(sl_transformer_temporary(g, &partial, g->r * g->c, layer, i == 0 ? "dnorm" : "dnorm.apart"));
    SL_TRY(input_gradient(g, layer, sl_build_read(g->l, columns[i].out), columns[i].w, sl_build_write(g->l, partial),
                          columns[i].n, g->c));
    SL_TRY(column_weights_bwd(g, layer, in, 1, &columns[i]));
    SL_TRY(sl_transformer_reduce(g, layer, sl_build_read(g->l, partial), &sum));
    if (i == 0) *dx = sum;
    add.dim[0] = g->s * g->c;
    if (i > 0) SL_TRY(SL_BUILD_DRAFT(g->drafts, add, sum, sl_build_as(*dx, SL_READ_WRITE)));
  }
  return SL_OK;
}

enum sl_status sl_transformer_columns_bwd(struct sl_transformer *g, int layer, struct sl_operand x, int32_t gathered,
                                          int count, const struct sl_column *columns, struct sl_operand *dx) {
  struct sl_lowering *l = g->l;
  const bool in_order = set_of(g)->torch_blocks || set_of(g)->waits_for_sums;
  struct sl_operand in;
  int32_t partial;
  if (gathered >= 0) {
    in = sl_build_read(l, gathered);
  } else { /* the input is gathered again rather than kept whole; that runs beside the first product */
    SL_TRY(sl_transformer_gather(g, layer, SL_HALF_WEIGHT, x, &in));
  }
  if (columns[0].apart && g->tp > 1 && g->s == g->r) return columns_apart_bwd(g, layer, in, count, columns, dx);
  SL_TRY(sl_transformer_temporary(g, &partial, g->r * g->c, layer, "dnorm"));
  for (int i = 0; i < count; i++) {
    SL_TRY(input_gradient(g, layer, sl_build_read(l, columns[i].out), columns[i].w,
                          i == 0 ? sl_build_write(l, partial) : sl_build_update(l, partial), columns[i].n, g->c));
  }
  if (in_order) SL_TRY(column_weights_bwd(g, layer, in, count, columns));
  SL_TRY(sl_transformer_reduce(g, layer, sl_build_read(l, partial), dx));
  return in_order ? SL_OK : column_weights_bwd(g, layer, in, count, columns);
}

/* A product in pieces, each of which goes on its way when it is made. torch sends pieces as they are and sums them where they have
 * come: one pass over all. Userbuffers sum on the way. */
static enum sl_status row_in_pieces(struct sl_transformer *g, int layer, struct sl_operand x, int w, int64_t k,
                                    int32_t partial, int pieces, struct sl_operand *out) {
  struct sl_transformer part = *g;
  const struct sl_op call = sl_transformer_tp_call(g, SL_OP_REDUCE_SCATTER, layer, g->r * g->c);
  struct sl_op sum = sl_transformer_op(g, SL_OP_PASS, layer, -1);
  int32_t own;
  SL_TRY(sl_transformer_temporary(g, &own, g->s * g->c, layer, "scattered"));
  part.r /= pieces;
  for (int i = 0; i < pieces; i++) {
    const struct sl_operand made = piece(sl_build_write(g->l, partial), i, pieces);
    SL_TRY(product(&part, layer, piece(x, i, pieces), w, false, made, g->c, k));
    SL_TRY(sl_transformer_add(g, SL_HALF_INPUT, call_of_piece(g, layer, call, i, pieces), 2,
                              (struct sl_operand[]){sl_build_as(made, SL_READ_WRITE),
                                                    own_side(g, layer, sl_build_write(g->l, own), i, pieces)}));
  }
  *out = sl_build_read(g->l, own);
  if (by_member(g, layer)) return SL_OK;
  sum.dtype = SL_U8;
  sum.dim[0] = sl_dtype_bytes(g->l->dtype) * (g->r + g->s) * g->c, sum.dim[1] = 1;
  return sl_build_draft(g->drafts, sum, 0, NULL);
}

enum sl_status sl_transformer_row(struct sl_transformer *g, int layer, int32_t x, int w, int64_t k,
                                  struct sl_operand *out) {
  int32_t partial;
  const int pieces = pieces_of(g, layer);
  SL_TRY(sl_transformer_temporary(g, &partial, g->r * g->c, layer, "proj"));
  if (pieces > 1) return row_in_pieces(g, layer, sl_build_read(g->l, x), w, k, partial, pieces, out);
  SL_TRY(product(g, layer, sl_build_read(g->l, x), w, g->biases && g->tp == 1, sl_build_write(g->l, partial), g->c, k));
  return sl_transformer_reduce(g, layer, sl_build_read(g->l, partial), out);
}

enum sl_status sl_transformer_row_bwd(struct sl_transformer *g, int layer, struct sl_operand dout, int32_t x, int w,
                                      int64_t k, int32_t dx) {
  struct sl_operand whole;
  SL_TRY(sl_transformer_gather(g, layer, SL_HALF_INPUT, dout, &whole));
  struct sl_transformer part = *g;
  const int pieces = gather_pieces(g, layer, SL_HALF_INPUT);
  part.r /= pieces;
  for (int i = 0; i < pieces; i++)
    SL_TRY(
        input_gradient(&part, layer, piece(whole, i, pieces), w, piece(sl_build_write(g->l, dx), i, pieces), g->c, k));
  SL_TRY(weight_gradient(g, layer, whole, sl_build_read(g->l, x), w, g->c, k));
  return g->biases ? bias_gradient(g, layer, dout, w + 1, g->s, g->c) : SL_OK;
}
