/* The logical tensors of a transformer. */
#pragma once

#include "core/model/model.h"

/* Fills model->tensors and the positions of parts from the model's sizes and form, with the names of its family.
 * Errors: SL_ERR_MEMORY; sl_model_free then frees what was allocated. */
enum sl_status sl_transformer_tensors(struct sl_model *model);
