/* Selects the builder of a model; the plan refuses models that cannot be computed (sl_model_missing). */
#include "core/models/models.h"

enum sl_status sl_models_build(struct sl_lowering *l) {
  return sl_model_reads_tokens(l->plan->model) ? sl_models_decoder(l) : sl_models_mlp(l);
}
