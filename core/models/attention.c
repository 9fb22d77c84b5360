/* The rule of attention; see attention.h. */
#include "core/models/attention.h"

#include "core/base/checked.h"
#include "core/models/context.h"
#include "core/models/gradients.h"

enum { OUT, SOFTMAX, DROPPED, MASK };

static const unsigned flash_kernel[] = {[SL_ATTENTION_MATERIALISED] = 0,
                                        [SL_ATTENTION_FLASH] = 0,
                                        [SL_ATTENTION_FLASH_1] = SL_OP_FLASH_1,
                                        [SL_ATTENTION_FLASH_3] = SL_OP_FLASH_3,
                                        [SL_ATTENTION_CUDNN] = SL_OP_CUDNN};

static bool flash(const struct sl_transformer *g) {
  return g->l->plan->config->sl.attention != SL_ATTENTION_MATERIALISED;
}

static struct sl_op attention_op(const struct sl_transformer *g, enum sl_op_kind kind, const struct sl_node *n) {
  const struct sl_config *config = g->l->plan->config;
  const struct sl_context_share share = sl_context_share(g);
  struct sl_op op = sl_transformer_op(g, kind, n->layer, -1);
  op.flags = flash_kernel[config->sl.attention];
  /* PyTorch's batched products obey allow_tf32 like all others; our kernel computes in fp32 */
  if (!flash(g) && config->sl.kernels != SL_KERNELS_SHARDLAB && sl_config_product_dtype(config) == SL_TF32)
    op.dtype = SL_TF32;
  op.dim[0] = g->b, op.dim[1] = share.t, op.dim[2] = share.h, op.dim[3] = g->d, op.dim[4] = share.g;
  if (share.cp > 1) op.dim[SL_OP_CP] = share.cp;
  op.dim[5] = sl_model_window(g->l->plan->model, n->layer);
  if (n->in[1] != 0) op.flags |= SL_OP_APART;
  sl_transformer_drop(&op, n->layer, SL_SITE_ATTENTION, g->l->plan->model->attn_pdrop);
  return op;
}

/* Appends the operand, or the three operands, of q, k and v. */
static int add_qkv(const struct sl_tape *t, const struct sl_node *n, struct sl_operand *to, int count) {
  for (int i = 0; i < 3 && n->in[i] != 0; i++) to[count++] = sl_tape_at(t, n->in[i]);
  return count;
}

static enum sl_status forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  struct sl_op op = attention_op(g, flash(g) ? SL_OP_FLASH_FWD : SL_OP_ATTENTION_FWD, n);
  struct sl_operand operands[SL_MAX_OPERANDS], out, softmax, mask, dropped;
  int32_t scratch;
  SL_TRY(sl_tape_make(t, n, SOFTMAX, &softmax));
  SL_TRY(sl_tape_make(t, n, MASK, &mask));
  SL_TRY(sl_tape_make(t, n, DROPPED, &dropped));
  SL_TRY(sl_tape_make(t, n, OUT, &out));
  SL_TRY(sl_transformer_workspace(g, &scratch, &op, "att.scratch"));
  int count = add_qkv(t, n, operands, 0);
  operands[count++] = out;
  operands[count++] = softmax;
  if (mask.slice.bytes > 0) {
    op.flags |= SL_OP_MASK;
    operands[count++] = dropped;
    operands[count++] = mask;
  }
  operands[count++] = sl_build_write(g->l, scratch);
  return sl_build_draft(g->drafts, op, count, operands);
}

static enum sl_status backward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  struct sl_op op = attention_op(g, flash(g) ? SL_OP_FLASH_BWD : SL_OP_ATTENTION_BWD, n);
  struct sl_operand operands[SL_MAX_OPERANDS] = {sl_gradient_of(t, n->out[OUT])}, into[3];
  int count = add_qkv(t, n, operands, 1), inputs = count - 1;
  int32_t scratch;
  for (int i = 0; i < inputs; i++) SL_TRY(sl_gradient_into(t, n->in[i], &into[i]));
  SL_TRY(sl_transformer_workspace(g, &scratch, &op, "datt.scratch"));
  if (flash(g)) operands[count++] = sl_tape_at(t, n->out[OUT]);
  operands[count++] = sl_tape_at(t, n->out[SOFTMAX]);
  if (sl_tape_has(t, n->out[MASK])) {
    op.flags |= SL_OP_MASK;
    operands[count++] = sl_tape_at(t, n->out[DROPPED]);
    operands[count++] = sl_tape_at(t, n->out[MASK]);
  }
  for (int i = 0; i < inputs; i++) operands[count++] = into[i];
  operands[count++] = sl_build_write(g->l, scratch);
  return sl_build_draft(g->drafts, op, count, operands);
}

/* The backward reads everything that the forward keeps, except the output of materialised attention, which it does not
 * need. */
enum { READS = 1U << SOFTMAX | 1U << DROPPED | 1U << MASK };
static const struct sl_rule materialised = {
    .reads_in = 7, .reads_out = READS, .forward = forward, .backward = backward};
static const struct sl_rule fused = {
    .reads_in = 7, .reads_out = READS | 1U << OUT, .forward = forward, .backward = backward};

int sl_attention(struct sl_tape *t, struct sl_qkv in) {
  const struct sl_transformer *g = &t->g;
  const struct sl_model *model = g->l->plan->model;
  const struct sl_context_share share = sl_context_share(g);
  const int64_t rows = sl_product(g->b * share.h, share.t), squares = flash(g) ? 0 : sl_product(rows, share.t);
  const bool masks = model->attn_pdrop > 0 && g->l->plan->config->sl.store_dropout_masks && !flash(g);
  const struct sl_value probabilities = {
      .name = "attn.probs", .dtype = g->l->compute, .count = squares, .made = SL_MADE_SOFTMAX};
  const struct sl_value lse = {.name = "attn.lse", .dtype = SL_F32, .count = rows, .made = SL_MADE_SOFTMAX};
  struct sl_node node = {.rule = flash(g) ? &fused : &materialised, .in = {in.q, in.k, in.v}};
  struct sl_value dropped = probabilities, mask = probabilities;
  dropped.name = "attn.dropped", mask.name = "attn.mask";
  dropped.optional = mask.optional = true;
  mask.dtype = SL_U8;
  node.out[OUT] = sl_tape_value(t, (struct sl_value){.name = "attn.out",
                                                     .gradient_name = "datt",
                                                     .dtype = g->l->compute,
                                                     .count = g->r * g->h * g->d,
                                                     .made = SL_MADE_ATTENTION});
  node.out[SOFTMAX] = sl_tape_value(t, flash(g) ? lse : probabilities);
  if (masks) node.out[DROPPED] = sl_tape_value(t, dropped);
  if (masks) node.out[MASK] = sl_tape_value(t, mask);
  sl_tape_node(t, node);
  return node.out[OUT];
}
