/* What one micro-batch of Llama computes: the drafts of its forward and backward.
 *
 * The letters of lower_transformer.h. Weights are (out, in) as torch.nn.Linear keeps them, without biases, so a linear layer
 * is out(R, N) = x(R, K) w(N, K)^T. q (R, H D), k and v (R, G D) are products of their own, k and v narrower where heads
 * share them; q and k are turned in place, so what backward finds of them is turned. */
#include "core/lower_transformer.h"

#include <stdlib.h>

/* Tensor positions inside a block, in model order. */
enum { NORM_1, Q_W, K_W, V_W, O_W, NORM_2, GATE_W, UP_W, DOWN_W, BLOCK_TENSORS };
enum { WTE, FIRST_BLOCK };

/* What the backward of a block needs from its forward. */
struct block {
  int32_t x, norm_1, stats_1, x_mid, norm_2, stats_2, gate, up, swiglu;
  struct sl_qkv qkv;
  struct sl_attended att;
};

/* out(R, n) = x(R, k) w(n, k)^T, with the weight at tensor `w`. */
static enum sl_status linear(struct sl_transformer *g, int layer, int32_t x, int w, int32_t out, int64_t n, int64_t k) {
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, SL_PHASE_FORWARD, layer);
  op.tensor = w;
  op.flags = SL_OP_TRANS_B;
  return sl_lower_gemm(g->l, &g->l->forward, op, (int64_t[]){g->r, n, k}, sl_read(g->l, x), sl_param(g->l, w),
                       sl_write(g->l, out), NULL);
}

/* linear() into a buffer that the backward needs. */
static enum sl_status kept_linear(struct sl_transformer *g, int layer, int32_t x, int w, const char *name, int32_t *out,
                                  int64_t n) {
  SL_TRY(sl_transformer_activation(g, out, g->r * n, layer, name));
  return linear(g, layer, x, w, *out, n, g->c);
}

/* The two gradients of linear(): dx(R, k) = or += dout w, dw(n, k) = dout^T x. */
static enum sl_status linear_bwd(struct sl_transformer *g, int layer, int32_t dout, int32_t x, int w,
                                 struct sl_operand dx, int64_t n, int64_t k) {
  struct sl_lowering *l = g->l;
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, SL_PHASE_BACKWARD, layer);
  op.tensor = w;
  SL_TRY(sl_lower_gemm(l, &l->backward, op, (int64_t[]){g->r, k, n}, sl_read(l, dout), sl_param(l, w), dx, NULL));
  op.flags = SL_OP_TRANS_A;
  return sl_lower_gemm(l, &l->backward, op, (int64_t[]){n, k, g->r}, sl_read(l, dout), sl_read(l, x), sl_grad(l, w),
                       NULL);
}

/* Turn `heads` heads of every token by its position, in place; `back` turns a gradient back. */
static enum sl_status rope(struct sl_transformer *g, int layer, int32_t x, int64_t heads, bool back) {
  struct sl_op op = sl_transformer_op(g, SL_OP_ROPE, back ? SL_PHASE_BACKWARD : SL_PHASE_FORWARD, layer);
  op.dim[0] = g->b, op.dim[1] = g->t, op.dim[2] = heads, op.dim[3] = g->d;
  op.scale = g->l->plan->model->rope_theta;
  if (back) op.flags = SL_OP_INVERSE;
  return SL_DRAFT(back ? &g->l->backward : &g->l->forward, op, sl_update(g->l, x));
}

static enum sl_status attention_fwd(struct sl_transformer *g, int layer, struct block *k) {
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  int32_t branch;
  SL_TRY(sl_transformer_norm(g, layer, k->x, w + NORM_1, "norm_1", &k->norm_1, &k->stats_1));
  SL_TRY(kept_linear(g, layer, k->norm_1, w + Q_W, "attn.q", &k->qkv.q, g->h * g->d));
  SL_TRY(kept_linear(g, layer, k->norm_1, w + K_W, "attn.k", &k->qkv.k, g->g * g->d));
  SL_TRY(kept_linear(g, layer, k->norm_1, w + V_W, "attn.v", &k->qkv.v, g->g * g->d));
  SL_TRY(rope(g, layer, k->qkv.q, g->h, false));
  SL_TRY(rope(g, layer, k->qkv.k, g->g, false));
  SL_TRY(sl_transformer_attention(g, layer, k->qkv, &k->att));
  SL_TRY(sl_transformer_temporary(g, &branch, g->r * g->c, layer, "attn.proj"));
  SL_TRY(linear(g, layer, k->att.out, w + O_W, branch, g->c, g->h * g->d));
  SL_TRY(sl_transformer_activation(g, &k->x_mid, g->r * g->c, layer, "x_mid"));
  return sl_transformer_residual(g, layer, SL_BRANCH_ATTENTION, k->x, branch, k->x_mid);
}

