/* The rules of activations; see activation.h. */
#include "core/models/activation.h"

#include "core/models/gradients.h"

enum kind { PLAIN, PACKED, CAP };

static struct sl_op act_op(const struct sl_tape *t, const struct sl_node *n, enum sl_op_kind kind) {
  struct sl_op op = sl_transformer_rows_op(&t->g, kind, n->layer, -1, t->g.r, t->values[n->out[0]].count / t->g.r);
  if (n->kind == PACKED) op.flags |= SL_OP_PACKED_GATE;
  if (n->kind == CAP) op.scale = t->g.l->plan->model->form.logit_cap;
  return op;
}

static enum sl_status draft_forward(struct sl_tape *t, const struct sl_node *n, enum sl_op_kind kind) {
  struct sl_operand operands[3] = {sl_tape_at(t, n->in[0])};
  int count = 1;
  if (n->in[1] != 0) operands[count++] = sl_tape_at(t, n->in[1]);
  SL_TRY(sl_tape_make(t, n, 0, &operands[count++]));
  return sl_build_draft(t->g.drafts, act_op(t, n, kind), count, operands);
}

static enum sl_status plain_forward(struct sl_tape *t, const struct sl_node *n) {
  return draft_forward(t, n, SL_OP_GELU_FWD);
}

/* The gradient is computed in place of the incoming one; `x`: the value that says where it is. */
static enum sl_status draft_backward(struct sl_tape *t, const struct sl_node *n, int x) {
  const struct sl_operand d = sl_gradient_of(t, n->out[0]);
  SL_TRY(SL_BUILD_DRAFT(t->g.drafts, act_op(t, n, SL_OP_GELU_BWD), sl_build_as(d, SL_READ_WRITE), sl_tape_at(t, x)));
  return sl_gradient_give(t, n->in[0], d);
}

static enum sl_status plain_backward(struct sl_tape *t, const struct sl_node *n) {
  return draft_backward(t, n, n->in[0]);
}

/* ReLU is positive where its input is, so its output, which the next product keeps anyway, will do. */
static enum sl_status relu_backward(struct sl_tape *t, const struct sl_node *n) {
  return draft_backward(t, n, n->out[0]);
}

static enum sl_status gated_forward(struct sl_tape *t, const struct sl_node *n) {
  return draft_forward(t, n, SL_OP_SWIGLU_FWD);
}

/* Gate and up are overwritten by their gradients. */
static enum sl_status gated_backward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand operands[3] = {sl_gradient_of(t, n->out[0])};
  int count = 1;
  for (int i = 0; i < 2 && n->in[i] != 0; i++) {
    operands[count++] = sl_build_as(sl_tape_at(t, n->in[i]), SL_READ_WRITE);
    SL_TRY(sl_gradient_give(t, n->in[i], sl_tape_at(t, n->in[i])));
  }
  return sl_build_draft(t->g.drafts, act_op(t, n, SL_OP_SWIGLU_BWD), count, operands);
}

static const struct sl_rule plain = {.reads_in = 1, .forward = plain_forward, .backward = plain_backward};
static const struct sl_rule relu = {.reads_out = 1, .forward = plain_forward, .backward = relu_backward};
static const struct sl_rule gated = {.reads_in = 3, .forward = gated_forward, .backward = gated_backward};

struct sl_act sl_act_of(const struct sl_form *form) {
  static const struct sl_act of_one[] = {[SL_ACTIVATION_GELU_TANH] = {"mlp.gelu", "dgelu", false},
                                         [SL_ACTIVATION_GELU] = {"mlp.gelu", "dgelu", false},
                                         [SL_ACTIVATION_SILU] = {"mlp.silu", "dsilu", false},
                                         [SL_ACTIVATION_RELU] = {"mlp.relu", "drelu", false},
                                         [SL_ACTIVATION_RELU2] = {"mlp.relu2", "drelu2", false}};
  static const struct sl_act of_two[] = {[SL_ACTIVATION_GELU_TANH] = {"mlp.geglu", "dgeglu", true},
                                         [SL_ACTIVATION_GELU] = {"mlp.geglu", "dgeglu", true},
                                         [SL_ACTIVATION_SILU] = {"mlp.swiglu", "dswiglu", true},
                                         [SL_ACTIVATION_RELU] = {"mlp.reglu", "dreglu", true},
                                         [SL_ACTIVATION_RELU2] = {"mlp.reglu2", "dreglu2", true}};
  return form->gated ? of_two[form->activation] : of_one[form->activation];
}

int sl_activate(struct sl_tape *t, const struct sl_act *act, int x, int up) {
  const bool packed = act->gated && up == 0;
  const struct sl_value value = {.name = act->name,
                                 .gradient_name = act->gradient_name,
                                 .dtype = t->g.l->compute,
                                 .count = packed ? t->values[x].count / 2 : t->values[x].count,
                                 .made = SL_MADE_ELEMENTWISE};
  const bool is_relu = t->g.l->plan->model->form.activation == SL_ACTIVATION_RELU;
  const struct sl_rule *rule = act->gated ? &gated : is_relu ? &relu : &plain;
  const int out = sl_tape_value(t, value);
  sl_tape_node(t, (struct sl_node){.rule = rule, .in = {x, up}, .out = {out}, .kind = packed ? PACKED : PLAIN});
  return out;
}

int sl_cap(struct sl_tape *t, int logits) {
  struct sl_value value = t->values[logits];
  if (t->g.l->plan->model->form.logit_cap == 0) return logits;
  value.name = "logits.capped";
  value.covered = 0;
  const int out = sl_tape_value(t, value);
  sl_tape_node(t, (struct sl_node){.rule = &plain, .in = {logits}, .out = {out}, .kind = CAP});
  return out;
}
