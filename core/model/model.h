/* The model: what a Hugging Face config.json (or an "mlp" description) says, and the logical tensors that follow from
 * it.
 *
 * A logical tensor is a parameter as the framework names it ("h.3.attn.c_attn.weight"), before any partitioning. The
 * plan maps it to pieces; checkpoints speak only of logical tensors. */
#pragma once

#include "core/base/json.h"
#include "core/base/limits.h"
#include "core/base/status.h"
#include "core/model/form.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The families: X(type, name of its row, sl_model_NAME, and of its builder, sl_models_NAME). */
#define SL_FAMILY_MAP(X)                                                                                               \
  X(GPT2, gpt2)                                                                                                        \
  X(LLAMA, llama)                                                                                                      \
  X(MISTRAL, mistral)                                                                                                  \
  X(QWEN2, qwen2)                                                                                                      \
  X(QWEN3, qwen3)                                                                                                      \
  X(GEMMA, gemma)                                                                                                      \
  X(GEMMA2, gemma2)                                                                                                    \
  X(GEMMA3, gemma3)                                                                                                    \
  X(PHI3, phi3)                                                                                                        \
  X(OLMO2, olmo2)                                                                                                      \
  X(STARCODER2, starcoder2)                                                                                            \
  X(GPT_NEOX, gpt_neox)                                                                                                \
  X(GPTJ, gptj)                                                                                                        \
  X(OPT, opt)                                                                                                          \
  X(FALCON, falcon)                                                                                                    \
  X(BLOOM, bloom)                                                                                                      \
  X(MPT, mpt)                                                                                                          \
  X(MLP, mlp)
enum sl_model_type {
#define X(type, name) SL_MODEL_##type,
  SL_FAMILY_MAP(X)
#undef X
};
enum sl_init { SL_INIT_NORMAL, SL_INIT_ZEROS, SL_INIT_ONES, SL_INIT_UNIFORM /* U(-init_scale, init_scale) */ };

enum { SL_MLP_MAX_DIMS = 32 };

struct sl_tensor {
  char name[64];    /* Hugging Face name without the prefix of its base model ("transformer.", "model.") */
  int n_dim;        /* 1 or 2 */
  int64_t shape[2]; /* gpt2: weights are (in, out), as Conv1D keeps them; all others: (out, in), as Linear does */
  int64_t numel;
  enum sl_init init;
  double init_scale;        /* standard deviation, or half-width of the uniform */
  enum sl_tensor_part part; /* what it is; mlp: SL_PART_COUNT */
  bool bias;                /* the bias of that part */
  int layer;       /* -1 embedding, 0..n_layer-1 block, n_layer final norm and head; mlp: index of the linear */
  int tp_dim;      /* dimension that tensor parallelism splits, -1 replicated */
  int tp_blocks;   /* the split dimension is this many equal blocks, each split on its own (3 for fused q,k,v) */
  bool vocabulary; /* dimension 0 is the vocabulary, which the plan may pad */
  int group;       /* parameter group (core/plan/layout.h); 0: the dense ones */
  bool decay;      /* weight decay applies (all, as DeepSpeed's single group does) */
};

struct sl_model {
  enum sl_model_type type;
  const struct sl_family *family; /* its row (families.h) */
  char name[64];
  /* transformers; the comment is the key in config.json */
  int64_t n_layer;   /* n_layer | num_hidden_layers; mlp: its linears */
  int64_t n_embd;    /* n_embd | hidden_size */
  int64_t n_head;    /* n_head | num_attention_heads */
  int64_t n_kv_head; /* = n_head | num_key_value_heads */
  int64_t head_dim;  /* n_embd / n_head | head_dim */
  int64_t n_inner;   /* n_inner (null: 4 n_embd) | intermediate_size */
  int64_t vocab_size;
  int64_t n_positions;                        /* n_positions | max_position_embeddings */
  double embd_pdrop, attn_pdrop, resid_pdrop; /* gpt2; 0 for the others unless given */
  double norm_epsilon;                        /* layer_norm_epsilon | rms_norm_eps */
  double initializer_range;
  bool tied_head;      /* tie_word_embeddings */
  struct sl_form form; /* what a block computes; see form.h */
  /* where parts stand: in front of and behind the blocks an index in tensors, in a block a position in it; -1: it has none */
  int part_at[SL_PART_COUNT];
  int first_block, block_tensors; /* index of the first block's first tensor; tensors of each block */
  /* mlp: dims[0] -> dims[1] -> ... with ReLU between, MSE at the end */
  int n_dims;
  int64_t dims[SL_MLP_MAX_DIMS];
  /* in model order: the order of forward use, the order of the flat parameter buffer */
  struct sl_tensor *tensors; /* owned */
  int tensor_count;
};

/* `spec` is a preset name ("gpt2", "gpt2-xl", "gpt3-175b", ...), a path of a config.json or of the folder that has one. The preset is tried first;
 * an unknown word that is no file either lists the nearest presets. Errors: SL_ERR_INPUT with place, key and
 * expectation. */
enum sl_status sl_model_load(struct sl_model *model, const char *spec);
enum sl_status sl_model_from_json(struct sl_model *model, const struct sl_json *doc);
void sl_model_free(struct sl_model *model);

/* Is it a language model: sequences of tokens through an embedding, blocks and a head? Else vectors go in and come out. */
bool sl_model_reads_tokens(const struct sl_model *model);
/* Parameters in all, tied tensors once. */
int64_t sl_model_numel(const struct sl_model *model);
/* Index of the tensor `name`, -1 when there is none. The prefix of the base model, as "transformer." or "model.", is ignored. */
int sl_model_find(const struct sl_model *model, const char *name);
/* Index of a part's weight; of one in a block, of block `layer`. -1: the model has none. A bias stands behind its weight. */
int sl_model_part(const struct sl_model *model, enum sl_tensor_part part, int layer);
/* Keys that a query of block `layer` sees, itself among them; 0: all before it. */
int64_t sl_model_window(const struct sl_model *model, int layer);
/* How block `layer` turns queries and keys: base of the frequencies and their scaling. */
const struct sl_rotary *sl_model_rotary(const struct sl_model *model, int layer);
/* Do all blocks compute the same? Not where windows or frequencies alternate. */
bool sl_model_blocks_alike(const struct sl_model *model);
/* What of the model can be read and counted but not be computed yet, in words; NULL: nothing. */
const char *sl_model_missing(const struct sl_model *model);
/* Model flops of one step over `tokens` tokens in sequences of `seq` (mlp: tokens = samples): forward plus backward
 * without recomputation, 6 x (matmul parameters) + attention 12 x n_layer x seq x n_embd per token, as in Megatron-LM
 * (arXiv:2104.04473, section 5.1; the head's V x h counted once); a block with a window has that in place of seq, where it is
 * less. */
double sl_model_flops(const struct sl_model *model, int64_t tokens, int64_t seq);
/* The config as Hugging Face would write it, for the run record; new reference. */
json_t *sl_model_to_json(const struct sl_model *model);
/* Name of preset `i`, NULL past the end. */
const char *sl_model_preset_name(int i);
