/* The logical tensors of a transformer: which parts its form has, the size of each, how tensor parallelism shards it,
 * and its name in the family. Also what is counted from them: parameters and flops. */
#include "core/model/families.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum where { AHEAD, BLOCK, BEHIND };
static const enum where where_of[] = {
#define X(name, where) where,
    SL_PART_MAP(X)
#undef X
};

/* A part as in nn.Linear, (out, in); in 0: a vector. */
struct shape {
  int64_t out, in;
  int tp_dim; /* 0: its outputs are sharded over the tp group (column-parallel), 1: its inputs, -1: replicated */
  int blocks; /* `out` is this many blocks, each sharded on its own */
};

bool sl_model_shares_key_head(const struct sl_model *model) {
  return model->n_kv_head == 1 && model->form.qkv == SL_QKV_APART;
}

static int64_t q_width(const struct sl_model *m) {
  return m->n_head * m->head_dim;
}
static int64_t kv_width(const struct sl_model *m) {
  return m->n_kv_head * m->head_dim;
}

/* q, k and v in one weight: three blocks, or group by group, which is one. */
static struct shape packed_qkv(const struct sl_model *m) {
  return (struct shape){q_width(m) + 2 * kv_width(m), m->n_embd, 0, m->form.qkv == SL_QKV_PACKED ? 3 : 1};
}

/* The block of q is longer than those of k and v if there are fewer key heads. */
static int64_t lead_of(const struct sl_model *m, enum sl_tensor_part part) {
  return part == SL_PART_QKV && m->form.qkv == SL_QKV_PACKED ? m->n_head / m->n_kv_head : 1;
}

/* The norm of q or of k. Every member of a tp group has it whole: it norms all heads alike, or all of them together. */
static struct shape head_norm(const struct sl_model *m, int64_t width) {
  return (struct shape){m->form.qk_norm == SL_QK_NORM_HEAD ? m->head_dim : width, 0, -1, 1};
}

static struct shape shape_of(const struct sl_model *m, enum sl_tensor_part part) {
  const int64_t c = m->n_embd;
  switch (part) {
  case SL_PART_EMBEDDING:
  case SL_PART_HEAD:
    return (struct shape){m->vocab_size, c, 0, 1};
  case SL_PART_POSITIONS:
    return (struct shape){m->n_positions + m->form.position_offset, c, -1, 1};
  case SL_PART_QKV:
    return packed_qkv(m);
  case SL_PART_Q:
    return (struct shape){q_width(m), c, 0, 1};
  case SL_PART_K:
  case SL_PART_V: /* the only key head is every member's */
    return (struct shape){kv_width(m), c, sl_model_shares_key_head(m) ? -1 : 0, 1};
  case SL_PART_Q_NORM:
    return head_norm(m, q_width(m));
  case SL_PART_K_NORM:
    return head_norm(m, kv_width(m));
  case SL_PART_ATTENTION_OUT:
    return (struct shape){c, q_width(m), 1, 1};
  case SL_PART_GATE:
    return (struct shape){m->n_inner, c, 0, 1};
  case SL_PART_UP:
    return m->form.gate_packed ? (struct shape){2 * m->n_inner, c, 0, 2} : (struct shape){m->n_inner, c, 0, 1};
  case SL_PART_DOWN:
    return (struct shape){c, m->n_inner, 1, 1};
  default: /* norms of the residual stream */
    return (struct shape){c, 0, -1, 1};
  }
}

static bool has_part(const struct sl_model *m, enum sl_tensor_part part) {
  const struct sl_form *f = &m->form;
  switch (part) {
  case SL_PART_POSITIONS:
    return f->positions == SL_POSITIONS_TABLE;
  case SL_PART_EMBEDDING_NORM:
    return f->embedding_norm;
  case SL_PART_NORM_1:
    return f->norms != SL_NORMS_AFTER;
  case SL_PART_NORM_2:
    return f->norms != SL_NORMS_AFTER && f->residual != SL_RESIDUAL_PARALLEL_ONE_NORM;
  case SL_PART_POST_NORM_1:
  case SL_PART_POST_NORM_2:
    return f->norms != SL_NORMS_BEFORE;
  case SL_PART_QKV:
    return f->qkv != SL_QKV_APART;
  case SL_PART_Q:
  case SL_PART_K:
  case SL_PART_V:
    return f->qkv == SL_QKV_APART;
  case SL_PART_Q_NORM:
  case SL_PART_K_NORM:
    return f->qk_norm != SL_QK_NORM_NONE;
  case SL_PART_GATE:
    return f->gated && !f->gate_packed;
  case SL_PART_HEAD:
    return !m->tied_head;
  default:
    return true;
  }
}

