/* What one micro-batch of Llama computes on a stage: the drafts of its forward and backward.
 *
 * The letters of models/transformer.h. Weights are (out, in) as torch.nn.Linear keeps them, without biases, so a linear layer
 * is out(R, N) = x(R, K) w(N, K)^T. q (R, H D), k and v (R, G D) are products of their own, k and v narrower where heads
 * share them; q and k are turned in place, so what backward finds of them is turned. */
#include "core/models/ends.h"
#include "core/models/linear.h"
#include "core/models/models.h"

#include <stdlib.h>

/* Tensor positions inside a block, in model order. */
enum { NORM_1, Q_W, K_W, V_W, O_W, NORM_2, GATE_W, UP_W, DOWN_W, BLOCK_TENSORS };
enum { WTE, FIRST_BLOCK };

/* What the backward of a block needs from its forward. */
struct block {
  struct sl_operand x;
  int32_t norm_1, stats_1, x_mid, norm_2, stats_2, gate, up, swiglu;
  struct sl_qkv qkv;
  struct sl_attended att;
  int32_t attention_mask, mlp_mask; /* see sl_transformer_mask */
};

/* Turn `heads` heads of every token by its position, in place; `back` turns a gradient back. */
static enum sl_status rope(struct sl_transformer *g, int layer, int32_t x, int64_t heads, bool back) {
  struct sl_op op = sl_transformer_op(g, SL_OP_ROPE, layer, -1);
  op.dim[0] = g->b, op.dim[1] = g->t, op.dim[2] = heads, op.dim[3] = g->d;
  op.scale = g->l->plan->model->rope_theta;
  if (back) op.flags = SL_OP_INVERSE;
  return SL_BUILD_DRAFT(g->drafts, op, sl_build_update(g->l, x));
}

static enum sl_status attention_fwd(struct sl_transformer *g, int layer, struct block *k) {
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  const int64_t q = g->h * g->d, kv = g->g * g->d;
  struct sl_operand branch;
  SL_TRY(sl_transformer_norm(g, layer, k->x, w + NORM_1, "norm_1", &k->norm_1, &k->stats_1));
  SL_TRY(sl_transformer_kept(g, &k->qkv.q, g->r * q, layer, "attn.q"));
  SL_TRY(sl_transformer_kept(g, &k->qkv.k, g->r * kv, layer, "attn.k"));
  SL_TRY(sl_transformer_kept(g, &k->qkv.v, g->r * kv, layer, "attn.v"));
  const struct sl_column columns[] = {{w + Q_W, q, k->qkv.q}, {w + K_W, kv, k->qkv.k}, {w + V_W, kv, k->qkv.v}};
  SL_TRY(sl_transformer_columns(g, layer, sl_build_read(g->l, k->norm_1), 3, columns));
  SL_TRY(rope(g, layer, k->qkv.q, g->h, false));
  SL_TRY(rope(g, layer, k->qkv.k, g->g, false));
  SL_TRY(sl_transformer_attention(g, layer, k->qkv, &k->att));
  SL_TRY(sl_transformer_row(g, layer, k->att.out, w + O_W, q, &branch));
  SL_TRY(sl_transformer_kept(g, &k->x_mid, g->s * g->c, layer, "x_mid"));
  return sl_transformer_residual(g, layer, SL_BRANCH_ATTENTION, k->x, branch, w + O_W, sl_build_write(g->l, k->x_mid),
                                 &k->attention_mask);
}

/* Up to what the last product of the block reads: all that a recomputing backward needs. */
static enum sl_status block_inner(struct sl_transformer *g, int layer, struct block *k) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  SL_TRY(attention_fwd(g, layer, k));
  SL_TRY(sl_transformer_norm(g, layer, sl_build_read(l, k->x_mid), w + NORM_2, "norm_2", &k->norm_2, &k->stats_2));
  SL_TRY(sl_transformer_kept(g, &k->gate, g->r * g->i, layer, "mlp.gate"));
  SL_TRY(sl_transformer_kept(g, &k->up, g->r * g->i, layer, "mlp.up"));
  SL_TRY(sl_transformer_kept(g, &k->swiglu, g->r * g->i, layer, "mlp.swiglu"));
  const struct sl_column columns[] = {{w + GATE_W, g->i, k->gate}, {w + UP_W, g->i, k->up}};
  SL_TRY(sl_transformer_columns(g, layer, sl_build_read(l, k->norm_2), 2, columns));
  return SL_BUILD_DRAFT(g->drafts, sl_transformer_rows_op(g, SL_OP_SWIGLU_FWD, layer, -1, g->r, g->i),
                        sl_build_read(l, k->gate), sl_build_read(l, k->up), sl_build_write(l, k->swiglu));
}

static enum sl_status block_fwd(struct sl_transformer *g, int layer, struct block *k) {
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  struct sl_operand branch, out;
  k->x = g->x;
  g->keeps = sl_transformer_recompute(g, layer) != SL_RECOMPUTE_FULL;
  SL_TRY(block_inner(g, layer, k));
  SL_TRY(sl_transformer_row(g, layer, k->swiglu, w + DOWN_W, g->i, &branch));
  SL_TRY(sl_transformer_output(g, layer, &out));
  g->x = sl_build_as(out, SL_READ);
  return sl_transformer_residual(g, layer, SL_BRANCH_MLP, sl_build_read(g->l, k->x_mid), branch, w + DOWN_W, out,
                                 &k->mlp_mask);
}

