/* A stage of pre-norm blocks, forward and backward; see block.h. */
#include "core/models/block.h"

#include "core/models/boundary.h"
#include "core/models/ends.h"
#include "core/models/linear.h"
#include "core/models/saved_input.h"
#include "core/plan/kernels.h"

#include <stdio.h>
#include <stdlib.h>

/* A block, and what its backward needs from its forward. */
struct block {
  const struct sl_block_kind *kind;
  int layer, w; /* w: its first tensor */
  struct sl_operand x;
  int32_t norm_1, stats_1, x_mid, norm_2, stats_2, in[2], act;
  int32_t gathered_1, gathered_2; /* see sl_transformer_columns */
  int32_t last;                   /* see keep_last_product */
  int32_t kept_input;             /* see saved_input.h */
  int32_t scattered;              /* what attention's reduce-scatter left, where that is kept; else -1 */
  struct sl_qkv qkv;
  struct sl_attended att;
  int32_t attention_mask, mlp_mask; /* see sl_transformer_mask */
};

typedef enum sl_status make_buffer(struct sl_transformer *, int32_t *, int64_t, int, const char *);

static enum sl_status named(struct sl_transformer *g, make_buffer *make, int32_t *out, int64_t count, int layer,
                            const char *prefix, const char *name) {
  char full[32];
  snprintf(full, sizeof full, "%s%s", prefix, name);
  return make(g, out, count, layer, full);
}

/* ---- selective recomputation by op ----
 * torchtitan's policy (torchtitan/parallelisms/parallelize_llama.py of December 2024, _save_list and _get_custom_policy): what
 * attention and reduce-scatters make is kept, and of the block's products every other one, the first of them; all else is made
 * again. So q and v (or the three in one), and the first input of the activation are kept; k, attention's last product and the
 * second input are not. q is kept as it is turned, where torchtitan keeps it as it was and turns it again. */

static bool by_op(const struct sl_transformer *g, const struct block *k) {
  return sl_transformer_recompute(g, k->layer) == SL_RECOMPUTE_SELECTIVE_OP;
}

/* Of what that policy makes again. */
static make_buffer *made_again(const struct sl_transformer *g, const struct block *k) {
  return by_op(g, k) ? sl_transformer_temporary : sl_transformer_kept;
}

/* ---- attention ---- */

/* (R, 3 H D), or (R, H D) and twice (R, G D); k may be made otherwise. */
static enum sl_status make_qkv(struct sl_transformer *g, const struct block *k, make_buffer *make, make_buffer *make_k,
                               const char *prefix, struct sl_qkv *out) {
  const int64_t q = g->r * g->h * g->d, kv = g->r * g->g * g->d;
  *out = (struct sl_qkv){-1, -1, -1};
  if (k->kind->qkv[1] == 0) return named(g, make, &out->q, 3 * q, k->layer, prefix, "qkv");
  SL_TRY(named(g, make, &out->q, q, k->layer, prefix, "q"));
  SL_TRY(named(g, make_k, &out->k, kv, k->layer, prefix, "k"));
  return named(g, make, &out->v, kv, k->layer, prefix, "v");
}

static int qkv_columns(const struct sl_transformer *g, const struct block *k, struct sl_qkv x,
                       struct sl_column columns[3]) {
  const int64_t q = g->h * g->d, kv = g->g * g->d;
  const int *at = k->kind->qkv;
  columns[0] = (struct sl_column){.w = k->w + at[0], .n = at[1] == 0 ? 3 * q : q, .out = x.q};
  columns[1] = (struct sl_column){.w = k->w + at[1], .n = kv, .out = x.k};
  columns[2] = (struct sl_column){.w = k->w + at[2], .n = kv, .out = x.v};
  return at[1] == 0 ? 1 : 3;
}

