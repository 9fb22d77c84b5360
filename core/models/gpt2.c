/* What one micro-batch of GPT-2 computes on a stage: the drafts of its forward and backward.
 *
 * The letters of models/transformer.h. Weights are (in, out) as Hugging Face's Conv1D keeps them, so a linear layer is
 * out(R, N) = x(R, K) w(K, N) + b(N). */
#include "core/models/ends.h"
#include "core/models/linear.h"
#include "core/models/models.h"

#include <stdlib.h>

/* Tensor positions inside a block, in model order. */
enum { LN_1_W, LN_1_B, QKV_W, QKV_B, PROJ_W, PROJ_B, LN_2_W, LN_2_B, FC_W, FC_B, FC2_W, FC2_B, BLOCK_TENSORS };
enum { WTE, WPE, FIRST_BLOCK };

/* What the backward of a block needs from its forward. */
struct block {
  struct sl_operand x;
  int32_t ln_1, stats_1, qkv, x_mid, ln_2, stats_2, fc, gelu;
  struct sl_attended att;
  int32_t attention_mask, mlp_mask; /* see sl_transformer_mask */
};

static enum sl_status gelu(struct sl_transformer *g, int layer, const struct block *k) {
  return SL_BUILD_DRAFT(g->drafts, sl_transformer_rows_op(g, SL_OP_GELU_FWD, layer, -1, g->r, g->i),
                        sl_build_read(g->l, k->fc), sl_build_write(g->l, k->gelu));
}

/* Up to what the MLP's second product reads: all that a recomputing backward needs. */
static enum sl_status block_inner(struct sl_transformer *g, int layer, struct block *k) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  struct sl_operand branch;
  SL_TRY(sl_transformer_norm(g, layer, k->x, w + LN_1_W, "ln_1", &k->ln_1, &k->stats_1));
  SL_TRY(sl_transformer_kept(g, &k->qkv, 3 * g->r * g->h * g->d, layer, "attn.qkv"));
  SL_TRY(sl_transformer_columns(g, layer, sl_build_read(l, k->ln_1), 1,
                                &(struct sl_column){w + QKV_W, 3 * g->h * g->d, k->qkv}));
  SL_TRY(sl_transformer_attention(g, layer, (struct sl_qkv){k->qkv, -1, -1}, &k->att));
  SL_TRY(sl_transformer_row(g, layer, k->att.out, w + PROJ_W, g->h * g->d, &branch));
  SL_TRY(sl_transformer_kept(g, &k->x_mid, g->s * g->c, layer, "x_mid"));
  SL_TRY(sl_transformer_residual(g, layer, SL_BRANCH_ATTENTION, k->x, branch, w + PROJ_W, sl_build_write(l, k->x_mid),
                                 &k->attention_mask));

  SL_TRY(sl_transformer_norm(g, layer, sl_build_read(l, k->x_mid), w + LN_2_W, "ln_2", &k->ln_2, &k->stats_2));
  SL_TRY(sl_transformer_kept(g, &k->fc, g->r * g->i, layer, "mlp.fc"));
  SL_TRY(sl_transformer_kept(g, &k->gelu, g->r * g->i, layer, "mlp.gelu"));
  SL_TRY(sl_transformer_columns(g, layer, sl_build_read(l, k->ln_2), 1, &(struct sl_column){w + FC_W, g->i, k->fc}));
  return gelu(g, layer, k);
}

static enum sl_status block_fwd(struct sl_transformer *g, int layer, struct block *k) {
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  struct sl_operand branch, out;
  k->x = g->x;
  g->keeps = sl_transformer_recompute(g, layer) != SL_RECOMPUTE_FULL;
  SL_TRY(block_inner(g, layer, k));
  SL_TRY(sl_transformer_row(g, layer, k->gelu, w + FC2_W, g->i, &branch));
  SL_TRY(sl_transformer_output(g, layer, &out));
  g->x = sl_build_as(out, SL_READ);
  return sl_transformer_residual(g, layer, SL_BRANCH_MLP, sl_build_read(g->l, k->x_mid), branch, w + FC2_W, out,
                                 &k->mlp_mask);
}

