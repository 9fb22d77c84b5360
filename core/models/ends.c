/* The rules of a stage's ends; see ends.h. A vocabulary is sharded over the tp group (Megatron-LM's
 * VocabParallelEmbedding and vocab_parallel_cross_entropy): a member looks up the tokens of its own rows and adds zeros
 * for others, and the softmax statistics (max, sum, target logit) are exchanged by a single all-gather. Where every
 * member has the whole embedding or all logits (plan/vocabulary.h), it looks up or classifies by itself, as one rank
 * does. */
#include "core/models/ends.h"

#include "core/base/checked.h"
#include "core/models/boundary.h"
#include "core/models/gradients.h"
#include "core/models/regions.h"
#include "core/plan/cut.h"
#include "core/plan/kernels.h"

/* ---- tokens ---- */

enum { TOKENS, TARGETS };

static enum sl_status load(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  struct sl_op op = sl_transformer_tokens_op(g, SL_OP_LOAD_BATCH, -1, -1);
  struct sl_operand operands[2];
  int count = 0;
  for (int i = TOKENS; i <= TARGETS; i++) {
    SL_TRY(sl_tape_make(t, n, i, &operands[count]));
    if (n->out[i] != 0) count++;
  }
  if (count == 1) op.flags = n->out[TOKENS] != 0 ? SL_OP_INPUTS_ONLY : SL_OP_TARGETS_ONLY;
  return sl_build_draft(g->drafts, op, count, operands);
}

static enum sl_status nothing(struct sl_tape *t, const struct sl_node *n) {
  (void)t, (void)n;
  return SL_OK;
}

static const struct sl_rule load_rule = {.forward = load, .backward = nothing};

struct sl_batch sl_load(struct sl_tape *t) {
  const struct sl_stage *stage = t->g.stage;
  struct sl_batch batch = {0};
  const struct sl_value tokens = {
      .name = "tokens", .dtype = SL_I32, .count = t->g.r, .made = SL_MADE_OUTPUT, .of_step = true};
  struct sl_value targets = tokens;
  targets.name = "targets";
  if (stage->embedding) batch.tokens = sl_tape_value(t, tokens);
  if (stage->head) batch.targets = sl_tape_value(t, targets);
  if (stage->embedding || stage->head)
    sl_tape_node(t, (struct sl_node){.rule = &load_rule, .out = {batch.tokens, batch.targets}});
  return batch;
}

/* ---- embedding ---- */

enum { X, MASK };

/* Does a member look up its own rows only? */
static bool is_cut(const struct sl_transformer *g, const struct sl_node *n) {
  return g->tp > 1 && !sl_cut_is_whole(g->l->plan, &g->l->plan->model->tensors[n->weight[0]]);
}

static struct sl_op embed_op(const struct sl_transformer *g, const struct sl_node *n, enum sl_op_kind kind) {
  struct sl_op op = sl_transformer_tokens_op(g, kind, -1, n->weight[0]);
  op.dim[2] = g->c, op.dim[3] = sl_cut_local_size(g->l->plan, &g->l->plan->model->tensors[n->weight[0]], 0);
  if (n->weight[1] >= 0) op.flags |= SL_OP_POSITIONS;
  if (is_cut(g, n)) {
    op.place_group = SL_GROUP_TP; /* dropout comes after the sum, as an op of its own */
    return op;
  }
  op.dropout = g->l->plan->model->embd_pdrop;
  return op;
}

/* Appends the embedding's dropout mask to the operands of an op, if it is stored; returns the number of operands. */
static int add_mask(struct sl_op *op, struct sl_operand *operands, int n, struct sl_operand mask) {
  if (op->dropout == 0 || mask.slice.bytes == 0) return n;
  op->flags |= SL_OP_MASK;
  operands[n] = mask;
  return n + 1;
}

static enum sl_status drop(struct sl_transformer *g, struct sl_operand x, struct sl_operand out,
                           struct sl_operand mask) {
  struct sl_op op = sl_transformer_stream_op(g, SL_OP_DROPOUT, -1);
  struct sl_operand operands[3] = {x, out};
  sl_transformer_drop(&op, 0, SL_SITE_EMBEDDING, g->l->plan->model->embd_pdrop);
  return sl_build_draft(g->drafts, op, add_mask(&op, operands, 2, mask), operands);
}

