/* A model of Megatron-LM that is no Hugging Face family: any combination of what its arguments say. Keys are those of
 * Megatron-LM's TransformerConfig where that has one, and otherwise the argument's; parts have the names of
 * megatron.core's GPTModel. Source: Megatron-LM core_r0.12, megatron/core/transformer/transformer_config.py,
 * megatron/core/models/gpt. */
#include "core/model/families.h"

#include <stdio.h>
#include <string.h>

static const struct sl_model_key keys[] = {
    SL_SIZE_KEY("vocab_size", NULL, vocab_size, 50257, SL_MAX_ROWS),
    SL_SIZE_KEY("max_position_embeddings", NULL, n_positions, 1024, SL_MAX_ROWS),
    SL_SIZE_KEY("hidden_size", NULL, n_embd, 768, SL_MAX_WIDTH),
    SL_SIZE_KEY("num_layers", NULL, n_layer, 12, SL_MAX_LAYERS),
    SL_SIZE_KEY("num_attention_heads", NULL, n_head, 12, SL_MAX_WIDTH),
    SL_SIZE_KEY("num_query_groups", NULL, n_kv_head, 0, SL_MAX_WIDTH),
    SL_SIZE_KEY("kv_channels", NULL, head_dim, 0, SL_MAX_WIDTH),
    SL_SIZE_KEY("ffn_hidden_size", NULL, n_inner, 0, SL_MAX_INNER),
    SL_DROPOUT_KEY("hidden_dropout", resid_pdrop, 0.1),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0.1),
    SL_REAL_KEY("layernorm_epsilon", norm_epsilon, 1e-5, 1),
    SL_BOOL_KEY("layernorm_zero_centered_gamma", form.norms_from_one, false),
    SL_REAL_KEY("init_method_std", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("gated_linear_unit", form.gated, false),
    SL_ACTIVATION_KEY("activation_func", SL_ACTIVATIONS_PLAIN | SL_ACTIVATIONS_GATING),
    SL_BOOL_KEY("add_bias_linear", form.out_bias, true),
    SL_BOOL_KEY("add_qkv_bias", form.qkv_bias, false),
    SL_BOOL_KEY("embed_layernorm", form.embedding_norm, false),
};

enum { POSITIONS, NORMS, WORD_KEYS };
static const struct {
  const char *key, *words[5];
} words[WORD_KEYS] = {{"position_embedding_type", {"learned_absolute", "rope", "alibi", "none"}},
                      {"normalization", {"LayerNorm", "RMSNorm"}}};

/* Which of its words a key has; the first if it is absent. */
static enum sl_status read_word(const struct sl_json_object *in, int key, int *which) {
  char text[32], list[96] = "";
  snprintf(text, sizeof text, "%s", words[key].words[0]);
  SL_TRY(sl_json_get_text(in, words[key].key, text, sizeof text));
  for (int i = 0; words[key].words[i] != NULL; i++) {
    if (strcmp(text, words[key].words[i]) == 0) return *which = i, SL_OK;
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s\"%s\"", i > 0 ? ", " : "", words[key].words[i]);
  }
  return sl_json_get_fail(in, words[key].key, "one of %s", list);
}

static enum sl_status read_positions(struct sl_model *model, const struct sl_json_object *in) {
  static const enum sl_positions kinds[] = {SL_POSITIONS_TABLE, SL_POSITIONS_ROTARY, SL_POSITIONS_ALIBI,
                                            SL_POSITIONS_NONE};
  int which = 0;
  SL_TRY(read_word(in, POSITIONS, &which));
  model->form.positions = kinds[which];
  if (model->form.positions == SL_POSITIONS_ALIBI) model->form.alibi_max = 8;
  return model->form.positions == SL_POSITIONS_ROTARY ? sl_rotary_read(model, in) : SL_OK;
}

/* Norms of q and k are read beside RMSNorm alone: beside LayerNorm they would be LayerNorms of a head. They stand
 * between the products and attention, which are then apart here; Megatron-LM splits its linear_qkv for them. */
