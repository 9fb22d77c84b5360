/* The rule of what is kept although nothing reads it; see kept.h. */
#include "core/models/kept.h"

#include "core/models/context.h"
#include "core/plan/kernels.h"

static const struct sl_kernel_set *set_of(const struct sl_transformer *g) {
  return sl_kernel_set(g->l->plan->config->sl.kernels);
}

static int layer_of(const struct sl_tape *t) {
  return t->sections[t->section_count - 1].layer;
}

/* ---- the rule ---- */

/* Nothing is launched for it. */
static enum sl_status pass(struct sl_tape *t, const struct sl_node *n, unsigned flags, struct sl_operand kept) {
  struct sl_op pass = sl_transformer_op(&t->g, SL_OP_PASS, n->layer, -1);
  pass.dtype = SL_U8;
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

static void keep(struct sl_tape *t, const struct sl_rule *rule, const char *name, int64_t bytes, enum sl_made made) {
  const int kept = sl_tape_value(t, (struct sl_value){.name = name, .dtype = SL_U8, .count = bytes, .made = made});
  sl_tape_node(t, (struct sl_node){.rule = rule, .out = {kept}});
}

/* ---- the last product ---- */

void sl_keep_product(struct sl_tape *t) {
  static const struct sl_rule rule = {.reads_out = 1, .ends_branch = true, .forward = forward, .backward = backward};
  const struct sl_transformer *g = &t->g;
  if (sl_recompute_of(g, layer_of(t)) != SL_RECOMPUTE_SELECTIVE_OP || !set_of(g)->keeps_products) return;
  keep(t, &rule, "mlp.out", sl_dtype_bytes(g->l->dtype) * g->s * g->c, SL_MADE_OUTPUT);
}

/* ---- attention ---- */

/* Elements that are kept beside attention's inputs and output. */
static int64_t beside_attention(const struct sl_transformer *g, const struct sl_qkv *in, int layer) {
  const struct sl_model *model = g->l->plan->model;
  const int64_t t = sl_context_share(g).t, window = sl_model_window(model, layer), q = g->h * g->d, kv = g->g * g->d;
  const bool eager = set_of(g)->torch_attention, compiled = set_of(g)->torch_blocks;
  const bool flash = g->l->plan->config->sl.attention != SL_ATTENTION_MATERIALISED;
  const bool copied = model->form.masks_always, masked = eager && flash && (copied || (window > 0 && window < t));
  const bool repeats =
      q > kv && (masked || (eager && !flash) || compiled) && !(copied && flash && model->n_kv_head == 1);
  const bool rotates = (eager || compiled) && flash && model->form.positions == SL_POSITIONS_ROTARY;
  /* packed rows have no k of their own */
  int64_t of_row = repeats ? 2 * (q - kv) : rotates && in->k == 0 && !copied ? q + kv : 0;
  if (rotates && model->form.rotary.joined && !masked && g->l->compute != SL_F32) of_row += q;
  return sl_product(g->r, of_row) + (masked ? sl_product(g->b, sl_product(t, t)) : 0);
}

void sl_keep_beside_attention(struct sl_tape *t, struct sl_qkv in) {
  static const struct sl_rule rule = {.reads_out = 1, .forward = forward, .backward = backward};
  const struct sl_transformer *g = &t->g;
  const int64_t count = beside_attention(g, &in, layer_of(t));
  if (count > 0) keep(t, &rule, "attn.kept", sl_product(sl_dtype_bytes(g->l->compute), count), SL_MADE_ELEMENTWISE);
}
