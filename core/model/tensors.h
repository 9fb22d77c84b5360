/* The logical tensors of a transformer. */
#pragma once

#include "core/model/model.h"

/* model->tensors and where parts stand, from the model's sizes and form, by its family's names. Errors: SL_ERR_MEMORY; then the
 * model holds what sl_model_free frees. */
enum sl_status sl_transformer_tensors(struct sl_model *model);
