/* Drafts of the parts that GPT-2 and Llama share; see models/transformer.h, where the letters stand. */
#include "core/models/transformer.h"

#include "core/models/boundary.h"
#include "core/op/workspace.h"

struct sl_transformer sl_transformer_of(struct sl_lowering *l) {
  const struct sl_plan *plan = l->plan;
  const struct sl_model *m = plan->model;
  const int64_t rows = plan->micro_batch * plan->seq;
  return (struct sl_transformer){.l = l,
                                 .stage = l->stage->stage,
                                 .drafts = &l->stage->forward,
                                 .phase = SL_PHASE_FORWARD,
                                 .keeps = true,
                                 .b = plan->micro_batch,
                                 .t = plan->seq,
                                 .r = rows,
                                 .s = plan->sequence_parallel ? rows / plan->tp : rows,
                                 .c = m->n_embd,
                                 .i = m->n_inner / plan->tp,
                                 .v = sl_plan_local_size(plan, &m->tensors[0], 0),
                                 .h = m->n_head / plan->tp,
                                 .g = m->n_kv_head / plan->tp,
                                 .d = m->head_dim,
                                 .tp = plan->tp};
}

void sl_transformer_turn(struct sl_transformer *g) {
  g->drafts = &g->l->stage->backward;
  g->phase = SL_PHASE_BACKWARD;
}

enum sl_recompute sl_transformer_recompute(const struct sl_transformer *g, int layer) {
  const struct sl_config *config = g->l->plan->config;
  if (layer % config->sl.recompute_every != 0) return SL_RECOMPUTE_NONE;
  return config->sl.recompute[config->sl.recompute_count > 1 ? g->stage->rank : 0];
}

static bool flash(const struct sl_transformer *g) {
  return g->l->plan->config->sl.attention != SL_ATTENTION_MATERIALISED;
}

bool sl_transformer_remakes_norms(const struct sl_transformer *g, int layer) {
  const enum sl_recompute recompute = sl_transformer_recompute(g, layer);
  return recompute == SL_RECOMPUTE_SELECTIVE_OP ||
         (g->l->plan->config->sl.recompute_norms && recompute == SL_RECOMPUTE_SELECTIVE);
}

bool sl_transformer_remakes_attention(const struct sl_transformer *g, int layer) {
  return g->l->plan->config->sl.recompute_attention && !flash(g) &&
         sl_transformer_recompute(g, layer) == SL_RECOMPUTE_SELECTIVE;
}

struct sl_op sl_transformer_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor) {
  struct sl_op op = sl_op_plain(kind, g->l->dtype, g->phase);
  if (tensor >= 0) op.tensor = g->l->pp_rank->placed_of[tensor];
  op.layer = layer;
  return op;
}

struct sl_op sl_transformer_rows_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor,
                                    int64_t rows, int64_t columns) {
  struct sl_op op = sl_transformer_op(g, kind, layer, tensor);
  op.dim[0] = rows, op.dim[1] = columns;
  return op;
}

enum sl_status sl_transformer_add(struct sl_transformer *g, enum sl_half half, struct sl_op op, int operand_count,
                                  const struct sl_operand *operands) {
  SL_TRY(sl_build_draft(g->drafts, op, operand_count, operands));
  g->drafts->items[g->drafts->count - 1].half = half;
  return SL_OK;
}

/* --- buffers --- */

/* In a forward for the backward, or for the length of an action: a micro-batch's slot, or one for all. */
static void choose_slots(struct sl_transformer *g, int32_t buffer, bool kept) {
  if (kept) sl_build_slots(g->l, buffer, SL_SLOT_ACTIVATION);
  if (!kept && g->l->stage->split && g->phase == SL_PHASE_BACKWARD) sl_build_slots(g->l, buffer, SL_SLOT_WEIGHT);
}

static enum sl_status buffer(struct sl_transformer *g, int32_t *out, enum sl_dtype dtype, int64_t count, int layer,
                             const char *name, bool kept) {
  SL_TRY(sl_build_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, dtype, count, "h.%d.%s", layer, name));
  choose_slots(g, *out, kept);
  return SL_OK;
}

static bool keeps(const struct sl_transformer *g) {
  return g->keeps && g->phase == SL_PHASE_FORWARD;
}

enum sl_status sl_transformer_kept(struct sl_transformer *g, int32_t *out, int64_t count, int layer, const char *name) {
  return buffer(g, out, g->l->dtype, count, layer, name, keeps(g));
}

enum sl_status sl_transformer_temporary(struct sl_transformer *g, int32_t *out, int64_t count, int layer,
                                        const char *name) {
  return buffer(g, out, g->l->dtype, count, layer, name, false);
}

