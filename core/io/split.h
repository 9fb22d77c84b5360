/* Shares of one source for training, validation and test, as Megatron-LM's --split divides it: numbers with commas
 * between them, of any sum; missing ones are 0. Of Megatron-LM's data they are shares of the documents (the sequences of
 * its index), of other data of the tokens. Source: megatron/core/datasets, parse_and_normalize_split of
 * blended_megatron_dataset_config.py and _build_megatron_dataset_splits of blended_megatron_dataset_builder.py (0.12).
 */
#pragma once

#include "core/io/data.h"

enum sl_data_part { SL_DATA_TRAINING, SL_DATA_VALIDATION };

/* Opens a part of `path`, as sl_data_open_text does all of it; `split` NULL: all of it. Errors: those of
 * sl_data_open_text; SL_ERR_INPUT: `split` is no such list, or gives the part nothing. */
enum sl_status sl_data_open_part(struct sl_data *data, const char *path, const struct sl_data_text *text,
                                 const char *split, enum sl_data_part part);
