/* Translates Megatron-LM's arguments (megatron/training/arguments.py) to a DeepSpeed configuration with a "shardlab"
 * section, and a Hugging Face config.json. megatron_write.h is the other direction. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>

/* The argument that becomes train_batch_size, with its dashes. */
extern const char sl_megatron_global_batch[];

/* Reads arguments or, with `is_script`, a launch script that contains them (shell.h); its other words are its commands',
 * those of arguments alone must belong to them (megatron_words.h). *config is a new reference, and so is *model; that
 * is NULL if it is not wanted, or if the arguments have no --num-layers, or neither --vocab-size nor a tokenizer with a
 * known vocabulary (megatron_model.h). Defaults are those of Megatron-LM; with --deepspeed, those of
 * Megatron-DeepSpeed. One warning names the arguments that change nothing modelled, and those unknown to Megatron-LM.
 * Errors: SL_ERR_INPUT with the argument: an invalid value, or a feature that is not modelled. `name` is used in
 * messages. */
enum sl_status sl_megatron_read(const char *name, const char *text, bool is_script, bool wants_model, json_t **config,
                                json_t **model);