/* fp32 statistics of rows, kept or temporary. */
static enum sl_status statistics(struct sl_transformer *g, int32_t *out, int64_t count, int layer, const char *name) {
  return buffer(g, out, SL_F32, count, layer, name, keeps(g));
}

static enum sl_status workspace(struct sl_transformer *g, int32_t *out, const struct sl_op *op, const char *name) {
  return sl_build_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_WORKSPACE, SL_U8,
                         sl_op_workspace(op, g->l->plan->threads), "h.%d.%s", op->layer, name);
}

/* --- dropout --- */

/* Dropout sites have streams of their own: 0 the embedding, then three a block. */
enum { DROP_EMBEDDING, DROP_ATTENTION, DROP_BRANCH, DROPS_PER_BLOCK = 3 };

enum sl_status sl_transformer_mask(struct sl_transformer *g, int32_t *out, double p, int64_t count, int layer,
                                   const char *name) {
  const bool again = g->phase == SL_PHASE_FORWARD && !g->keeps;
  *out = -1;
  if (p == 0 || again || !g->l->plan->config->sl.store_dropout_masks) return SL_OK;
  return buffer(g, out, SL_U8, count, layer, name, keeps(g));
}

static void drop(struct sl_op *op, int layer, int site, double probability) {
  op->dropout = probability;
  op->stream = DROPS_PER_BLOCK * layer + site;
}

/* An op over rows of the residual stream: under sequence parallelism a member has its own run of them. */
static struct sl_op stream_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor) {
  struct sl_op op = sl_transformer_rows_op(g, kind, layer, tensor, g->s, g->c);
  if (g->s < g->r) op.place_group = SL_GROUP_TP;
  return op;
}

/* --- norms --- */

enum sl_status sl_transformer_norm(struct sl_transformer *g, int layer, struct sl_operand x, int w, const char *name,
                                   int32_t *out, int32_t *stats) {
  struct sl_lowering *l = g->l;
  struct sl_op op = sl_transformer_rows_op(g, g->rms ? SL_OP_RMSNORM_FWD : SL_OP_LAYERNORM_FWD, layer, w, g->s, g->c);
  const bool kept = g->keeps;
  op.scale = l->plan->model->norm_epsilon;
  if (layer < l->plan->model->n_layer && sl_transformer_remakes_norms(g, layer)) g->keeps = false;
  SL_TRY(sl_transformer_kept(g, out, g->s * g->c, layer, name));
  SL_TRY(statistics(g, stats, g->rms ? g->s : 2 * g->s, layer, "norm.stats"));
  g->keeps = kept;
  x = sl_build_as(x, SL_READ);
  if (g->rms)
    return SL_BUILD_DRAFT(g->drafts, op, x, sl_build_param(l, w), sl_build_write(l, *out), sl_build_write(l, *stats));
  return SL_BUILD_DRAFT(g->drafts, op, x, sl_build_param(l, w), sl_build_param(l, w + 1), sl_build_write(l, *out),
                        sl_build_write(l, *stats));
}

/* The gradients of weight and bias in a draft of their own, behind that of x: the halves of a split backward. */
static enum sl_status norm_bwd_halves(struct sl_transformer *g, struct sl_op op, struct sl_operand dout,
                                      struct sl_operand x, int w, int32_t stats, struct sl_operand dx,
                                      int32_t scratch) {
  struct sl_lowering *l = g->l;
  op.flags = SL_OP_INPUT_GRAD;
  SL_TRY(SL_BUILD_DRAFT(g->drafts, op, dout, x, sl_build_param(l, w), sl_build_read(l, stats), dx));
  op.flags = SL_OP_WEIGHT_GRAD;
  if (g->rms)
    return SL_BUILD_DRAFT(g->drafts, op, dout, x, sl_build_read(l, stats), sl_build_grad(l, w),
                          sl_build_write(l, scratch));
  return SL_BUILD_DRAFT(g->drafts, op, dout, x, sl_build_read(l, stats), sl_build_grad(l, w), sl_build_grad(l, w + 1),
                        sl_build_write(l, scratch));
}

