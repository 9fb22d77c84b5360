/* The builder of each family. */
#include "core/models/models.h"

static enum sl_status (*const builders[])(struct sl_lowering *) = {
#define X(type, name) [SL_MODEL_##type] = sl_models_##name,
    SL_FAMILY_MAP(X)
#undef X
};

enum sl_status sl_models_build(struct sl_lowering *l) {
  return builders[l->plan->model->type](l);
}
