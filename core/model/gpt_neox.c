/* GPT-NeoX (arXiv:2204.06745) and Pythia: both branches read the block's input, and only part of each head is
 * rotated. */
#include "core/model/families.h"

/* transformers, GPTNeoXConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_SIZE_KEY("vocab_size", NULL, vocab_size, 50432, SL_MAX_ROWS),
    SL_SIZE_KEY("max_position_embeddings", NULL, n_positions, 2048, SL_MAX_ROWS),
    SL_SIZE_KEY("hidden_size", NULL, n_embd, 6144, SL_MAX_WIDTH),
    SL_SIZE_KEY("num_hidden_layers", NULL, n_layer, 44, SL_MAX_LAYERS),
    SL_SIZE_KEY("num_attention_heads", NULL, n_head, 64, SL_MAX_WIDTH),
    SL_SIZE_KEY("intermediate_size", NULL, n_inner, 24576, SL_MAX_INNER),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_DROPOUT_KEY("hidden_dropout", resid_pdrop, 0),
    SL_REAL_KEY("layer_norm_eps", norm_epsilon, 1e-5, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, false),
    SL_ACTIVATION_KEY("hidden_act", SL_ACTIVATIONS_PLAIN),
    SL_TRAIT_KEY("attention_bias", form.qkv_bias, true),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  bool parallel = true;
  f->out_in = f->mlp_bias = true;
  f->qkv = SL_QKV_BY_GROUP, f->activation = SL_ACTIVATION_GELU;
  SL_TRY(sl_transformer_keys(model, in));
  SL_TRY(sl_json_get_bool(in, "use_parallel_residual", &parallel));
  f->residual = parallel ? SL_RESIDUAL_PARALLEL : SL_RESIDUAL_SEQUENTIAL;
  f->out_bias = f->qkv_bias;
  model->embd_pdrop = model->resid_pdrop; /* GPTNeoXModel.emb_dropout */
  SL_TRY(sl_transformer_heads(model, in, "num_attention_heads", NULL, "hidden_size"));
  return sl_rotary_read(model, in);
}

static void write_config(const struct sl_model *model, json_t *out) {
  json_object_set_new(out, "use_parallel_residual", json_boolean(model->form.residual == SL_RESIDUAL_PARALLEL));
}

const struct sl_family sl_model_gpt_neox = {
    .name = "gpt_neox",
    .autotp_gathers = 4,
    SL_TRANSFORMER,
    .read = read_config,
    .write = write_config,
    SL_FAMILY_KEYS(keys),
    .base = "gpt_neox.",
    .prefix = "layers",
    .parts = {[SL_PART_EMBEDDING] = "embed_in",
              [SL_PART_NORM_1] = "input_layernorm",
              [SL_PART_QKV] = "attention.query_key_value",
              [SL_PART_ATTENTION_OUT] = "attention.dense",
              [SL_PART_NORM_2] = "post_attention_layernorm",
              [SL_PART_UP] = "mlp.dense_h_to_4h",
              [SL_PART_DOWN] = "mlp.dense_4h_to_h",
              [SL_PART_FINAL_NORM] = "final_layer_norm",
              [SL_PART_HEAD] = "embed_out"},
    .rotary = {.base = "rotary_emb_base", .share = "rotary_pct", .default_share = 0.25, .joined = true},
};