enum sl_status sl_transformer_norm_bwd(struct sl_transformer *g, int layer, struct sl_operand dout, struct sl_operand x,
                                       int w, int32_t stats, bool fresh) {
  struct sl_lowering *l = g->l;
  const struct sl_op op =
      sl_transformer_rows_op(g, g->rms ? SL_OP_RMSNORM_BWD : SL_OP_LAYERNORM_BWD, layer, w, g->s, g->c);
  const struct sl_operand to = sl_build_as(g->dx, fresh ? SL_WRITE : SL_READ_WRITE);
  int32_t scratch;
  x = sl_build_as(x, SL_READ);
  SL_TRY(workspace(g, &scratch, &op, "dln.scratch"));
  if (l->stage->split) return norm_bwd_halves(g, op, dout, x, w, stats, to, scratch);
  if (g->rms)
    return SL_BUILD_DRAFT(g->drafts, op, dout, x, sl_build_param(l, w), sl_build_read(l, stats), to,
                          sl_build_grad(l, w), sl_build_write(l, scratch));
  return SL_BUILD_DRAFT(g->drafts, op, dout, x, sl_build_param(l, w), sl_build_read(l, stats), to, sl_build_grad(l, w),
                        sl_build_grad(l, w + 1), sl_build_write(l, scratch));
}

/* --- the residual stream --- */

static struct sl_op branch_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, enum sl_branch branch) {
  struct sl_op op = stream_op(g, kind, layer, -1);
  drop(&op, layer, DROP_BRANCH + (int)branch, g->l->plan->model->resid_pdrop);
  return op;
}

enum sl_status sl_transformer_residual(struct sl_transformer *g, int layer, enum sl_branch branch,
                                       struct sl_operand from, struct sl_operand x, int w, struct sl_operand out,
                                       int32_t *mask) {
  struct sl_op op = branch_op(g, SL_OP_RESIDUAL_FWD, layer, branch);
  struct sl_operand operands[5] = {sl_build_as(from, SL_READ), x};
  int n = 2;
  SL_TRY(sl_transformer_mask(g, mask, op.dropout, g->s * g->c, layer,
                             branch == SL_BRANCH_ATTENTION ? "attn.drop.mask" : "mlp.drop.mask"));
  if (g->biases && g->tp > 1) {
    op.flags |= SL_OP_BIAS;
    operands[n++] = sl_build_param(g->l, w + 1);
  }
  operands[n++] = out;
  if (*mask >= 0) {
    op.flags |= SL_OP_MASK;
    operands[n++] = sl_build_write(g->l, *mask);
  }
  return sl_build_draft(g->drafts, op, n, operands);
}

/* The stream's gradient as it is now, for an op that reads it later: a W half, before which I works on. */
static enum sl_status hold_dx(struct sl_transformer *g, int layer, struct sl_operand *out) {
  int32_t copy;
  *out = sl_build_as(g->dx, SL_READ);
  if (!g->l->stage->split) return SL_OK;
  SL_TRY(sl_transformer_temporary(g, &copy, g->s * g->c, layer, "dx.held"));
  SL_TRY(SL_BUILD_DRAFT(g->drafts, sl_transformer_rows_op(g, SL_OP_COPY, layer, -1, g->s * g->c, 0), *out,
                        sl_build_write(g->l, copy)));
  *out = sl_build_read(g->l, copy);
  return SL_OK;
}

enum sl_status sl_transformer_residual_bwd(struct sl_transformer *g, int layer, enum sl_branch branch, int32_t mask,
                                           struct sl_operand *out) {
  struct sl_op op = branch_op(g, SL_OP_DROPOUT, layer, branch);
  int32_t masked;
  if (g->l->plan->model->resid_pdrop == 0) return hold_dx(g, layer, out);
  SL_TRY(sl_transformer_temporary(g, &masked, g->s * g->c, layer, "ddropout"));
  *out = sl_build_read(g->l, masked);
  if (mask < 0) return SL_BUILD_DRAFT(g->drafts, op, sl_build_as(g->dx, SL_READ), sl_build_write(g->l, masked));
  op.flags |= SL_OP_MASK;
  return SL_BUILD_DRAFT(g->drafts, op, sl_build_as(g->dx, SL_READ), sl_build_write(g->l, masked),
                        sl_build_read(g->l, mask));
}

enum sl_status sl_transformer_output(struct sl_transformer *g, int layer, struct sl_operand *out) {
  const bool last = layer == g->stage->first_layer + g->stage->layer_count - 1;
  int32_t kept;
  if (last && !g->stage->head) return sl_boundary_output(g, layer, out);
  SL_TRY(buffer(g, &kept, g->l->dtype, g->s * g->c, layer, "x_out", true));
  *out = sl_build_write(g->l, kept);
  return SL_OK;
}

/* --- attention --- */

static const unsigned flash_kernel[] = {[SL_ATTENTION_MATERIALISED] = 0,
                                        [SL_ATTENTION_FLASH] = 0,
                                        [SL_ATTENTION_FLASH_1] = SL_OP_FLASH_1,
                                        [SL_ATTENTION_FLASH_3] = SL_OP_FLASH_3,
                                        [SL_ATTENTION_CUDNN] = SL_OP_CUDNN};