static enum sl_status mlp_fwd(struct sl_transformer *g, int layer, struct block *k) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  int32_t branch;
  SL_TRY(sl_transformer_norm(g, layer, k->x_mid, w + NORM_2, "norm_2", &k->norm_2, &k->stats_2));
  SL_TRY(kept_linear(g, layer, k->norm_2, w + GATE_W, "mlp.gate", &k->gate, g->i));
  SL_TRY(kept_linear(g, layer, k->norm_2, w + UP_W, "mlp.up", &k->up, g->i));
  SL_TRY(sl_transformer_activation(g, &k->swiglu, g->r * g->i, layer, "mlp.swiglu"));
  SL_TRY(SL_DRAFT(&l->forward, sl_transformer_rows_op(g, SL_OP_SWIGLU_FWD, SL_PHASE_FORWARD, layer, g->r, g->i),
                  sl_read(l, k->gate), sl_read(l, k->up), sl_write(l, k->swiglu)));
  SL_TRY(sl_transformer_temporary(g, &branch, g->r * g->c, layer, "mlp.proj"));
  SL_TRY(linear(g, layer, k->swiglu, w + DOWN_W, branch, g->c, g->i));
  SL_TRY(sl_transformer_activation(g, &g->x, g->r * g->c, layer, "x_out"));
  return sl_transformer_residual(g, layer, SL_BRANCH_MLP, k->x_mid, branch, g->x);
}

/* `dx` is the gradient of the stream behind the branch on entry and before it on return; so in attention_bwd. Gate and up
 * become their own gradients. */
static enum sl_status mlp_bwd(struct sl_transformer *g, int layer, const struct block *k, int32_t dx) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  int32_t branch, dswiglu, dnorm;
  SL_TRY(sl_transformer_residual_bwd(g, layer, SL_BRANCH_MLP, dx, &branch));
  SL_TRY(sl_transformer_temporary(g, &dswiglu, g->r * g->i, layer, "dswiglu"));
  SL_TRY(linear_bwd(g, layer, branch, k->swiglu, w + DOWN_W, sl_write(l, dswiglu), g->c, g->i));
  SL_TRY(SL_DRAFT(&l->backward, sl_transformer_rows_op(g, SL_OP_SWIGLU_BWD, SL_PHASE_BACKWARD, layer, g->r, g->i),
                  sl_read(l, dswiglu), sl_update(l, k->gate), sl_update(l, k->up)));
  SL_TRY(sl_transformer_temporary(g, &dnorm, g->r * g->c, layer, "dnorm_2"));
  SL_TRY(linear_bwd(g, layer, k->gate, k->norm_2, w + GATE_W, sl_write(l, dnorm), g->i, g->c));
  SL_TRY(linear_bwd(g, layer, k->up, k->norm_2, w + UP_W, sl_update(l, dnorm), g->i, g->c));
  return sl_transformer_norm_bwd(g, layer, dnorm, k->x_mid, w + NORM_2, k->stats_2, dx, false);
}

static enum sl_status attention_bwd(struct sl_transformer *g, int layer, const struct block *k, int32_t dx) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  const int64_t q = g->h * g->d, kv = g->g * g->d;
  struct sl_qkv d;
  int32_t branch, datt, dnorm;
  SL_TRY(sl_transformer_residual_bwd(g, layer, SL_BRANCH_ATTENTION, dx, &branch));
  SL_TRY(sl_transformer_temporary(g, &datt, g->r * q, layer, "datt"));
  SL_TRY(linear_bwd(g, layer, branch, k->att.out, w + O_W, sl_write(l, datt), g->c, q));
  SL_TRY(sl_transformer_temporary(g, &d.q, g->r * q, layer, "dq"));
  SL_TRY(sl_transformer_temporary(g, &d.k, g->r * kv, layer, "dk"));
  SL_TRY(sl_transformer_temporary(g, &d.v, g->r * kv, layer, "dv"));
  SL_TRY(sl_transformer_attention_bwd(g, layer, datt, k->qkv, k->att, d));
  SL_TRY(rope(g, layer, d.q, g->h, true));
  SL_TRY(rope(g, layer, d.k, g->g, true));
  SL_TRY(sl_transformer_temporary(g, &dnorm, g->r * g->c, layer, "dnorm_1"));
  SL_TRY(linear_bwd(g, layer, d.q, k->norm_1, w + Q_W, sl_write(l, dnorm), q, g->c));
  SL_TRY(linear_bwd(g, layer, d.k, k->norm_1, w + K_W, sl_update(l, dnorm), kv, g->c));
  SL_TRY(linear_bwd(g, layer, d.v, k->norm_1, w + V_W, sl_update(l, dnorm), kv, g->c));
  return sl_transformer_norm_bwd(g, layer, dnorm, k->x, w + NORM_1, k->stats_1, dx, false);
}

enum sl_status sl_lower_llama(struct sl_lowering *l) {
  enum sl_status status;
  const int layers = (int)l->plan->model->n_layer;
  struct sl_transformer g = sl_transformer_of(l);
  struct block *blocks;
  int32_t dx;
  g.rms = true;
  g.wte = WTE, g.wpe = -1;
  g.norm_f = FIRST_BLOCK + layers * BLOCK_TENSORS;
  g.head = l->plan->model->tied_head ? WTE : g.norm_f + 1;
  SL_TRY(sl_calloc(&blocks, (size_t)layers, sizeof *blocks));
  SL_GO(sl_transformer_embedding(&g));
  for (int i = 0; i < layers; i++) {
    blocks[i].x = g.x;
    SL_GO(attention_fwd(&g, i, &blocks[i]));
    SL_GO(mlp_fwd(&g, i, &blocks[i]));
  }
  SL_GO(sl_transformer_head(&g, layers));
  SL_GO(sl_transformer_head_bwd(&g, layers, &dx));
  for (int i = layers - 1; i >= 0; i--) {
    SL_GO(mlp_bwd(&g, i, &blocks[i], dx));
    SL_GO(attention_bwd(&g, i, &blocks[i], dx));
  }
  SL_GO(sl_transformer_embedding_bwd(&g, dx));
fail:
  free(blocks);
  return status;
}
