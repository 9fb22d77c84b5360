/* The rule of norms; see norm.h. */
#include "core/models/norm.h"

#include "core/models/gradients.h"

enum { OUT, STATS };

static enum sl_status forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  const int w = n->weight[0];
  struct sl_operand out, stats;
  struct sl_op op =
      sl_transformer_rows_op(g, g->rms ? SL_OP_RMSNORM_FWD : SL_OP_LAYERNORM_FWD, n->layer, w, g->s, g->c);
  op.scale = g->l->plan->model->norm_epsilon;
  SL_TRY(sl_tape_make(t, n, OUT, &out));
  SL_TRY(sl_tape_make(t, n, STATS, &stats));
  const struct sl_operand x = sl_tape_at(t, n->in[0]);
  if (g->rms) return SL_BUILD_DRAFT(g->drafts, op, x, sl_build_param(g->l, w), out, stats);
  return SL_BUILD_DRAFT(g->drafts, op, x, sl_build_param(g->l, w), sl_build_param(g->l, n->bias[0]), out, stats);
}

/* Append the gradients of weight and bias to an op's operands. */
static int add_gradients(const struct sl_transformer *g, const struct sl_node *n, struct sl_operand *to, int count) {
  to[count++] = sl_build_grad(g->l, n->weight[0]);
  if (!g->rms) to[count++] = sl_build_grad(g->l, n->bias[0]);
  return count;
}

/* The gradients of weight and bias in a draft of their own, behind that of x: the halves of a split backward. */
static enum sl_status backward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  const int w = n->weight[0];
  const struct sl_operand dout = sl_gradient_of(t, n->out[OUT]), x = sl_tape_at(t, n->in[0]);
  const struct sl_operand stats = sl_tape_at(t, n->out[STATS]);
  struct sl_op op =
      sl_transformer_rows_op(g, g->rms ? SL_OP_RMSNORM_BWD : SL_OP_LAYERNORM_BWD, n->layer, w, g->s, g->c);
  struct sl_operand dx, operands[8] = {dout, x, sl_build_param(g->l, w), stats};
  int32_t scratch;
  int count = 5;
  SL_TRY(sl_gradient_into(t, n->in[0], &dx));
  operands[4] = dx;
  SL_TRY(sl_transformer_workspace(g, &scratch, &op, "dln.scratch"));
  if (g->l->stage->split) {
    op.flags = SL_OP_INPUT_GRAD;
    SL_TRY(sl_build_draft(g->drafts, op, count, operands));
    op.flags = SL_OP_WEIGHT_GRAD;
    operands[2] = stats;
    count = 3;
  }
  count = add_gradients(g, n, operands, count);
  operands[count++] = sl_build_write(g->l, scratch);
  return sl_build_draft(g->drafts, op, count, operands);
}

static const struct sl_rule rule = {.reads_in = 1, .reads_out = 1U << STATS, .forward = forward, .backward = backward};

int sl_norm(struct sl_tape *t, int x, int w, const char *name, const char *gradient_name) {
  const struct sl_transformer *g = &t->g;
  const int out = sl_tape_value(t, (struct sl_value){.name = name,
                                                     .gradient_name = gradient_name,
                                                     .dtype = g->l->dtype,
                                                     .count = g->s * g->c,
                                                     .made = SL_MADE_NORM});
  const int stats = sl_tape_value(
      t, (struct sl_value){
             .name = "norm.stats", .dtype = SL_F32, .count = g->rms ? g->s : 2 * g->s, .made = SL_MADE_NORM});
  sl_tape_node(t, (struct sl_node){.rule = &rule, .in = {x}, .out = {out, stats}, .weight = {w}, .bias = {w + 1}});
  return out;
}
