/* Drafts of a stage's two ends: input tokens and embedding, or what the stage before sends; head and loss. A vocabulary is
 * cut over the tp group (Megatron-LM's VocabParallelEmbedding and vocab_parallel_cross_entropy): a member has the rows of
 * its own tokens and adds nothing for others, and the softmax's statistics are shared by one gather of (max, sum, target). */
#include "core/models/ends.h"

#include "core/base/checked.h"
#include "core/models/boundary.h"
#include "core/models/linear.h"
#include "core/plan/kernels.h"

static enum sl_status tokens_buffer(struct sl_transformer *g, int32_t *out, const char *name, bool kept) {
  SL_TRY(sl_build_buffer(g->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_I32, g->r, "%s", name));
  if (kept) sl_build_slots(g->l, *out, SL_SLOT_ACTIVATION);
  return SL_OK;
}

/* Tokens where the stage embeds them, targets where it has the loss. The backward reads tokens again. */
static enum sl_status load(struct sl_transformer *g) {
  struct sl_op op = sl_transformer_op(g, SL_OP_LOAD_BATCH, -1, -1);
  struct sl_operand operands[2];
  int n = 0;
  op.dim[0] = g->b, op.dim[1] = g->t;
  if (g->stage->embedding) {
    SL_TRY(tokens_buffer(g, &g->tokens, "tokens", true));
    operands[n++] = sl_build_write(g->l, g->tokens);
  }
  if (g->stage->head) {
    SL_TRY(tokens_buffer(g, &g->targets, "targets", false));
    operands[n++] = sl_build_write(g->l, g->targets);
  }
  if (n == 0) return SL_OK;
  if (n == 1) op.flags = g->stage->embedding ? SL_OP_INPUTS_ONLY : SL_OP_TARGETS_ONLY;
  return sl_build_draft(g->drafts, op, n, operands);
}

static struct sl_op embed_op(const struct sl_transformer *g, enum sl_op_kind kind) {
  struct sl_op op = sl_transformer_op(g, kind, -1, g->wte);
  op.dim[0] = g->b, op.dim[1] = g->t, op.dim[2] = g->c, op.dim[3] = g->v;
  if (g->tp > 1) {
    op.place_group = SL_GROUP_TP; /* dropout comes after the sum, in an op of its own */
    return op;
  }
  op.dropout = g->l->plan->model->embd_pdrop;
  return op;
}

/* Append the embedding's mask to the operands of an op with its dropout, where it is stored; returns how many there are. */
static int add_mask(const struct sl_transformer *g, struct sl_op *op, struct sl_operand *operands, int n,
                    enum sl_access access) {
  if (op->dropout == 0 || g->embedding_mask < 0) return n;
  op->flags |= SL_OP_MASK;
  operands[n] = sl_build_as(sl_build_read(g->l, g->embedding_mask), access);
  return n + 1;
}

static enum sl_status drop(struct sl_transformer *g, struct sl_operand x, struct sl_operand out,
                           enum sl_access mask_access) {
  struct sl_op op = sl_transformer_rows_op(g, SL_OP_DROPOUT, -1, -1, g->s, g->c);
  struct sl_operand operands[3] = {x, out};
  op.dropout = g->l->plan->model->embd_pdrop; /* stream 0 */
  if (g->s < g->r) op.place_group = SL_GROUP_TP;
  const int n = add_mask(g, &op, operands, 2, mask_access);
  return sl_build_draft(g->drafts, op, n, operands);
}

static enum sl_status embed(struct sl_transformer *g, struct sl_operand out) {
  struct sl_lowering *l = g->l;
  struct sl_op op = embed_op(g, SL_OP_EMBED_FWD);
  struct sl_operand operands[5] = {sl_build_read(l, g->tokens), sl_build_param(l, g->wte)};
  int n = 2;
  if (g->wpe >= 0) {
    op.flags |= SL_OP_POSITIONS;
    operands[n++] = sl_build_param(l, g->wpe);
  }
  operands[n++] = out;
  n = add_mask(g, &op, operands, n, SL_WRITE);
  return sl_build_draft(g->drafts, op, n, operands);
}

/* The members' rows are summed into `out`, then dropped. */
static enum sl_status embed_parallel(struct sl_transformer *g, struct sl_operand out) {
  const bool drops = g->l->plan->model->embd_pdrop > 0;
  int32_t partial;
  struct sl_operand sum;
  if (!drops && g->s == g->r) {
    SL_TRY(embed(g, out));
    return sl_transformer_reduce(g, -1, out, &sum);
  }
  SL_TRY(sl_transformer_temporary(g, &partial, g->r * g->c, -1, "partial"));
  SL_TRY(embed(g, sl_build_write(g->l, partial)));
  SL_TRY(sl_transformer_reduce(g, -1, sl_build_read(g->l, partial), &sum));
  if (drops) return drop(g, sum, out, SL_WRITE);
  return SL_BUILD_DRAFT(g->drafts, sl_transformer_rows_op(g, SL_OP_COPY, -1, -1, g->s * g->c, 0), sum, out);
}

