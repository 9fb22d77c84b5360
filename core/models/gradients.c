/* Keeps track of gradients on the tape; see tape.h and gradients.h. */
#include "core/models/gradients.h"

struct sl_operand sl_gradient_of(const struct sl_tape *t, int value) {
  return sl_build_as(t->values[value].gradient, SL_READ);
}

enum sl_status sl_gradient_hold(struct sl_tape *t, int value, struct sl_operand *d) {
  const int64_t count = t->values[value].count;
  const int layer = t->section->layer;
  int32_t copy;
  if (!t->g.l->stage->split) return SL_OK;
  SL_TRY(sl_transformer_buffer(&t->g, &copy, t->values[value].dtype, count, layer, "dx.held", false));
  SL_TRY(sl_transformer_copy(&t->g, layer, *d, sl_build_write(t->g.l, copy), count));
  *d = sl_build_read(t->g.l, copy);
  return SL_OK;
}

static void set(struct sl_value *x, struct sl_operand at) {
  x->gradient = at;
  x->has_gradient = true;
}

/* Is the gradient of another value, still to be read, in the same place as that of `v`? */
static bool shares(const struct sl_tape *t, int v, int other) {
  const struct sl_value *x = &t->values[other];
  return other != v && x->has_gradient && x->gradient.buffer == t->values[v].gradient.buffer;
}

/* The gradient of `v` is about to be added to: gradients that share its place are copied first. */
static enum sl_status part_from_others(struct sl_tape *t, int v) {
  struct sl_transformer *g = &t->g;
  int32_t copy = -1;
  for (int other = t->section->first_value; other < t->section->end_value; other++) {
    if (!shares(t, v, other)) continue;
    struct sl_value *x = &t->values[other];
    if (copy < 0) {
      SL_TRY(sl_transformer_buffer(g, &copy, x->dtype, x->count, x->layer, "d.held", false));
      SL_TRY(sl_transformer_copy(g, x->layer, x->gradient, sl_build_write(g->l, copy), x->count));
    }
    x->gradient = sl_build_read(g->l, copy);
  }
  return SL_OK;
}

enum sl_status sl_gradient_into(struct sl_tape *t, int value, struct sl_operand *into) {
  struct sl_value *x = &t->values[value];
  int32_t b;
  if (x->has_gradient) {
    SL_TRY(part_from_others(t, value));
    *into = sl_build_as(x->gradient, SL_READ_WRITE);
    return SL_OK;
  }
  if (x->stream) {
    *into = sl_build_as(t->g.dx, SL_WRITE);
  } else {
    SL_TRY(sl_transformer_buffer(&t->g, &b, x->dtype, x->count, t->section->layer, x->gradient_name, false));
    *into = sl_build_write(t->g.l, b);
  }
  set(x, *into);
  return SL_OK;
}

enum sl_status sl_gradient_give(struct sl_tape *t, int value, struct sl_operand at) {
  struct sl_value *x = &t->values[value];
  struct sl_op add = sl_transformer_op(&t->g, SL_OP_ADD, x->layer, -1);
  if (!x->has_gradient) {
    set(x, at);
    return SL_OK;
  }
  SL_TRY(part_from_others(t, value));
  add.dtype = x->dtype;
  add.dim[0] = x->count;
  return SL_BUILD_DRAFT(t->g.drafts, add, sl_build_as(at, SL_READ), sl_build_as(x->gradient, SL_READ_WRITE));
}

enum sl_status sl_gradient_of_loss(struct sl_tape *t, const struct sl_node *n) {
  return sl_gradient_give(t, n->in[0], sl_tape_at(t, n->out[0]));
}
