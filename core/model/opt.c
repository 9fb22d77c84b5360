/* OPT (arXiv:2205.01068): GPT-2's block with ReLU, separate q, k and v, and a table of positions that begins with two
 * unused rows. */
#include "core/model/families.h"

/* transformers, OPTConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_SIZE_KEY("vocab_size", NULL, vocab_size, 50272, SL_MAX_ROWS),
    SL_SIZE_KEY("max_position_embeddings", NULL, n_positions, 2048, SL_MAX_ROWS),
    SL_SIZE_KEY("hidden_size", NULL, n_embd, 768, SL_MAX_WIDTH),
    SL_SIZE_KEY("num_hidden_layers", NULL, n_layer, 12, SL_MAX_LAYERS),
    SL_SIZE_KEY("num_attention_heads", NULL, n_head, 12, SL_MAX_WIDTH),
    SL_SIZE_KEY("ffn_dim", NULL, n_inner, 3072, SL_MAX_INNER),
    SL_DROPOUT_KEY("dropout", resid_pdrop, 0.1),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_REAL_KEY("init_std", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, true),
    SL_ACTIVATION_KEY("activation_function", SL_ACTIVATIONS_PLAIN),
    SL_BOOL_KEY("enable_bias", form.qkv_bias, true),
    SL_ONLY_KEY("do_layer_norm_before", true),
    SL_ONLY_KEY("layer_norm_elementwise_affine", true),
    SL_ONLY_KEY("_remove_final_layer_norm", false),
    SL_NONE_KEY("layerdrop"),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  int64_t embedding_width;
  f->out_in = true;
  f->qkv = SL_QKV_APART, f->activation = SL_ACTIVATION_RELU, f->position_offset = 2;
  SL_TRY(sl_transformer_keys(model, in));
  model->norm_epsilon = 1e-5; /* nn.LayerNorm's: OPTConfig has no key for it */
  f->out_bias = f->mlp_bias = f->qkv_bias;
  embedding_width = model->n_embd;
  SL_TRY(sl_json_get_int(in, "word_embed_proj_dim", 1, SL_MAX_WIDTH, &embedding_width));
  if (embedding_width != model->n_embd)
    return sl_json_get_fail(in, "word_embed_proj_dim", "hidden_size, which is %lld: no projection is modelled",
                            (long long)model->n_embd);
  return sl_transformer_heads(model, in, "num_attention_heads", NULL, "hidden_size");
}

const struct sl_family sl_model_opt = {
    .name = "opt",
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    .base = "model.",
    .prefix = "decoder.layers",
    .parts = {[SL_PART_EMBEDDING] = "decoder.embed_tokens",
              [SL_PART_POSITIONS] = "decoder.embed_positions",
              [SL_PART_NORM_1] = "self_attn_layer_norm",
              [SL_PART_Q] = "self_attn.q_proj",
              [SL_PART_K] = "self_attn.k_proj",
              [SL_PART_V] = "self_attn.v_proj",
              [SL_PART_ATTENTION_OUT] = "self_attn.out_proj",
              [SL_PART_NORM_2] = "final_layer_norm",
              [SL_PART_UP] = "fc1",
              [SL_PART_DOWN] = "fc2",
              [SL_PART_FINAL_NORM] = "decoder.final_layer_norm",
              [SL_PART_HEAD] = "lm_head"},
};
