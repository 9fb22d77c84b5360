/* Writes the forward of one micro-batch of a decoder on a stage, as the model's form says (core/model/form.h). Families
 * differ only in their form, so none has a builder of its own. The letters are those of models/transformer.h.
 *
 *   norms before (after, around) a branch      x + f(norm(x)),  x + norm(f(x)),  x + norm(f(norm(x)))
 *   sequential branches                        mid = x + attention(x),  out = mid + mlp(mid)
 *   parallel branches                          out = (x + attention(x)) + mlp(x), through a norm each or a common
 * one */
#include "core/models/activation.h"
#include "core/models/autocast.h"
#include "core/models/boundary.h"
#include "core/models/columns.h"
#include "core/models/context.h"
#include "core/models/ends.h"
#include "core/models/kept.h"
#include "core/models/linear.h"
#include "core/models/models.h"
#include "core/models/norm.h"
#include "core/models/residual.h"
#include "core/models/rope.h"
#include "core/plan/kernels.h"

static const struct sl_form *form_of(const struct sl_tape *t) {
  return &t->g.l->plan->model->form;
}

/* The weight of a part, of the current block if the part is a block's; its bias follows it. */
static int weight_of(const struct sl_tape *t, enum sl_tensor_part part) {
  return sl_model_part(t->g.l->plan->model, part, t->sections[t->section_count - 1].layer);
}

static struct sl_column column(const struct sl_tape *t, enum sl_tensor_part part, bool biased, int64_t width,
                               const char *name, const char *gradient_name) {
  const int weight = weight_of(t, part);
  return (struct sl_column){name, gradient_name, weight, biased ? weight + 1 : -1, width};
}

/* The norm of a part over rows of the residual stream; x itself if the form has no such norm. */
static int norm(struct sl_tape *t, enum sl_tensor_part part, int x, const char *name) {
  const int weight = weight_of(t, part);
  return weight < 0 ? x : sl_norm(t, x, weight, name, "dnorm");
}

/* ---- attention ---- */

/* (R, (H + 2G) D) in one value, or (R, H D) and twice (R, G D). */
static struct sl_qkv project(struct sl_tape *t, int x) {
  const int64_t q = t->g.h * t->g.d, kv = t->g.g * t->g.d;
  const bool apart = form_of(t)->qkv == SL_QKV_APART, biased = form_of(t)->qkv_bias;
  const struct sl_column packed = column(t, SL_PART_QKV, biased, q + 2 * kv, "attn.qkv", "dqkv");
  const struct sl_column columns[3] = {column(t, SL_PART_Q, biased, q, "attn.q", "dq"),
                                       column(t, SL_PART_K, biased, kv, "attn.k", "dk"),
                                       column(t, SL_PART_V, biased, kv, "attn.v", "dv")};
  int out[3] = {0};
  sl_columns(t, x, apart ? 3 : 1, apart ? columns : &packed, false, out);
  return (struct sl_qkv){out[0], out[1], out[2]};
}

/* The norm over all heads of a token, which the members of a tp group gather for it. */
static int norm_of_all(struct sl_tape *t, enum sl_tensor_part part, int x, const char *name,
                       const char *gradient_name) {
  const int whole = sl_columns_gather(t, x, "attn.gathered", "dgathered");
  return sl_columns_own(t, sl_head_norm(t, whole, weight_of(t, part), 1, name, gradient_name), "attn.own", "down");
}

/* q and k are normalised, then rotated by their positions. */
static struct sl_qkv prepare(struct sl_tape *t, struct sl_qkv x) {
  const enum sl_qk_norm over = form_of(t)->qk_norm;
  if (over == SL_QK_NORM_HEAD) {
    x.q = sl_head_norm(t, x.q, weight_of(t, SL_PART_Q_NORM), t->g.h, "attn.q_norm", "dq_norm");
    x.k = sl_head_norm(t, x.k, weight_of(t, SL_PART_K_NORM), t->g.g, "attn.k_norm", "dk_norm");
  } else if (over == SL_QK_NORM_ALL) {
    x.q = norm_of_all(t, SL_PART_Q_NORM, x.q, "attn.q_norm", "dq_norm");
    if (sl_model_shares_key_head(t->g.l->plan->model)) /* which each member has whole */
      x.k = sl_head_norm(t, x.k, weight_of(t, SL_PART_K_NORM), 1, "attn.k_norm", "dk_norm");
    else
      x.k = norm_of_all(t, SL_PART_K_NORM, x.k, "attn.k_norm", "dk_norm");
  }
  x.q = sl_autocast_for_product(t, x.q), x.k = sl_autocast_for_product(t, x.k);
  return form_of(t)->positions == SL_POSITIONS_ROTARY ? sl_rope(t, x) : x;
}

static int attention(struct sl_tape *t, int x) {
  const int weight = weight_of(t, SL_PART_ATTENTION_OUT), bias = form_of(t)->out_bias ? weight + 1 : -1;
  const struct sl_qkv in = sl_context(t, prepare(t, project(t, x)));
  sl_keep_beside_attention(t, in);
  const int attended = sl_context_back(t, sl_attention(t, in));
  const int out = sl_row(t, attended, weight, bias);
  return norm(t, SL_PART_POST_NORM_1, out, "post_norm_1");
}

/* ---- MLP ---- */

