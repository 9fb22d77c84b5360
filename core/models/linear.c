/* The rules of linear layers; see linear.h. With one member everything here is a plain product. */
#include "core/models/linear.h"

#include "core/models/autocast.h"
#include "core/models/gradients.h"
#include "core/models/regions.h"
#include "core/plan/kernels.h"

enum { COLUMNS = 3, GATHERED = COLUMNS };
enum kind { TOGETHER, APART, HEAD };

static const struct sl_kernel_set *set_of(const struct sl_transformer *g) {
  return sl_kernel_set(g->l->plan->config->sl.kernels);
}

/* Has every member the whole of the weight, and so the whole gradient of the input? */
static bool is_whole(const struct sl_transformer *g, const struct sl_node *n) {
  return g->tp == 1 || (n->kind == HEAD && g->l->plan->tp_vocab == SL_TP_VOCAB_WHOLE);
}

/* ---- products ---- */

static struct sl_op gemm_of(const struct sl_transformer *g, const struct sl_node *node, int i, unsigned flags) {
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, node->layer, node->weight[i]);
  op.flags = flags | (g->in_call ? SL_OP_IN_CALL : 0);
  return op;
}

/* out(R, n) = x(R, k) w [+ bias] */
static enum sl_status product(struct sl_transformer *g, const struct sl_node *node, int i, struct sl_operand x,
                              bool biased, struct sl_operand out, int64_t n, int64_t k) {
  const struct sl_operand bias = biased ? sl_build_param(g->l, node->bias[i]) : (struct sl_operand){0};
  const struct sl_op op = gemm_of(g, node, i, g->out_in || node->kind == HEAD ? SL_OP_TRANS_B : 0);
  return sl_build_gemm(g->l, g->drafts, op, (int64_t[]){g->r, n, k}, x, sl_build_param(g->l, node->weight[i]), out,
                       biased ? &bias : NULL);
}

/* dx(R, k) = or += dout(R, n) w^T */
static enum sl_status input_gradient(struct sl_transformer *g, const struct sl_node *node, int i,
                                     struct sl_operand dout, struct sl_operand dx, int64_t n, int64_t k) {
  const struct sl_op op = gemm_of(g, node, i, g->out_in || node->kind == HEAD ? 0 : SL_OP_TRANS_B);
  return sl_build_gemm(g->l, g->drafts, op, (int64_t[]){g->r, k, n}, dout, sl_build_param(g->l, node->weight[i]), dx,
                       NULL);
}

/* dw = x(R, k)^T dout(R, n), or its transpose */
static enum sl_status weight_gradient(struct sl_transformer *g, const struct sl_node *node, int i,
                                      struct sl_operand dout, struct sl_operand x, int64_t n, int64_t k) {
  const struct sl_op op = gemm_of(g, node, i, SL_OP_TRANS_A);
  const struct sl_operand dw = sl_build_grad(g->l, node->weight[i]);
  if (g->out_in || node->kind == HEAD)
    return sl_build_gemm(g->l, g->drafts, op, (int64_t[]){n, k, g->r}, dout, x, dw, NULL);
  return sl_build_gemm(g->l, g->drafts, op, (int64_t[]){k, n, g->r}, x, dout, dw, NULL);
}

static enum sl_status bias_gradient(struct sl_transformer *g, const struct sl_node *node, int i, struct sl_operand dout,
                                    int64_t rows, int64_t n) {
  if (node->bias[i] < 0) return SL_OK;
  return SL_BUILD_DRAFT(g->drafts, sl_transformer_rows_op(g, SL_OP_BIAS_BWD, node->layer, node->bias[i], rows, n), dout,
                        sl_build_grad(g->l, node->bias[i]));
}

/* ---- columns ---- */

static int64_t width_of(const struct sl_tape *t, const struct sl_node *n, int i) {
  return t->values[n->out[i]].count / t->g.r;
}

static enum sl_status column(struct sl_tape *t, struct sl_transformer *g, const struct sl_node *n, int i,
                             struct sl_operand x, struct sl_operand out) {
  return product(g, n, i, x, n->bias[i] >= 0, out, width_of(t, n, i), g->c);
}

/* The products that `out` has room for, after a gather in pieces. torch cuts only the first; Transformer Engine treats
 * all as one product. */