static bool has_bias(const struct sl_model *m, enum sl_tensor_part part) {
  const struct sl_form *f = &m->form;
  switch (part) {
  case SL_PART_EMBEDDING:
  case SL_PART_POSITIONS:
  case SL_PART_Q_NORM:
  case SL_PART_K_NORM:
    return false;
  case SL_PART_QKV:
  case SL_PART_Q:
  case SL_PART_K:
  case SL_PART_V:
    return f->qkv_bias;
  case SL_PART_ATTENTION_OUT:
    return f->out_bias;
  case SL_PART_GATE:
  case SL_PART_UP:
  case SL_PART_DOWN:
    return f->mlp_bias;
  case SL_PART_HEAD:
    return f->head_bias;
  default: /* norms of the residual stream */
    return !f->rms && !f->norms_unbiased;
  }
}

static bool is_norm(const struct sl_model *m, enum sl_tensor_part part) {
  return shape_of(m, part).in == 0;
}

static void set_start(const struct sl_model *m, struct sl_tensor *t) {
  const bool adds = t->part == SL_PART_ATTENTION_OUT || t->part == SL_PART_DOWN;
  t->init = SL_INIT_ZEROS;
  if (t->bias) return;
  if (is_norm(m, t->part)) {
    t->init = m->form.norms_from_one ? SL_INIT_ZEROS : SL_INIT_ONES;
    return;
  }
  t->init = SL_INIT_NORMAL;
  t->init_scale = m->initializer_range;
  /* GPT-2's scaling of the two projections of a block that add to the residual stream */
  if (adds && m->form.small_residual_init) t->init_scale /= sqrt(2.0 * (double)m->n_layer);
}

static void set_shape(const struct sl_model *m, struct sl_tensor *t) {
  const struct shape s = shape_of(m, t->part);
  const bool turned = !m->form.out_in && where_of[t->part] == BLOCK;
  t->n_dim = t->bias || s.in == 0 ? 1 : 2;
  t->shape[0] = t->n_dim == 2 && turned ? s.in : s.out;
  t->shape[1] = t->n_dim == 1 ? 1 : turned ? s.out : s.in;
  t->numel = t->shape[0] * t->shape[1];
  t->tp_dim = t->n_dim == 2 && turned && s.tp_dim >= 0 ? 1 - s.tp_dim : s.tp_dim;
  if (t->bias && s.tp_dim == 1) t->tp_dim = -1; /* row-parallel: the bias is added after the sum */
  t->tp_blocks = s.blocks, t->tp_lead = lead_of(m, t->part);
  t->vocabulary = t->part == SL_PART_EMBEDDING || t->part == SL_PART_HEAD;
}

static const char *name_of(const struct sl_model *m, enum sl_tensor_part part) {
  const struct sl_family *family = m->family;
  const bool norm = part == SL_PART_NORM_1 || part == SL_PART_NORM_2;
  if (norm && m->form.residual == SL_RESIDUAL_PARALLEL && family->parallel_norms[0] != NULL)
    return family->parallel_norms[part == SL_PART_NORM_2];
  if (family->parts[part] != NULL) return family->parts[part];
  return "attention.qkv"; /* a family without a packed product has no name for it, see sl_model_pack */
}

/* Appends one tensor; there is room for it. */
static void add(struct sl_model *model, enum sl_tensor_part part, bool bias, int layer) {
  const char *const name = name_of(model, part), *const ending = bias ? "bias" : "weight";
  struct sl_tensor *t = &model->tensors[model->tensor_count++];
  t->part = part, t->bias = bias, t->layer = layer, t->decay = true;
  if (where_of[part] == BLOCK)
    snprintf(t->name, sizeof t->name, "%s.%d.%s.%s", model->family->prefix, layer, name, ending);
  else
    snprintf(t->name, sizeof t->name, "%s.%s", name, ending);
  set_shape(model, t);
  set_start(model, t);
}

