/* The table; see megatron_families.h. */
#include "core/interop/megatron_families.h"

#include <stddef.h>

/* Short names for the table. */
enum {
  ROPE = SL_MEGATRON_ROPE,
  RMS = SL_MEGATRON_RMS,
  SWIGLU = SL_MEGATRON_SWIGLU,
  NO_BIAS = SL_MEGATRON_NO_BIAS,
  QKV_BIAS = SL_MEGATRON_QKV_BIAS,
  QK_NORM = SL_MEGATRON_QK_NORM,
  ALIBI = SL_MEGATRON_ALIBI,
  EMBED_NORM = SL_MEGATRON_EMBED_NORM,
  SQUARED_RELU = SL_MEGATRON_SQUARED_RELU,
  ONE_P = SL_MEGATRON_ONE_P,
  UNTIED = SL_MEGATRON_UNTIED,
  DROPOUT = SL_MEGATRON_DROPOUT,
  GROUPS = SL_MEGATRON_GROUPS | SL_MEGATRON_ONE_GROUP,
  INNER = SL_MEGATRON_INNER,
  WIDTHS = GROUPS | SL_MEGATRON_HEADS | SL_MEGATRON_INNER | SL_MEGATRON_UNTIED
};

const struct sl_megatron_flag sl_megatron_flags[] = {
    {SWIGLU, "swiglu", "gated_linear_unit"},
    {SQUARED_RELU, "squared-relu", NULL},
    {ONE_P, "apply-layernorm-1p", "layernorm_zero_centered_gamma"},
    {NO_BIAS, "disable-bias-linear", NULL},
    {QKV_BIAS, "add-qkv-bias", "add_qkv_bias"},
    {QK_NORM, "qk-layernorm", "qk_layernorm"},
    {EMBED_NORM, "embed-layernorm", "embed_layernorm"},
    {UNTIED, "untie-embeddings-and-output-weights", "untie_embeddings_and_output_weights"},
    {0, NULL, NULL},
};

#define LATER                                                                                                          \
  .layers = "num_hidden_layers", .width = "hidden_size", .heads = "num_attention_heads",                               \
  .positions = "max_position_embeddings", .inner = "intermediate_size", .groups = "num_key_value_heads",               \
  .deviation = "initializer_range", .base = "rope_theta", .share = "partial_rotary_factor",                            \
  .attention = "attention_dropout"
static const struct sl_megatron_keys gpt2 = {.layers = "n_layer",
                                             .width = "n_embd",
                                             .heads = "n_head",
                                             .positions = "n_positions",
                                             .inner = "n_inner",
                                             .epsilon = "layer_norm_epsilon",
                                             .deviation = "initializer_range",
                                             .hidden = {"embd_pdrop", "resid_pdrop"},
                                             .attention = "attn_pdrop"};
static const struct sl_megatron_keys bloom = {.layers = "n_layer",
                                              .width = "hidden_size",
                                              .heads = "n_head",
                                              .positions = "seq_length",
                                              .epsilon = "layer_norm_epsilon",
                                              .deviation = "initializer_range",
                                              .hidden = {"hidden_dropout"},
                                              .attention = "attention_dropout"};
static const struct sl_megatron_keys llama = {LATER, .head = "head_dim", .epsilon = "rms_norm_eps"};
static const struct sl_megatron_keys nemotron = {LATER, .head = "head_dim", .epsilon = "norm_eps",
                                                 .default_share = 0.5};
static const struct sl_megatron_keys starcoder2 = {LATER, .epsilon = "norm_epsilon",
                                                   .hidden = {"embedding_dropout", "residual_dropout"}};
const struct sl_megatron_keys sl_megatron_own = {.layers = "num_layers",
                                                 .width = "hidden_size",
                                                 .heads = "num_attention_heads",
                                                 .positions = "max_position_embeddings",
                                                 .inner = "ffn_hidden_size",
                                                 .groups = "num_query_groups",
                                                 .head = "kv_channels",
                                                 .epsilon = "layernorm_epsilon",
                                                 .deviation = "init_method_std",
                                                 .base = "rotary_base",
                                                 .share = "rotary_percent",
                                                 .hidden = {"hidden_dropout"},
                                                 .attention = "attention_dropout"};

enum { LLAMA = ROPE | RMS | SWIGLU, NEMOTRON = ROPE | SQUARED_RELU | ONE_P, ARCEE = ROPE | RMS | SQUARED_RELU };
const struct sl_megatron_form sl_megatron_forms[] = {
    {0, ONE_P | INNER | UNTIED | DROPOUT, "gpt2", &gpt2},
    {GROUPS, ONE_P | INNER | UNTIED | DROPOUT, "gpt_bigcode", &gpt2},
    {LLAMA | NO_BIAS, ONE_P | WIDTHS, "llama", &llama},
    {LLAMA, ONE_P | WIDTHS, "llama", &llama},
    {LLAMA | NO_BIAS | QKV_BIAS, ONE_P | WIDTHS, "qwen2", &llama},
    {LLAMA | NO_BIAS | QK_NORM, ONE_P | WIDTHS, "qwen3", &llama},
    {ROPE, NO_BIAS | ONE_P | GROUPS | INNER | UNTIED | DROPOUT, "starcoder2", &starcoder2},
    {ALIBI | EMBED_NORM, ONE_P | UNTIED | DROPOUT, "bloom", &bloom},
    {NEMOTRON, NO_BIAS | WIDTHS, "nemotron", &nemotron},
    {ARCEE, NO_BIAS | ONE_P | WIDTHS, "arcee", &llama},
    {0, ~0, "megatron", &sl_megatron_own},
    {0, 0, NULL, NULL},
};
