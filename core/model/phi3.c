/* Phi-3 (arXiv:2404.14219) and Phi-4: a Llama with q, k and v in one weight, and gate and up in one. */
#include "core/model/families.h"
#include "core/model/windows.h"

/* transformers, Phi3Config: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_LLAMA_SIZE_KEYS(32064, 4096, 3072, 32, 32, 0, 0, 8192),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_REAL_KEY("rms_norm_eps", norm_epsilon, 1e-5, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, false),
    SL_ACTIVATION_KEY("hidden_act", SL_ACTIVATIONS_GATING),
    SL_DROPOUT_KEY("resid_pdrop", resid_pdrop, 0),
    SL_SIZE_OR_NONE_KEY("sliding_window", form.window, 0, SL_MAX_ROWS),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->rms = f->out_in = f->gated = f->gate_packed = true;
  f->qkv = SL_QKV_PACKED, f->activation = SL_ACTIVATION_SILU;
  SL_TRY(sl_transformer_keys(model, in));
  sl_windows_every(model, 0, 0);
  return sl_transformer_llama_heads(model, in);
}

const struct sl_family sl_model_phi3 = {
    .name = "phi3",
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    SL_LLAMA_ENDS,
    .rotary = {.joined = true},
    .parts = {SL_LLAMA_ENDS_PARTS, [SL_PART_NORM_1] = "input_layernorm", [SL_PART_QKV] = "self_attn.qkv_proj",
              [SL_PART_ATTENTION_OUT] = "self_attn.o_proj", [SL_PART_NORM_2] = "post_attention_layernorm",
              [SL_PART_UP] = "mlp.gate_up_proj", [SL_PART_DOWN] = "mlp.down_proj"},
};
