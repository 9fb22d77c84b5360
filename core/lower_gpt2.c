/* What one micro-batch of GPT-2 computes: the drafts of its forward and backward.
 *
 * Letters: B sequences, T tokens, R = B*T rows, C channels, I inner width, V vocabulary, H heads, D head size. Weights
 * are (in, out) as Hugging Face's Conv1D keeps them, so a linear layer is out(R, N) = x(R, K) w(K, N) + b(N). */
#include "core/lower.h"

#include <stdlib.h>

#include "core/scratch.h"

/* Tensor positions inside a block, in model order. */
enum { LN_1_W, LN_1_B, QKV_W, QKV_B, PROJ_W, PROJ_B, LN_2_W, LN_2_B, FC_W, FC_B, FC2_W, FC2_B, BLOCK_TENSORS };
enum { WTE, WPE, FIRST_BLOCK };

/* What the backward of a block needs from its forward. */
struct block {
  int32_t x, ln_1, stats_1, qkv, softmax /* probabilities, or flash attention's log-sum-exp */, att, x_mid, ln_2,
      stats_2, fc, gelu;
};

struct gpt2 {
  struct sl_lowering *l;
  int64_t b, t, r, c, i, v, h, d; /* the letters above */
  int32_t tokens, targets, x, ln_f, stats_f, logits;
  struct block *blocks;
  int head; /* placed tensor of the head: wte when tied */
};

static struct sl_op op_of(const struct gpt2 *g, enum sl_op_kind kind, enum sl_phase phase, int layer) {
  return (struct sl_op){.kind = kind,
                        .lane = SL_LANE_COMPUTE,
                        .group = SL_GROUP_NONE,
                        .place_group = SL_GROUP_NONE,
                        .dtype = g->l->dtype,
                        .phase = phase,
                        .tensor = -1,
                        .layer = layer};
}

static enum sl_status activation(struct gpt2 *g, int32_t *out, int64_t count, int layer, const char *name) {
  return sl_lower_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, g->l->dtype, count, g->l->slots, "h.%d.%s",
                         layer, name);
}

/* Mean and reciprocal deviation of every row: fp32 whatever the activations are. */
static enum sl_status statistics(struct gpt2 *g, int32_t *out, int layer, const char *name) {
  return sl_lower_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_F32, 2 * g->r, g->l->slots, "h.%d.%s",
                         layer, name);
}

/* A buffer that one action makes and uses up. */
static enum sl_status temporary(struct gpt2 *g, int32_t *out, int64_t count, int layer, const char *name) {
  return sl_lower_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, g->l->dtype, count, 1, "h.%d.%s", layer,
                         name);
}

static enum sl_status workspace(struct gpt2 *g, int32_t *out, int64_t bytes, int layer, const char *name) {
  return sl_lower_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_WORKSPACE, SL_U8, bytes, 1, "h.%d.%s", layer, name);
}

/* Dropout sites have streams of their own: 0 the embedding, then three a block. */
enum { DROP_EMBEDDING, DROP_ATTENTION, DROP_PROJ, DROP_FC2, DROPS_PER_BLOCK = 3 };
static int stream_of(int layer, int site) {
  return DROPS_PER_BLOCK * layer + site;
}

static struct sl_op with(struct sl_op op, unsigned flags) {
  op.flags |= flags;
  return op;
}

/* out(R, n) = x(R, k) w(k, n) + b(n), with the weight at placed tensor `w` and its bias behind it. */
static enum sl_status linear(struct gpt2 *g, int layer, int32_t x, int w, int32_t out, int64_t n, int64_t k) {
  const struct sl_operand bias = sl_param(g->l, w + 1);
  struct sl_op op = op_of(g, SL_OP_GEMM, SL_PHASE_FORWARD, layer);
  op.tensor = w;
  return sl_lower_gemm(g->l, &g->l->forward, op, (int64_t[]){g->r, n, k}, sl_read(g->l, x), sl_param(g->l, w),
                       sl_write(g->l, out), &bias);
}

