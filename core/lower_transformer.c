/* Drafts of the parts that GPT-2 and Llama share; see lower_transformer.h, where the letters stand. */
#include "core/lower_transformer.h"

#include "core/scratch.h"

struct sl_transformer sl_transformer_of(struct sl_lowering *l) {
  const struct sl_model *m = l->plan->model;
  return (struct sl_transformer){.l = l,
                                 .b = l->plan->micro_batch,
                                 .t = l->plan->seq,
                                 .r = l->plan->micro_batch * l->plan->seq,
                                 .c = m->n_embd,
                                 .i = m->n_inner,
                                 .v = m->vocab_size,
                                 .h = m->n_head,
                                 .g = m->n_kv_head,
                                 .d = m->head_dim};
}

struct sl_op sl_transformer_op(const struct sl_transformer *g, enum sl_op_kind kind, enum sl_phase phase, int layer) {
  return (struct sl_op){.kind = kind,
                        .lane = SL_LANE_COMPUTE,
                        .group = SL_GROUP_NONE,
                        .place_group = SL_GROUP_NONE,
                        .dtype = g->l->dtype,
                        .phase = phase,
                        .tensor = -1,
                        .layer = layer};
}

struct sl_op sl_transformer_rows_op(const struct sl_transformer *g, enum sl_op_kind kind, enum sl_phase phase,
                                    int layer, int64_t rows, int64_t columns) {
  struct sl_op op = sl_transformer_op(g, kind, phase, layer);
  op.dim[0] = rows, op.dim[1] = columns;
  return op;
}

/* --- buffers --- */

enum sl_status sl_transformer_activation(struct sl_transformer *g, int32_t *out, int64_t count, int layer,
                                         const char *name) {
  return sl_lower_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, g->l->dtype, count, g->l->slots, "h.%d.%s",
                         layer, name);
}

enum sl_status sl_transformer_temporary(struct sl_transformer *g, int32_t *out, int64_t count, int layer,
                                        const char *name) {
  return sl_lower_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, g->l->dtype, count, 1, "h.%d.%s", layer,
                         name);
}

/* What a kernel keeps of its rows: fp32 whatever the activations are. */
static enum sl_status statistics(struct sl_transformer *g, int32_t *out, int64_t count, int layer, const char *name,
                                 const char *suffix) {
  return sl_lower_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_F32, count, g->l->slots, "h.%d.%s%s",
                         layer, name, suffix);
}

static enum sl_status workspace(struct sl_transformer *g, int32_t *out, int64_t bytes, int layer, const char *name) {
  return sl_lower_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_WORKSPACE, SL_U8, bytes, 1, "h.%d.%s", layer, name);
}

/* --- dropout --- */

/* Dropout sites have streams of their own: 0 the embedding, then three a block. */
enum { DROP_EMBEDDING, DROP_ATTENTION, DROP_BRANCH, DROPS_PER_BLOCK = 3 };

static void drop(struct sl_op *op, int layer, int site, double probability) {
  op->dropout = probability;
  op->stream = DROPS_PER_BLOCK * layer + site;
}

/* --- norms --- */

enum sl_status sl_transformer_norm(struct sl_transformer *g, int layer, int32_t x, int w, const char *name,
                                   int32_t *out, int32_t *stats) {
  struct sl_lowering *l = g->l;
  struct sl_op op =
      sl_transformer_rows_op(g, g->rms ? SL_OP_RMSNORM_FWD : SL_OP_LAYERNORM_FWD, SL_PHASE_FORWARD, layer, g->r, g->c);
  op.scale = l->plan->model->norm_epsilon;
  op.tensor = w;
  SL_TRY(sl_transformer_activation(g, out, g->r * g->c, layer, name));
  SL_TRY(statistics(g, stats, g->rms ? g->r : 2 * g->r, layer, name, ".stats"));
  if (g->rms) return SL_DRAFT(&l->forward, op, sl_read(l, x), sl_param(l, w), sl_write(l, *out), sl_write(l, *stats));
  return SL_DRAFT(&l->forward, op, sl_read(l, x), sl_param(l, w), sl_param(l, w + 1), sl_write(l, *out),
                  sl_write(l, *stats));
}

enum sl_status sl_transformer_norm_bwd(struct sl_transformer *g, int layer, int32_t dout, int32_t x, int w,
                                       int32_t stats, int32_t dx, bool fresh) {
  struct sl_lowering *l = g->l;
  struct sl_op op =
      sl_transformer_rows_op(g, g->rms ? SL_OP_RMSNORM_BWD : SL_OP_LAYERNORM_BWD, SL_PHASE_BACKWARD, layer, g->r, g->c);
  const struct sl_operand to = fresh ? sl_write(l, dx) : sl_update(l, dx);
  int32_t scratch;
  op.tensor = w;
  SL_TRY(workspace(g, &scratch, g->rms ? sl_scratch_rmsnorm_bwd(g->r, g->c) : sl_scratch_layernorm_bwd(g->r, g->c),
                   layer, "dln.scratch"));
  if (g->rms)
    return SL_DRAFT(&l->backward, op, sl_read(l, dout), sl_read(l, x), sl_param(l, w), sl_read(l, stats), to,
                    sl_grad(l, w), sl_write(l, scratch));
  return SL_DRAFT(&l->backward, op, sl_read(l, dout), sl_read(l, x), sl_param(l, w), sl_read(l, stats), to,
                  sl_grad(l, w), sl_grad(l, w + 1), sl_write(l, scratch));
}

