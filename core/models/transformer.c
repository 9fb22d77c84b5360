/* Sizes, ops and buffers; see models/transformer.h, where the letters stand. */
#include "core/models/transformer.h"

#include "core/op/workspace.h"
#include "core/plan/cut.h"

#include <stdio.h>

struct sl_transformer sl_transformer_of(struct sl_lowering *l) {
  const struct sl_plan *plan = l->plan;
  const struct sl_model *m = plan->model;
  const int head = m->tied_head ? 0 : sl_model_part(m, SL_PART_HEAD, 0);
  return (struct sl_transformer){.l = l,
                                 .stage = l->stage->stage,
                                 .drafts = &l->stage->forward,
                                 .phase = SL_PHASE_FORWARD,
                                 .prefix = "h",
                                 .recomputes = true,
                                 .rms = m->form.rms,
                                 .out_in = m->form.out_in,
                                 .b = plan->micro_batch,
                                 .t = plan->seq / plan->cp,
                                 .r = plan->micro_tokens,
                                 .s = plan->sequence_parallel ? plan->micro_tokens / plan->tp : plan->micro_tokens,
                                 .c = m->n_embd,
                                 .i = m->n_inner / plan->tp,
                                 .v = sl_cut_local_size(plan, &m->tensors[head], 0),
                                 .h = m->n_head / plan->tp,
                                 .g = sl_model_shares_key_head(m) ? 1 : m->n_kv_head / plan->tp,
                                 .d = m->head_dim,
                                 .tp = plan->tp,
                                 .cp = plan->cp};
}

void sl_transformer_turn(struct sl_transformer *g) {
  g->drafts = &g->l->stage->backward;
  g->phase = SL_PHASE_BACKWARD;
}

bool sl_transformer_in_block(const struct sl_transformer *g, int layer) {
  return layer >= 0 && layer < g->l->plan->model->n_layer;
}

/* The type of an op of this kind. torch.autocast (torch/include/ATen/autocast_mode.h of 2.6) runs linear layers and
 * attention in 16 bits, what is between takes its inputs' type, and norms and the sums of the stream stay in fp32:
 * layer_norm is on its list of fp32, the stream is fp32 plus 16 bits. The loss, on the list too, computes in fp32
 * whatever type logits have. */
static enum sl_dtype type_of(const struct sl_lowering *l, enum sl_op_kind kind) {
  switch (kind) {
  case SL_OP_EMBED_FWD:
  case SL_OP_EMBED_BWD:
  case SL_OP_LAYERNORM_FWD:
  case SL_OP_LAYERNORM_BWD:
  case SL_OP_RMSNORM_FWD:
  case SL_OP_RMSNORM_BWD:
  case SL_OP_RESIDUAL_FWD:
  case SL_OP_DROPOUT:
    return l->dtype;
  default:
    return l->compute;
  }
}

struct sl_op sl_transformer_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor) {
  struct sl_op op = sl_op_plain(kind, type_of(g->l, kind), g->phase);
  if (tensor >= 0) op.tensor = g->l->pp_rank->placed_of[tensor];
  op.layer = layer;
  return op;
}

struct sl_op sl_transformer_tokens_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor) {
  struct sl_op op = sl_transformer_op(g, kind, layer, tensor);
  op.dim[0] = g->b, op.dim[1] = g->t;
  if (g->cp > 1) op.dim[SL_OP_CP] = g->cp;
  return op;
}

struct sl_op sl_transformer_rows_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor,
                                    int64_t rows, int64_t columns) {
  struct sl_op op = sl_transformer_op(g, kind, layer, tensor);
  op.dim[0] = rows, op.dim[1] = columns;
  return op;
}

struct sl_op sl_transformer_stream_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer) {
  struct sl_op op = sl_transformer_rows_op(g, kind, layer, -1, g->s, g->c);
  if (g->s < g->r) op.place_group = SL_GROUP_TP;
  return op;
}

enum sl_status sl_transformer_add(struct sl_transformer *g, enum sl_half half, struct sl_op op, int operand_count,
                                  const struct sl_operand *operands) {
  SL_TRY(sl_build_draft(g->drafts, op, operand_count, operands));
  g->drafts->items[g->drafts->count - 1].half = half;
  return SL_OK;
}

enum sl_status sl_transformer_copy(struct sl_transformer *g, int layer, struct sl_operand from, struct sl_operand to,
                                   int64_t count) {
  struct sl_op copy = sl_transformer_rows_op(g, SL_OP_COPY, layer, -1, count, 0);
  copy.dtype = g->l->rank_class->buffers[to.buffer].dtype;
  return SL_BUILD_DRAFT(g->drafts, copy, sl_build_as(from, SL_READ), sl_build_as(to, SL_WRITE));
}

/* Gives a buffer the slots that its use takes. */
static void choose_slots(struct sl_transformer *g, int32_t buffer, bool kept) {
  if (g->phase == SL_PHASE_FORWARD && kept) sl_build_slots(g->l, buffer, SL_SLOT_ACTIVATION);
  if (g->phase == SL_PHASE_BACKWARD && g->l->stage->split) sl_build_slots(g->l, buffer, SL_SLOT_WEIGHT);
}

enum sl_status sl_transformer_buffer(struct sl_transformer *g, int32_t *out, enum sl_dtype dtype, int64_t count,
                                     int layer, const char *name, bool kept) {
  SL_TRY(sl_build_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, dtype, count, "%s.%d.%s", g->prefix, layer,
                         name));
  choose_slots(g, *out, kept);
  return SL_OK;
}

enum sl_status sl_transformer_buffer_of_step(struct sl_transformer *g, int32_t *out, enum sl_dtype dtype, int64_t count,
                                             const char *name, bool kept) {
  SL_TRY(sl_build_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, dtype, count, "%s", name));
  choose_slots(g, *out, kept);
  return SL_OK;
}

enum sl_status sl_transformer_temporary(struct sl_transformer *g, int32_t *out, int64_t count, int layer,
                                        const char *name) {
  return sl_transformer_buffer(g, out, g->l->dtype, count, layer, name, false);
}

/* What an op's kernel of ours needs on a CPU, and what is only a GPU's. */
static int64_t workspace_bytes(const struct sl_plan *plan, const struct sl_op *op) {
  const int64_t bytes = sl_op_workspace(op, plan->threads);
  const bool ours = plan->cluster->device.kind == SL_DEVICE_GPU && plan->config->sl.kernels == SL_KERNELS_SHARDLAB;
  const int64_t sums = ours && op->kind == SL_OP_FLASH_BWD ? sl_op_attention_parts_bytes(op->dim) : 0;
  return sums > bytes ? sums : bytes;
}

enum sl_status sl_transformer_workspace(struct sl_transformer *g, int32_t *out, const struct sl_op *op,
                                        const char *name) {
  return sl_build_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_WORKSPACE, SL_U8, workspace_bytes(g->l->plan, op),
                         "%s.%d.%s", g->prefix, op->layer, name);
}

void sl_transformer_drop(struct sl_op *op, int layer, enum sl_site site, double probability) {
  enum { SITES_OF_A_BLOCK = 3 };
  op->dropout = probability;
  op->stream = SITES_OF_A_BLOCK * layer + (int32_t)site;
}
