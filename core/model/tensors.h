/* From a model's sizes to its logical tensors. Internal to core/model. */
#ifndef SL_CORE_MODEL_TENSORS_H
#define SL_CORE_MODEL_TENSORS_H

#include "core/model/model.h"

/* Fill model->tensors from the sizes. On failure (SL_ERR_MEMORY) the model holds what sl_model_free frees. */
enum sl_status sl_model_make_tensors(struct sl_model *model);

#endif
