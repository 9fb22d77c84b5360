/* Tables of tensors to logical tensors, and what is counted from them: parameters and flops; see tensors.h. */
#include "core/model/tensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of every tables, where the head is not the embedding. */
static const struct sl_model_entry untied_head = {"lm_head.weight", {SL_SIZE_V, SL_SIZE_C}, SL_START_NORMAL, 0, 1};

static int64_t size_of(const struct sl_model *model, enum sl_model_size size) {
  switch (size) {
  case SL_SIZE_V:
    return model->vocab_size;
  case SL_SIZE_P:
    return model->n_positions;
  case SL_SIZE_C:
    return model->n_embd;
  case SL_SIZE_C3:
    return 3 * model->n_embd;
  case SL_SIZE_I:
    return model->n_inner;
  case SL_SIZE_Q:
    return model->n_head * model->head_dim;
  case SL_SIZE_K:
    return model->n_kv_head * model->head_dim;
  default:
    return 1;
  }
}

/* Append one tensor; there is room. Names in a block start with `prefix` and the layer. */
static void add(struct sl_model *model, const struct sl_model_entry *entry, const char *prefix, int layer,
                bool in_block) {
  struct sl_tensor *tensor = &model->tensors[model->tensor_count++];
  if (in_block)
    snprintf(tensor->name, sizeof tensor->name, "%s.%d.%s", prefix, layer, entry->name);
  else
    snprintf(tensor->name, sizeof tensor->name, "%s", entry->name);
  tensor->n_dim = entry->shape[1] == SL_SIZE_NONE ? 1 : 2;
  tensor->shape[0] = size_of(model, entry->shape[0]);
  tensor->shape[1] = size_of(model, entry->shape[1]);
  tensor->numel = tensor->shape[0] * tensor->shape[1];
  tensor->init = entry->start == SL_START_ZEROS  ? SL_INIT_ZEROS
                 : entry->start == SL_START_ONES ? SL_INIT_ONES
                                                 : SL_INIT_NORMAL;
  if (entry->start == SL_START_NORMAL) tensor->init_scale = model->initializer_range;
  if (entry->start == SL_START_RESIDUAL)
    tensor->init_scale = model->initializer_range / sqrt(2.0 * (double)model->n_layer);
  tensor->layer = layer;
  tensor->tp_dim = entry->tp_dim;
  tensor->tp_blocks = entry->tp_blocks;
  tensor->vocabulary = entry->shape[0] == SL_SIZE_V;
  tensor->decay = true;
}

enum sl_status sl_model_make_tensors(struct sl_model *model, const struct sl_model_tables *tables) {
  const size_t n = tables->n_head + (size_t)model->n_layer * tables->n_block + tables->n_tail + 1;
  SL_TRY(sl_calloc(&model->tensors, n, sizeof *model->tensors));
  for (size_t i = 0; i < tables->n_head; i++) add(model, &tables->head[i], "", -1, false);
  for (int layer = 0; layer < model->n_layer; layer++)
    for (size_t i = 0; i < tables->n_block; i++) add(model, &tables->block[i], tables->prefix, layer, true);
  for (size_t i = 0; i < tables->n_tail; i++) add(model, &tables->tail[i], "", (int)model->n_layer, false);
  if (!model->tied_head) add(model, &untied_head, "", (int)model->n_layer, false);
  return SL_OK;
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
  if (model->tied_head) weights += (double)model->vocab_size * (double)model->n_embd;
  const double attention = 12.0 * (double)model->n_layer * (double)seq * (double)(model->n_head * model->head_dim);
  return (double)tokens * (6.0 * weights + attention);
}
