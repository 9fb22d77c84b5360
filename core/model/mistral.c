/* Mistral (Jiang et al. 2023, arXiv:2310.06825): a Llama whose layers see only a window of keys. */
#include "core/model/families.h"
#include "core/model/windows.h"

/* transformers, MistralConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_LLAMA_SIZE_KEYS(32000, 131072, 4096, 32, 32, 8, 0, 14336),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_REAL_KEY("rms_norm_eps", norm_epsilon, 1e-6, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, false),
    SL_ACTIVATION_KEY("hidden_act", SL_ACTIVATIONS_GATING),
    SL_SIZE_OR_NONE_KEY("sliding_window", form.window, 4096, SL_MAX_ROWS),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->rms = f->out_in = f->gated = true;
  f->qkv = SL_QKV_APART, f->activation = SL_ACTIVATION_SILU;
  SL_TRY(sl_transformer_keys(model, in));
  sl_windows_every(model, 0, 0);
  return sl_transformer_llama_heads(model, in);
}

const struct sl_family sl_model_mistral = {
    .name = "mistral",
    .autotp_gathers = 4,
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    SL_LLAMA_ENDS,
    .parts = {SL_LLAMA_ENDS_PARTS, SL_LLAMA_ATTENTION, SL_LLAMA_MLP, [SL_PART_NORM_2] = "post_attention_layernorm"},
};
