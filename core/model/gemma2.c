/* Gemma 2 (arXiv:2408.00118): Gemma with norms before and after each branch, capped logits, and a window in every other
 * layer. */
#include "core/model/families.h"
#include "core/model/windows.h"

#include <math.h>

/* transformers, Gemma2Config: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_LLAMA_SIZE_KEYS(256000, 8192, 2304, 26, 8, 4, 256, 9216),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_REAL_KEY("rms_norm_eps", norm_epsilon, 1e-6, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, true),
    SL_ACTIVATION_KEY("hidden_activation", 1 << SL_ACTIVATION_GELU_TANH),
    SL_SIZE_KEY("query_pre_attn_scalar", NULL, form.attention_scalar, 256, SL_MAX_WIDTH),
    SL_REAL_OR_NONE_KEY("attn_logit_softcapping", form.attention_cap, 50, 1e6),
    SL_REAL_OR_NONE_KEY("final_logit_softcapping", form.logit_cap, 30, 1e6),
    SL_SIZE_OR_NONE_KEY("sliding_window", form.window, 4096, SL_MAX_ROWS),
    SL_LAYER_TYPES_KEY,
    SL_TRAIT_KEY("attention_bias", form.qkv_bias, false),
    SL_NONE_KEY("use_bidirectional_attention"),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->rms = f->out_in = f->gated = f->norms_from_one = f->gelu_of_torch = true;
  f->qkv = SL_QKV_APART, f->activation = SL_ACTIVATION_GELU_TANH;
  f->norms = SL_NORMS_AROUND;
  SL_TRY(sl_transformer_keys(model, in));
  f->out_bias = f->qkv_bias;
  f->embedding_scale = sqrt((double)model->n_embd);
  SL_TRY(sl_windows_read(model, in, 2, 0));
  return sl_transformer_llama_heads(model, in);
}

const struct sl_family sl_model_gemma2 = {
    .name = "gemma2",
    .autotp_gathers = 4,
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    SL_LLAMA_ENDS,
    .parts = {SL_LLAMA_ENDS_PARTS, SL_LLAMA_ATTENTION, SL_LLAMA_MLP, [SL_PART_POST_NORM_1] = "post_attention_layernorm",
              [SL_PART_NORM_2] = "pre_feedforward_layernorm", [SL_PART_POST_NORM_2] = "post_feedforward_layernorm"},
};