static enum sl_status make_x(struct sl_transformer *g) {
  int32_t x;
  if (!g->stage->embedding) return sl_boundary_take(g);
  SL_TRY(sl_transformer_kept(g, &x, g->s * g->c, -1, "embedding"));
  SL_TRY(sl_transformer_mask(g, &g->embedding_mask, g->l->plan->model->embd_pdrop, g->s * g->c, -1, "embedding.mask"));
  g->x = sl_build_read(g->l, x);
  return g->tp == 1 ? embed(g, sl_build_write(g->l, x)) : embed_parallel(g, sl_build_write(g->l, x));
}

enum sl_status sl_transformer_begin(struct sl_transformer *g) {
  SL_TRY(load(g));
  return make_x(g);
}

/* The stream's gradient as the embedding's gradient needs it: undropped, of all rows; in a split backward a copy, for W. */
static enum sl_status embedding_gradient(struct sl_transformer *g, struct sl_operand *out) {
  struct sl_lowering *l = g->l;
  struct sl_operand d = sl_build_as(g->dx, SL_READ);
  const bool drops = g->tp > 1 && l->plan->model->embd_pdrop > 0;
  int32_t own;
  if (drops || l->stage->split) {
    SL_TRY(sl_transformer_temporary(g, &own, g->s * g->c, -1, "dembedding"));
    const struct sl_op copy = sl_transformer_rows_op(g, SL_OP_COPY, -1, -1, g->s * g->c, 0);
    SL_TRY(drops ? drop(g, d, sl_build_write(l, own), SL_READ)
                 : SL_BUILD_DRAFT(g->drafts, copy, d, sl_build_write(l, own)));
    d = sl_build_read(l, own);
  }
  return sl_transformer_gather(g, -1, SL_HALF_INPUT, d, out);
}

enum sl_status sl_transformer_embedding_bwd(struct sl_transformer *g) {
  struct sl_lowering *l = g->l;
  struct sl_op op = embed_op(g, SL_OP_EMBED_BWD);
  struct sl_operand operands[5] = {sl_build_read(l, g->tokens)};
  int n = 2;
  SL_TRY(embedding_gradient(g, &operands[1]));
  operands[n++] = sl_build_grad(l, g->wte);
  if (g->wpe >= 0) {
    op.flags |= SL_OP_POSITIONS;
    operands[n++] = sl_build_grad(l, g->wpe);
    op.dim[4] = l->plan->model->n_positions;
  }
  n = add_mask(g, &op, operands, n, SL_READ);
  return sl_build_draft(g->drafts, op, n, operands);
}

/* --- head and loss --- */

/* The members' (max, sum, target's logit) of every row, together. */
static enum sl_status share_statistics(struct sl_transformer *g, int layer, int32_t *all) {
  struct sl_lowering *l = g->l;
  struct sl_op op = sl_transformer_rows_op(g, SL_OP_CLASSIFIER_STATS, layer, -1, g->r, g->v);
  int32_t own;
  op.dim[2] = l->plan->model->vocab_size;
  op.place_group = SL_GROUP_TP;
  SL_TRY(sl_build_buffer(l, &own, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_F32, 3 * g->r, "softmax.own"));
  SL_TRY(sl_build_buffer(l, all, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_F32, 3 * g->r * g->tp, "softmax.all"));
  SL_TRY(
      SL_BUILD_DRAFT(g->drafts, op, sl_build_read(l, g->logits), sl_build_read(l, g->targets), sl_build_write(l, own)));
  op = sl_transformer_op(g, SL_OP_ALL_GATHER, layer, -1);
  op.lane = SL_LANE_TP;
  op.group = SL_GROUP_TP;
  op.dtype = SL_F32;
  op.payload = SL_PAYLOAD_ACTIVATION;
  op.dim[0] = 3 * g->r * g->tp;
  return SL_BUILD_DRAFT(g->drafts, op, sl_build_read(l, own), sl_build_write(l, *all));
}

