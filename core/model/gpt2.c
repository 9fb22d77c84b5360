/* GPT-2 (Radford et al. 2019): its config.json and the names of its parts. */
#include "core/model/families.h"

/* transformers, GPT2Config: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_GPT2_KEYS,
    SL_ONLY_KEY("scale_attn_weights", true),
    SL_ONLY_KEY("scale_attn_by_inverse_layer_idx", false),
    SL_ONLY_KEY("reorder_and_upcast_attn", false),
    SL_ONLY_KEY("add_cross_attention", false),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->qkv_bias = f->out_bias = f->mlp_bias = f->small_residual_init = f->softmax_of_scores = true;
  SL_TRY(sl_transformer_keys(model, in));
  if (model->n_inner == 0) model->n_inner = 4 * model->n_embd;
  const bool aliased = sl_json_get(in, "n_head") == NULL && sl_json_get(in, "num_attention_heads") != NULL;
  return sl_transformer_heads(model, in, aliased ? "num_attention_heads" : "n_head", NULL, "n_embd");
}

/* Weights are (in, out), as in transformers' Conv1D. */
const struct sl_family sl_model_gpt2 = {
    .name = "gpt2",
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    .base = "transformer.",
    .prefix = "h",
    .parts = {SL_GPT2_PARTS},
};
