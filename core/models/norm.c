/* The rule of norms; see norm.h. */
#include "core/models/norm.h"

#include "core/models/autocast.h"
#include "core/models/gradients.h"

enum { OUT, STATS };

/* The number of rows follows from the size of the statistics, one number each. */
static struct sl_op norm_op(const struct sl_tape *t, const struct sl_node *n, enum sl_op_kind rms,
                            enum sl_op_kind layer) {
  const bool is_rms = t->g.rms;
  const int64_t rows = t->values[n->out[STATS]].count / (is_rms ? 1 : 2);
  struct sl_op op = sl_transformer_rows_op(&t->g, is_rms ? rms : layer, n->layer, n->weight[0], rows,
                                           t->values[n->out[OUT]].count / rows);
  if (!is_rms && n->bias[0] < 0) op.flags |= SL_OP_UNBIASED;
  return op;
}

static enum sl_status forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  struct sl_operand operands[5] = {sl_tape_at(t, n->in[0]), sl_build_param(g->l, n->weight[0])};
  struct sl_op op = norm_op(t, n, SL_OP_RMSNORM_FWD, SL_OP_LAYERNORM_FWD);
  int count = 2;
  op.scale = g->l->plan->model->norm_epsilon;
  if (n->bias[0] >= 0) operands[count++] = sl_build_param(g->l, n->bias[0]);
  SL_TRY(sl_tape_make(t, n, OUT, &operands[count++]));
  SL_TRY(sl_tape_make(t, n, STATS, &operands[count++]));
  return sl_build_draft(g->drafts, op, count, operands);
}

/* Appends the gradients of weight and bias to an op's operands. */
static int add_gradients(const struct sl_transformer *g, const struct sl_node *n, struct sl_operand *to, int count) {
  to[count++] = sl_build_grad(g->l, n->weight[0]);
  if (n->bias[0] >= 0) to[count++] = sl_build_grad(g->l, n->bias[0]);
  return count;
}

/* In a split backward the gradients of weight and bias are a draft of their own, after that of x. */
static enum sl_status backward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  const struct sl_operand x = sl_tape_at(t, n->in[0]);
  const struct sl_operand stats = sl_tape_at(t, n->out[STATS]);
  struct sl_op op = norm_op(t, n, SL_OP_RMSNORM_BWD, SL_OP_LAYERNORM_BWD);
  struct sl_operand dout = sl_gradient_of(t, n->out[OUT]);
  if (t->values[n->out[OUT]].stream) SL_TRY(sl_gradient_hold(t, n->out[OUT], &dout));
  struct sl_operand operands[8] = {dout, x, sl_build_param(g->l, n->weight[0]), stats};
  int32_t scratch;
  int count = 5;
  SL_TRY(sl_gradient_into(t, n->in[0], &operands[4]));
  SL_TRY(sl_transformer_workspace(g, &scratch, &op, "dln.scratch"));
  if (g->l->stage->split) {
    struct sl_op input = op;
    input.flags |= SL_OP_INPUT_GRAD;
    SL_TRY(sl_build_draft(g->drafts, input, count, operands));
    op.flags |= SL_OP_WEIGHT_GRAD;
    operands[2] = stats;
    count = 3;
  }
  count = add_gradients(g, n, operands, count);
  operands[count++] = sl_build_write(g->l, scratch);
  return sl_build_draft(g->drafts, op, count, operands);
}

static const struct sl_rule rule = {.reads_in = 1, .reads_out = 1U << STATS, .forward = forward, .backward = backward};

static int add_norm(struct sl_tape *t, int x, int weight, int64_t rows, struct sl_value out) {
  x = sl_autocast_for_norm(t, x);
  const bool rms = t->g.rms, biased = !rms && !t->g.l->plan->model->form.norms_unbiased;
  out.count = t->values[x].count;
  const int y = sl_tape_value(t, out);
  const int stats = sl_tape_value(
      t,
      (struct sl_value){.name = "norm.stats", .dtype = SL_F32, .count = rms ? rows : 2 * rows, .made = SL_MADE_NORM});
  sl_tape_node(
      t, (struct sl_node){
             .rule = &rule, .in = {x}, .out = {y, stats}, .weight = {weight}, .bias = {biased ? weight + 1 : -1}});
  return y;
}

int sl_norm(struct sl_tape *t, int x, int weight, const char *name, const char *gradient_name) {
  const struct sl_value out = {
      .name = name, .gradient_name = gradient_name, .dtype = sl_autocast_normed(t->g.l), .made = SL_MADE_NORM};
  return add_norm(t, x, weight, t->g.s, out);
}

int sl_stream_norm(struct sl_tape *t, int x, int weight, const char *name, const char *gradient_name) {
  const struct sl_value out = {
      .name = name, .gradient_name = gradient_name, .dtype = t->g.l->dtype, .made = SL_MADE_OUTPUT, .stream = true};
  return add_norm(t, x, weight, t->g.s, out);
}

int sl_head_norm(struct sl_tape *t, int x, int weight, int64_t heads, const char *name, const char *gradient_name) {
  const struct sl_value out = {
      .name = name, .gradient_name = gradient_name, .dtype = sl_autocast_normed(t->g.l), .made = SL_MADE_NORM};
  return add_norm(t, x, weight, t->g.r * heads, out);
}