/* The three gradients of linear(): dx(R, k) = dout w^T, dw(k, n) = x^T dout, db(n) = column sums of dout. */
static enum sl_status linear_bwd(struct gpt2 *g, int layer, int32_t dout, int32_t x, int w, int32_t dx, int64_t n,
                                 int64_t k) {
  struct sl_lowering *l = g->l;
  struct sl_op op = op_of(g, SL_OP_GEMM, SL_PHASE_BACKWARD, layer);
  op.tensor = w;
  SL_TRY(sl_lower_gemm(l, &l->backward, with(op, SL_OP_TRANS_B), (int64_t[]){g->r, k, n}, sl_read(l, dout),
                       sl_param(l, w), sl_write(l, dx), NULL));
  SL_TRY(sl_lower_gemm(l, &l->backward, with(op, SL_OP_TRANS_A), (int64_t[]){k, n, g->r}, sl_read(l, x),
                       sl_read(l, dout), sl_grad(l, w), NULL));
  op.kind = SL_OP_BIAS_BWD;
  op.flags = 0;
  op.tensor = w + 1;
  op.dim[0] = g->r, op.dim[1] = n, op.dim[2] = 0;
  return SL_DRAFT(&l->backward, op, sl_read(l, dout), sl_grad(l, w + 1));
}

static enum sl_status layernorm(struct gpt2 *g, int layer, int32_t x, int w, int32_t out, int32_t stats) {
  struct sl_lowering *l = g->l;
  struct sl_op op = op_of(g, SL_OP_LAYERNORM_FWD, SL_PHASE_FORWARD, layer);
  op.dim[0] = g->r, op.dim[1] = g->c;
  op.scale = l->plan->model->norm_epsilon;
  op.tensor = w;
  return SL_DRAFT(&l->forward, op, sl_read(l, x), sl_param(l, w), sl_param(l, w + 1), sl_write(l, out),
                  sl_write(l, stats));
}

/* `dx` is written when `fresh`, added to otherwise: the residual stream carries a gradient already. */
static enum sl_status layernorm_bwd(struct gpt2 *g, int layer, int32_t dout, int32_t x, int w, int32_t stats,
                                    int32_t dx, bool fresh) {
  struct sl_lowering *l = g->l;
  struct sl_op op = op_of(g, SL_OP_LAYERNORM_BWD, SL_PHASE_BACKWARD, layer);
  int32_t scratch;
  op.dim[0] = g->r, op.dim[1] = g->c;
  op.tensor = w;
  SL_TRY(workspace(g, &scratch, sl_scratch_layernorm_bwd(g->r, g->c), layer, "dln.scratch"));
  return SL_DRAFT(&l->backward, op, sl_read(l, dout), sl_read(l, x), sl_param(l, w), sl_read(l, stats),
                  fresh ? sl_write(l, dx) : sl_update(l, dx), sl_grad(l, w), sl_grad(l, w + 1), sl_write(l, scratch));
}

/* out = residual + dropout(x) */
static enum sl_status residual(struct gpt2 *g, int layer, int site, int32_t from, int32_t x, int32_t out) {
  struct sl_lowering *l = g->l;
  struct sl_op op = op_of(g, SL_OP_RESIDUAL_FWD, SL_PHASE_FORWARD, layer);
  op.dim[0] = g->r, op.dim[1] = g->c;
  op.dropout = l->plan->model->resid_pdrop;
  op.stream = stream_of(layer, site);
  return SL_DRAFT(&l->forward, op, sl_read(l, from), sl_read(l, x), sl_write(l, out));
}

/* The branch's gradient: the stream's own when nothing was dropped, else a masked copy. */
static enum sl_status residual_bwd(struct gpt2 *g, int layer, int site, int32_t dx, int32_t *branch) {
  struct sl_lowering *l = g->l;
  struct sl_op op = op_of(g, SL_OP_DROPOUT_BWD, SL_PHASE_BACKWARD, layer);
  *branch = dx;
  if (l->plan->model->resid_pdrop == 0) return SL_OK;
  op.dim[0] = g->r, op.dim[1] = g->c;
  op.dropout = l->plan->model->resid_pdrop;
  op.stream = stream_of(layer, site);
  SL_TRY(temporary(g, branch, g->r * g->c, layer, "ddropout"));
  return SL_DRAFT(&l->backward, op, sl_read(l, dx), sl_write(l, *branch));
}

static bool flash(const struct gpt2 *g) {
  return g->l->plan->config->sl.attention == SL_ATTENTION_FLASH;
}

static struct sl_op attention_op(const struct gpt2 *g, enum sl_op_kind kind, enum sl_phase phase, int layer) {
  struct sl_op op = op_of(g, kind, phase, layer);
  op.dim[0] = g->b, op.dim[1] = g->t, op.dim[2] = g->h, op.dim[3] = g->d;
  op.dropout = g->l->plan->model->attn_pdrop;
  op.stream = stream_of(layer, DROP_ATTENTION);
  return op;
}