static enum sl_status embed(struct sl_tape *t, const struct sl_node *n, struct sl_operand out, struct sl_operand mask) {
  struct sl_lowering *l = t->g.l;
  struct sl_op op = embed_op(&t->g, n, SL_OP_EMBED_FWD);
  struct sl_operand operands[5] = {sl_tape_at(t, n->in[0]), sl_build_param(l, n->weight[0])};
  int count = 2;
  if (n->weight[1] >= 0) operands[count++] = sl_build_param(l, n->weight[1]);
  operands[count++] = out;
  count = add_mask(&op, operands, count, mask);
  return sl_build_draft(t->g.drafts, op, count, operands);
}

/* The members' rows are summed into `out`, then dropout is applied. */
static enum sl_status embed_parallel(struct sl_tape *t, const struct sl_node *n, struct sl_operand out,
                                     struct sl_operand mask) {
  struct sl_transformer *g = &t->g;
  const bool drops = g->l->plan->model->embd_pdrop > 0;
  int32_t partial;
  struct sl_operand sum;
  if (!drops && g->s == g->r) {
    SL_TRY(embed(t, n, out, mask));
    return sl_regions_reduce(g, -1, out, false, &sum);
  }
  SL_TRY(sl_transformer_temporary(g, &partial, g->r * g->c, -1, "partial"));
  SL_TRY(embed(t, n, sl_build_write(g->l, partial), mask));
  SL_TRY(sl_regions_reduce(g, -1, sl_build_read(g->l, partial), false, &sum));
  return drops ? drop(g, sum, out, mask) : sl_transformer_copy(g, -1, sum, out, g->s * g->c);
}

static enum sl_status embed_forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand x, mask;
  SL_TRY(sl_tape_make(t, n, X, &x));
  SL_TRY(sl_tape_make(t, n, MASK, &mask));
  return is_cut(&t->g, n) ? embed_parallel(t, n, x, mask) : embed(t, n, x, mask);
}

/* The stream's gradient as the gradient of the embedding needs it: with dropout undone, for all rows; in a split
 * backward a copy for W. */
static enum sl_status embedding_gradient(struct sl_tape *t, const struct sl_node *n, struct sl_operand mask,
                                         struct sl_operand *out) {
  struct sl_transformer *g = &t->g;
  struct sl_operand d = sl_gradient_of(t, n->out[X]);
  const bool drops = is_cut(g, n) && g->l->plan->model->embd_pdrop > 0;
  int32_t own;
  if (drops || g->l->stage->split) {
    SL_TRY(sl_transformer_temporary(g, &own, g->s * g->c, -1, "dembedding"));
    SL_TRY(drops ? drop(g, d, sl_build_write(g->l, own), mask)
                 : sl_transformer_copy(g, -1, d, sl_build_write(g->l, own), g->s * g->c));
    d = sl_build_read(g->l, own);
  }
  return sl_regions_gather(g, -1, SL_HALF_INPUT, d, out);
}

/* DeepSpeed gathers the parameters of every module before its backward (runtime/zero/parameter_offload.py,
 * pre_sub_module_backward_function), which are here what a backward reads but for the embedding's. Returns the number of
 * operands. */
static int add_tables(struct sl_lowering *l, struct sl_op *op, struct sl_operand *operands, int count,
                      const struct sl_node *n) {
  const struct sl_strategy *s = &l->plan->strategy;
  if (!s->shard_params || s->units != SL_UNITS_PARAMETER) return count;
  op->flags |= SL_OP_WITH_TABLE;
  operands[count++] = sl_build_param(l, n->weight[0]);
  if (n->weight[1] < 0) return count;
  op->flags |= SL_OP_WITH_POSITIONS_TABLE;
  operands[count++] = sl_build_param(l, n->weight[1]);
  return count;
}

