/* Gemma (arXiv:2403.08295): a Llama with GeGLU, norms that multiply by 1 + weight, and a scaled embedding. */
#include "core/model/families.h"

#include <math.h>

/* transformers, GemmaConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_LLAMA_SIZE_KEYS(256000, 8192, 3072, 28, 16, 16, 256, 24576),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_REAL_KEY("rms_norm_eps", norm_epsilon, 1e-6, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, true),
    SL_ACTIVATION_KEY("hidden_activation", 1 << SL_ACTIVATION_GELU_TANH),
    SL_TRAIT_KEY("attention_bias", form.qkv_bias, false),
    SL_NONE_KEY("use_bidirectional_attention"),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->rms = f->out_in = f->gated = f->norms_from_one = f->gelu_of_torch = true;
  f->qkv = SL_QKV_APART, f->activation = SL_ACTIVATION_GELU_TANH;
  SL_TRY(sl_transformer_keys(model, in));
  /* hidden_act, which the first files have, is read as the tanh form whatever it says of gelu (GemmaConfig) */
  SL_TRY(sl_model_want_activation(in, "hidden_act", "gelu", "gelu_pytorch_tanh"));
  f->out_bias = f->qkv_bias;
  f->embedding_scale = sqrt((double)model->n_embd);
  return sl_transformer_llama_heads(model, in);
}

const struct sl_family sl_model_gemma = {
    .name = "gemma",
    .autotp_gathers = 4,
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    SL_LLAMA_ENDS,
    .parts = {SL_LLAMA_ENDS_PARTS, SL_LLAMA_ATTENTION, SL_LLAMA_MLP, [SL_PART_NORM_2] = "post_attention_layernorm"},
};