/* Turn `heads` heads of every token by its position, in place; `back` turns a gradient back. */
static enum sl_status rope(struct sl_transformer *g, int layer, int32_t x, int64_t heads, bool back) {
  struct sl_op op = sl_transformer_op(g, SL_OP_ROPE, layer, -1);
  op.dim[0] = g->b, op.dim[1] = g->t, op.dim[2] = heads, op.dim[3] = g->d;
  op.scale = sl_model_rotary(g->l->plan->model, layer)->base;
  if (back) op.flags = SL_OP_INVERSE;
  return SL_BUILD_DRAFT(g->drafts, op, sl_build_update(g->l, x));
}

/* q and k are turned in place, so what backward finds of them is turned. */
static enum sl_status turn(struct sl_transformer *g, int layer, struct sl_qkv x, bool back) {
  if (g->wpe >= 0) return SL_OK;
  SL_TRY(rope(g, layer, x.q, g->h, back));
  return rope(g, layer, x.k, g->g, back);
}

static enum sl_status norm(struct sl_transformer *g, struct block *k, int number) {
  char name[16];
  snprintf(name, sizeof name, "%s_%d", k->kind->norm, number);
  if (number == 1) return sl_transformer_norm(g, k->layer, k->x, k->w + k->kind->norm_1, name, &k->norm_1, &k->stats_1);
  return sl_transformer_norm(g, k->layer, sl_build_read(g->l, k->x_mid), k->w + k->kind->norm_2, name, &k->norm_2,
                             &k->stats_2);
}

/* x + attention's branch. By op, nothing of it is kept but what a reduce-scatter left. */
static enum sl_status make_x_mid(struct sl_transformer *g, struct block *k, struct sl_operand branch) {
  const bool kept = g->keeps;
  SL_TRY(named(g, made_again(g, k), &k->x_mid, g->s * g->c, k->layer, "", "x_mid"));
  g->keeps = kept && !by_op(g, k);
  const enum sl_status status =
      sl_transformer_residual(g, k->layer, SL_BRANCH_ATTENTION, k->x, branch, k->w + k->kind->attention_out,
                              sl_build_write(g->l, k->x_mid), &k->attention_mask);
  g->keeps = kept;
  return status;
}

static enum sl_status attention_fwd(struct sl_transformer *g, struct block *k) {
  const int out = k->w + k->kind->attention_out;
  struct sl_operand branch;
  struct sl_column columns[3];
  SL_TRY(norm(g, k, 1));
  SL_TRY(make_qkv(g, k, sl_transformer_kept, made_again(g, k), "attn.", &k->qkv));
  const int n = qkv_columns(g, k, k->qkv, columns);
  SL_TRY(sl_transformer_columns(g, k->layer, sl_build_read(g->l, k->norm_1), n, columns, &k->gathered_1));
  SL_TRY(turn(g, k->layer, k->qkv, false));
  SL_TRY(sl_transformer_attention(g, k->layer, k->qkv, &k->att));
  SL_TRY(sl_transformer_row(g, k->layer, k->att.out, out, g->h * g->d, &branch));
  if (by_op(g, k) && g->s != g->r) sl_build_slots(g->l, k->scattered = branch.buffer, SL_SLOT_ACTIVATION);
  return make_x_mid(g, k, branch);
}

/* Before the backward of the MLP, which reads what attention added to. */
static enum sl_status remake_x_mid(struct sl_transformer *g, struct block *k) {
  struct sl_operand branch;
  if (!by_op(g, k)) return SL_OK;
  if (k->scattered >= 0) return make_x_mid(g, k, sl_build_read(g->l, k->scattered));
  SL_TRY(sl_transformer_row(g, k->layer, k->att.out, k->w + k->kind->attention_out, g->h * g->d, &branch));
  return make_x_mid(g, k, branch);
}