/* The logits of all members' parts of the vocabulary, and back what becomes of our own. */
static enum sl_status classify_gathered(struct sl_transformer *g, struct sl_op op) {
  struct sl_lowering *l = g->l;
  const int64_t own = g->r * g->v, whole = sl_product(own, g->tp);
  int32_t all;
  SL_TRY(sl_build_buffer(l, &all, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->dtype, whole, "logits.all"));
  struct sl_op gather = sl_transformer_op(g, SL_OP_ALL_GATHER, op.layer, -1);
  gather.lane = SL_LANE_TP;
  gather.group = SL_GROUP_TP;
  gather.payload = SL_PAYLOAD_ACTIVATION;
  gather.dim[0] = whole;
  SL_TRY(SL_BUILD_DRAFT(g->drafts, gather, sl_build_read(l, g->logits), sl_build_write(l, all)));
  op.dim[1] = g->v * g->tp;
  SL_TRY(SL_BUILD_DRAFT(g->drafts, op, sl_build_update(l, all), sl_build_read(l, g->targets),
                        sl_build_update(l, l->rank_class->control)));
  return SL_BUILD_DRAFT(g->drafts, sl_transformer_rows_op(g, SL_OP_COPY, op.layer, -1, own, 0),
                        sl_build_part(l, all, SL_READ, 0, own), sl_build_write(l, g->logits));
}

static enum sl_status classify(struct sl_transformer *g, int layer) {
  struct sl_lowering *l = g->l;
  const struct sl_operand control = sl_build_update(l, l->rank_class->control);
  const bool gathers = sl_kernel_set(l->plan->config->sl.kernels)->gathers_logits && g->tp > 1;
  const bool cut = g->tp > 1 && !gathers;
  struct sl_op op = sl_transformer_rows_op(g, cut ? SL_OP_CLASSIFIER_SHARD : SL_OP_CLASSIFIER, layer, -1, g->r, g->v);
  int32_t statistics;
  op.scale = 1.0 / ((double)l->plan->global_batch * (double)g->t); /* the loss is the mean over the global batch */
  op.dim[2] = l->plan->model->vocab_size;
  if (gathers) return classify_gathered(g, op);
  if (!cut) return SL_BUILD_DRAFT(g->drafts, op, sl_build_update(l, g->logits), sl_build_read(l, g->targets), control);
  SL_TRY(share_statistics(g, layer, &statistics));
  op.dim[3] = g->tp;
  op.place_group = SL_GROUP_TP;
  return SL_BUILD_DRAFT(g->drafts, op, sl_build_update(l, g->logits), sl_build_read(l, g->targets),
                        sl_build_read(l, statistics), control);
}

enum sl_status sl_transformer_head(struct sl_transformer *g) {
  struct sl_lowering *l = g->l;
  const int layer = (int)l->plan->model->n_layer;
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, layer, g->head);
  struct sl_operand in;
  g->keeps = true;
  g->head_x = g->x;
  SL_TRY(sl_transformer_kept(g, &g->logits, g->r * g->v, layer, "logits"));
  SL_TRY(sl_transformer_norm(g, layer, g->x, g->norm_f, "ln_f", &g->ln_f, &g->stats_f));
  SL_TRY(sl_transformer_gather(g, layer, SL_HALF_INPUT, sl_build_read(l, g->ln_f), &in));
  op.flags = SL_OP_TRANS_B;
  SL_TRY(sl_build_gemm(l, g->drafts, op, (int64_t[]){g->r, g->v, g->c}, in, sl_build_param(l, g->head),
                       sl_build_write(l, g->logits), NULL));
  return classify(g, layer);
}

enum sl_status sl_transformer_head_bwd(struct sl_transformer *g) {
  struct sl_lowering *l = g->l;
  const int layer = (int)l->plan->model->n_layer;
  struct sl_op op = sl_transformer_op(g, SL_OP_GEMM, layer, g->head);
  struct sl_operand in, dln;
  int32_t partial;
  SL_TRY(sl_transformer_gather(g, layer, SL_HALF_WEIGHT, sl_build_read(l, g->ln_f), &in));
  SL_TRY(sl_transformer_temporary(g, &partial, g->r * g->c, layer, "dln_f"));
  SL_TRY(sl_build_gemm(l, g->drafts, op, (int64_t[]){g->r, g->c, g->v}, sl_build_read(l, g->logits),
                       sl_build_param(l, g->head), sl_build_write(l, partial), NULL));
  SL_TRY(sl_transformer_reduce(g, layer, sl_build_read(l, partial), &dln));
  op.flags = SL_OP_TRANS_A;
  SL_TRY(sl_build_gemm(l, g->drafts, op, (int64_t[]){g->v, g->c, g->r}, sl_build_read(l, g->logits), in,
                       sl_build_grad(l, g->head), NULL));
  return sl_transformer_norm_bwd(g, layer, dln, g->head_x, g->norm_f, g->stats_f, true);
}