/* Appends the parts of a region, each with its bias. */
static void add_region(struct sl_model *model, enum where where, int layer) {
  const int base = where == BLOCK ? model->tensor_count : 0;
  for (int part = 0; part < SL_PART_COUNT; part++) {
    if (where_of[part] != where || !has_part(model, (enum sl_tensor_part)part)) continue;
    model->part_at[part] = model->tensor_count - base;
    add(model, (enum sl_tensor_part)part, false, layer);
    if (has_bias(model, (enum sl_tensor_part)part)) add(model, (enum sl_tensor_part)part, true, layer);
  }
}

enum sl_status sl_transformer_tensors(struct sl_model *model) {
  SL_TRY(sl_calloc(&model->tensors, 2 * SL_PART_COUNT * ((size_t)model->n_layer + 1), sizeof *model->tensors));
  for (int part = 0; part < SL_PART_COUNT; part++) model->part_at[part] = -1;
  model->tensor_count = 0;
  add_region(model, AHEAD, -1);
  model->first_block = model->tensor_count;
  for (int layer = 0; layer < model->n_layer; layer++) add_region(model, BLOCK, layer);
  model->block_tensors = (int)((model->tensor_count - model->first_block) / model->n_layer);
  add_region(model, BEHIND, (int)model->n_layer);
  return SL_OK;
}

enum sl_status sl_model_pack(struct sl_model *out, const struct sl_model *model, bool qkv, bool gate) {
  *out = *model;
  out->tensors = NULL;
  if (qkv) out->form.qkv = SL_QKV_BY_GROUP;
  if (gate) out->form.gate_packed = true;
  return sl_transformer_tensors(out);
}

int sl_model_part(const struct sl_model *model, enum sl_tensor_part part, int layer) {
  const int at = model->part_at[part];
  if (at < 0) return -1;
  return where_of[part] == BLOCK ? model->first_block + layer * model->block_tensors + at : at;
}

int64_t sl_model_numel(const struct sl_model *model) {
  int64_t sum = 0;
  for (int i = 0; i < model->tensor_count; i++) sum += model->tensors[i].numel;
  return sum;
}

/* The name without the prefix of the base model: that of the family, of GPT-2 or of Llama. */
static const char *bare(const struct sl_model *model, const char *name) {
  const char *const bases[] = {model->family->base, "transformer.", "model."};
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
    if (bases[i] != NULL && strncmp(name, bases[i], strlen(bases[i])) == 0) return name + strlen(bases[i]);
  return name;
}

int sl_model_find(const struct sl_model *model, const char *name) {
  for (int i = 0; i < model->tensor_count; i++)
    if (strcmp(model->tensors[i].name, bare(model, name)) == 0) return i;
  return -1;
}

/* Keys per query in a sequence of `seq`, summed over the layers, as the formula counts them: all of seq, even what the
 * causal mask hides, or the window. */
static double attended(const struct sl_model *model, int64_t seq) {
  double sum = 0;
  for (int layer = 0; layer < model->n_layer; layer++) {
    const int64_t window = sl_model_window(model, layer);
    sum += (double)(window > 0 && window < seq ? window : seq);
  }
  return sum;
}

double sl_model_flops(const struct sl_model *model, int64_t tokens, int64_t seq) {
  /* parameters that multiply every token: the matrices of the blocks and the LM head, not the looked-up embeddings */
  double weights = 0;
  for (int i = 0; i < model->tensor_count; i++) {
    const struct sl_tensor *tensor = &model->tensors[i];
    if (tensor->n_dim == 2 && tensor->layer >= 0) weights += (double)tensor->numel;
  }
  if (model->tied_head) weights += (double)model->vocab_size * (double)model->n_embd;
  const double attention = 12.0 * attended(model, seq) * (double)(model->n_head * model->head_dim);
  return (double)tokens * (6.0 * weights + attention);
}