static enum sl_status columns_in_pieces(struct sl_tape *t, const struct sl_node *n, struct sl_operand x,
                                        const struct sl_operand out[COLUMNS]) {
  const int pieces = sl_regions_gather_pieces(&t->g, n->layer, SL_HALF_INPUT);
  int made[COLUMNS], count = 0;
  for (int i = 0; i < COLUMNS; i++)
    if (out[i].slice.bytes > 0) made[count++] = i;
  const int cut = sl_regions_by_member(&t->g, n->layer) ? count : 1;
  for (int i = 0; i < pieces; i++) {
    struct sl_transformer part = sl_regions_part(&t->g, n->layer, i, pieces);
    for (int k = 0; k < cut; k++)
      SL_TRY(column(t, &part, n, made[k], sl_regions_piece(x, i, pieces), sl_regions_piece(out[made[k]], i, pieces)));
  }
  for (int k = cut; k < count; k++) SL_TRY(column(t, &t->g, n, made[k], x, out[made[k]]));
  return SL_OK;
}

static enum sl_status columns_forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand out[COLUMNS], gathered, x = sl_tape_at(t, n->in[0]);
  for (int i = 0; i < COLUMNS; i++) SL_TRY(sl_tape_make(t, n, i, &out[i]));
  SL_TRY(sl_tape_make(t, n, GATHERED, &gathered));
  if (gathered.slice.bytes > 0) {
    SL_TRY(sl_regions_gather_into(&t->g, n->layer, SL_HALF_INPUT, x, gathered));
    x = sl_build_as(gathered, SL_READ);
  } else {
    SL_TRY(sl_regions_gather(&t->g, n->layer, SL_HALF_INPUT, x, &x));
  }
  return columns_in_pieces(t, n, x, out);
}

/* The gradients of weight and bias `i`, given input `x`. */
static enum sl_status column_weight_bwd(struct sl_tape *t, const struct sl_node *n, int i, struct sl_operand x) {
  const struct sl_operand dout = sl_gradient_of(t, n->out[i]);
  SL_TRY(weight_gradient(&t->g, n, i, dout, x, width_of(t, n, i), t->g.c));
  return bias_gradient(&t->g, n, i, dout, t->g.r, width_of(t, n, i));
}

static enum sl_status column_weights_bwd(struct sl_tape *t, const struct sl_node *n, struct sl_operand x) {
  for (int i = 0; i < COLUMNS && n->out[i] != 0; i++) SL_TRY(column_weight_bwd(t, n, i, x));
  return SL_OK;
}

/* autograd adds the gradients of one input, of which every product makes its own, by kernels of their own. */
static enum sl_status add_apart(struct sl_transformer *g, const struct sl_node *n) {
  struct sl_op sum = sl_transformer_op(g, SL_OP_PASS, n->layer, -1);
  if (!set_of(g)->adds_apart) return SL_OK;
  sum.dtype = SL_U8;
  sum.dim[0] = 3 * sl_dtype_bytes(g->l->compute) * sl_product(g->r, g->c), sum.dim[1] = 1;
  return sl_transformer_add(g, SL_HALF_INPUT, sum, 0, NULL);
}

/* The gradient of x from columns first ... end - 1, before the sum over the group: of a single column in its final
 * place, of several in a buffer called `name`. */
static enum sl_status column_inputs_bwd(struct sl_tape *t, const struct sl_node *n, const char *name, int first,
                                        int end, struct sl_operand *partial) {
  struct sl_transformer *g = &t->g;
  int32_t buffer;
  if (is_whole(g, n)) {
    SL_TRY(sl_gradient_into(t, n->in[0], partial));
  } else {
    SL_TRY(sl_transformer_temporary(g, &buffer, g->r * g->c, n->layer, name));
    *partial = sl_build_write(g->l, buffer);
  }
  for (int i = first; i < end && n->out[i] != 0; i++) {
    SL_TRY(input_gradient(g, n, i, sl_gradient_of(t, n->out[i]),
                          i == first ? *partial : sl_build_as(*partial, SL_READ_WRITE), width_of(t, n, i), g->c));
    if (i > first) SL_TRY(add_apart(g, n));
  }
  return SL_OK;
}

/* Columns that are separate modules, each of which sums the gradient of its input over the group before autograd adds
 * them up. */
