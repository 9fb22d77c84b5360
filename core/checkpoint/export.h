/* A checkpoint's weights for others: a folder as Hugging Face's from_pretrained reads it, config.json and the weights in fp32. */
#pragma once

#include "core/checkpoint/load.h"

/* The model that a checkpoint is of, to be freed by sl_model_free. Errors: SL_ERR_INPUT. */
enum sl_status sl_export_model(struct sl_model *model, const struct sl_checkpoint *checkpoint);
/* Write `folder`, which appears whole: model.safetensors where one file holds everything (`single`: it does, whatever its size), else
 * files of at most 5e9 bytes and their index. The checkpoint has been verified. Errors: SL_ERR_INPUT where something else stands there,
 * SL_ERR_IO. */
enum sl_status sl_checkpoint_export(const struct sl_checkpoint *checkpoint, const struct sl_model *model,
                                    const char *folder, bool single);
