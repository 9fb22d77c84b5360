/* What one micro-batch of GPT-2 computes: the drafts of its forward and backward.
 *
 * The letters of lower_transformer.h. Weights are (in, out) as Hugging Face's Conv1D keeps them, so a linear layer is
 * out(R, N) = x(R, K) w(K, N) + b(N). */
#include "core/lower_transformer.h"

#include <stdlib.h>

/* Tensor positions inside a block, in model order. */
enum { LN_1_W, LN_1_B, QKV_W, QKV_B, PROJ_W, PROJ_B, LN_2_W, LN_2_B, FC_W, FC_B, FC2_W, FC2_B, BLOCK_TENSORS };
enum { WTE, WPE, FIRST_BLOCK };

/* What the backward of a block needs from its forward. */
struct block {
  int32_t x, ln_1, stats_1, qkv, x_mid, ln_2, stats_2, fc, gelu;
  struct sl_attended att;
};

/* out(R, n) = x(R, k) w(k, n) + b(n), with the weight at tensor `w` and its bias behind it. */
static enum sl_status linear(struct sl_transformer *g, int layer, int32_t x, int w, int32_t out, int64_t n, int64_t k) {
  const struct sl_operand bias = sl_param(g->l, w + 1);
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, SL_PHASE_FORWARD, layer);
  op.tensor = w;
  return sl_lower_gemm(g->l, &g->l->forward, op, (int64_t[]){g->r, n, k}, sl_read(g->l, x), sl_param(g->l, w),
                       sl_write(g->l, out), &bias);
}

/* The three gradients of linear(): dx(R, k) = dout w^T, dw(k, n) = x^T dout, db(n) = column sums of dout. */
static enum sl_status linear_bwd(struct sl_transformer *g, int layer, int32_t dout, int32_t x, int w, int32_t dx,
                                 int64_t n, int64_t k) {
  struct sl_lowering *l = g->l;
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, SL_PHASE_BACKWARD, layer);
  op.tensor = w;
  op.flags = SL_OP_TRANS_B;
  SL_TRY(sl_lower_gemm(l, &l->backward, op, (int64_t[]){g->r, k, n}, sl_read(l, dout), sl_param(l, w), sl_write(l, dx),
                       NULL));
  op.flags = SL_OP_TRANS_A;
  SL_TRY(sl_lower_gemm(l, &l->backward, op, (int64_t[]){k, n, g->r}, sl_read(l, x), sl_read(l, dout), sl_grad(l, w),
                       NULL));
  op = sl_transformer_rows_op(g, SL_OP_BIAS_BWD, SL_PHASE_BACKWARD, layer, g->r, n);
  op.tensor = w + 1;
  return SL_DRAFT(&l->backward, op, sl_read(l, dout), sl_grad(l, w + 1));
}

static enum sl_status block_fwd(struct sl_transformer *g, int layer, struct block *k) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  int32_t branch;
  k->x = g->x;
  SL_TRY(sl_transformer_norm(g, layer, k->x, w + LN_1_W, "ln_1", &k->ln_1, &k->stats_1));
  SL_TRY(sl_transformer_activation(g, &k->qkv, 3 * g->r * g->c, layer, "attn.qkv"));
  SL_TRY(linear(g, layer, k->ln_1, w + QKV_W, k->qkv, 3 * g->c, g->c));
  SL_TRY(sl_transformer_attention(g, layer, (struct sl_qkv){k->qkv, -1, -1}, &k->att));
  SL_TRY(sl_transformer_temporary(g, &branch, g->r * g->c, layer, "attn.proj"));
  SL_TRY(linear(g, layer, k->att.out, w + PROJ_W, branch, g->c, g->c));
  SL_TRY(sl_transformer_activation(g, &k->x_mid, g->r * g->c, layer, "x_mid"));
  SL_TRY(sl_transformer_residual(g, layer, SL_BRANCH_ATTENTION, k->x, branch, k->x_mid));

  SL_TRY(sl_transformer_norm(g, layer, k->x_mid, w + LN_2_W, "ln_2", &k->ln_2, &k->stats_2));
  SL_TRY(sl_transformer_activation(g, &k->fc, g->r * g->i, layer, "mlp.fc"));
  SL_TRY(sl_transformer_activation(g, &k->gelu, g->r * g->i, layer, "mlp.gelu"));
  SL_TRY(linear(g, layer, k->ln_2, w + FC_W, k->fc, g->i, g->c));
  SL_TRY(SL_DRAFT(&l->forward, sl_transformer_rows_op(g, SL_OP_GELU_FWD, SL_PHASE_FORWARD, layer, g->r, g->i),
                  sl_read(l, k->fc), sl_write(l, k->gelu)));
  SL_TRY(sl_transformer_temporary(g, &branch, g->r * g->c, layer, "mlp.proj"));
  SL_TRY(linear(g, layer, k->gelu, w + FC2_W, branch, g->c, g->i));
  SL_TRY(sl_transformer_activation(g, &g->x, g->r * g->c, layer, "x_out"));
  return sl_transformer_residual(g, layer, SL_BRANCH_MLP, k->x_mid, branch, g->x);
}

