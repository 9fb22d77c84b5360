/* Seed-OSS (ByteDance 2025): a Llama with biases of q, k and v, and dropout on both branches. */
#include "core/model/families.h"

/* transformers, SeedOssConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_LLAMA_SIZE_KEYS(155136, 524288, 4096, 64, 80, 8, 128, 27648),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0.1),
    SL_DROPOUT_KEY("residual_dropout", resid_pdrop, 0.1),
    SL_REAL_KEY("rms_norm_eps", norm_epsilon, 1e-6, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, false),
    SL_ACTIVATION_KEY("hidden_act", SL_ACTIVATIONS_GATING),
    SL_BOOL_KEY("attention_bias", form.qkv_bias, true),
    SL_BOOL_KEY("attention_out_bias", form.out_bias, false),
    SL_TRAIT_KEY("mlp_bias", form.mlp_bias, false),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->rms = f->out_in = f->gated = true;
  f->qkv = SL_QKV_APART, f->activation = SL_ACTIVATION_SILU;
  SL_TRY(sl_transformer_keys(model, in));
  return sl_transformer_llama_heads(model, in);
}

const struct sl_family sl_model_seed_oss = {
    .name = "seed_oss",
    .autotp_gathers = 4,
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    SL_LLAMA_ENDS,
    .parts = {SL_LLAMA_ENDS_PARTS, SL_LLAMA_ATTENTION, SL_LLAMA_MLP, [SL_PART_NORM_2] = "post_attention_layernorm"},
};