static enum sl_status read_norms(struct sl_form *f, const struct sl_json_object *in) {
  int which = 0;
  bool of_heads = false;
  SL_TRY(read_word(in, NORMS, &which));
  SL_TRY(sl_json_get_bool(in, "qk_layernorm", &of_heads));
  f->rms = which == 1;
  f->qk_norm = of_heads ? SL_QK_NORM_HEAD : SL_QK_NORM_NONE;
  f->qkv = of_heads ? SL_QKV_APART : SL_QKV_BY_GROUP;
  if (of_heads && !f->rms)
    return sl_json_get_fail(in, "qk_layernorm", "false beside LayerNorm; only RMSNorms of q and k are modelled");
  return SL_OK;
}

/* Megatron-LM draws the weights that add to the residual stream smaller. */
static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  bool untied = false;
  f->out_in = f->gelu_of_torch = f->small_residual_init = true;
  SL_TRY(sl_transformer_keys(model, in));
  SL_TRY(sl_json_get_bool(in, "untie_embeddings_and_output_weights", &untied));
  SL_TRY(read_norms(f, in));
  model->tied_head = !untied;
  model->embd_pdrop = model->resid_pdrop;
  f->mlp_bias = f->out_bias, f->qkv_bias |= f->out_bias, f->gate_packed = f->gated;
  if (model->n_inner == 0) model->n_inner = 4 * model->n_embd;
  SL_TRY(sl_transformer_heads(model, in, "num_attention_heads", "num_query_groups", "hidden_size"));
  return read_positions(model, in);
}

static void write_config(const struct sl_model *model, json_t *out) {
  static const int positions[] = {
      [SL_POSITIONS_TABLE] = 0, [SL_POSITIONS_ROTARY] = 1, [SL_POSITIONS_ALIBI] = 2, [SL_POSITIONS_NONE] = 3};
  const struct sl_form *f = &model->form;
  json_object_set_new(out, words[POSITIONS].key, json_string(words[POSITIONS].words[positions[f->positions]]));
  json_object_set_new(out, words[NORMS].key, json_string(words[NORMS].words[f->rms]));
  json_object_set_new(out, "qk_layernorm", json_boolean(f->qk_norm == SL_QK_NORM_HEAD));
  json_object_set_new(out, "untie_embeddings_and_output_weights", json_boolean(!model->tied_head));
  if (f->positions == SL_POSITIONS_ROTARY) sl_rotary_write(model, out);
}

const struct sl_family sl_model_megatron = {
    .name = "megatron",
    SL_TRANSFORMER,
    .read = read_config,
    .write = write_config,
    SL_FAMILY_KEYS(keys),
    .base = "",
    .prefix = "decoder.layers",
    .parts = {[SL_PART_EMBEDDING] = "embedding.word_embeddings",
              [SL_PART_POSITIONS] = "embedding.position_embeddings",
              [SL_PART_EMBEDDING_NORM] = "embedding.norm",
              [SL_PART_NORM_1] = "input_layernorm",
              [SL_PART_QKV] = "self_attention.linear_qkv",
              [SL_PART_Q] = "self_attention.linear_q",
              [SL_PART_K] = "self_attention.linear_k",
              [SL_PART_V] = "self_attention.linear_v",
              [SL_PART_Q_NORM] = "self_attention.q_layernorm",
              [SL_PART_K_NORM] = "self_attention.k_layernorm",
              [SL_PART_ATTENTION_OUT] = "self_attention.linear_proj",
              [SL_PART_NORM_2] = "pre_mlp_layernorm",
              [SL_PART_UP] = "mlp.linear_fc1",
              [SL_PART_DOWN] = "mlp.linear_fc2",
              [SL_PART_FINAL_NORM] = "decoder.final_layernorm",
              [SL_PART_HEAD] = "output_layer"},
    .rotary = {.base = "rotary_base", .share = "rotary_percent"},
};
