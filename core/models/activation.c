/* The rules of activations; see activation.h. */
#include "core/models/activation.h"

#include "core/models/gradients.h"

static struct sl_op act_op(const struct sl_tape *t, const struct sl_node *n, enum sl_op_kind kind) {
  return sl_transformer_rows_op(&t->g, kind, n->layer, -1, t->g.r, t->values[n->in[0]].count / t->g.r);
}

static enum sl_status forward(struct sl_tape *t, const struct sl_node *n) {
  const struct sl_op op = act_op(t, n, (enum sl_op_kind)n->kind);
  const struct sl_operand x = sl_tape_at(t, n->in[0]);
  struct sl_operand out;
  SL_TRY(sl_tape_make(t, n, 0, &out));
  if (n->in[1] == 0) return SL_BUILD_DRAFT(t->g.drafts, op, x, out);
  return SL_BUILD_DRAFT(t->g.drafts, op, x, sl_tape_at(t, n->in[1]), out);
}

/* The gradient is made in place of what comes in. */
static enum sl_status of_one(struct sl_tape *t, const struct sl_node *n) {
  const struct sl_operand d = sl_gradient_of(t, n->out[0]);
  SL_TRY(SL_BUILD_DRAFT(t->g.drafts, act_op(t, n, (enum sl_op_kind)n->undo), sl_build_as(d, SL_READ_WRITE),
                        sl_tape_at(t, n->in[0])));
  return sl_gradient_give(t, n->in[0], d);
}

/* Gate and up become their own gradients. */
static enum sl_status of_two(struct sl_tape *t, const struct sl_node *n) {
  const struct sl_operand gate = sl_tape_at(t, n->in[0]), up = sl_tape_at(t, n->in[1]);
  SL_TRY(SL_BUILD_DRAFT(t->g.drafts, act_op(t, n, (enum sl_op_kind)n->undo), sl_gradient_of(t, n->out[0]),
                        sl_build_as(gate, SL_READ_WRITE), sl_build_as(up, SL_READ_WRITE)));
  SL_TRY(sl_gradient_give(t, n->in[0], gate));
  return sl_gradient_give(t, n->in[1], up);
}

static const struct sl_rule plain = {.reads_in = 1, .forward = forward, .backward = of_one};
static const struct sl_rule gated = {.reads_in = 3, .forward = forward, .backward = of_two};

int sl_activate(struct sl_tape *t, const struct sl_activation *act, int x, int up) {
  const struct sl_value value = {.name = act->name,
                                 .gradient_name = act->gradient_name,
                                 .dtype = t->g.l->dtype,
                                 .count = t->values[x].count,
                                 .made = SL_MADE_ELEMENTWISE};
  const int out = sl_tape_value(t, value);
  sl_tape_node(t, (struct sl_node){.rule = up == 0 ? &plain : &gated,
                                   .in = {x, up},
                                   .out = {out},
                                   .kind = (int)act->forward,
                                   .undo = (int)act->backward});
  return out;
}
