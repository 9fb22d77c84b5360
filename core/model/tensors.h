/* The logical tensors of a transformer, as tables in model order.
 *
 * Letters: V vocabulary, P positions, C width, I inner width, Q = heads x head_dim, K = key/value heads x head_dim. */
#pragma once

#include "core/model/model.h"

enum sl_model_size { SL_SIZE_NONE, SL_SIZE_V, SL_SIZE_P, SL_SIZE_C, SL_SIZE_C3, SL_SIZE_I, SL_SIZE_Q, SL_SIZE_K };

/* How an entry starts. RESIDUAL: normal with initializer_range / sqrt(2 n_layer), GPT-2's scaling of the two
 * projections of a block that add to the residual stream. */
enum sl_model_start { SL_START_ZEROS, SL_START_ONES, SL_START_NORMAL, SL_START_RESIDUAL };

struct sl_model_entry {
  const char *name; /* within a block: after the prefix "h.N." or "layers.N." */
  enum sl_model_size shape[2];
  enum sl_model_start start;
  int tp_dim, tp_blocks;
};

/* Embeddings, one block, and what stands behind the blocks; a head of its own follows where it is not tied. */
struct sl_model_tables {
  const char *prefix;
  const struct sl_model_entry *head, *block, *tail;
  size_t n_head, n_block, n_tail;
};
#define SL_MODEL_COUNT(table) (sizeof(table) / sizeof *(table))

/* Fill model->tensors from the sizes. On failure (SL_ERR_MEMORY) the model holds what sl_model_free frees. */
enum sl_status sl_model_make_tensors(struct sl_model *model, const struct sl_model_tables *tables);