static enum sl_status embed_backward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_lowering *l = t->g.l;
  struct sl_op op = embed_op(&t->g, n, SL_OP_EMBED_BWD);
  struct sl_operand operands[7] = {sl_tape_at(t, n->in[0])}, mask = {.buffer = -1};
  int count = 2;
  if (sl_tape_has(t, n->out[MASK])) mask = sl_tape_at(t, n->out[MASK]);
  SL_TRY(embedding_gradient(t, n, mask, &operands[1]));
  operands[count++] = sl_build_grad(l, n->weight[0]);
  if (n->weight[1] >= 0) {
    operands[count++] = sl_build_grad(l, n->weight[1]);
    op.dim[4] = l->plan->model->tensors[n->weight[1]].shape[0];
  }
  count = add_mask(&op, operands, count, mask);
  count = add_tables(l, &op, operands, count, n);
  return sl_build_draft(t->g.drafts, op, count, operands);
}

static const struct sl_rule embed_rule = {
    .reads_in = 1, .reads_out = 1U << MASK, .forward = embed_forward, .backward = embed_backward};

int sl_embedding(struct sl_tape *t, int tokens, int wte, int wpe, bool stream) {
  const struct sl_transformer *g = &t->g;
  const struct sl_value x = {.name = "embedding",
                             .gradient_name = "dembedding",
                             .dtype = g->l->dtype,
                             .count = g->s * g->c,
                             .made = SL_MADE_OUTPUT,
                             .stream = stream};
  struct sl_node node = {.rule = &embed_rule, .in = {tokens}, .weight = {wte, wpe}};
  struct sl_value mask = x;
  mask.name = "embedding.mask", mask.dtype = SL_U8, mask.optional = true;
  node.out[X] = sl_tape_value(t, x);
  if (g->l->plan->model->embd_pdrop > 0 && g->l->plan->config->sl.store_dropout_masks)
    node.out[MASK] = sl_tape_value(t, mask);
  sl_tape_node(t, node);
  return node.out[X];
}

/* ---- input from the preceding stage, and output to the next ---- */

static enum sl_status arrive(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand x;
  SL_TRY(sl_boundary_take(&t->g, &x));
  sl_tape_made(t, n, 0, x);
  return SL_OK;
}

static enum sl_status give_gradient(struct sl_tape *t, const struct sl_node *n) {
  (void)n;
  return sl_boundary_give_gradient(&t->g);
}

static const struct sl_rule arrive_rule = {.forward = arrive, .backward = give_gradient};

int sl_arrive(struct sl_tape *t) {
  const struct sl_value value = {.name = "x_in",
                                 .gradient_name = "dbranch",
                                 .dtype = t->g.l->dtype,
                                 .count = t->g.s * t->g.c,
                                 .made = SL_MADE_OUTPUT,
                                 .stream = true};
  const int x = sl_tape_value(t, value);
  sl_tape_node(t, (struct sl_node){.rule = &arrive_rule, .out = {x}});
  return x;
}

static enum sl_status leave(struct sl_tape *t, const struct sl_node *n) {
  return sl_boundary_give(&t->g, sl_tape_at(t, n->in[0]));
}

static enum sl_status take_gradient(struct sl_tape *t, const struct sl_node *n) {
  return sl_gradient_give(t, n->in[0], t->g.dx);
}

static const struct sl_rule leave_rule = {.forward = leave, .backward = take_gradient};

void sl_leave(struct sl_tape *t, int x) {
  t->values[x].leaves = t->g.stage->layer_count > 0;
  sl_tape_node(t, (struct sl_node){.rule = &leave_rule, .in = {x}});
}

/* ---- loss ---- */

/* The logits, updated, and the targets. */
struct loss {
  struct sl_operand logits, targets;
  int64_t columns; /* of the logits */
};

/* torch's rules for calls in blocks do not apply to the loss. */
static struct sl_op gather_op(const struct sl_transformer *g, int layer, int64_t count) {
  struct sl_op op = sl_transformer_op(g, SL_OP_ALL_GATHER, layer, -1);
  op.lane = SL_LANE_TP;
  op.group = SL_GROUP_TP;
  op.payload = SL_PAYLOAD_ACTIVATION;
  op.dim[0] = count;
  return op;
}