static int mlp(struct sl_tape *t, int x) {
  const struct sl_form *f = form_of(t);
  const struct sl_act act = sl_act_of(f);
  const bool apart = sl_kernel_set(t->g.l->plan->config->sl.kernels)->sums_apart;
  const int weight = weight_of(t, SL_PART_DOWN), bias = f->mlp_bias ? weight + 1 : -1;
  const struct sl_column one[] = {
      column(t, SL_PART_UP, f->mlp_bias, f->gated ? 2 * t->g.i : t->g.i, f->gated ? "mlp.gate_up" : "mlp.fc", "dup")};
  const struct sl_column two[] = {column(t, SL_PART_GATE, f->mlp_bias, t->g.i, "mlp.gate", "dgate"),
                                  column(t, SL_PART_UP, f->mlp_bias, t->g.i, "mlp.up", "dup")};
  const bool pair = f->gated && !f->gate_packed;
  int in[2] = {0};
  sl_columns(t, x, pair ? 2 : 1, pair ? two : one, apart, in);
  const int out = sl_row(t, sl_activate(t, &act, in[0], in[1]), weight, bias);
  return norm(t, SL_PART_POST_NORM_2, out, "post_norm_2");
}

/* ---- blocks ---- */

/* Adds `branch`, the result of a row-parallel product or its norm, to the stream. Where tensor parallelism sums partial
 * products, this addition also adds the bias. */
static int add_branch(struct sl_tape *t, enum sl_branch number, int from, int branch) {
  const bool attends = number == SL_BRANCH_ATTENTION;
  const int weight = weight_of(t, attends ? SL_PART_ATTENTION_OUT : SL_PART_DOWN);
  const bool biased = attends ? form_of(t)->out_bias : form_of(t)->mlp_bias;
  const bool left = biased && t->g.tp > 1;
  return sl_residual_add(t, number, from, branch, left ? weight + 1 : -1, attends ? "x_mid" : "x_out", !attends);
}

static int sequential(struct sl_tape *t, int x, const char *const names[2]) {
  const int mid = add_branch(t, SL_BRANCH_ATTENTION, x, attention(t, norm(t, SL_PART_NORM_1, x, names[0])));
  return add_branch(t, SL_BRANCH_MLP, mid, mlp(t, norm(t, SL_PART_NORM_2, mid, names[1])));
}

static int parallel(struct sl_tape *t, int x, const char *const names[2]) {
  const int first = norm(t, SL_PART_NORM_1, x, names[0]), attended = attention(t, first);
  const bool one = form_of(t)->residual == SL_RESIDUAL_PARALLEL_ONE_NORM;
  const int out = mlp(t, one ? first : norm(t, SL_PART_NORM_2, x, names[1]));
  return add_branch(t, SL_BRANCH_MLP, add_branch(t, SL_BRANCH_ATTENTION, x, attended), out);
}

static int block(struct sl_tape *t, int x) {
  static const char *const layer[] = {"ln_1", "ln_2"}, *const rms[] = {"norm_1", "norm_2"};
  const char *const *names = form_of(t)->rms ? rms : layer;
  x = form_of(t)->residual == SL_RESIDUAL_SEQUENTIAL ? sequential(t, x, names) : parallel(t, x, names);
  sl_keep_product(t);
  return x;
}

/* ---- the stage ---- */

static int begin(struct sl_tape *t, int tokens) {
  const bool normed = form_of(t)->embedding_norm;
  if (!t->g.stage->embedding) return sl_arrive(t);
  const int x = sl_embedding(t, tokens, weight_of(t, SL_PART_EMBEDDING), weight_of(t, SL_PART_POSITIONS), !normed);
  return normed ? sl_stream_norm(t, x, weight_of(t, SL_PART_EMBEDDING_NORM), "embedding.norm", "dembedding_norm") : x;
}

static void end(struct sl_tape *t, int x, int targets) {
  const struct sl_model *model = t->g.l->plan->model;
  const int head = model->tied_head ? weight_of(t, SL_PART_EMBEDDING) : weight_of(t, SL_PART_HEAD);
  const int last = sl_norm(t, x, weight_of(t, SL_PART_FINAL_NORM), "ln_f", "dln_f");
  int logits = sl_head(t, last, head, model->form.head_bias ? head + 1 : -1);
  if (t->g.l->plan->tp_vocab == SL_TP_VOCAB_GATHERED)
    logits = sl_columns_gather(t, logits, "logits.all", "dlogits.all");
  sl_loss(t, sl_cap(t, logits), targets);
}

static void record(struct sl_tape *t) {
  const struct sl_stage *stage = t->g.stage;
  sl_tape_section(t, -1, 0);
  const struct sl_batch batch = sl_load(t);
  int x = begin(t, batch.tokens);
  for (int layer = stage->first_layer; layer < stage->first_layer + stage->layer_count; layer++) {
    sl_tape_section(t, layer, x);
    x = block(t, x);
  }
  sl_tape_section(t, stage->head ? (int)t->g.l->plan->model->n_layer : -1, x);
  if (stage->head)
    end(t, x, batch.targets);
  else
    sl_leave(t, x);
}

enum sl_status sl_models_decoder(struct sl_lowering *l) {
  enum sl_status status;
  struct sl_tape t;
  SL_TRY(sl_tape_open(&t, sl_transformer_of(l), l->stage->stage->layer_count + 2));
  record(&t);
  SL_GO(sl_tape_forward(&t));
  sl_transformer_turn(&t.g);
  SL_GO(sl_boundary_take_gradient(&t.g));
  SL_GO(sl_tape_backward(&t));
done:
  sl_tape_free(&t);
  return status;
}