static struct sl_op attention_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, struct sl_qkv in) {
  struct sl_op op = sl_transformer_op(g, kind, layer, -1);
  op.flags = flash_kernel[g->l->plan->config->sl.attention];
  op.dim[0] = g->b, op.dim[1] = g->t, op.dim[2] = g->h, op.dim[3] = g->d, op.dim[4] = g->g;
  if (in.k >= 0) op.flags |= SL_OP_APART;
  drop(&op, layer, DROP_ATTENTION, g->l->plan->model->attn_pdrop);
  return op;
}

/* Append the operand, or the three operands, of q, k and v. */
static int add_qkv(const struct sl_lowering *l, struct sl_operand *to, int n, struct sl_qkv x,
                   struct sl_operand (*as)(const struct sl_lowering *, int32_t)) {
  to[n++] = as(l, x.q);
  if (x.k < 0) return n;
  to[n++] = as(l, x.k);
  to[n++] = as(l, x.v);
  return n;
}

/* Probabilities, and what dropout leaves of them; or flash attention's log-sum-exp, whose backward always draws. */
static enum sl_status make_softmax(struct sl_transformer *g, int layer, struct sl_attended *out) {
  out->mask = out->dropped = -1;
  if (flash(g)) return statistics(g, &out->softmax, g->b * g->h * g->t, layer, "attn.lse");
  const int64_t squares = g->b * g->h * g->t * g->t;
  SL_TRY(sl_transformer_kept(g, &out->softmax, squares, layer, "attn.probs"));
  SL_TRY(sl_transformer_mask(g, &out->mask, g->l->plan->model->attn_pdrop, squares, layer, "attn.mask"));
  return out->mask < 0 ? SL_OK : sl_transformer_kept(g, &out->dropped, squares, layer, "attn.dropped");
}

/* They are kept for backward unless that makes them again. */
static enum sl_status softmax_buffers(struct sl_transformer *g, int layer, struct sl_attended *out) {
  const bool kept = g->keeps;
  g->keeps = kept && !sl_transformer_remakes_attention(g, layer);
  const enum sl_status status = make_softmax(g, layer, out);
  g->keeps = kept;
  return status;
}

enum sl_status sl_transformer_attention(struct sl_transformer *g, int layer, struct sl_qkv in,
                                        struct sl_attended *out) {
  struct sl_lowering *l = g->l;
  struct sl_operand operands[SL_MAX_OPERANDS];
  int n = add_qkv(l, operands, 0, in, sl_build_read);
  int32_t scratch;
  struct sl_op op = attention_op(g, flash(g) ? SL_OP_FLASH_FWD : SL_OP_ATTENTION_FWD, layer, in);
  SL_TRY(softmax_buffers(g, layer, out));
  SL_TRY(sl_transformer_kept(g, &out->out, g->r * g->h * g->d, layer, "attn.out"));
  SL_TRY(workspace(g, &scratch, &op, "att.scratch"));
  operands[n++] = sl_build_write(l, out->out);
  operands[n++] = sl_build_write(l, out->softmax);
  if (out->mask >= 0) {
    op.flags |= SL_OP_MASK;
    operands[n++] = sl_build_write(l, out->dropped);
    operands[n++] = sl_build_write(l, out->mask);
  }
  operands[n++] = sl_build_write(l, scratch);
  return sl_build_draft(g->drafts, op, n, operands);
}

enum sl_status sl_transformer_attention_bwd(struct sl_transformer *g, int layer, int32_t dout, struct sl_qkv in,
                                            struct sl_attended kept, struct sl_qkv din) {
  struct sl_lowering *l = g->l;
  struct sl_op op = attention_op(g, flash(g) ? SL_OP_FLASH_BWD : SL_OP_ATTENTION_BWD, layer, in);
  struct sl_operand operands[SL_MAX_OPERANDS] = {sl_build_read(l, dout)};
  int n = add_qkv(l, operands, 1, in, sl_build_read);
  int32_t scratch;
  SL_TRY(workspace(g, &scratch, &op, "datt.scratch"));
  if (flash(g)) operands[n++] = sl_build_read(l, kept.out);
  operands[n++] = sl_build_read(l, kept.softmax);
  if (kept.mask >= 0) {
    op.flags |= SL_OP_MASK;
    operands[n++] = sl_build_read(l, kept.dropped);
    operands[n++] = sl_build_read(l, kept.mask);
  }
  n = add_qkv(l, operands, n, din, sl_build_write);
  operands[n++] = sl_build_write(l, scratch);
  return sl_build_draft(g->drafts, op, n, operands);
}