static enum sl_status columns_apart_bwd(struct sl_tape *t, const struct sl_node *n, struct sl_operand x,
                                        const char *name) {
  for (int i = 0; i < COLUMNS && n->out[i] != 0; i++) {
    struct sl_operand partial, sum;
    SL_TRY(column_inputs_bwd(t, n, i == 0 ? name : "dnorm.apart", i, i + 1, &partial));
    SL_TRY(column_weight_bwd(t, n, i, x));
    SL_TRY(sl_regions_reduce(&t->g, n->layer, partial, false, &sum));
    SL_TRY(sl_gradient_give(t, n->in[0], sum));
  }
  return SL_OK;
}

/* The communication of the input's gradient overlaps with the products of the weights' gradients, unless a kernel set
 * computes those first. */
static enum sl_status columns_backward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  const bool in_order = n->kind != HEAD && (set_of(g)->torch_blocks || set_of(g)->waits_for_sums);
  const char *name = t->values[n->in[0]].gradient_name;
  struct sl_operand x = sl_tape_at(t, n->in[0]), partial, dx;
  if (sl_tape_has(t, n->out[GATHERED])) {
    x = sl_tape_at(t, n->out[GATHERED]);
  } else { /* the input is gathered again instead of kept; that overlaps with the first product */
    SL_TRY(sl_regions_gather(g, n->layer, SL_HALF_WEIGHT, x, &x));
  }
  if (n->kind == APART && g->tp > 1 && g->s == g->r) return columns_apart_bwd(t, n, x, name);
  SL_TRY(column_inputs_bwd(t, n, name, 0, COLUMNS, &partial));
  if (is_whole(g, n)) return column_weights_bwd(t, n, x);
  if (in_order) SL_TRY(column_weights_bwd(t, n, x));
  SL_TRY(sl_regions_reduce(g, n->layer, partial, false, &dx));
  if (!in_order) SL_TRY(column_weights_bwd(t, n, x));
  return sl_gradient_give(t, n->in[0], dx);
}

static const struct sl_rule columns_rule = {.reads_in = 1,
                                            .reads_out = 1U << GATHERED,
                                            .apart = true,
                                            .forward = columns_forward,
                                            .backward = columns_backward};

/* What sequence parallelism gathered, where a framework keeps it for the backward; else 0. */
static int gathered(struct sl_tape *t, int layer) {
  const struct sl_transformer *g = &t->g;
  if (g->s == g->r || !set_of(g)->keeps_gathered) return 0;
  return sl_tape_value(t, (struct sl_value){.name = "gathered.kept",
                                            .dtype = sl_regions_gathered_dtype(g, layer),
                                            .count = g->r * g->c,
                                            .made = SL_MADE_GATHERED,
                                            .optional = true});
}

void sl_columns(struct sl_tape *t, int x, int count, const struct sl_column *columns, bool apart, int *out) {
  const struct sl_transformer *g = &t->g;
  if (count > 1 && sl_autocast_casts_apart(g->l)) {
    for (int i = 0; i < count; i++) sl_columns(t, x, 1, &columns[i], apart, &out[i]);
    return;
  }
  x = sl_autocast_for_product(t, x);
  struct sl_node node = {.rule = &columns_rule, .in = {x}, .kind = apart ? APART : TOGETHER};
  for (int i = 0; i < count; i++) {
    node.weight[i] = columns[i].weight, node.bias[i] = columns[i].bias;
    out[i] = node.out[i] =
        sl_tape_value(t, (struct sl_value){.name = columns[i].name,
                                           .gradient_name = columns[i].gradient_name,
                                           .dtype = g->l->compute,
                                           .count = g->r * columns[i].width,
                                           .made = i % 2 == 0 ? SL_MADE_PRODUCT : SL_MADE_OTHER_PRODUCT});
  }
  node.out[GATHERED] = gathered(t, t->values[out[0]].layer);
  sl_tape_node(t, node);
}

int sl_head(struct sl_tape *t, int x, int weight, int bias) {
  x = sl_autocast_for_product(t, x);
  const int out = sl_tape_value(t, (struct sl_value){.name = "logits",
                                                     .gradient_name = "dlogits.own",
                                                     .dtype = t->g.l->compute,
                                                     .count = t->g.r * t->g.v,
                                                     .made = SL_MADE_OUTPUT});
  struct sl_node node = {
      .rule = &columns_rule, .in = {x}, .out = {out}, .weight = {weight}, .bias = {bias}, .kind = HEAD};
  node.out[GATHERED] = gathered(t, t->values[out].layer);
  sl_tape_node(t, node);
  return out;
}

/* ---- rows ---- */

/* A product in pieces, each of which is sent as soon as it is computed. torch sends the pieces as they are and sums
 * them after arrival, in one pass over all; userbuffers sum in transit. */
