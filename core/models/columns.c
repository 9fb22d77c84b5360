/* The rules of columns that are gathered and shared out again; see columns.h. */
#include "core/models/columns.h"

#include "core/base/checked.h"
#include "core/models/gradients.h"
#include "core/models/regions.h"

/* The op between whole rows and members' columns of a value of `count` elements in all. */
static struct sl_op columns_op(const struct sl_transformer *g, enum sl_op_kind kind, const struct sl_node *n,
                               int64_t count) {
  struct sl_op op = sl_transformer_rows_op(g, kind, n->layer, -1, g->r, count / g->r / g->tp);
  op.dim[2] = g->tp;
  return op;
}

/* whole (R, C) = the members' own (R, C / tp). What arrives is one member's rows after the other's. */
static enum sl_status gather(struct sl_transformer *g, const struct sl_node *n, int64_t count, struct sl_operand own,
                             struct sl_operand whole) {
  int32_t parts;
  SL_TRY(sl_transformer_temporary(g, &parts, count, n->layer, "parts"));
  SL_TRY(sl_transformer_add(g, SL_HALF_INPUT, sl_regions_call(g, SL_OP_ALL_GATHER, n->layer, count), 2,
                            (struct sl_operand[]){own, sl_build_write(g->l, parts)}));
  return SL_BUILD_DRAFT(g->drafts, columns_op(g, SL_OP_CONCAT_COLUMNS, n, count), sl_build_read(g->l, parts), whole);
}

static enum sl_status take_own(struct sl_transformer *g, const struct sl_node *n, int64_t count,
                               struct sl_operand whole, struct sl_operand own) {
  struct sl_op op = columns_op(g, SL_OP_SPLIT_COLUMNS, n, count);
  op.place_group = SL_GROUP_TP;
  return SL_BUILD_DRAFT(g->drafts, op, whole, own);
}

static enum sl_status gather_forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand out;
  SL_TRY(sl_tape_make(t, n, 0, &out));
  return gather(&t->g, n, t->values[n->out[0]].count, sl_tape_at(t, n->in[0]), out);
}

static enum sl_status gather_backward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand dx;
  SL_TRY(sl_gradient_into(t, n->in[0], &dx));
  return take_own(&t->g, n, t->values[n->out[0]].count, sl_gradient_of(t, n->out[0]), dx);
}

static enum sl_status own_forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand out;
  SL_TRY(sl_tape_make(t, n, 0, &out));
  return take_own(&t->g, n, t->values[n->in[0]].count, sl_tape_at(t, n->in[0]), out);
}

static enum sl_status own_backward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand dx;
  SL_TRY(sl_gradient_into(t, n->in[0], &dx));
  return gather(&t->g, n, t->values[n->in[0]].count, sl_gradient_of(t, n->out[0]), dx);
}

static const struct sl_rule gather_rule = {.forward = gather_forward, .backward = gather_backward};
static const struct sl_rule own_rule = {.forward = own_forward, .backward = own_backward};

static int add(struct sl_tape *t, const struct sl_rule *rule, int x, struct sl_value out) {
  out.dtype = t->g.l->compute;
  const int y = sl_tape_value(t, out);
  sl_tape_node(t, (struct sl_node){.rule = rule, .in = {x}, .out = {y}});
  return y;
}

int sl_columns_gather(struct sl_tape *t, int x, const char *name, const char *gradient_name) {
  const struct sl_value whole = {.name = name,
                                 .gradient_name = gradient_name,
                                 .count = sl_product(t->values[x].count, t->g.tp),
                                 .made = SL_MADE_GATHERED};
  return t->g.tp == 1 ? x : add(t, &gather_rule, x, whole);
}

int sl_columns_own(struct sl_tape *t, int x, const char *name, const char *gradient_name) {
  const struct sl_value own = {
      .name = name, .gradient_name = gradient_name, .count = t->values[x].count / t->g.tp, .made = SL_MADE_NORM};
  return t->g.tp == 1 ? x : add(t, &own_rule, x, own);
}
