/* OLMo 2 (arXiv:2501.00656): a Llama with norms on the outputs of its branches instead of their inputs, and norms of q
 * and k over all heads. */
#include "core/model/families.h"

/* transformers, Olmo2Config: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_LLAMA_SIZE_KEYS(50304, 2048, 4096, 32, 32, 0, 0, 11008),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_REAL_KEY("rms_norm_eps", norm_epsilon, 1e-5, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, false),
    SL_ACTIVATION_KEY("hidden_act", SL_ACTIVATIONS_GATING),
    SL_TRAIT_KEY("attention_bias", form.qkv_bias, false),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->rms = f->out_in = f->gated = true;
  f->norms = SL_NORMS_AFTER, f->qk_norm = SL_QK_NORM_ALL;
  f->qkv = SL_QKV_APART, f->activation = SL_ACTIVATION_SILU;
  SL_TRY(sl_transformer_keys(model, in));
  f->out_bias = f->qkv_bias;
  return sl_transformer_llama_heads(model, in);
}

const struct sl_family sl_model_olmo2 = {
    .name = "olmo2",
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    SL_LLAMA_ENDS,
    .parts = {SL_LLAMA_ENDS_PARTS, SL_LLAMA_ATTENTION, SL_LLAMA_MLP, [SL_PART_POST_NORM_1] = "post_attention_layernorm",
              [SL_PART_POST_NORM_2] = "post_feedforward_layernorm", [SL_PART_Q_NORM] = "self_attn.q_norm",
              [SL_PART_K_NORM] = "self_attn.k_norm"},
};
