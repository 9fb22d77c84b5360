/* BLOOM (arXiv:2211.05100): GPT-2's block with ALiBi in place of a table of positions, and a norm behind the
 * embedding. */
#include "core/model/families.h"

/* transformers, BloomConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_SIZE_KEY("vocab_size", NULL, vocab_size, 250880, SL_MAX_ROWS),
    SL_SIZE_KEY("seq_length", NULL, n_positions, 2048, SL_MAX_ROWS),
    SL_SIZE_KEY("hidden_size", "n_embed", n_embd, 64, SL_MAX_WIDTH),
    SL_SIZE_KEY("n_layer", "num_hidden_layers", n_layer, 2, SL_MAX_LAYERS),
    SL_SIZE_KEY("n_head", "num_attention_heads", n_head, 8, SL_MAX_WIDTH),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_DROPOUT_KEY("hidden_dropout", resid_pdrop, 0),
    SL_REAL_KEY("layer_norm_epsilon", norm_epsilon, 1e-5, 1),
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, true),
    SL_ONLY_KEY("apply_residual_connection_post_layernorm", false),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->gelu_of_torch = true; /* modeling_bloom.py, GeLUFunction: it keeps its input alone */
  f->out_in = f->embedding_norm = f->qkv_bias = f->out_bias = f->mlp_bias = true;
  f->qkv = SL_QKV_BY_GROUP, f->positions = SL_POSITIONS_ALIBI, f->alibi_max = 8;
  SL_TRY(sl_transformer_keys(model, in));
  model->n_inner = 4 * model->n_embd;
  return sl_transformer_heads(model, in, "n_head", NULL, "hidden_size");
}

const struct sl_family sl_model_bloom = {
    .name = "bloom",
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    .base = "transformer.",
    .prefix = "h",
    .parts = {[SL_PART_EMBEDDING] = "word_embeddings",
              [SL_PART_EMBEDDING_NORM] = "word_embeddings_layernorm",
              [SL_PART_NORM_1] = "input_layernorm",
              [SL_PART_QKV] = "self_attention.query_key_value",
              [SL_PART_ATTENTION_OUT] = "self_attention.dense",
              [SL_PART_NORM_2] = "post_attention_layernorm",
              [SL_PART_UP] = "mlp.dense_h_to_4h",
              [SL_PART_DOWN] = "mlp.dense_4h_to_h",
              [SL_PART_FINAL_NORM] = "ln_f",
              [SL_PART_HEAD] = "lm_head"},
};