static enum sl_status remake_k(struct sl_transformer *g, struct block *k) {
  struct sl_column columns[3];
  if (!by_op(g, k) || k->kind->qkv[1] == 0) return SL_OK;
  SL_TRY(named(g, sl_transformer_temporary, &k->qkv.k, g->r * g->g * g->d, k->layer, "attn.", "k"));
  qkv_columns(g, k, k->qkv, columns);
  SL_TRY(sl_transformer_columns(g, k->layer, sl_build_read(g->l, k->norm_1), 1, &columns[1], &k->gathered_1));
  return g->wpe >= 0 ? SL_OK : rope(g, k->layer, k->qkv.k, g->g, false);
}

static enum sl_status attention_bwd(struct sl_transformer *g, struct block *k) {
  struct sl_attended att = k->att;
  struct sl_operand branch, dnorm;
  struct sl_column columns[3];
  struct sl_qkv d;
  int32_t datt;
  if (sl_transformer_remakes_norms(g, k->layer)) SL_TRY(norm(g, k, 1));
  SL_TRY(remake_k(g, k));
  if (sl_transformer_remakes_attention(g, k->layer)) SL_TRY(sl_transformer_attention(g, k->layer, k->qkv, &att));
  SL_TRY(sl_transformer_residual_bwd(g, k->layer, SL_BRANCH_ATTENTION, k->attention_mask, &branch));
  SL_TRY(sl_transformer_temporary(g, &datt, g->r * g->h * g->d, k->layer, "datt"));
  SL_TRY(sl_transformer_row_bwd(g, k->layer, branch, k->att.out, k->w + k->kind->attention_out, g->h * g->d, datt));
  SL_TRY(make_qkv(g, k, sl_transformer_temporary, sl_transformer_temporary, "d", &d));
  SL_TRY(sl_transformer_attention_bwd(g, k->layer, datt, k->qkv, att, d));
  SL_TRY(turn(g, k->layer, d, true));
  const int n = qkv_columns(g, k, d, columns);
  SL_TRY(sl_transformer_columns_bwd(g, k->layer, sl_build_read(g->l, k->norm_1), k->gathered_1, n, columns, &dnorm));
  return sl_transformer_norm_bwd(g, k->layer, dnorm, k->x, k->w + k->kind->norm_1, k->stats_1, false);
}

/* ---- MLP ---- */

static int in_columns(const struct sl_transformer *g, const struct block *k, const int32_t x[2],
                      struct sl_column columns[2]) {
  const int *at = k->kind->in;
  const bool apart = sl_kernel_set(g->l->plan->config->sl.kernels)->sums_apart;
  for (int i = 0; i < 2; i++) columns[i] = (struct sl_column){k->w + at[i], g->i, x[i], apart};
  return at[1] == 0 ? 1 : 2;
}

/* in -> act */
static enum sl_status activate(struct sl_transformer *g, const struct block *k) {
  const struct sl_op op = sl_transformer_rows_op(g, k->kind->act, k->layer, -1, g->r, g->i);
  const struct sl_operand first = sl_build_read(g->l, k->in[0]), out = sl_build_write(g->l, k->act);
  if (k->kind->in[1] == 0) return SL_BUILD_DRAFT(g->drafts, op, first, out);
  return SL_BUILD_DRAFT(g->drafts, op, first, sl_build_read(g->l, k->in[1]), out);
}

/* Up to what the MLP's last product reads: all that a recomputing backward needs. */
static enum sl_status block_inner(struct sl_transformer *g, struct block *k) {
  struct sl_column columns[2];
  SL_TRY(attention_fwd(g, k));
  SL_TRY(norm(g, k, 2));
  const int n = in_columns(g, k, k->in, columns);
  for (int i = 0; i < n; i++) {
    make_buffer *make = i == 0 ? sl_transformer_kept : made_again(g, k);
    SL_TRY(named(g, make, &k->in[i], g->r * g->i, k->layer, "mlp.", k->kind->in_names[i]));
    columns[i].out = k->in[i];
  }
  SL_TRY(named(g, made_again(g, k), &k->act, g->r * g->i, k->layer, "mlp.", k->kind->act_name));
  SL_TRY(sl_transformer_columns(g, k->layer, sl_build_read(g->l, k->norm_2), n, columns, &k->gathered_2));
  return activate(g, k);
}

