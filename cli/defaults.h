/* Values that a configuration leaves open. They are put into its document before it is read, and a warning names each
 * of them.
 *
 *   "auto"          transformers' Trainer fills these in: this follows its rules
 *                   (transformers/integrations/deepspeed.py: trainer_config_process and trainer_config_finalize) with
 *                   the defaults of its TrainingArguments; batch size and number type come from the flags
 *   --preset alone  bf16 on a GPU (fp16 on a GPU without bf16), unless --dtype is given
 *   virtual stages  schedule "interleaved" unless one is named: it is the only one that assigns several stages to a
 *                   rank as Megatron-LM does */
#pragma once

#include "cli/options.h"
#include "core/cluster/cluster.h"
#include "core/model/model.h"

/* `root`: the document, with the flags already in it. `model` may be NULL if unknown; values that follow from its
 * hidden size then stay DeepSpeed's defaults. */
void sl_defaults_put(json_t *root, const struct sl_options *options, const struct sl_model *model,
                     const struct sl_cluster *cluster);
/* Sets the key at a path of sections, which ends at '|'; a section that is absent or not an object becomes one. A NULL
 * `value` removes the key. Takes ownership of `value`. */
void sl_defaults_set(json_t *object, const char *path, json_t *value);
