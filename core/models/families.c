/* The builder of each family that is computed; the plan refuses the others (sl_model_missing). */
#include "core/models/models.h"

static enum sl_status (*const builders[])(struct sl_lowering *) = {
    [SL_MODEL_GPT2] = sl_models_gpt2, [SL_MODEL_LLAMA] = sl_models_llama, [SL_MODEL_MLP] = sl_models_mlp};

enum sl_status sl_models_build(struct sl_lowering *l) {
  return builders[l->plan->model->type](l);
}