/* `dx` is the gradient of the block's output on entry and of its input on return. */
static enum sl_status block_bwd(struct sl_transformer *g, int layer, const struct block *k, int32_t dx) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  int32_t branch, dgelu, dln, datt, dqkv;
  SL_TRY(sl_transformer_residual_bwd(g, layer, SL_BRANCH_MLP, dx, &branch));
  SL_TRY(sl_transformer_temporary(g, &dgelu, g->r * g->i, layer, "dgelu"));
  SL_TRY(linear_bwd(g, layer, branch, k->gelu, w + FC2_W, dgelu, g->c, g->i));
  SL_TRY(SL_DRAFT(&l->backward, sl_transformer_rows_op(g, SL_OP_GELU_BWD, SL_PHASE_BACKWARD, layer, g->r, g->i),
                  sl_update(l, dgelu), sl_read(l, k->fc)));
  SL_TRY(sl_transformer_temporary(g, &dln, g->r * g->c, layer, "dln_2"));
  SL_TRY(linear_bwd(g, layer, dgelu, k->ln_2, w + FC_W, dln, g->i, g->c));
  SL_TRY(sl_transformer_norm_bwd(g, layer, dln, k->x_mid, w + LN_2_W, k->stats_2, dx, false));

  SL_TRY(sl_transformer_residual_bwd(g, layer, SL_BRANCH_ATTENTION, dx, &branch));
  SL_TRY(sl_transformer_temporary(g, &datt, g->r * g->c, layer, "datt"));
  SL_TRY(linear_bwd(g, layer, branch, k->att.out, w + PROJ_W, datt, g->c, g->c));
  SL_TRY(sl_transformer_temporary(g, &dqkv, 3 * g->r * g->c, layer, "dqkv"));
  SL_TRY(sl_transformer_attention_bwd(g, layer, datt, (struct sl_qkv){k->qkv, -1, -1}, k->att,
                                      (struct sl_qkv){dqkv, -1, -1}));
  SL_TRY(sl_transformer_temporary(g, &dln, g->r * g->c, layer, "dln_1"));
  SL_TRY(linear_bwd(g, layer, dqkv, k->ln_1, w + QKV_W, dln, 3 * g->c, g->c));
  return sl_transformer_norm_bwd(g, layer, dln, k->x, w + LN_1_W, k->stats_1, dx, false);
}

enum sl_status sl_lower_gpt2(struct sl_lowering *l) {
  enum sl_status status;
  const int layers = (int)l->plan->model->n_layer;
  struct sl_transformer g = sl_transformer_of(l);
  struct block *blocks;
  int32_t dx;
  g.wte = WTE, g.wpe = WPE;
  g.norm_f = FIRST_BLOCK + layers * BLOCK_TENSORS;
  g.head = l->plan->model->tied_head ? WTE : g.norm_f + 2;
  SL_TRY(sl_calloc(&blocks, (size_t)layers, sizeof *blocks));
  SL_GO(sl_transformer_embedding(&g));
  for (int k = 0; k < layers; k++) SL_GO(block_fwd(&g, k, &blocks[k]));
  SL_GO(sl_transformer_head(&g, layers));
  SL_GO(sl_transformer_head_bwd(&g, layers, &dx));
  for (int k = layers - 1; k >= 0; k--) SL_GO(block_bwd(&g, k, &blocks[k], dx));
  SL_GO(sl_transformer_embedding_bwd(&g, dx));
fail:
  free(blocks);
  return status;
}