/* Gate and up become their own gradients. */
static enum sl_status mlp_bwd(struct sl_transformer *g, int layer, struct block *k) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  struct sl_operand branch, dnorm;
  int32_t dswiglu;
  if (sl_transformer_remakes_norms(g, layer))
    SL_TRY(sl_transformer_norm(g, layer, sl_build_read(l, k->x_mid), w + NORM_2, "norm_2", &k->norm_2, &k->stats_2));
  SL_TRY(sl_transformer_residual_bwd(g, layer, SL_BRANCH_MLP, k->mlp_mask, &branch));
  SL_TRY(sl_transformer_temporary(g, &dswiglu, g->r * g->i, layer, "dswiglu"));
  SL_TRY(sl_transformer_row_bwd(g, layer, branch, k->swiglu, w + DOWN_W, g->i, dswiglu));
  SL_TRY(SL_BUILD_DRAFT(g->drafts, sl_transformer_rows_op(g, SL_OP_SWIGLU_BWD, layer, -1, g->r, g->i),
                        sl_build_read(l, dswiglu), sl_build_update(l, k->gate), sl_build_update(l, k->up)));
  const struct sl_column columns[] = {{w + GATE_W, g->i, k->gate}, {w + UP_W, g->i, k->up}};
  SL_TRY(sl_transformer_columns_bwd(g, layer, sl_build_read(l, k->norm_2), 2, columns, &dnorm));
  return sl_transformer_norm_bwd(g, layer, dnorm, sl_build_read(l, k->x_mid), w + NORM_2, k->stats_2, false);
}

static enum sl_status attention_bwd(struct sl_transformer *g, int layer, struct block *k) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  const int64_t q = g->h * g->d, kv = g->g * g->d;
  struct sl_attended att = k->att;
  struct sl_operand branch, dnorm;
  struct sl_qkv d;
  int32_t datt;
  if (sl_transformer_remakes_norms(g, layer))
    SL_TRY(sl_transformer_norm(g, layer, k->x, w + NORM_1, "norm_1", &k->norm_1, &k->stats_1));
  if (sl_transformer_remakes_attention(g, layer)) SL_TRY(sl_transformer_attention(g, layer, k->qkv, &att));
  SL_TRY(sl_transformer_residual_bwd(g, layer, SL_BRANCH_ATTENTION, k->attention_mask, &branch));
  SL_TRY(sl_transformer_temporary(g, &datt, g->r * q, layer, "datt"));
  SL_TRY(sl_transformer_row_bwd(g, layer, branch, k->att.out, w + O_W, q, datt));
  SL_TRY(sl_transformer_temporary(g, &d.q, g->r * q, layer, "dq"));
  SL_TRY(sl_transformer_temporary(g, &d.k, g->r * kv, layer, "dk"));
  SL_TRY(sl_transformer_temporary(g, &d.v, g->r * kv, layer, "dv"));
  SL_TRY(sl_transformer_attention_bwd(g, layer, datt, k->qkv, att, d));
  SL_TRY(rope(g, layer, d.q, g->h, true));
  SL_TRY(rope(g, layer, d.k, g->g, true));
  const struct sl_column columns[] = {{w + Q_W, q, d.q}, {w + K_W, kv, d.k}, {w + V_W, kv, d.v}};
  SL_TRY(sl_transformer_columns_bwd(g, layer, sl_build_read(l, k->norm_1), 3, columns, &dnorm));
  return sl_transformer_norm_bwd(g, layer, dnorm, k->x, w + NORM_1, k->stats_1, false);
}

static enum sl_status block_bwd(struct sl_transformer *g, int layer, struct block *k) {
  if (sl_transformer_recompute(g, layer) == SL_RECOMPUTE_FULL) SL_TRY(block_inner(g, layer, k));
  SL_TRY(mlp_bwd(g, layer, k));
  return attention_bwd(g, layer, k);
}

enum sl_status sl_models_llama(struct sl_lowering *l) {
  enum sl_status status;
  struct sl_transformer g = sl_transformer_of(l);
  const int first = g.stage->first_layer, end = first + g.stage->layer_count;
  struct block *blocks;
  g.rms = g.out_in = true;
  g.wte = WTE, g.wpe = -1;
  g.norm_f = FIRST_BLOCK + (int)l->plan->model->n_layer * BLOCK_TENSORS;
  g.head = l->plan->model->tied_head ? WTE : g.norm_f + 1;
  SL_TRY(sl_calloc(&blocks, (size_t)g.stage->layer_count, sizeof *blocks));
  SL_GO(sl_transformer_begin(&g));
  for (int i = first; i < end; i++) SL_GO(block_fwd(&g, i, &blocks[i - first]));
  if (g.stage->head) SL_GO(sl_transformer_head(&g));
  sl_transformer_turn(&g);
  if (g.stage->head) SL_GO(sl_transformer_head_bwd(&g));
  for (int i = end - 1; i >= first; i--) SL_GO(block_bwd(&g, i, &blocks[i - first]));
  if (g.stage->embedding) SL_GO(sl_transformer_embedding_bwd(&g));
done:
  free(blocks);
  return status;
}
