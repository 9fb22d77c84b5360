/* The logical tensors of each family, as tables in model order, and what is counted from them: parameters and flops.
 *
 * Letters: V vocabulary, P positions, C width, I inner width, Q = heads x head_dim, K = key/value heads x head_dim. */
#include "core/model/tensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum size { NONE, V, P, C, C3, I, Q, K };

/* How an entry starts. RESIDUAL: normal with initializer_range / sqrt(2 n_layer), GPT-2's scaling of the two
 * projections of a block that add to the residual stream. */
enum start { ZEROS, ONES, NORMAL, RESIDUAL };

struct entry {
  const char *name; /* within a block: after the prefix "h.N." or "layers.N." */
  enum size shape[2];
  enum start start;
  int tp_dim, tp_blocks;
};

/* GPT-2 as transformers' Conv1D keeps it: weights are (in, out). */
static const struct entry gpt2_head[] = {
    {"wte.weight", {V, C}, NORMAL, 0, 1},
    {"wpe.weight", {P, C}, NORMAL, -1, 1},
};
static const struct entry gpt2_block[] = {
    {"ln_1.weight", {C}, ONES, -1, 1},
    {"ln_1.bias", {C}, ZEROS, -1, 1},
    {"attn.c_attn.weight", {C, C3}, NORMAL, 1, 3},
    {"attn.c_attn.bias", {C3}, ZEROS, 0, 3},
    {"attn.c_proj.weight", {C, C}, RESIDUAL, 0, 1},
    {"attn.c_proj.bias", {C}, ZEROS, -1, 1},
    {"ln_2.weight", {C}, ONES, -1, 1},
    {"ln_2.bias", {C}, ZEROS, -1, 1},
    {"mlp.c_fc.weight", {C, I}, NORMAL, 1, 1},
    {"mlp.c_fc.bias", {I}, ZEROS, 0, 1},
    {"mlp.c_proj.weight", {I, C}, RESIDUAL, 0, 1},
    {"mlp.c_proj.bias", {C}, ZEROS, -1, 1},
};
static const struct entry gpt2_tail[] = {
    {"ln_f.weight", {C}, ONES, -1, 1},
    {"ln_f.bias", {C}, ZEROS, -1, 1},
};

/* Llama as nn.Linear keeps it: weights are (out, in). */
static const struct entry llama_head[] = {{"embed_tokens.weight", {V, C}, NORMAL, 0, 1}};
static const struct entry llama_block[] = {
    {"input_layernorm.weight", {C}, ONES, -1, 1},      {"self_attn.q_proj.weight", {Q, C}, NORMAL, 0, 1},
    {"self_attn.k_proj.weight", {K, C}, NORMAL, 0, 1}, {"self_attn.v_proj.weight", {K, C}, NORMAL, 0, 1},
    {"self_attn.o_proj.weight", {C, Q}, NORMAL, 1, 1}, {"post_attention_layernorm.weight", {C}, ONES, -1, 1},
    {"mlp.gate_proj.weight", {I, C}, NORMAL, 0, 1},    {"mlp.up_proj.weight", {I, C}, NORMAL, 0, 1},
    {"mlp.down_proj.weight", {C, I}, NORMAL, 1, 1},
};
static const struct entry llama_tail[] = {{"norm.weight", {C}, ONES, -1, 1}};

/* Of both families, where the head is not the embedding. */
static const struct entry untied_head = {"lm_head.weight", {V, C}, NORMAL, 0, 1};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static int64_t size_of(const struct sl_model *model, enum size size) {
  switch (size) {
  case V:
    return model->vocab_size;
  case P:
    return model->n_positions;
  case C:
    return model->n_embd;
  case C3:
    return 3 * model->n_embd;
  case I:
    return model->n_inner;
  case Q:
    return model->n_head * model->head_dim;
  case K:
    return model->n_kv_head * model->head_dim;
  default:
    return 1;
  }
}

/* Append one tensor; there is room. Names in a block start with `prefix` and the layer. */
static void add(struct sl_model *model, const struct entry *entry, const char *prefix, int layer, bool in_block) {
  struct sl_tensor *tensor = &model->tensors[model->tensor_count++];
  if (in_block)
    snprintf(tensor->name, sizeof tensor->name, "%s.%d.%s", prefix, layer, entry->name);
  else
    snprintf(tensor->name, sizeof tensor->name, "%s", entry->name);
  tensor->n_dim = entry->shape[1] == NONE ? 1 : 2;
  tensor->shape[0] = size_of(model, entry->shape[0]);
  tensor->shape[1] = size_of(model, entry->shape[1]);
  tensor->numel = tensor->shape[0] * tensor->shape[1];
  tensor->init = entry->start == ZEROS ? SL_INIT_ZEROS : entry->start == ONES ? SL_INIT_ONES : SL_INIT_NORMAL;
  if (entry->start == NORMAL) tensor->init_scale = model->initializer_range;
  if (entry->start == RESIDUAL) tensor->init_scale = model->initializer_range / sqrt(2.0 * (double)model->n_layer);
  tensor->layer = layer;
  tensor->tp_dim = entry->tp_dim;
  tensor->tp_blocks = entry->tp_blocks;
  tensor->vocabulary = entry->shape[0] == V;
  tensor->decay = true;
}