/* What attention keeps for its backward: all probabilities (B,H,T,T), or one number a query (B,H,T). */
static enum sl_status softmax_buffer(struct gpt2 *g, int layer, int32_t *out) {
  if (!flash(g)) return activation(g, out, g->b * g->h * g->t * g->t, layer, "attn.probs");
  return sl_lower_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_F32, g->b * g->h * g->t, g->l->slots,
                         "h.%d.attn.lse", layer);
}

static enum sl_status attention(struct gpt2 *g, int layer, const struct block *k) {
  struct sl_lowering *l = g->l;
  const int64_t threads = l->plan->threads;
  int32_t scratch;
  SL_TRY(workspace(g, &scratch,
                   flash(g) ? sl_scratch_flash_attention_fwd(g->t, g->d, threads)
                            : sl_scratch_attention_fwd(g->t, g->d, threads),
                   layer, "att.scratch"));
  return SL_DRAFT(&l->forward,
                  attention_op(g, flash(g) ? SL_OP_FLASH_FWD : SL_OP_ATTENTION_FWD, SL_PHASE_FORWARD, layer),
                  sl_read(l, k->qkv), sl_write(l, k->att), sl_write(l, k->softmax), sl_write(l, scratch));
}

static enum sl_status attention_bwd(struct gpt2 *g, int layer, const struct block *k, int32_t datt, int32_t dqkv) {
  struct sl_lowering *l = g->l;
  const int64_t threads = l->plan->threads;
  const struct sl_op op = attention_op(g, flash(g) ? SL_OP_FLASH_BWD : SL_OP_ATTENTION_BWD, SL_PHASE_BACKWARD, layer);
  int32_t scratch;
  SL_TRY(workspace(g, &scratch,
                   flash(g) ? sl_scratch_flash_attention_bwd(g->t, g->d, threads)
                            : sl_scratch_attention_bwd(g->t, g->d, threads),
                   layer, "datt.scratch"));
  if (flash(g)) {
    return SL_DRAFT(&l->backward, op, sl_read(l, datt), sl_read(l, k->qkv), sl_read(l, k->att), sl_read(l, k->softmax),
                    sl_write(l, dqkv), sl_write(l, scratch));
  }
  return SL_DRAFT(&l->backward, op, sl_read(l, datt), sl_read(l, k->qkv), sl_read(l, k->softmax), sl_write(l, dqkv),
                  sl_write(l, scratch));
}

static enum sl_status block_fwd(struct gpt2 *g, int layer, struct block *k) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  struct sl_op op;
  int32_t branch, next;
  k->x = g->x;
  SL_TRY(activation(g, &k->ln_1, g->r * g->c, layer, "ln_1"));
  SL_TRY(statistics(g, &k->stats_1, layer, "ln_1.stats"));
  SL_TRY(activation(g, &k->qkv, 3 * g->r * g->c, layer, "attn.qkv"));
  SL_TRY(softmax_buffer(g, layer, &k->softmax));
  SL_TRY(activation(g, &k->att, g->r * g->c, layer, "attn.out"));
  SL_TRY(activation(g, &k->x_mid, g->r * g->c, layer, "x_mid"));
  SL_TRY(activation(g, &k->ln_2, g->r * g->c, layer, "ln_2"));
  SL_TRY(statistics(g, &k->stats_2, layer, "ln_2.stats"));
  SL_TRY(activation(g, &k->fc, g->r * g->i, layer, "mlp.fc"));
  SL_TRY(activation(g, &k->gelu, g->r * g->i, layer, "mlp.gelu"));

  SL_TRY(layernorm(g, layer, k->x, w + LN_1_W, k->ln_1, k->stats_1));
  SL_TRY(linear(g, layer, k->ln_1, w + QKV_W, k->qkv, 3 * g->c, g->c));
  SL_TRY(attention(g, layer, k));
  SL_TRY(temporary(g, &branch, g->r * g->c, layer, "attn.proj"));
  SL_TRY(linear(g, layer, k->att, w + PROJ_W, branch, g->c, g->c));
  SL_TRY(residual(g, layer, DROP_PROJ, k->x, branch, k->x_mid));

  SL_TRY(layernorm(g, layer, k->x_mid, w + LN_2_W, k->ln_2, k->stats_2));
  SL_TRY(linear(g, layer, k->ln_2, w + FC_W, k->fc, g->i, g->c));
  op = op_of(g, SL_OP_GELU_FWD, SL_PHASE_FORWARD, layer);
  op.dim[0] = g->r, op.dim[1] = g->i;
  SL_TRY(SL_DRAFT(&l->forward, op, sl_read(l, k->fc), sl_write(l, k->gelu)));
  SL_TRY(temporary(g, &branch, g->r * g->c, layer, "mlp.proj"));
  SL_TRY(linear(g, layer, k->gelu, w + FC2_W, branch, g->c, g->i));
  SL_TRY(activation(g, &next, g->r * g->c, layer, "x_out"));
  SL_TRY(residual(g, layer, DROP_FC2, k->x_mid, branch, next));
  g->x = next;
  return SL_OK;
}

