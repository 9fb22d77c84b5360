/* The model described by Megatron-LM's arguments. Internal to core/interop. */
#pragma once

#include "core/interop/arguments.h"

/* A Hugging Face config.json of the family that matches the arguments, a new reference in *model:
 *   no rope, LayerNorm, gelu, biases                      gpt2, with one query group gpt_bigcode
 *   rope, RMSNorm, swiglu                                 llama, without --disable-bias-linear with its biases
 *   the same with --add-qkv-bias, --qk-layernorm          qwen2, qwen3
 *   rope, LayerNorm, gelu                                 starcoder2, with --disable-bias-linear without use_bias
 *   alibi, --embed-layernorm, LayerNorm, gelu, biases     bloom
 *   rope, --squared-relu, --apply-layernorm-1p; RMSNorm   nemotron; arcee
 *   anything else, and what a family has no key for       megatron: Megatron-LM's own (core/model/megatron.c); so are
 *                                                         --kv-channels of a gpt2, --hidden-dropout of a llama
 * The vocabulary is megatron_vocabulary.h's; without one *model is NULL. Of which arguments its keys are made is added
 * to `names` (megatron_keys.h). Errors: SL_ERR_INPUT: invalid sizes and words; --swiglu beside --squared-relu; those of
 * the vocabulary. */
enum sl_status sl_megatron_model(const struct sl_arguments *a, json_t **model, json_t *names);
