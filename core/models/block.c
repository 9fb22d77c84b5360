/* The forward of a stage of pre-norm blocks; see block.h. */
#include "core/models/block.h"

#include "core/models/boundary.h"
#include "core/models/ends.h"
#include "core/models/kept_product.h"
#include "core/models/linear.h"
#include "core/models/norm.h"
#include "core/models/residual.h"
#include "core/models/rope.h"
#include "core/plan/kernels.h"

/* A block's kind, and its first tensor. */
struct block {
  const struct sl_block_kind *kind;
  int w;
};

static int bias_of(const struct sl_tape *t, int weight) {
  return t->g.biases ? weight + 1 : -1;
}

static struct sl_column column(const struct sl_tape *t, int weight, int64_t width, const char *name,
                               const char *gradient_name) {
  return (struct sl_column){name, gradient_name, weight, bias_of(t, weight), width};
}

/* (R, 3 H D), or (R, H D) and twice (R, G D). */
static struct sl_qkv project(struct sl_tape *t, struct block b, int x) {
  const int64_t q = t->g.h * t->g.d, kv = t->g.g * t->g.d;
  const int *at = b.kind->qkv;
  const struct sl_column packed = column(t, b.w + at[0], 3 * q, "attn.qkv", "dqkv");
  const struct sl_column columns[3] = {column(t, b.w + at[0], q, "attn.q", "dq"),
                                       column(t, b.w + at[1], kv, "attn.k", "dk"),
                                       column(t, b.w + at[2], kv, "attn.v", "dv")};
  int out[3] = {0};
  sl_columns(t, x, at[1] == 0 ? 1 : 3, at[1] == 0 ? &packed : columns, false, out);
  return (struct sl_qkv){out[0], out[1], out[2]};
}

/* A row-parallel product, and what it makes added to the stream. */
static int add_branch(struct sl_tape *t, enum sl_branch branch, int from, int x, int weight) {
  const bool last = branch == SL_BRANCH_MLP;
  const int product = sl_row(t, x, weight, bias_of(t, weight));
  return sl_residual(t, branch, from, product, t->g.tp > 1 ? bias_of(t, weight) : -1, last ? "x_out" : "x_mid", last);
}

static int attention(struct sl_tape *t, struct block b, int x) {
  const int norm = sl_norm(t, x, b.w + b.kind->norm_1, b.kind->norms[0], "dnorm");
  struct sl_qkv qkv = project(t, b, norm);
  if (b.kind->wpe < 0) qkv = sl_rope(t, qkv);
  return add_branch(t, SL_BRANCH_ATTENTION, x, sl_attention(t, qkv), b.w + b.kind->attention_out);
}

static int mlp(struct sl_tape *t, struct block b, int x) {
  const int norm = sl_norm(t, x, b.w + b.kind->norm_2, b.kind->norms[1], "dnorm");
  const bool apart = sl_kernel_set(t->g.l->plan->config->sl.kernels)->sums_apart;
  struct sl_column columns[2];
  int in[2] = {0};
  for (int i = 0; i < 2; i++)
    columns[i] = column(t, b.w + b.kind->in[i], t->g.i, b.kind->in_names[i], b.kind->act.gradient_name);
  sl_columns(t, norm, b.kind->in[1] == 0 ? 1 : 2, columns, apart, in);
  return add_branch(t, SL_BRANCH_MLP, x, sl_activate(t, &b.kind->act, in[0], in[1]), b.w + b.kind->mlp_out);
}

static void record(struct sl_tape *t, const struct sl_block_kind *kind) {
  const struct sl_model *model = t->g.l->plan->model;
  const struct sl_stage *stage = t->g.stage;
  const int norm_f = kind->first + (int)model->n_layer * kind->tensors;
  sl_tape_section(t, -1, 0);
  const struct sl_batch batch = sl_load(t);
  int x = stage->embedding ? sl_embedding(t, batch.tokens, kind->wte, kind->wpe) : sl_arrive(t);
  for (int layer = stage->first_layer; layer < stage->first_layer + stage->layer_count; layer++) {
    const struct block b = {kind, kind->first + layer * kind->tensors};
    sl_tape_section(t, layer, x);
    x = mlp(t, b, attention(t, b, x));
    sl_keep_product(t);
  }
  sl_tape_section(t, stage->head ? (int)model->n_layer : -1, x);
  if (!stage->head) {
    sl_leave(t, x);
    return;
  }
  const int norm = sl_norm(t, x, norm_f, "ln_f", "dln_f");
  sl_loss(t, sl_head(t, norm, model->tied_head ? kind->wte : norm_f + (t->g.rms ? 1 : 2)), batch.targets);
}

enum sl_status sl_block_stage(struct sl_transformer g, const struct sl_block_kind *kind) {
  enum sl_status status;
  struct sl_tape t;
  SL_TRY(sl_tape_open(&t, g, g.stage->layer_count + 2));
  record(&t, kind);
  SL_GO(sl_tape_forward(&t));
  sl_transformer_turn(&t.g);
  SL_GO(sl_boundary_take_gradient(&t.g));
  SL_GO(sl_tape_backward(&t));
done:
  sl_tape_free(&t);
  return status;
}