/* `dx` is the gradient of the block's output on entry and of its input on return. */
static enum sl_status block_bwd(struct gpt2 *g, int layer, const struct block *k, int32_t dx) {
  struct sl_lowering *l = g->l;
  const int w = FIRST_BLOCK + layer * BLOCK_TENSORS;
  struct sl_op op;
  int32_t branch, dgelu, dln, datt, dqkv;
  SL_TRY(residual_bwd(g, layer, DROP_FC2, dx, &branch));
  SL_TRY(temporary(g, &dgelu, g->r * g->i, layer, "dgelu"));
  SL_TRY(linear_bwd(g, layer, branch, k->gelu, w + FC2_W, dgelu, g->c, g->i));
  op = op_of(g, SL_OP_GELU_BWD, SL_PHASE_BACKWARD, layer);
  op.dim[0] = g->r, op.dim[1] = g->i;
  SL_TRY(SL_DRAFT(&l->backward, op, sl_update(l, dgelu), sl_read(l, k->fc)));
  SL_TRY(temporary(g, &dln, g->r * g->c, layer, "dln_2"));
  SL_TRY(linear_bwd(g, layer, dgelu, k->ln_2, w + FC_W, dln, g->i, g->c));
  SL_TRY(layernorm_bwd(g, layer, dln, k->x_mid, w + LN_2_W, k->stats_2, dx, false));

  SL_TRY(residual_bwd(g, layer, DROP_PROJ, dx, &branch));
  SL_TRY(temporary(g, &datt, g->r * g->c, layer, "datt"));
  SL_TRY(linear_bwd(g, layer, branch, k->att, w + PROJ_W, datt, g->c, g->c));
  SL_TRY(temporary(g, &dqkv, 3 * g->r * g->c, layer, "dqkv"));
  SL_TRY(attention_bwd(g, layer, k, datt, dqkv));
  SL_TRY(temporary(g, &dln, g->r * g->c, layer, "dln_1"));
  SL_TRY(linear_bwd(g, layer, dqkv, k->ln_1, w + QKV_W, dln, 3 * g->c, g->c));
  return layernorm_bwd(g, layer, dln, k->x, w + LN_1_W, k->stats_1, dx, false);
}

static enum sl_status embedding_fwd(struct gpt2 *g) {
  struct sl_lowering *l = g->l;
  struct sl_op op = op_of(g, SL_OP_LOAD_BATCH, SL_PHASE_FORWARD, -1);
  const int slots = l->slots;
  op.dim[0] = g->b, op.dim[1] = g->t;
  SL_TRY(sl_lower_buffer(l, &g->tokens, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_I32, g->r, slots, "tokens"));
  SL_TRY(sl_lower_buffer(l, &g->targets, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_I32, g->r, slots, "targets"));
  SL_TRY(SL_DRAFT(&l->forward, op, sl_write(l, g->tokens), sl_write(l, g->targets)));
  op = op_of(g, SL_OP_EMBED_FWD, SL_PHASE_FORWARD, -1);
  op.dim[0] = g->b, op.dim[1] = g->t, op.dim[2] = g->c, op.dim[3] = g->v;
  op.dropout = l->plan->model->embd_pdrop;
  op.stream = DROP_EMBEDDING;
  SL_TRY(
      sl_lower_buffer(l, &g->x, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, g->l->dtype, g->r * g->c, slots, "embedding"));
  return SL_DRAFT(&l->forward, op, sl_read(l, g->tokens), sl_param(l, WTE), sl_param(l, WPE), sl_write(l, g->x));
}

