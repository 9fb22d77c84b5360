/* Gemma 3 (arXiv:2503.19786), the text model: Gemma 2 with norms of q and k instead of capped scores, a window in five
 * of six layers, and other frequencies in those. */
#include "core/model/families.h"
#include "core/model/windows.h"

#include <math.h>

/* transformers, Gemma3TextConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_LLAMA_SIZE_KEYS(262208, 131072, 2304, 26, 8, 4, 256, 9216),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_REAL_KEY("rms_norm_eps", norm_epsilon, 1e-6, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, true),
    SL_ACTIVATION_KEY("hidden_activation", 1 << SL_ACTIVATION_GELU_TANH),
    SL_SIZE_KEY("query_pre_attn_scalar", NULL, form.attention_scalar, 256, SL_MAX_WIDTH),
    SL_REAL_OR_NONE_KEY("attn_logit_softcapping", form.attention_cap, 0, 1e6),
    SL_REAL_OR_NONE_KEY("final_logit_softcapping", form.logit_cap, 0, 1e6),
    SL_SIZE_OR_NONE_KEY("sliding_window", form.window, 4096, SL_MAX_ROWS),
    SL_LAYER_TYPES_KEY,
    SL_REAL_KEY("rope_local_base_freq", form.rotary_windowed.base, 10000, 1e12),
    SL_TRAIT_KEY("attention_bias", form.qkv_bias, false),
    SL_NONE_KEY("use_bidirectional_attention"),
};

/* Layers with a window have frequencies of their own, unscaled: rope_local_base_freq, or in newer files an object for
 * each kind of layer. */
static enum sl_status read_rotary(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  struct sl_rotary local = {.base = f->rotary_windowed.base, .attention = 1};
  const struct sl_json_object both = {in->doc, sl_json_get(in, "rope_parameters"), "rope_parameters"};
  const struct sl_json_object full = {in->doc, sl_json_get(&both, "full_attention"), "rope_parameters.full_attention"};
  const struct sl_json_object sliding = {in->doc, sl_json_get(&both, "sliding_attention"),
                                         "rope_parameters.sliding_attention"};
  SL_TRY(sl_rotary_read(model, in));
  if (full.object != NULL) SL_TRY(sl_rotary_read_object(&f->rotary, &full, model->n_positions));
  if (sliding.object != NULL) SL_TRY(sl_rotary_read_object(&local, &sliding, model->n_positions));
  local.dim = f->rotary.dim;
  f->rotary_windowed = local;
  return SL_OK;
}

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->rms = f->out_in = f->gated = f->norms_from_one = f->gelu_of_torch = true;
  f->qkv = SL_QKV_APART, f->activation = SL_ACTIVATION_GELU_TANH;
  int64_t period = 6;
  f->norms = SL_NORMS_AROUND, f->qk_norm = SL_QK_NORM_HEAD;
  SL_TRY(sl_transformer_keys(model, in));
  f->out_bias = f->qkv_bias;
  f->embedding_scale = sqrt((double)model->n_embd);
  SL_TRY(sl_json_get_int(in, "sliding_window_pattern", 1, SL_MAX_LAYERS, &period));
  SL_TRY(sl_windows_read(model, in, period, 0));
  SL_TRY(sl_transformer_heads(model, in, "num_attention_heads", "num_key_value_heads", "hidden_size"));
  return read_rotary(model, in);
}

const struct sl_family sl_model_gemma3 = {
    .name = "gemma3_text",
    .autotp_gathers = 6,
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    SL_LLAMA_ENDS,
    .parts = {SL_LLAMA_ENDS_PARTS, SL_LLAMA_ATTENTION, SL_LLAMA_MLP, [SL_PART_POST_NORM_1] = "post_attention_layernorm",
              [SL_PART_NORM_2] = "pre_feedforward_layernorm", [SL_PART_POST_NORM_2] = "post_feedforward_layernorm",
              [SL_PART_Q_NORM] = "self_attn.q_norm", [SL_PART_K_NORM] = "self_attn.k_norm"},
    .rotary = {.default_base = 1e6},
};
