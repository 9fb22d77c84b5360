/* GPTBigCode (SantaCoder and StarCoder, arXiv:2305.06161): GPT-2 with one key head for all query heads, and weights as
 * in nn.Linear. */
#include "core/model/families.h"

/* transformers, GPTBigCodeConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_GPT2_KEYS,
    SL_ONLY_KEY("scale_attn_weights", true),
    SL_ONLY_KEY("add_cross_attention", false),
};

/* With one key head the rows are all of q, then k and v; otherwise head by head. */
static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  bool one_key_head = true;
  f->out_in = f->gelu_of_torch = f->qkv_bias = f->out_bias = f->mlp_bias = f->small_residual_init = true;
  SL_TRY(sl_transformer_keys(model, in));
  SL_TRY(sl_json_get_bool(in, "multi_query", &one_key_head));
  f->qkv = one_key_head ? SL_QKV_PACKED : SL_QKV_BY_GROUP;
  if (one_key_head) model->n_kv_head = 1;
  if (model->n_inner == 0) model->n_inner = 4 * model->n_embd;
  const bool aliased = sl_json_get(in, "n_head") == NULL && sl_json_get(in, "num_attention_heads") != NULL;
  return sl_transformer_heads(model, in, aliased ? "num_attention_heads" : "n_head", NULL, "n_embd");
}

static void write_config(const struct sl_model *model, json_t *out) {
  json_object_set_new(out, "multi_query", json_boolean(model->form.qkv == SL_QKV_PACKED));
}

const struct sl_family sl_model_gpt_bigcode = {
    .name = "gpt_bigcode",
    SL_TRANSFORMER,
    .read = read_config,
    .write = write_config,
    SL_FAMILY_KEYS(keys),
    .base = "transformer.",
    .prefix = "h",
    .parts = {SL_GPT2_PARTS},
};
