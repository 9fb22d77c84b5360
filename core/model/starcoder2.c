/* StarCoder2 (arXiv:2402.19173): rotary positions, grouped heads and a window as in Mistral; norms, biases and MLP as
 * in GPT-2. */
#include "core/model/families.h"
#include "core/model/windows.h"

/* transformers, Starcoder2Config: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_SIZE_KEY("vocab_size", NULL, vocab_size, 49152, SL_MAX_ROWS),
    SL_SIZE_KEY("max_position_embeddings", NULL, n_positions, 4096, SL_MAX_ROWS),
    SL_SIZE_KEY("hidden_size", NULL, n_embd, 3072, SL_MAX_WIDTH),
    SL_SIZE_KEY("num_hidden_layers", NULL, n_layer, 30, SL_MAX_LAYERS),
    SL_SIZE_KEY("num_attention_heads", NULL, n_head, 24, SL_MAX_WIDTH),
    SL_SIZE_KEY("num_key_value_heads", NULL, n_kv_head, 2, SL_MAX_WIDTH),
    SL_SIZE_KEY("intermediate_size", NULL, n_inner, 12288, SL_MAX_INNER),
    SL_DROPOUT_KEY("embedding_dropout", embd_pdrop, 0),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_DROPOUT_KEY("residual_dropout", resid_pdrop, 0),
    SL_REAL_KEY("norm_epsilon", norm_epsilon, 1e-5, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.018042, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, true),
    SL_ACTIVATION_KEY("hidden_act", SL_ACTIVATIONS_PLAIN),
    SL_SIZE_OR_NONE_KEY("sliding_window", form.window, 0, SL_MAX_ROWS),
    SL_BOOL_KEY("use_bias", form.qkv_bias, true),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->out_in = f->gelu_of_torch = true;
  f->qkv = SL_QKV_APART;
  SL_TRY(sl_transformer_keys(model, in));
  f->out_bias = f->mlp_bias = f->qkv_bias;
  sl_windows_every(model, 0, 0);
  return sl_transformer_llama_heads(model, in);
}

const struct sl_family sl_model_starcoder2 = {
    .name = "starcoder2",
    .autotp_gathers = 4,
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    SL_LLAMA_ENDS,
    .parts = {SL_LLAMA_ENDS_PARTS, SL_LLAMA_ATTENTION, [SL_PART_NORM_2] = "post_attention_layernorm",
              [SL_PART_UP] = "mlp.c_fc", [SL_PART_DOWN] = "mlp.c_proj"},
};