static enum sl_status remake_act(struct sl_transformer *g, struct block *k) {
  struct sl_column columns[2];
  if (!by_op(g, k)) return SL_OK;
  if (k->kind->in[1] != 0) {
    SL_TRY(named(g, sl_transformer_temporary, &k->in[1], g->r * g->i, k->layer, "mlp.", k->kind->in_names[1]));
    in_columns(g, k, k->in, columns);
    SL_TRY(sl_transformer_columns(g, k->layer, sl_build_read(g->l, k->norm_2), 1, &columns[1], &k->gathered_2));
  }
  SL_TRY(named(g, sl_transformer_temporary, &k->act, g->r * g->i, k->layer, "mlp.", k->kind->act_name));
  return activate(g, k);
}

/* Of one input the gradient is made in place of what comes in; two become their own gradients. */
static enum sl_status act_bwd(struct sl_transformer *g, const struct block *k, int32_t dact) {
  const struct sl_op op = sl_transformer_rows_op(g, k->kind->act_bwd, k->layer, -1, g->r, g->i);
  if (k->kind->in[1] == 0)
    return SL_BUILD_DRAFT(g->drafts, op, sl_build_update(g->l, dact), sl_build_read(g->l, k->in[0]));
  return SL_BUILD_DRAFT(g->drafts, op, sl_build_read(g->l, dact), sl_build_update(g->l, k->in[0]),
                        sl_build_update(g->l, k->in[1]));
}

static enum sl_status mlp_bwd(struct sl_transformer *g, struct block *k) {
  struct sl_operand branch, dnorm;
  struct sl_column columns[2];
  int32_t dact;
  SL_TRY(remake_x_mid(g, k));
  if (sl_transformer_remakes_norms(g, k->layer)) SL_TRY(norm(g, k, 2));
  SL_TRY(remake_act(g, k));
  SL_TRY(sl_transformer_residual_bwd(g, k->layer, SL_BRANCH_MLP, k->mlp_mask, &branch));
  SL_TRY(named(g, sl_transformer_temporary, &dact, g->r * g->i, k->layer, "d", k->kind->act_name));
  SL_TRY(sl_transformer_row_bwd(g, k->layer, branch, k->act, k->w + k->kind->mlp_out, g->i, dact));
  SL_TRY(act_bwd(g, k, dact));
  const int n = in_columns(g, k, k->kind->in[1] == 0 ? (int32_t[]){dact, -1} : k->in, columns);
  SL_TRY(sl_transformer_columns_bwd(g, k->layer, sl_build_read(g->l, k->norm_2), k->gathered_2, n, columns, &dnorm));
  return sl_transformer_norm_bwd(g, k->layer, dnorm, sl_build_read(g->l, k->x_mid), k->w + k->kind->norm_2, k->stats_2,
                                 false);
}

/* ---- blocks ---- */

/* The block's last product is one of those that are kept by op, though nothing reads it again: a framework that keeps it anyway
 * does so from one pass to the other. */
static enum sl_status keep_last_product(struct sl_transformer *g, struct block *k) {
  struct sl_op pass = sl_transformer_op(g, SL_OP_PASS, k->layer, -1);
  if (!by_op(g, k) || !sl_kernel_set(g->l->plan->config->sl.kernels)->keeps_products) return SL_OK;
  if (g->phase == SL_PHASE_FORWARD)
    SL_TRY(sl_transformer_bytes(g, &k->last, sl_dtype_bytes(g->l->dtype) * g->s * g->c, k->layer, "mlp.out", true));
  pass.dtype = SL_U8;
  pass.dim[0] = pass.dim[1] = 1;
  pass.flags = g->phase == SL_PHASE_FORWARD ? SL_OP_KEEPS : SL_OP_READS_KEPT;
  return SL_BUILD_DRAFT(g->drafts, pass,
                        g->phase == SL_PHASE_FORWARD ? sl_build_write(g->l, k->last) : sl_build_read(g->l, k->last));
}

