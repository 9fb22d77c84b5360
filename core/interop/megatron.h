/* Megatron-LM's arguments (megatron/training/arguments.py) and our words for the same: a DeepSpeed configuration with its
 * "shardlab" section, and a Hugging Face config.json. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>

/* Read arguments, or a launch script that has them (shell.h). *config is a new reference, and so is *model: NULL where it is not wanted, where the arguments have no
 * --num-layers, or neither --vocab-size nor a tokenizer whose vocabulary is known (megatron_model.h). Defaults are Megatron-LM's; with --deepspeed among them,
 * Megatron-DeepSpeed's. Arguments that change nothing that is modelled, and those that are none of
 * Megatron-LM's, are named in one warning. Errors: SL_ERR_INPUT with the argument: a value that is none, or what is not modelled. `name` stands in messages. */
enum sl_status sl_megatron_read(const char *name, const char *text, bool wants_model, json_t **config, json_t **model);