static enum sl_status row_in_pieces(struct sl_tape *t, const struct sl_node *n, int32_t partial, int pieces, int64_t k,
                                    struct sl_operand *out) {
  struct sl_transformer *g = &t->g;
  const struct sl_operand x = sl_tape_at(t, n->in[0]);
  const struct sl_op call = sl_regions_call(g, SL_OP_REDUCE_SCATTER, n->layer, g->r * g->c);
  struct sl_op sum = sl_transformer_op(g, SL_OP_PASS, n->layer, -1);
  int32_t own;
  SL_TRY(sl_transformer_buffer(g, &own, g->l->compute, g->s * g->c, n->layer, "scattered", sl_tape_keeps(t, n, 0)));
  for (int i = 0; i < pieces; i++) {
    struct sl_transformer part = sl_regions_part(g, n->layer, i, pieces);
    const struct sl_operand made = sl_regions_piece(sl_build_write(g->l, partial), i, pieces);
    SL_TRY(product(&part, n, 0, sl_regions_piece(x, i, pieces), false, made, g->c, k));
    SL_TRY(sl_transformer_add(
        g, SL_HALF_INPUT, sl_regions_call_of_piece(g, n->layer, call, i, pieces), 2,
        (struct sl_operand[]){sl_build_as(made, SL_READ_WRITE),
                              sl_regions_own_side(g, n->layer, sl_build_write(g->l, own), i, pieces)}));
  }
  *out = sl_build_read(g->l, own);
  if (sl_regions_by_member(g, n->layer)) return SL_OK;
  sum.dtype = SL_U8;
  sum.dim[0] = sl_dtype_bytes(g->l->compute) * (g->r + g->s) * g->c, sum.dim[1] = 1;
  return sl_build_draft(g->drafts, sum, 0, NULL);
}

static enum sl_status row_forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  const int64_t k = t->values[n->in[0]].count / g->r;
  const int pieces = sl_regions_pieces(g, n->layer);
  const bool keeps = sl_tape_keeps(t, n, 0);
  struct sl_operand out;
  int32_t partial;
  SL_TRY(sl_transformer_buffer(g, &partial, g->l->compute, g->r * g->c, n->layer, "proj", keeps && g->s == g->r));
  if (pieces > 1) {
    SL_TRY(row_in_pieces(t, n, partial, pieces, k, &out));
  } else {
    SL_TRY(product(g, n, 0, sl_tape_at(t, n->in[0]), n->bias[0] >= 0 && g->tp == 1, sl_build_write(g->l, partial), g->c,
                   k));
    SL_TRY(sl_regions_reduce(g, n->layer, sl_build_read(g->l, partial), keeps, &out));
  }
  sl_tape_made(t, n, 0, out);
  return SL_OK;
}

static enum sl_status row_backward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  const struct sl_operand dout = sl_gradient_of(t, n->out[0]);
  const int64_t k = t->values[n->in[0]].count / g->r;
  const int pieces = sl_regions_gather_pieces(g, n->layer, SL_HALF_INPUT);
  struct sl_operand whole, dx;
  SL_TRY(sl_gradient_into(t, n->in[0], &dx));
  SL_TRY(sl_regions_gather(g, n->layer, SL_HALF_INPUT, dout, &whole));
  for (int i = 0; i < pieces; i++) {
    struct sl_transformer part = sl_regions_part(g, n->layer, i, pieces);
    SL_TRY(input_gradient(&part, n, 0, sl_regions_piece(whole, i, pieces), sl_regions_piece(dx, i, pieces), g->c, k));
  }
  SL_TRY(weight_gradient(g, n, 0, whole, sl_tape_at(t, n->in[0]), g->c, k));
  return bias_gradient(g, n, 0, dout, g->s, g->c);
}

static const struct sl_rule row_rule = {.reads_in = 1, .forward = row_forward, .backward = row_backward};

int sl_row(struct sl_tape *t, int x, int weight, int bias) {
  const struct sl_value value = {.name = "proj",
                                 .gradient_name = "dproj",
                                 .dtype = t->g.l->compute,
                                 .count = t->g.s * t->g.c,
                                 .made = SL_MADE_SUM};
  const int out = sl_tape_value(t, value);
  sl_tape_node(t, (struct sl_node){.rule = &row_rule, .in = {x}, .out = {out}, .weight = {weight}, .bias = {bias}});
  return out;
}