static enum sl_status block_fwd(struct sl_transformer *g, struct block *k) {
  const int mlp_out = k->w + k->kind->mlp_out;
  struct sl_operand branch, out;
  k->x = g->x;
  g->keeps = sl_transformer_recompute(g, k->layer) != SL_RECOMPUTE_FULL;
  SL_TRY(block_inner(g, k));
  SL_TRY(sl_transformer_row(g, k->layer, k->act, mlp_out, g->i, &branch));
  SL_TRY(keep_last_product(g, k));
  SL_TRY(sl_transformer_output(g, k->layer, &out));
  g->x = sl_build_as(out, SL_READ);
  SL_TRY(sl_transformer_residual(g, k->layer, SL_BRANCH_MLP, sl_build_read(g->l, k->x_mid), branch, mlp_out, out,
                                 &k->mlp_mask));
  return sl_saved_input_keep(g, k->layer, k->x, &k->kept_input);
}

/* A framework that repeats a block to its end makes its output again too, which nobody reads. */
static enum sl_status replay(struct sl_transformer *g, struct block *k) {
  struct sl_operand branch;
  int32_t out;
  SL_TRY(sl_saved_input_fetch(g, k->layer, k->kept_input, &k->x));
  SL_TRY(block_inner(g, k));
  if (!sl_kernel_set(g->l->plan->config->sl.kernels)->recomputes_all) return SL_OK;
  SL_TRY(sl_transformer_row(g, k->layer, k->act, k->w + k->kind->mlp_out, g->i, &branch));
  SL_TRY(sl_transformer_temporary(g, &out, g->s * g->c, k->layer, "x_out.again"));
  return sl_transformer_residual(g, k->layer, SL_BRANCH_MLP, sl_build_read(g->l, k->x_mid), branch,
                                 k->w + k->kind->mlp_out, sl_build_write(g->l, out), &k->mlp_mask);
}

static enum sl_status block_bwd(struct sl_transformer *g, struct block *k) {
  if (sl_transformer_recompute(g, k->layer) == SL_RECOMPUTE_FULL) SL_TRY(replay(g, k));
  SL_TRY(keep_last_product(g, k));
  SL_TRY(mlp_bwd(g, k));
  return attention_bwd(g, k);
}

enum sl_status sl_block_stage(struct sl_transformer *g, const struct sl_block_kind *kind) {
  enum sl_status status;
  const struct sl_model *model = g->l->plan->model;
  const int count = g->stage->layer_count;
  struct block *blocks;
  g->norm_f = kind->first + (int)model->n_layer * kind->tensors;
  g->head = model->tied_head ? g->wte : g->norm_f + (g->rms ? 1 : 2);
  SL_TRY(sl_calloc(&blocks, (size_t)count, sizeof *blocks));
  SL_GO(sl_transformer_begin(g));
  for (int i = 0; i < count; i++) {
    const int layer = g->stage->first_layer + i;
    blocks[i] = (struct block){.kind = kind, .layer = layer, .w = kind->first + layer * kind->tensors, .scattered = -1};
    SL_GO(block_fwd(g, &blocks[i]));
  }
  SL_GO(g->stage->head ? sl_transformer_head(g) : sl_boundary_give(g));
  sl_transformer_turn(g);
  SL_GO(sl_boundary_take_gradient(g));
  if (g->stage->head) SL_GO(sl_transformer_head_bwd(g));
  for (int i = count - 1; i >= 0; i--) SL_GO(block_bwd(g, &blocks[i]));
  SL_GO(g->stage->embedding ? sl_transformer_embedding_bwd(g) : sl_boundary_give_gradient(g));
done:
  free(blocks);
  return status;
}
