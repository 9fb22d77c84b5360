/* What a configuration leaves to whoever starts it, put into its document before it is read; each value that is taken so is named in a
 * warning.
 *
 *   "auto"             values of transformers' Trainer, by its rules (transformers/integrations/deepspeed.py: trainer_config_process and
 *                      trainer_config_finalize) and with the defaults of its TrainingArguments: batch and number type from the flags here
 *   --preset alone     bf16 on a GPU (fp16 on one without), where no --dtype says otherwise
 *   virtual stages     schedule "interleaved", where none is named: no other deals several stages to a rank as Megatron-LM does */
#pragma once

#include "cli/options.h"
#include "core/cluster/cluster.h"
#include "core/model/model.h"

/* `root`: the document with the flags in it. `model` NULL: not known, and what follows from its hidden size stays DeepSpeed's default. */
void sl_defaults_put(json_t *root, const struct sl_options *options, const struct sl_model *model,
                     const struct sl_cluster *cluster);
/* Set the key at a path of sections, which ends at '|': one that is absent or not an object becomes one. Without a value the key is
 * dropped. Takes `value`. */
void sl_defaults_set(json_t *object, const char *path, json_t *value);
