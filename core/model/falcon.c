/* Falcon (arXiv:2311.16867): both branches read the block's input, there are few key/value heads, and q, k and v are
 * one weight. */
#include "core/model/families.h"

/* transformers, FalconConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_SIZE_KEY("vocab_size", NULL, vocab_size, 65024, SL_MAX_ROWS),
    SL_SIZE_KEY("max_position_embeddings", NULL, n_positions, 2048, SL_MAX_ROWS),
    SL_SIZE_KEY("hidden_size", "n_embed", n_embd, 4544, SL_MAX_WIDTH),
    SL_SIZE_KEY("num_hidden_layers", NULL, n_layer, 32, SL_MAX_LAYERS),
    SL_SIZE_KEY("num_attention_heads", NULL, n_head, 71, SL_MAX_WIDTH),
    SL_SIZE_KEY("num_kv_heads", NULL, n_kv_head, 0, SL_MAX_WIDTH),
    SL_SIZE_KEY("ffn_hidden_size", NULL, n_inner, 0, SL_MAX_INNER),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_DROPOUT_KEY("hidden_dropout", resid_pdrop, 0),
    SL_REAL_KEY("layer_norm_epsilon", norm_epsilon, 1e-5, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, true),
    SL_ACTIVATION_KEY("activation", SL_ACTIVATIONS_PLAIN),
    SL_BOOL_KEY("bias", form.qkv_bias, false),
    SL_ONLY_KEY("apply_residual_connection_post_layernorm", false),
    SL_ONLY_KEY("alibi", false),
};

/* The two decoders (modeling_falcon.py): the new one has groups of heads, and a norm for each branch unless
 * num_ln_in_parallel_attn is 1; the old one has one key/value head for all (multi_query), or as many as heads. */
static enum sl_status read_decoder(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  bool is_new = false, multi_query = true, parallel = true;
  int64_t norms = 2;
  SL_TRY(sl_json_get_bool(in, "new_decoder_architecture", &is_new));
  SL_TRY(sl_json_get_bool(in, "multi_query", &multi_query));
  SL_TRY(sl_json_get_bool(in, "parallel_attn", &parallel));
  SL_TRY(sl_json_get_int(in, "num_ln_in_parallel_attn", 1, 2, &norms));
  f->qkv = !is_new && multi_query ? SL_QKV_PACKED : SL_QKV_BY_GROUP;
  if (!is_new) model->n_kv_head = multi_query ? 1 : model->n_head;
  f->residual = !is_new && !parallel   ? SL_RESIDUAL_SEQUENTIAL
                : is_new && norms == 2 ? SL_RESIDUAL_PARALLEL
                                       : SL_RESIDUAL_PARALLEL_ONE_NORM;
  return SL_OK;
}

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->out_in = f->masks_always = f->softmax_of_scores = true;
  f->activation = SL_ACTIVATION_GELU;
  SL_TRY(sl_transformer_keys(model, in));
  SL_TRY(read_decoder(model, in));
  if (model->n_inner == 0) model->n_inner = 4 * model->n_embd;
  f->out_bias = f->mlp_bias = f->qkv_bias;
  SL_TRY(sl_transformer_heads(model, in, "num_attention_heads", "num_kv_heads", "hidden_size"));
  return sl_rotary_read(model, in);
}

static void write_config(const struct sl_model *model, json_t *out) {
  const struct sl_form *f = &model->form;
  const bool old =
      f->qkv == SL_QKV_PACKED || (model->n_kv_head == model->n_head && f->residual != SL_RESIDUAL_PARALLEL);
  json_object_set_new(out, "new_decoder_architecture", json_boolean(!old));
  json_object_set_new(out, "multi_query", json_boolean(f->qkv == SL_QKV_PACKED));
  json_object_set_new(out, "parallel_attn", json_boolean(f->residual != SL_RESIDUAL_SEQUENTIAL));
  if (!old)
    json_object_set_new(out, "num_ln_in_parallel_attn", json_integer(f->residual == SL_RESIDUAL_PARALLEL ? 2 : 1));
}

const struct sl_family sl_model_falcon = {
    .name = "falcon",
    SL_TRANSFORMER,
    .read = read_config,
    .write = write_config,
    SL_FAMILY_KEYS(keys),
    .base = "transformer.",
    .prefix = "h",
    .parts = {[SL_PART_EMBEDDING] = "word_embeddings",
              [SL_PART_NORM_1] = "input_layernorm",
              [SL_PART_QKV] = "self_attention.query_key_value",
              [SL_PART_ATTENTION_OUT] = "self_attention.dense",
              [SL_PART_NORM_2] = "post_attention_layernorm",
              [SL_PART_UP] = "mlp.dense_h_to_4h",
              [SL_PART_DOWN] = "mlp.dense_4h_to_h",
              [SL_PART_FINAL_NORM] = "ln_f",
              [SL_PART_HEAD] = "lm_head"},
    .parallel_norms = {"ln_attn", "ln_mlp"},
};
