/* The families: a row each. A new one has a file of its own here, with its row, and a line in SL_FAMILY_MAP; core/models builds
 * it from its form. */
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
  /* Sizes and form, with the family's names and defaults, n_layer among them. */
  enum sl_status (*read)(struct sl_model *model, const struct sl_json_object *in);
  /* model->tensors from the sizes. */
  enum sl_status (*make_tensors)(struct sl_model *model);
  json_t *(*to_json)(const struct sl_model *model);
  /* of a transformer: its keys, what Hugging Face calls its parts, without ".weight", those of a block behind "PREFIX.N." */
  const struct sl_model_key *keys;
  size_t key_count;
  void (*write)(const struct sl_model *model, json_t *out); /* (optional) what `read` reads beside the keys */
  const char *base;   /* what stands before names in Hugging Face's files of a whole model, "transformer." */
  const char *prefix; /* "h" */
  const char *parts[SL_PART_COUNT];
  const char *parallel_norms[2]; /* NORM_1 and NORM_2 of parallel branches, where those are called otherwise */
  struct sl_rotary_keys rotary;
};
#define SL_FAMILY_KEYS(table) .keys = table, .key_count = sizeof(table) / sizeof *(table)
/* What the rows of transformers share. */
#define SL_TRANSFORMER .tokens = true, .make_tensors = sl_transformer_tensors, .to_json = sl_transformer_to_json
/* What Hugging Face calls the parts of a block that came with Llama: q, k and v apart, and a gated MLP. */
#define SL_LLAMA_ATTENTION                                                                                             \
  [SL_PART_NORM_1] = "input_layernorm", [SL_PART_Q] = "self_attn.q_proj", [SL_PART_K] = "self_attn.k_proj",            \
  [SL_PART_V] = "self_attn.v_proj", [SL_PART_ATTENTION_OUT] = "self_attn.o_proj"
#define SL_LLAMA_MLP [SL_PART_GATE] = "mlp.gate_proj", [SL_PART_UP] = "mlp.up_proj", [SL_PART_DOWN] = "mlp.down_proj"
#define SL_LLAMA_ENDS .base = "model.", .prefix = "layers"
#define SL_LLAMA_ENDS_PARTS                                                                                            \
  [SL_PART_EMBEDDING] = "embed_tokens", [SL_PART_FINAL_NORM] = "norm", [SL_PART_HEAD] = "lm_head"

#define X(type, name) extern const struct sl_family sl_model_##name;
SL_FAMILY_MAP(X)
#undef X

/* Set the type and the family of `model` by a config.json's model_type; false: there is no family of that name. */
bool sl_family_find(const char *name, struct sl_model *model);
/* All names, quoted, as one expects one of them. Returns `text`. */
const char *sl_family_names(char *text, size_t size);
/* The name nearest to `name`; NULL when none is near. */
const char *sl_family_nearest(const char *name);
