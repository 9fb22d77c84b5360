/* The model: what a Hugging Face config.json (or an "mlp" description) says, and the logical tensors that follow from
 * it.
 *
 * A logical tensor is a parameter as the framework names it ("h.3.attn.c_attn.weight"), before any sharding. The plan
 * maps it to pieces (plan/layout.h); checkpoints contain only logical tensors. Read core/model/form.h for what a block
 * computes. */
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
  X(GPT_BIGCODE, gpt_bigcode)                                                                                          \
  X(LLAMA, llama)                                                                                                      \
  X(ARCEE, arcee)                                                                                                      \
  X(SEED_OSS, seed_oss)                                                                                                \
  X(STABLELM, stablelm)                                                                                                \
  X(MISTRAL, mistral)                                                                                                  \
  X(QWEN2, qwen2)                                                                                                      \
  X(QWEN3, qwen3)                                                                                                      \
  X(GEMMA, gemma)                                                                                                      \
  X(GEMMA2, gemma2)                                                                                                    \
  X(GEMMA3, gemma3)                                                                                                    \
  X(PHI, phi)                                                                                                          \
  X(PHI3, phi3)                                                                                                        \
  X(OLMO2, olmo2)                                                                                                      \
  X(STARCODER2, starcoder2)                                                                                            \
  X(NEMOTRON, nemotron)                                                                                                \
  X(GPT_NEOX, gpt_neox)                                                                                                \
  X(GPTJ, gptj)                                                                                                        \
  X(OPT, opt)                                                                                                          \
  X(FALCON, falcon)                                                                                                    \
  X(BLOOM, bloom)                                                                                                      \
  X(MPT, mpt)                                                                                                          \
  X(MEGATRON, megatron)                                                                                                \
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
  int64_t shape[2]; /* gpt2: weights are (in, out), as in Conv1D; all others: (out, in), as in Linear */
  int64_t numel;
  enum sl_init init;
  double init_scale;        /* standard deviation, or half-width of the uniform */
  enum sl_tensor_part part; /* which part it belongs to; mlp: SL_PART_COUNT */
  bool bias;                /* it is the bias of that part */
  int layer;       /* -1 embedding, 0..n_layer-1 block, n_layer final norm and head; mlp: index of the linear */
  int tp_dim;      /* dimension that tensor parallelism shards, -1: replicated */
  int tp_blocks;   /* the sharded dimension is this many equal blocks, each sharded on its own (3 for fused q,k,v) */
  int64_t tp_lead; /* the first of these blocks is this many times as long as each other one (0: as long) */
  bool vocabulary; /* dimension 0 is the vocabulary, which the plan may pad */
  int group;       /* parameter group (core/plan/layout.h); 0: dense parameters */
  bool decay;      /* weight decay applies (true for all, as in DeepSpeed's single group) */
};

struct sl_model {
  enum sl_model_type type;
  const struct sl_family *family; /* its row (families.h) */
  char name[64];
  /* transformers; the comments are the keys in config.json */
  int64_t n_layer;   /* n_layer | num_hidden_layers; mlp: number of linears */
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
  /* where parts are: outside the blocks an index in tensors, within a block a position in it; -1: the model has no such
   * part */
  int part_at[SL_PART_COUNT];
  int first_block, block_tensors; /* index of the first block's first tensor; tensors of each block */
  /* mlp: dims[0] -> dims[1] -> ... with ReLU in between, MSE at the end */
  int n_dims;
  int64_t dims[SL_MLP_MAX_DIMS];
  /* in model order: the order of use in forward and of the flat parameter buffer */
  struct sl_tensor *tensors; /* owned */
  int tensor_count;
};

/* Loads a model. `spec` is a preset name ("gpt2", "gpt2-xl", "gpt3-175b", ...), the path of a config.json, or the
 * folder of one. Presets take precedence; the error for a word that is neither preset nor file lists the nearest
 * presets. Errors: SL_ERR_INPUT with place, key and expectation. */
enum sl_status sl_model_load(struct sl_model *model, const char *spec);
enum sl_status sl_model_from_json(struct sl_model *model, const struct sl_json *doc);
void sl_model_free(struct sl_model *model);

/* The same language model with q, k and v, or the MLP's gate and first product, in one weight each: group by group,
 * and the gate's rows first. To be freed with sl_model_free. Errors: SL_ERR_MEMORY. */
enum sl_status sl_model_pack(struct sl_model *out, const struct sl_model *model, bool qkv, bool gate);

/* Is it a language model: tokens through an embedding, blocks and an LM head? Otherwise inputs and outputs are
 * vectors. */
bool sl_model_reads_tokens(const struct sl_model *model);
/* The N of DeepSpeed 0.19.N, from which on AutoTP takes transformers' tp_plan of the model, by which the logits of a head
 * of its own are gathered; 0: it takes none. See core/plan/vocabulary.h. */
int sl_model_autotp_gathers(const struct sl_model *model);
/* Number of parameters, tied tensors counted once. */
int64_t sl_model_numel(const struct sl_model *model);
/* Index of the tensor `name`, -1 if there is none. The prefix of the base model, "transformer." or "model.", is
 * ignored. */
int sl_model_find(const struct sl_model *model, const char *name);
/* Index of a part's weight; for a part in a block, that of block `layer`. -1: the model has none. A bias follows its
 * weight. */
int sl_model_part(const struct sl_model *model, enum sl_tensor_part part, int layer);
/* Is there one key/value head for all query heads (multi-query attention), in weights of its own? Then every member of
 * a tp group has it. */
bool sl_model_shares_key_head(const struct sl_model *model);
/* Number of keys that a query of block `layer` sees, its own included; 0: all before it. */
int64_t sl_model_window(const struct sl_model *model, int layer);
/* The rotary embedding of block `layer`: base and scaling of the frequencies. */
const struct sl_rotary *sl_model_rotary(const struct sl_model *model, int layer);
/* Do all blocks compute the same? False if windows or frequencies alternate. */
bool sl_model_blocks_alike(const struct sl_model *model);
/* Features of the model that can be read and counted but not computed yet, in words; NULL: none. */
const char *sl_model_missing(const struct sl_model *model);
/* Model flops of one step over `tokens` tokens in sequences of `seq` (mlp: tokens = samples): forward plus backward
 * without recomputation, 6 x (matmul parameters) + attention 12 x n_layer x seq x n_embd per token, as in Megatron-LM
 * (arXiv:2104.04473, section 5.1; the LM head's V x h counted once). For a block with a window smaller than seq, the
 * window replaces seq. */
double sl_model_flops(const struct sl_model *model, int64_t tokens, int64_t seq);
/* The config as Hugging Face would write it, for the run record; a new reference. */
json_t *sl_model_to_json(const struct sl_model *model);
/* Name of preset `i`, NULL after the last. */
const char *sl_model_preset_name(int i);
