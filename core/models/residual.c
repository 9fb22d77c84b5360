/* The rule of the residual stream; see residual.h. */
#include "core/models/residual.h"

#include "core/models/autocast.h"
#include "core/models/gradients.h"

enum { OUT, MASK };

static struct sl_op branch_op(const struct sl_transformer *g, enum sl_op_kind kind, const struct sl_node *n) {
  struct sl_op op = sl_transformer_stream_op(g, kind, n->layer);
  const enum sl_site site = n->kind == SL_BRANCH_ATTENTION ? SL_SITE_ATTENTION_BRANCH : SL_SITE_MLP_BRANCH;
  sl_transformer_drop(&op, n->layer, site, g->l->plan->model->resid_pdrop);
  return op;
}

static enum sl_status forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  struct sl_op op = branch_op(g, SL_OP_RESIDUAL_FWD, n);
  struct sl_operand operands[5] = {sl_tape_at(t, n->in[0]), sl_tape_at(t, n->in[1])}, out, mask;
  int count = 2;
  SL_TRY(sl_tape_make(t, n, OUT, &out));
  SL_TRY(sl_tape_make(t, n, MASK, &mask));
  if (n->bias[0] >= 0) {
    op.flags |= SL_OP_BIAS;
    operands[count++] = sl_build_param(g->l, n->bias[0]);
  }
  operands[count++] = out;
  if (mask.slice.bytes > 0) {
    op.flags |= SL_OP_MASK;
    operands[count++] = mask;
  }
  return sl_build_draft(g->drafts, op, count, operands);
}

/* The branch's gradient: that of the stream itself if there was no dropout, otherwise a masked copy. */
static enum sl_status branch_gradient(struct sl_tape *t, const struct sl_node *n, struct sl_operand *d) {
  struct sl_transformer *g = &t->g;
  struct sl_op op = branch_op(g, SL_OP_DROPOUT, n);
  struct sl_operand operands[3] = {*d};
  int32_t masked;
  if (op.dropout == 0) return sl_gradient_hold(t, n->out[OUT], d);
  SL_TRY(sl_transformer_temporary(g, &masked, g->s * g->c, n->layer, "ddropout"));
  *d = sl_build_read(g->l, masked);
  operands[1] = sl_build_write(g->l, masked);
  if (!sl_tape_has(t, n->out[MASK])) return sl_build_draft(g->drafts, op, 2, operands);
  op.flags |= SL_OP_MASK;
  operands[2] = sl_tape_at(t, n->out[MASK]);
  return sl_build_draft(g->drafts, op, 3, operands);
}

static enum sl_status backward(struct sl_tape *t, const struct sl_node *n) {
  const struct sl_operand d = sl_gradient_of(t, n->out[OUT]);
  struct sl_operand branch = d;
  SL_TRY(branch_gradient(t, n, &branch));
  SL_TRY(sl_gradient_give(t, n->in[0], d));
  return sl_gradient_give(t, n->in[1], branch);
}

static const struct sl_rule rule = {
    .reads_out = 1U << MASK, .ends_branch = true, .forward = forward, .backward = backward};

int sl_residual_add(struct sl_tape *t, enum sl_branch branch, int from, int x, int bias, const char *name, bool last) {
  const struct sl_transformer *g = &t->g;
  const struct sl_value stream = {.name = name,
                                  .gradient_name = "dbranch",
                                  .dtype = g->l->dtype,
                                  .count = g->s * g->c,
                                  .made = last ? SL_MADE_OUTPUT : SL_MADE_ELEMENTWISE,
                                  .stream = true};
  struct sl_value mask = stream;
  x = sl_autocast_for_sum(t, x);
  struct sl_node node = {.rule = &rule, .in = {from, x}, .bias = {bias}, .kind = (int)branch};
  mask.name = branch == SL_BRANCH_ATTENTION ? "attn.drop.mask" : "mlp.drop.mask";
  mask.dtype = SL_U8;
  mask.optional = true;
  node.out[OUT] = sl_tape_value(t, stream);
  if (g->l->plan->model->resid_pdrop > 0 && g->l->plan->config->sl.store_dropout_masks)
    node.out[MASK] = sl_tape_value(t, mask);
  sl_tape_node(t, node);
  return node.out[OUT];
}
