/* Phi-1, Phi-1.5 and Phi-2 (arXiv:2306.11644, arXiv:2309.05463): both branches read one norm, half of each head is
 * rotated, and all linear layers, the LM head too, have biases. */
#include "core/model/families.h"

/* transformers, PhiConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_SIZE_KEY("vocab_size", NULL, vocab_size, 51200, SL_MAX_ROWS),
    SL_SIZE_KEY("max_position_embeddings", NULL, n_positions, 2048, SL_MAX_ROWS),
    SL_SIZE_KEY("hidden_size", NULL, n_embd, 2048, SL_MAX_WIDTH),
    SL_SIZE_KEY("num_hidden_layers", NULL, n_layer, 24, SL_MAX_LAYERS),
    SL_SIZE_KEY("num_attention_heads", NULL, n_head, 32, SL_MAX_WIDTH),
    SL_SIZE_KEY("num_key_value_heads", NULL, n_kv_head, 0, SL_MAX_WIDTH),
    SL_SIZE_KEY("intermediate_size", NULL, n_inner, 8192, SL_MAX_INNER),
    SL_DROPOUT_KEY("embd_pdrop", embd_pdrop, 0),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_DROPOUT_KEY("resid_pdrop", resid_pdrop, 0),
    SL_REAL_KEY("layer_norm_eps", norm_epsilon, 1e-5, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_ONLY_KEY("tie_word_embeddings", false),
    SL_ACTIVATION_KEY("hidden_act", SL_ACTIVATIONS_PLAIN),
    SL_ONLY_KEY("qk_layernorm", false),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->out_in = f->qkv_bias = f->out_bias = f->mlp_bias = f->head_bias = true;
  f->qkv = SL_QKV_APART, f->residual = SL_RESIDUAL_PARALLEL_ONE_NORM;
  SL_TRY(sl_transformer_keys(model, in));
  return sl_transformer_llama_heads(model, in);
}

const struct sl_family sl_model_phi = {
    .name = "phi",
    .autotp_gathers = 4,
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    SL_LLAMA_ENDS,
    .parts = {[SL_PART_EMBEDDING] = "embed_tokens",
              [SL_PART_NORM_1] = "input_layernorm",
              [SL_PART_Q] = "self_attn.q_proj",
              [SL_PART_K] = "self_attn.k_proj",
              [SL_PART_V] = "self_attn.v_proj",
              [SL_PART_ATTENTION_OUT] = "self_attn.dense",
              [SL_PART_UP] = "mlp.fc1",
              [SL_PART_DOWN] = "mlp.fc2",
              [SL_PART_FINAL_NORM] = "final_layernorm",
              [SL_PART_HEAD] = "lm_head"},
    .rotary = {.default_share = 0.5, .joined = true},
};