struct family {
  const char *prefix;
  const struct entry *head, *block, *tail;
  size_t n_head, n_block, n_tail;
};

static const struct family gpt2 = {
    "h", gpt2_head, gpt2_block, gpt2_tail, COUNT(gpt2_head), COUNT(gpt2_block), COUNT(gpt2_tail)};
static const struct family llama = {"layers",          llama_head,         llama_block,      llama_tail,
                                    COUNT(llama_head), COUNT(llama_block), COUNT(llama_tail)};

static enum sl_status make_transformer(struct sl_model *model, const struct family *family) {
  const size_t n = family->n_head + (size_t)model->n_layer * family->n_block + family->n_tail + 1;
  SL_TRY(sl_calloc(&model->tensors, n, sizeof *model->tensors));
  for (size_t i = 0; i < family->n_head; i++) add(model, &family->head[i], "", -1, false);
  for (int layer = 0; layer < model->n_layer; layer++)
    for (size_t i = 0; i < family->n_block; i++) add(model, &family->block[i], family->prefix, layer, true);
  for (size_t i = 0; i < family->n_tail; i++) add(model, &family->tail[i], "", (int)model->n_layer, false);
  if (!model->tied_head) add(model, &untied_head, "", (int)model->n_layer, false);
  return SL_OK;
}

/* Linear layers as PyTorch starts them: weight and bias uniform within 1/sqrt(in). Tensor parallelism cuts their outputs
 * (Megatron-LM's ColumnParallelLinear). */
static enum sl_status make_mlp(struct sl_model *model) {
  const int layers = model->n_dims - 1;
  SL_TRY(sl_calloc(&model->tensors, 2 * (size_t)layers, sizeof *model->tensors));
  for (int layer = 0; layer < layers; layer++) {
    const int64_t in = model->dims[layer], out = model->dims[layer + 1];
    struct sl_tensor *tensor = &model->tensors[model->tensor_count];
    model->tensor_count += 2;
    tensor[0] = (struct sl_tensor){.n_dim = 2,
                                   .shape = {out, in},
                                   .numel = out * in,
                                   .init = SL_INIT_UNIFORM,
                                   .init_scale = 1.0 / sqrt((double)in),
                                   .layer = layer,
                                   .tp_blocks = 1,
                                   .decay = true};
    tensor[1] = tensor[0];
    tensor[1].n_dim = 1, tensor[1].shape[1] = 1, tensor[1].numel = out;
    tensor[0].tp_dim = tensor[1].tp_dim = 0;
    snprintf(tensor[0].name, sizeof tensor->name, "layers.%d.weight", layer);
    snprintf(tensor[1].name, sizeof tensor->name, "layers.%d.bias", layer);
  }
  return SL_OK;
}

enum sl_status sl_model_make_tensors(struct sl_model *model) {
  switch (model->type) {
  case SL_MODEL_GPT2:
    return make_transformer(model, &gpt2);
  case SL_MODEL_LLAMA:
    return make_transformer(model, &llama);
  default:
    return make_mlp(model);
  }
}

int64_t sl_model_numel(const struct sl_model *model) {
  int64_t sum = 0;
  for (int i = 0; i < model->tensor_count; i++) sum += model->tensors[i].numel;
  return sum;
}

static const char *bare(const char *name) {
  if (strncmp(name, "transformer.", 12) == 0) return name + 12;
  if (strncmp(name, "model.", 6) == 0) return name + 6;
  return name;
}

int sl_model_find(const struct sl_model *model, const char *name) {
  for (int i = 0; i < model->tensor_count; i++)
    if (strcmp(model->tensors[i].name, bare(name)) == 0) return i;
  return -1;
}

double sl_model_flops(const struct sl_model *model, int64_t tokens, int64_t seq) {
  double weights =
      0; /* that multiply every token: the matrices of the blocks and the head, not the looked-up embeddings */
  for (int i = 0; i < model->tensor_count; i++) {
    const struct sl_tensor *tensor = &model->tensors[i];
    if (tensor->n_dim == 2 && tensor->layer >= 0) weights += (double)tensor->numel;
  }
  if (model->type != SL_MODEL_MLP && model->tied_head) weights += (double)model->vocab_size * (double)model->n_embd;
  const double attention = 12.0 * (double)model->n_layer * (double)seq * (double)(model->n_head * model->head_dim);
  return (double)tokens * (6.0 * weights + (model->type == SL_MODEL_MLP ? 0.0 : attention));
}