/* --- the residual stream --- */

static struct sl_op residual_op(const struct sl_transformer *g, enum sl_op_kind kind, enum sl_phase phase, int layer,
                                enum sl_branch branch) {
  struct sl_op op = sl_transformer_rows_op(g, kind, phase, layer, g->r, g->c);
  drop(&op, layer, DROP_BRANCH + (int)branch, g->l->plan->model->resid_pdrop);
  return op;
}

enum sl_status sl_transformer_residual(struct sl_transformer *g, int layer, enum sl_branch branch, int32_t from,
                                       int32_t x, int32_t out) {
  struct sl_lowering *l = g->l;
  return SL_DRAFT(&l->forward, residual_op(g, SL_OP_RESIDUAL_FWD, SL_PHASE_FORWARD, layer, branch), sl_read(l, from),
                  sl_read(l, x), sl_write(l, out));
}

enum sl_status sl_transformer_residual_bwd(struct sl_transformer *g, int layer, enum sl_branch branch, int32_t dx,
                                           int32_t *out) {
  struct sl_lowering *l = g->l;
  *out = dx;
  if (l->plan->model->resid_pdrop == 0) return SL_OK;
  SL_TRY(sl_transformer_temporary(g, out, g->r * g->c, layer, "ddropout"));
  return SL_DRAFT(&l->backward, residual_op(g, SL_OP_DROPOUT, SL_PHASE_BACKWARD, layer, branch), sl_read(l, dx),
                  sl_write(l, *out));
}

/* --- attention --- */

static bool flash(const struct sl_transformer *g) {
  return g->l->plan->config->sl.attention == SL_ATTENTION_FLASH;
}

