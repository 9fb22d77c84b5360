/* How large a vocabulary Megatron-LM's arguments give a model. Internal to core/interop. */
#pragma once

#include "core/interop/arguments.h"

/* In *out, the first of:
 *   --padded-vocab-size or --pad-vocab-size-to
 *   --vocab-size
 *   the tokenizer's, if it has a fixed one (GPT2BPETokenizer, pretrain_gpt.py's default, Llama2Tokenizer,
 *   Llama3Tokenizer)
 *   the tokens of a tokenizer.json, which --tokenizer-model, --tokenizer-name-or-path or --vocab-file names, itself or
 *   its folder, from here or from the script's folder
 * A warning says the last two. 0 without --num-layers, as there is no model then. Errors: SL_ERR_INPUT: no size is known;
 * a padded one below --vocab-size; a tokenizer.json without a vocabulary; those of reading it. */
enum sl_status sl_megatron_vocabulary(const struct sl_arguments *a, int64_t *out);
