/* What can be read and counted but not be computed yet; see sl_model_missing in model.h. */
#include "core/model/families.h"

const char *sl_model_missing(const struct sl_model *model) {
  const struct sl_form *f = &model->form;
  if (model->type == SL_MODEL_MLP) return NULL;
  if (model->type != SL_MODEL_GPT2 && model->type != SL_MODEL_LLAMA) return "the blocks of its family";
  if (f->rotary.scaling != SL_ROTARY_PLAIN && f->rotary.scaling != SL_ROTARY_DYNAMIC) return "its rope_scaling";
  if (model->type == SL_MODEL_LLAMA && (f->qkv_bias || f->mlp_bias)) return "biases beside gated products";
  const enum sl_activation own = model->type == SL_MODEL_GPT2 ? SL_ACTIVATION_GELU_TANH : SL_ACTIVATION_SILU;
  return f->activation != own ? "its activation" : NULL;
}