static struct sl_op attention_op(const struct sl_transformer *g, enum sl_op_kind kind, enum sl_phase phase, int layer,
                                 struct sl_qkv in) {
  struct sl_op op = sl_transformer_op(g, kind, phase, layer);
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

enum sl_status sl_transformer_attention(struct sl_transformer *g, int layer, struct sl_qkv in,
                                        struct sl_attended *out) {
  struct sl_lowering *l = g->l;
  const int64_t threads = l->plan->threads;
  struct sl_operand operands[SL_MAX_OPERANDS];
  int n = add_qkv(l, operands, 0, in, sl_read);
  int32_t scratch;
  if (flash(g))
    SL_TRY(statistics(g, &out->softmax, g->b * g->h * g->t, layer, "attn.lse", ""));
  else
    SL_TRY(sl_transformer_activation(g, &out->softmax, g->b * g->h * g->t * g->t, layer, "attn.probs"));
  SL_TRY(sl_transformer_activation(g, &out->out, g->r * g->h * g->d, layer, "attn.out"));
  SL_TRY(workspace(g, &scratch,
                   flash(g) ? sl_scratch_flash_attention_fwd(g->t, g->d, threads)
                            : sl_scratch_attention_fwd(g->t, g->d, threads),
                   layer, "att.scratch"));
  operands[n++] = sl_write(l, out->out);
  operands[n++] = sl_write(l, out->softmax);
  operands[n++] = sl_write(l, scratch);
  return sl_draft_add(&l->forward,
                      attention_op(g, flash(g) ? SL_OP_FLASH_FWD : SL_OP_ATTENTION_FWD, SL_PHASE_FORWARD, layer, in), n,
                      operands);
}

enum sl_status sl_transformer_attention_bwd(struct sl_transformer *g, int layer, int32_t dout, struct sl_qkv in,
                                            struct sl_attended kept, struct sl_qkv din) {
  struct sl_lowering *l = g->l;
  const int64_t threads = l->plan->threads;
  struct sl_operand operands[SL_MAX_OPERANDS] = {sl_read(l, dout)};
  int n = add_qkv(l, operands, 1, in, sl_read);
  int32_t scratch;
  SL_TRY(workspace(g, &scratch,
                   flash(g) ? sl_scratch_flash_attention_bwd(g->t, g->d, threads)
                            : sl_scratch_attention_bwd(g->t, g->d, threads),
                   layer, "datt.scratch"));
  if (flash(g)) operands[n++] = sl_read(l, kept.out);
  operands[n++] = sl_read(l, kept.softmax);
  n = add_qkv(l, operands, n, din, sl_write);
  operands[n++] = sl_write(l, scratch);
  return sl_draft_add(&l->backward,
                      attention_op(g, flash(g) ? SL_OP_FLASH_BWD : SL_OP_ATTENTION_BWD, SL_PHASE_BACKWARD, layer, in),
                      n, operands);
}

/* --- the two ends --- */

static struct sl_op embed_op(const struct sl_transformer *g, enum sl_op_kind kind, enum sl_phase phase) {
  struct sl_op op = sl_transformer_op(g, kind, phase, -1);
  op.dim[0] = g->b, op.dim[1] = g->t, op.dim[2] = g->c, op.dim[3] = g->v;
  op.dropout = g->l->plan->model->embd_pdrop;
  op.stream = DROP_EMBEDDING;
  return op;
}

enum sl_status sl_transformer_embedding(struct sl_transformer *g) {
  struct sl_lowering *l = g->l;
  struct sl_op load = sl_transformer_op(g, SL_OP_LOAD_BATCH, SL_PHASE_FORWARD, -1);
  const struct sl_op op = embed_op(g, SL_OP_EMBED_FWD, SL_PHASE_FORWARD);
  const int slots = l->slots;
  load.dim[0] = g->b, load.dim[1] = g->t;
  SL_TRY(sl_lower_buffer(l, &g->tokens, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_I32, g->r, slots, "tokens"));
  SL_TRY(sl_lower_buffer(l, &g->targets, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_I32, g->r, slots, "targets"));
  SL_TRY(SL_DRAFT(&l->forward, load, sl_write(l, g->tokens), sl_write(l, g->targets)));
  SL_TRY(sl_lower_buffer(l, &g->x, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->dtype, g->r * g->c, slots, "embedding"));
  if (g->wpe < 0) return SL_DRAFT(&l->forward, op, sl_read(l, g->tokens), sl_param(l, g->wte), sl_write(l, g->x));
  return SL_DRAFT(&l->forward, op, sl_read(l, g->tokens), sl_param(l, g->wte), sl_param(l, g->wpe), sl_write(l, g->x));
}

enum sl_status sl_transformer_embedding_bwd(struct sl_transformer *g, int32_t dx) {
  struct sl_lowering *l = g->l;
  struct sl_op op = embed_op(g, SL_OP_EMBED_BWD, SL_PHASE_BACKWARD);
  if (g->wpe < 0) return SL_DRAFT(&l->backward, op, sl_read(l, g->tokens), sl_read(l, dx), sl_grad(l, g->wte));
  op.dim[4] = l->plan->model->n_positions;
  return SL_DRAFT(&l->backward, op, sl_read(l, g->tokens), sl_read(l, dx), sl_grad(l, g->wte), sl_grad(l, g->wpe));
}

enum sl_status sl_transformer_head(struct sl_transformer *g, int layers) {
  struct sl_lowering *l = g->l;
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, SL_PHASE_FORWARD, layers);
  SL_TRY(sl_transformer_activation(g, &g->logits, g->r * g->v, layers, "logits"));
  SL_TRY(sl_transformer_norm(g, layers, g->x, g->norm_f, "ln_f", &g->ln_f, &g->stats_f));
  op.tensor = g->head;
  op.flags = SL_OP_TRANS_B;
  SL_TRY(sl_lower_gemm(l, &l->forward, op, (int64_t[]){g->r, g->v, g->c}, sl_read(l, g->ln_f), sl_param(l, g->head),
                       sl_write(l, g->logits), NULL));
  op = sl_transformer_rows_op(g, SL_OP_CLASSIFIER, SL_PHASE_FORWARD, layers, g->r, g->v);
  op.scale = 1.0 / ((double)l->plan->global_batch * (double)g->t); /* the loss is the mean over the global batch */
  return SL_DRAFT(&l->forward, op, sl_update(l, g->logits), sl_read(l, g->targets),
                  sl_update(l, l->rank_class->control));
}

enum sl_status sl_transformer_head_bwd(struct sl_transformer *g, int layers, int32_t *dx) {
  struct sl_lowering *l = g->l;
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, SL_PHASE_BACKWARD, layers);
  int32_t dln;
  op.tensor = g->head;
  SL_TRY(sl_transformer_temporary(g, dx, g->r * g->c, layers, "dx"));
  SL_TRY(sl_transformer_temporary(g, &dln, g->r * g->c, layers, "dln_f"));
  SL_TRY(sl_lower_gemm(l, &l->backward, op, (int64_t[]){g->r, g->c, g->v}, sl_read(l, g->logits), sl_param(l, g->head),
                       sl_write(l, dln), NULL));
  op.flags = SL_OP_TRANS_A;
  SL_TRY(sl_lower_gemm(l, &l->backward, op, (int64_t[]){g->v, g->c, g->r}, sl_read(l, g->logits), sl_read(l, g->ln_f),
                       sl_grad(l, g->head), NULL));
  return sl_transformer_norm_bwd(g, layers, dln, g->x, g->norm_f, g->stats_f, *dx, true);
}
