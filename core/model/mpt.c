/* MPT (MosaicML 2023): GPT-2's block without biases, with ALiBi. */
#include "core/model/families.h"

/* transformers, MptConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_SIZE_KEY("vocab_size", NULL, vocab_size, 50368, SL_MAX_ROWS),
    SL_SIZE_KEY("max_seq_len", NULL, n_positions, 2048, SL_MAX_ROWS),
    SL_SIZE_KEY("d_model", "hidden_size", n_embd, 2048, SL_MAX_WIDTH),
    SL_SIZE_KEY("n_layers", "num_hidden_layers", n_layer, 24, SL_MAX_LAYERS),
    SL_SIZE_KEY("n_heads", "num_attention_heads", n_head, 16, SL_MAX_WIDTH),
    SL_DROPOUT_KEY("resid_pdrop", resid_pdrop, 0),
    SL_REAL_KEY("layer_norm_epsilon", norm_epsilon, 1e-5, 1),
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, true),
    SL_NONE_KEY("logit_scale"),
    SL_ONLY_KEY("no_bias", true),
};

/* attn_config, as transformers' MPT reads it, whatever attn_impl and learned_pos_emb say. */
static enum sl_status read_attention(struct sl_model *model, const struct sl_json_object *in) {
  static const struct sl_model_key rows[] = {
      SL_DROPOUT_KEY("attn_pdrop", attn_pdrop, 0),
      SL_SIZE_KEY("alibi_bias_max", NULL, form.alibi_max, 8, 64),
      SL_NONE_KEY("clip_qkv"),
      SL_NONE_KEY("softmax_scale"),
      SL_NONE_KEY("qk_ln"),
      SL_NONE_KEY("prefix_lm"),
      SL_ONLY_KEY("alibi", true),
  };
  const struct sl_json_object attention = {in->doc, sl_json_get(in, "attn_config"), "attn_config"};
  SL_TRY(sl_model_want_activation(&attention, "attn_type", "multihead_attention", "multihead_attention"));
  return sl_model_read_keys(model, &attention, rows, sizeof rows / sizeof *rows);
}

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  double ratio = 4;
  f->out_in = f->norms_unbiased = true;
  f->qkv = SL_QKV_PACKED, f->activation = SL_ACTIVATION_GELU, f->positions = SL_POSITIONS_ALIBI;
  SL_TRY(sl_transformer_keys(model, in));
  SL_TRY(read_attention(model, in));
  SL_TRY(sl_json_get_real(in, "expansion_ratio", 4, 4, &ratio)); /* transformers' MptMLP supports only 4 */
  model->n_inner = 4 * model->n_embd;
  return sl_transformer_heads(model, in, "n_heads", NULL, "d_model");
}

/* MptAttentionConfig insists on whole numbers: its dropout can only be 0. */
static void write_config(const struct sl_model *model, json_t *out) {
  json_t *drop = model->attn_pdrop > 0 ? json_real(model->attn_pdrop) : json_integer(0);
  json_object_set_new(out, "attn_config",
                      json_pack("{s:o, s:I}", "attn_pdrop", drop, "alibi_bias_max", (json_int_t)model->form.alibi_max));
}

const struct sl_family sl_model_mpt = {
    .name = "mpt",
    SL_TRANSFORMER,
    .read = read_config,
    .write = write_config,
    SL_FAMILY_KEYS(keys),
    .base = "transformer.",
    .prefix = "blocks",
    .parts = {[SL_PART_EMBEDDING] = "wte",
              [SL_PART_NORM_1] = "norm_1",
              [SL_PART_QKV] = "attn.Wqkv",
              [SL_PART_ATTENTION_OUT] = "attn.out_proj",
              [SL_PART_NORM_2] = "norm_2",
              [SL_PART_UP] = "ffn.up_proj",
              [SL_PART_DOWN] = "ffn.down_proj",
              [SL_PART_FINAL_NORM] = "norm_f",
              [SL_PART_HEAD] = "lm_head"},
};