static enum sl_status mlp_bwd(struct sl_transformer *g, int layer, struct block *k) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  struct sl_operand branch, dln;
  int32_t dgelu;
  if (sl_transformer_remakes_norms(g, layer))
    SL_TRY(sl_transformer_norm(g, layer, sl_build_read(l, k->x_mid), w + LN_2_W, "ln_2", &k->ln_2, &k->stats_2));
  SL_TRY(sl_transformer_residual_bwd(g, layer, SL_BRANCH_MLP, k->mlp_mask, &branch));
  SL_TRY(sl_transformer_temporary(g, &dgelu, g->r * g->i, layer, "dgelu"));
  SL_TRY(sl_transformer_row_bwd(g, layer, branch, k->gelu, w + FC2_W, g->i, dgelu));
  SL_TRY(SL_BUILD_DRAFT(g->drafts, sl_transformer_rows_op(g, SL_OP_GELU_BWD, layer, -1, g->r, g->i),
                        sl_build_update(l, dgelu), sl_build_read(l, k->fc)));
  SL_TRY(sl_transformer_columns_bwd(g, layer, sl_build_read(l, k->ln_2), 1, &(struct sl_column){w + FC_W, g->i, dgelu},
                                    &dln));
  return sl_transformer_norm_bwd(g, layer, dln, sl_build_read(l, k->x_mid), w + LN_2_W, k->stats_2, false);
}

static enum sl_status attention_bwd(struct sl_transformer *g, int layer, struct block *k) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  const int64_t width = g->h * g->d;
  const struct sl_qkv in = {k->qkv, -1, -1};
  struct sl_attended att = k->att;
  struct sl_operand branch, dln;
  int32_t datt, dqkv;
  if (sl_transformer_remakes_norms(g, layer))
    SL_TRY(sl_transformer_norm(g, layer, k->x, w + LN_1_W, "ln_1", &k->ln_1, &k->stats_1));
  if (sl_transformer_remakes_attention(g, layer)) SL_TRY(sl_transformer_attention(g, layer, in, &att));
  SL_TRY(sl_transformer_residual_bwd(g, layer, SL_BRANCH_ATTENTION, k->attention_mask, &branch));
  SL_TRY(sl_transformer_temporary(g, &datt, g->r * width, layer, "datt"));
  SL_TRY(sl_transformer_row_bwd(g, layer, branch, k->att.out, w + PROJ_W, width, datt));
  SL_TRY(sl_transformer_temporary(g, &dqkv, 3 * g->r * width, layer, "dqkv"));
  SL_TRY(sl_transformer_attention_bwd(g, layer, datt, in, att, (struct sl_qkv){dqkv, -1, -1}));
  SL_TRY(sl_transformer_columns_bwd(g, layer, sl_build_read(l, k->ln_1), 1,
                                    &(struct sl_column){w + QKV_W, 3 * width, dqkv}, &dln));
  return sl_transformer_norm_bwd(g, layer, dln, k->x, w + LN_1_W, k->stats_1, false);
}

static enum sl_status block_bwd(struct sl_transformer *g, int layer, struct block *k) {
  if (sl_transformer_recompute(g, layer) == SL_RECOMPUTE_FULL) SL_TRY(block_inner(g, layer, k));
  SL_TRY(mlp_bwd(g, layer, k));
  return attention_bwd(g, layer, k);
}

enum sl_status sl_models_gpt2(struct sl_lowering *l) {
  enum sl_status status;
  struct sl_transformer g = sl_transformer_of(l);
  const int first = g.stage->first_layer, end = first + g.stage->layer_count;
  struct block *blocks;
  g.biases = true;
  g.wte = WTE, g.wpe = WPE;
  g.norm_f = FIRST_BLOCK + (int)l->plan->model->n_layer * BLOCK_TENSORS;
  g.head = l->plan->model->tied_head ? WTE : g.norm_f + 2;
  SL_TRY(sl_calloc(&blocks, (size_t)g.stage->layer_count, sizeof *blocks));
  SL_GO(sl_transformer_begin(&g));
  for (int k = first; k < end; k++) SL_GO(block_fwd(&g, k, &blocks[k - first]));
  if (g.stage->head) SL_GO(sl_transformer_head(&g));
  sl_transformer_turn(&g);
  if (g.stage->head) SL_GO(sl_transformer_head_bwd(&g));
  for (int k = end - 1; k >= first; k--) SL_GO(block_bwd(&g, k, &blocks[k - first]));
  if (g.stage->embedding) SL_GO(sl_transformer_embedding_bwd(&g));
done:
  free(blocks);
  return status;
}
