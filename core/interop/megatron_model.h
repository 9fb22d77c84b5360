/* The model that Megatron-LM's arguments make. Internal to core/interop. */
#pragma once

#include "core/interop/arguments.h"

/* A Hugging Face config.json of the family whose form they have, a new reference in *model:
 *   no rope, LayerNorm, gelu, biases                      gpt2
 *   rope, RMSNorm, swiglu                                 llama, without --disable-bias-linear with attention_bias and mlp_bias
 *   the same with --add-qkv-bias, --qk-layernorm          qwen2, qwen3
 *   rope, LayerNorm, gelu                                 starcoder2, with --disable-bias-linear without use_bias
 *   alibi, --embed-layernorm, LayerNorm, gelu, biases     bloom
 * The vocabulary is --vocab-size, or what it is padded to (--padded-vocab-size), or that of the tokenizer where it has but one (GPT2BPETokenizer, the default of pretrain_gpt.py, Llama2Tokenizer, Llama3Tokenizer), which a
 * warning names. NULL without --num-layers where no vocabulary is given either, and with a tokenizer whose vocabulary is its file's. Errors: SL_ERR_INPUT: other forms, by what
 * they have; sizes that are none. */
enum sl_status sl_megatron_model(const struct sl_arguments *a, json_t **model);
