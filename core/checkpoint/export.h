/* Exports a checkpoint's weights: a folder that Hugging Face's from_pretrained reads, with config.json and the weights
 * in fp32. */
#pragma once

#include "core/checkpoint/load.h"

/* The model of a checkpoint, to be freed with sl_model_free. Errors: SL_ERR_INPUT. */
enum sl_status sl_export_model(struct sl_model *model, const struct sl_checkpoint *checkpoint);
/* Writes `folder`, which appears only when complete: model.safetensors if one file can hold everything (`single`:
 * whatever its size), otherwise files of at most 5e9 bytes and their index. The checkpoint must have been verified.
 * Errors: SL_ERR_INPUT if something else exists there, SL_ERR_IO. */
enum sl_status sl_checkpoint_export(const struct sl_checkpoint *checkpoint, const struct sl_model *model,
                                    const char *folder, bool single);