static enum sl_status embedding_bwd(struct gpt2 *g, int32_t dx) {
  struct sl_lowering *l = g->l;
  struct sl_op op = op_of(g, SL_OP_EMBED_BWD, SL_PHASE_BACKWARD, -1);
  op.dim[0] = g->b, op.dim[1] = g->t, op.dim[2] = g->c, op.dim[3] = g->v, op.dim[4] = l->plan->model->n_positions;
  op.dropout = l->plan->model->embd_pdrop;
  op.stream = DROP_EMBEDDING;
  return SL_DRAFT(&l->backward, op, sl_read(l, g->tokens), sl_read(l, dx), sl_grad(l, WTE), sl_grad(l, WPE));
}

/* Final norm, head, and the fused loss: the logits become their own gradient, so the forward already ends with it. */
static enum sl_status head_fwd(struct gpt2 *g, int layers) {
  struct sl_lowering *l = g->l;
  const struct sl_plan *plan = l->plan;
  struct sl_op op = op_of(g, SL_OP_GEMM, SL_PHASE_FORWARD, layers);
  SL_TRY(activation(g, &g->ln_f, g->r * g->c, layers, "ln_f"));
  SL_TRY(statistics(g, &g->stats_f, layers, "ln_f.stats"));
  SL_TRY(activation(g, &g->logits, g->r * g->v, layers, "logits"));
  SL_TRY(layernorm(g, layers, g->x, FIRST_BLOCK + layers * BLOCK_TENSORS, g->ln_f, g->stats_f));
  op.tensor = g->head;
  SL_TRY(sl_lower_gemm(l, &l->forward, with(op, SL_OP_TRANS_B), (int64_t[]){g->r, g->v, g->c}, sl_read(l, g->ln_f),
                       sl_param(l, g->head), sl_write(l, g->logits), NULL));
  op = op_of(g, SL_OP_CLASSIFIER, SL_PHASE_FORWARD, layers);
  op.dim[0] = g->r, op.dim[1] = g->v;
  op.scale = 1.0 / ((double)plan->global_batch * (double)g->t); /* the loss is the mean over the global batch */
  return SL_DRAFT(&l->forward, op, sl_update(l, g->logits), sl_read(l, g->targets),
                  sl_update(l, l->rank_class->control));
}

static enum sl_status head_bwd(struct gpt2 *g, int layers, int32_t dx) {
  struct sl_lowering *l = g->l;
  struct sl_op op = op_of(g, SL_OP_GEMM, SL_PHASE_BACKWARD, layers);
  int32_t dln;
  op.tensor = g->head;
  SL_TRY(temporary(g, &dln, g->r * g->c, layers, "dln_f"));
  SL_TRY(sl_lower_gemm(l, &l->backward, op, (int64_t[]){g->r, g->c, g->v}, sl_read(l, g->logits), sl_param(l, g->head),
                       sl_write(l, dln), NULL));
  SL_TRY(sl_lower_gemm(l, &l->backward, with(op, SL_OP_TRANS_A), (int64_t[]){g->v, g->c, g->r}, sl_read(l, g->logits),
                       sl_read(l, g->ln_f), sl_grad(l, g->head), NULL));
  return layernorm_bwd(g, layers, dln, g->x, FIRST_BLOCK + layers * BLOCK_TENSORS, g->stats_f, dx, true);
}

enum sl_status sl_lower_gpt2(struct sl_lowering *l) {
  enum sl_status status;
  const struct sl_model *m = l->plan->model;
  const int layers = (int)m->n_layer;
  struct gpt2 g = {.l = l,
                   .b = l->plan->micro_batch,
                   .t = l->plan->seq,
                   .r = l->plan->micro_batch * l->plan->seq,
                   .c = m->n_embd,
                   .i = m->n_inner,
                   .v = m->vocab_size,
                   .h = m->n_head,
                   .d = m->head_dim};
  int32_t dx;
  g.head = m->tied_head ? WTE : FIRST_BLOCK + layers * BLOCK_TENSORS + 2;
  SL_TRY(sl_calloc(&g.blocks, (size_t)layers, sizeof *g.blocks));
  SL_GO(embedding_fwd(&g));
  for (int k = 0; k < layers; k++) SL_GO(block_fwd(&g, k, &g.blocks[k]));
  SL_GO(head_fwd(&g, layers));
  SL_GO(temporary(&g, &dx, g.r * g.c, layers, "dx"));
  SL_GO(head_bwd(&g, layers, dx));
  for (int k = layers - 1; k >= 0; k--) SL_GO(block_bwd(&g, k, &g.blocks[k], dx));
  SL_GO(embedding_bwd(&g, dx));
fail:
  free(g.blocks);
  return status;
}
