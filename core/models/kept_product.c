/* The rule of products that are kept although nothing reads them; see kept_product.h. */
#include "core/models/kept_product.h"

#include "core/plan/kernels.h"

static enum sl_status pass(struct sl_tape *t, const struct sl_node *n, unsigned flags, struct sl_operand kept) {
  struct sl_op pass = sl_transformer_op(&t->g, SL_OP_PASS, n->layer, -1);
  pass.dtype = SL_U8;
  pass.dim[0] = pass.dim[1] = 1;
  pass.flags = flags;
  return SL_BUILD_DRAFT(t->g.drafts, pass, kept);
}

static enum sl_status forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand kept;
  SL_TRY(sl_tape_make(t, n, 0, &kept));
  return pass(t, n, SL_OP_KEEPS, kept);
}

static enum sl_status backward(struct sl_tape *t, const struct sl_node *n) {
  return pass(t, n, SL_OP_READS_KEPT, sl_tape_at(t, n->out[0]));
}

static const struct sl_rule rule = {.reads_out = 1, .ends_branch = true, .forward = forward, .backward = backward};

void sl_keep_product(struct sl_tape *t) {
  const struct sl_transformer *g = &t->g;
  const int layer = t->sections[t->section_count - 1].layer;
  if (sl_recompute_of(g, layer) != SL_RECOMPUTE_SELECTIVE_OP ||
      !sl_kernel_set(g->l->plan->config->sl.kernels)->keeps_products)
    return;
  const int kept = sl_tape_value(t, (struct sl_value){.name = "mlp.out",
                                                      .dtype = SL_U8,
                                                      .count = sl_dtype_bytes(g->l->dtype) * g->s * g->c,
                                                      .made = SL_MADE_OUTPUT});
  sl_tape_node(t, (struct sl_node){.rule = &rule, .out = {kept}});
}