/* Gathers every member's (max, sum, target logit) of every row. */
static enum sl_status share_statistics(struct sl_transformer *g, int layer, struct loss s, int32_t *all) {
  struct sl_lowering *l = g->l;
  struct sl_op op = sl_transformer_rows_op(g, SL_OP_CLASSIFIER_STATS, layer, -1, g->r, g->v);
  int32_t own;
  op.dim[2] = l->plan->model->vocab_size;
  op.place_group = SL_GROUP_TP;
  SL_TRY(sl_build_buffer(l, &own, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_F32, 3 * g->r, "softmax.own"));
  SL_TRY(sl_build_buffer(l, all, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_F32, 3 * g->r * g->tp, "softmax.all"));
  SL_TRY(SL_BUILD_DRAFT(g->drafts, op, sl_build_as(s.logits, SL_READ), s.targets, sl_build_write(l, own)));
  op = gather_op(g, layer, 3 * g->r * g->tp);
  op.dtype = SL_F32;
  return SL_BUILD_DRAFT(g->drafts, op, sl_build_read(l, own), sl_build_write(l, *all));
}

/* Gathers the logits of all members' parts of the vocabulary, and copies back the gradient of our own part. */
static enum sl_status classify_gathered(struct sl_transformer *g, struct loss s, struct sl_op op) {
  struct sl_lowering *l = g->l;
  const int64_t own = g->r * g->v, whole = sl_product(own, g->tp);
  int32_t all;
  SL_TRY(sl_build_buffer(l, &all, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->compute, whole, "logits.all"));
  SL_TRY(
      SL_BUILD_DRAFT(g->drafts, gather_op(g, op.layer, whole), sl_build_as(s.logits, SL_READ), sl_build_write(l, all)));
  op.dim[1] = g->v * g->tp;
  SL_TRY(SL_BUILD_DRAFT(g->drafts, op, sl_build_update(l, all), s.targets, sl_build_update(l, l->rank_class->control)));
  return sl_transformer_copy(g, op.layer, sl_build_part(l, all, SL_READ, 0, own), s.logits, own);
}

static enum sl_status classify(struct sl_transformer *g, int layer, struct loss s) {
  struct sl_lowering *l = g->l;
  const struct sl_operand control = sl_build_update(l, l->rank_class->control);
  const bool gathers = sl_kernel_set(l->plan->config->sl.kernels)->gathers_logits && g->tp > 1;
  const bool cut = g->tp > 1 && !gathers && l->plan->tp_vocab == SL_TP_VOCAB_PARALLEL;
  struct sl_op op =
      sl_transformer_rows_op(g, cut ? SL_OP_CLASSIFIER_SHARD : SL_OP_CLASSIFIER, layer, -1, g->r, s.columns);
  int32_t statistics;
  op.scale =
      1.0 / ((double)l->plan->global_batch * (double)l->plan->seq); /* the loss is the mean over the global batch */
  op.dim[2] = l->plan->model->vocab_size;
  if (gathers) return classify_gathered(g, s, op);
  if (g->tp > 1) op.place_group = SL_GROUP_TP; /* all members know the loss: the first one reports it */
  if (!cut) return SL_BUILD_DRAFT(g->drafts, op, s.logits, s.targets, control);
  SL_TRY(share_statistics(g, layer, s, &statistics));
  op.dim[3] = g->tp;
  return SL_BUILD_DRAFT(g->drafts, op, s.logits, s.targets, sl_build_read(l, statistics), control);
}

static enum sl_status loss_forward(struct sl_tape *t, const struct sl_node *n) {
  struct loss s = {.targets = sl_tape_at(t, n->in[1]), .columns = t->values[n->in[0]].count / t->g.r};
  SL_TRY(sl_tape_make(t, n, 0, &s.logits));
  return classify(&t->g, n->layer, s);
}

static const struct sl_rule loss_rule = {.reads_out = 1, .forward = loss_forward, .backward = sl_gradient_of_loss};

void sl_loss(struct sl_tape *t, int logits, int targets) {
  struct sl_value value = t->values[logits];
  value.name = "dlogits";
  value.over = logits;
  value.covered = 0;
  const int d = sl_tape_value(t, value);
  sl_tape_node(t, (struct sl_node){.rule = &loss_rule, .in = {logits, targets}, .out = {d}});
}
