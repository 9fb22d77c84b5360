/* The rule of rotary positions; see rope.h. */
#include "core/models/rope.h"

#include "core/models/gradients.h"

/* Rotates the heads of every token of `x` by its position, in place; `back` is the inverse, for a gradient. In packed
 * rows only those of q and k. */
static enum sl_status turn(struct sl_tape *t, const struct sl_node *n, int i, struct sl_operand x, bool back) {
  const struct sl_transformer *g = &t->g;
  struct sl_op op = sl_transformer_tokens_op(g, SL_OP_ROPE, n->layer, -1);
  op.dim[2] = i == 0 ? g->h : g->g, op.dim[3] = g->d;
  if (n->in[1] == 0) op.dim[4] = g->g;
  op.scale = sl_model_rotary(g->l->plan->model, n->layer)->base;
  if (back) op.flags = SL_OP_INVERSE;
  return SL_BUILD_DRAFT(g->drafts, op, sl_build_as(x, SL_READ_WRITE));
}

static enum sl_status forward(struct sl_tape *t, const struct sl_node *n) {
  for (int i = 0; i < 2 && n->in[i] != 0; i++) {
    struct sl_operand x;
    SL_TRY(sl_tape_make(t, n, i, &x));
    if (x.slice.bytes > 0) SL_TRY(turn(t, n, i, x, false));
  }
  return SL_OK;
}

static enum sl_status backward(struct sl_tape *t, const struct sl_node *n) {
  for (int i = 0; i < 2 && n->in[i] != 0; i++) {
    const struct sl_operand dx = sl_gradient_of(t, n->out[i]);
    SL_TRY(turn(t, n, i, dx, true));
    SL_TRY(sl_gradient_give(t, n->in[i], dx));
  }
  return SL_OK;
}

static const struct sl_rule rule = {.apart = true, .paired = true, .forward = forward, .backward = backward};

static int turned(struct sl_tape *t, int x) {
  struct sl_value value = t->values[x];
  value.over = x;
  value.covered = 0;
  return x == 0 ? 0 : sl_tape_value(t, value);
}

struct sl_qkv sl_rope(struct sl_tape *t, struct sl_qkv in) {
  const struct sl_qkv out = {.q = turned(t, in.q), .k = turned(t, in.k), .v = in.v};
  sl_tape_node(t, (struct sl_node){.rule = &rule, .in = {in.q, in.k}, .out = {out.q, out.k}});
  return out;
}
