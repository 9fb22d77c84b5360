/* Linear layers cut over the tp group as Megatron-LM does, and the communication between their regions; see
 * models/transformer.h, where the letters stand. With one member everything here is a plain product. */
#include "core/models/linear.h"

#include "core/plan/kernels.h"

struct sl_op sl_transformer_tp_call(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int64_t count) {
  struct sl_op op = sl_transformer_op(g, kind, layer, -1);
  op.lane = SL_LANE_TP;
  op.group = SL_GROUP_TP;
  op.payload = SL_PAYLOAD_ACTIVATION;
  op.dim[0] = count;
  return op;
}

static enum sl_status gather_into(struct sl_transformer *g, int layer, enum sl_half half, struct sl_operand x,
                                  int32_t whole) {
  return sl_transformer_add(g, half, sl_transformer_tp_call(g, SL_OP_ALL_GATHER, layer, g->r * g->c), 2,
                            (struct sl_operand[]){sl_build_as(x, SL_READ), sl_build_write(g->l, whole)});
}

enum sl_status sl_transformer_gather(struct sl_transformer *g, int layer, enum sl_half half, struct sl_operand x,
                                     struct sl_operand *out) {
  int32_t whole;
  *out = sl_build_as(x, SL_READ);
  if (g->s == g->r) return SL_OK;
  SL_TRY(sl_transformer_temporary(g, &whole, g->r * g->c, layer, "gathered"));
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
  *gathered = -1;
  if (g->s != g->r && sl_kernel_set(g->l->plan->config->sl.kernels)->keeps_gathered) {
    SL_TRY(sl_transformer_kept(g, gathered, g->r * g->c, layer, "gathered.kept"));
    in = sl_build_read(g->l, *gathered);
    SL_TRY(gather_into(g, layer, SL_HALF_INPUT, x, *gathered));
  } else {
    SL_TRY(sl_transformer_gather(g, layer, SL_HALF_INPUT, x, &in));
  }
  for (int i = 0; i < count; i++)
    SL_TRY(product(g, layer, in, columns[i].w, g->biases, sl_build_write(g->l, columns[i].out), columns[i].n, g->c));
  return SL_OK;
}

enum sl_status sl_transformer_columns_bwd(struct sl_transformer *g, int layer, struct sl_operand x, int32_t gathered,
                                          int count, const struct sl_column *columns, struct sl_operand *dx) {
  struct sl_lowering *l = g->l;
  struct sl_operand in;
  int32_t partial;
  if (gathered >= 0) {
    in = sl_build_read(l, gathered);
  } else { /* the input is gathered again rather than kept whole; that runs beside the first product */
    SL_TRY(sl_transformer_gather(g, layer, SL_HALF_WEIGHT, x, &in));
  }
  SL_TRY(sl_transformer_temporary(g, &partial, g->r * g->c, layer, "dnorm"));
  for (int i = 0; i < count; i++) {
    SL_TRY(input_gradient(g, layer, sl_build_read(l, columns[i].out), columns[i].w,
                          i == 0 ? sl_build_write(l, partial) : sl_build_update(l, partial), columns[i].n, g->c));
  }
  SL_TRY(sl_transformer_reduce(g, layer, sl_build_read(l, partial), dx));
  for (int i = 0; i < count; i++) {
    const struct sl_operand dout = sl_build_read(l, columns[i].out);
    SL_TRY(weight_gradient(g, layer, dout, in, columns[i].w, columns[i].n, g->c));
    if (g->biases) SL_TRY(bias_gradient(g, layer, dout, columns[i].w + 1, g->r, columns[i].n));
  }
  return SL_OK;
}

enum sl_status sl_transformer_row(struct sl_transformer *g, int layer, int32_t x, int w, int64_t k,
                                  struct sl_operand *out) {
  int32_t partial;
  SL_TRY(sl_transformer_temporary(g, &partial, g->r * g->c, layer, "proj"));
  SL_TRY(product(g, layer, sl_build_read(g->l, x), w, g->biases && g->tp == 1, sl_build_write(g->l, partial), g->c, k));
  return sl_transformer_reduce(g, layer, sl_build_read(g->l, partial), out);
}

enum sl_status sl_transformer_row_bwd(struct sl_transformer *g, int layer, struct sl_operand dout, int32_t x, int w,
                                      int64_t k, int32_t dx) {
  struct sl_operand whole;
  SL_TRY(sl_transformer_gather(g, layer, SL_HALF_INPUT, dout, &whole));
  SL_TRY(input_gradient(g, layer, whole, w, sl_build_write(g->l, dx), g->c, k));
  SL_TRY(weight_gradient(g, layer, whole, sl_build_read(g->l, x), w, g->c, k));
  return g->biases ? bias_gradient(g, layer, dout, w + 1, g->s, g->c) : SL_OK;
}
