/* The model families, a row each. A new family has a file of its own here, with its row, and a line in SL_FAMILY_MAP
 * (core/model/model.h); core/models builds its blocks from its form. */
#pragma once

#include "core/base/json_get.h"
#include "core/model/keys.h"
#include "core/model/model.h"
#include "core/model/rotary.h"
#include "core/model/tensors.h"
#include "core/model/transformer.h"

struct sl_family {
  const char *name; /* config.json's model_type */
  bool tokens;      /* see sl_model_reads_tokens */
  /* Reads sizes and form from a config.json, with the family's names and defaults; n_layer is one of them. */
  enum sl_status (*read)(struct sl_model *model, const struct sl_json_object *in);
  /* Fills model->tensors from the sizes. */
  enum sl_status (*make_tensors)(struct sl_model *model);
  json_t *(*to_json)(const struct sl_model *model);
  /* transformers only: its keys, and Hugging Face's names of its parts without ".weight", those in a block without
   * "PREFIX.N." */
  const struct sl_model_key *keys;
  size_t key_count;
  /* (optional) writes what `read` reads in addition to the keys */
  void (*write)(const struct sl_model *model, json_t *out);
  const char *base;   /* prefix of names in Hugging Face's files of a whole model, "transformer." */
  const char *prefix; /* "h" */
  const char *parts[SL_PART_COUNT];
  const char *parallel_norms[2]; /* NORM_1 and NORM_2 of parallel branches, if they have other names */
  struct sl_rotary_keys rotary;
  int autotp_gathers; /* see sl_model_autotp_gathers */
};
#define SL_FAMILY_KEYS(table) .keys = table, .key_count = sizeof(table) / sizeof *(table)
/* What all rows of transformers share. */
#define SL_TRANSFORMER .tokens = true, .make_tensors = sl_transformer_tensors, .to_json = sl_transformer_to_json
/* Hugging Face's names of the parts of a block since Llama: separate q, k and v, and a gated MLP, or a plain
 * one. */
#define SL_LLAMA_ATTENTION                                                                                             \
  [SL_PART_NORM_1] = "input_layernorm", [SL_PART_Q] = "self_attn.q_proj", [SL_PART_K] = "self_attn.k_proj",            \
  [SL_PART_V] = "self_attn.v_proj", [SL_PART_ATTENTION_OUT] = "self_attn.o_proj"
#define SL_LLAMA_MLP [SL_PART_GATE] = "mlp.gate_proj", [SL_PART_UP] = "mlp.up_proj", [SL_PART_DOWN] = "mlp.down_proj"
#define SL_PLAIN_MLP [SL_PART_UP] = "mlp.up_proj", [SL_PART_DOWN] = "mlp.down_proj"
#define SL_LLAMA_ENDS .base = "model.", .prefix = "layers"
#define SL_LLAMA_ENDS_PARTS                                                                                            \
  [SL_PART_EMBEDDING] = "embed_tokens", [SL_PART_FINAL_NORM] = "norm", [SL_PART_HEAD] = "lm_head"
/* GPT-2's keys, which GPTBigCode has with the same defaults, and the names of their parts. */
#define SL_GPT2_KEYS                                                                                                   \
  SL_SIZE_KEY("vocab_size", NULL, vocab_size, 50257, SL_MAX_ROWS),                                                     \
      SL_SIZE_KEY("n_positions", "max_position_embeddings", n_positions, 1024, SL_MAX_ROWS),                           \
      SL_SIZE_KEY("n_embd", "hidden_size", n_embd, 768, SL_MAX_WIDTH),                                                 \
      SL_SIZE_KEY("n_layer", "num_hidden_layers", n_layer, 12, SL_MAX_LAYERS),                                         \
      SL_SIZE_KEY("n_head", "num_attention_heads", n_head, 12, SL_MAX_WIDTH),                                          \
      SL_SIZE_KEY("n_inner", NULL, n_inner, 0, SL_MAX_INNER), SL_DROPOUT_KEY("embd_pdrop", embd_pdrop, 0.1),           \
      SL_DROPOUT_KEY("attn_pdrop", attn_pdrop, 0.1), SL_DROPOUT_KEY("resid_pdrop", resid_pdrop, 0.1),                  \
      SL_REAL_KEY("layer_norm_epsilon", norm_epsilon, 1e-5, 1),                                                        \
      SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),                                                 \
      SL_BOOL_KEY("tie_word_embeddings", tied_head, true),                                                             \
      SL_ACTIVATION_KEY("activation_function", SL_ACTIVATIONS_PLAIN)
#define SL_GPT2_PARTS                                                                                                  \
  [SL_PART_EMBEDDING] = "wte", [SL_PART_POSITIONS] = "wpe", [SL_PART_NORM_1] = "ln_1", [SL_PART_QKV] = "attn.c_attn",  \
  [SL_PART_ATTENTION_OUT] = "attn.c_proj", [SL_PART_NORM_2] = "ln_2", [SL_PART_UP] = "mlp.c_fc",                       \
  [SL_PART_DOWN] = "mlp.c_proj", [SL_PART_FINAL_NORM] = "ln_f", [SL_PART_HEAD] = "lm_head"

#define X(type, name) extern const struct sl_family sl_model_##name;
SL_FAMILY_MAP(X)
#undef X

/* Set the type and the family of `model` by a config.json's model_type; false: there is no family of that name. */
bool sl_family_find(const char *name, struct sl_model *model);
/* All names, quoted, as "expected one of ..." lists them. Returns `text`. */
const char *sl_family_names(char *text, size_t size);
/* Whether a family that is not modelled has experts. */
bool sl_family_has_experts(const char *name);
/* The name most similar to `name`; NULL if none is similar. */
const char *sl_family_nearest(const char *name);
