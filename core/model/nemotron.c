/* Nemotron (arXiv:2402.16819, arXiv:2406.11704): rotary positions of part of each head, LayerNorms that multiply by
 * 1 + weight, and a plain MLP with a squared ReLU. */
#include "core/model/families.h"

/* transformers, NemotronConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_LLAMA_SIZE_KEYS(256000, 4096, 6144, 32, 48, 0, 0, 24576),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_REAL_KEY("norm_eps", norm_epsilon, 1e-5, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.0134, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, false),
    SL_ACTIVATION_KEY("hidden_act", SL_ACTIVATIONS_PLAIN),
    SL_TRAIT_KEY("attention_bias", form.qkv_bias, false),
    SL_TRAIT_KEY("mlp_bias", form.mlp_bias, false),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->out_in = f->norms_from_one = true;
  f->qkv = SL_QKV_APART, f->activation = SL_ACTIVATION_RELU2;
  SL_TRY(sl_transformer_keys(model, in));
  f->out_bias = f->qkv_bias;
  return sl_transformer_llama_heads(model, in);
}

const struct sl_family sl_model_nemotron = {
    .name = "nemotron",
    .autotp_gathers = 4,
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    SL_LLAMA_ENDS,
    .parts = {SL_LLAMA_ENDS_PARTS, SL_LLAMA_ATTENTION, SL_PLAIN_MLP, [SL_PART_NORM_2] = "post_attention_layernorm"},
    .rotary = {.default_share = 0.5, .joined = true},
};
