/* Llama: its config.json and its logical tensors. */
#include "core/model/families.h"
#include "core/model/read.h"
#include "core/model/tensors.h"

#include "core/base/limits.h"

#include <stdio.h>
#include <string.h>

/* Rotary positions: theta under its old or its new key. A scaling stretches the context and changes no shape: a
 * warning. */
static enum sl_status read_rope(struct sl_model *model, const struct sl_json_object *in) {
  static const char *const keys[] = {"rope_scaling", "rope_parameters"};
  SL_TRY(sl_json_get_real(in, "rope_theta", 1, 1e12, &model->rope_theta));
  for (int i = 0; i < 2; i++) {
    const json_t *value = sl_json_get(in, keys[i]);
    if (value == NULL) continue;
    const struct sl_json_object rope = {in->doc, value, keys[i]};
    if (!json_is_object(value)) return sl_json_get_fail(in, keys[i], "an object or null");
    SL_TRY(sl_json_get_real(&rope, "rope_theta", 1, 1e12, &model->rope_theta));
    char type[32] = "default", where[512];
    SL_TRY(sl_json_get_text(&rope, "type", type, sizeof type));
    SL_TRY(sl_json_get_text(&rope, "rope_type", type, sizeof type));
    if (strcmp(type, "default") == 0) continue;
    sl_json_where(in->doc, keys[i], where, sizeof where);
    sl_warn("%s: %s: \"%s\" is not modelled; plain rotary positions are used", where, keys[i], type);
  }
  return SL_OK;
}

/* transformers, LlamaConfig: names and defaults. */
static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  model->vocab_size = 32000, model->n_positions = 2048;
  model->n_embd = 4096, model->n_layer = 32, model->n_head = 32, model->n_inner = 11008;
  model->norm_epsilon = 1e-6, model->initializer_range = 0.02, model->rope_theta = 10000;
  SL_TRY(sl_model_get_size(in, "vocab_size", NULL, SL_MAX_ROWS, &model->vocab_size));
  SL_TRY(sl_model_get_size(in, "max_position_embeddings", NULL, SL_MAX_ROWS, &model->n_positions));
  SL_TRY(sl_model_get_size(in, "hidden_size", NULL, SL_MAX_WIDTH, &model->n_embd));
  SL_TRY(sl_model_get_size(in, "num_hidden_layers", NULL, SL_MAX_LAYERS, &model->n_layer));
  SL_TRY(sl_model_get_size(in, "num_attention_heads", NULL, SL_MAX_WIDTH, &model->n_head));
  SL_TRY(sl_model_get_size(in, "intermediate_size", NULL, SL_MAX_INNER, &model->n_inner));
  model->n_kv_head = model->n_head;
  SL_TRY(sl_model_get_size(in, "num_key_value_heads", NULL, SL_MAX_WIDTH, &model->n_kv_head));
  SL_TRY(sl_model_want_divisor(in, "num_key_value_heads", model->n_head, model->n_kv_head, "num_attention_heads"));
  if (sl_json_get(in, "head_dim") == NULL) {
    SL_TRY(sl_model_want_divisor(in, "num_attention_heads", model->n_embd, model->n_head, "hidden_size"));
    model->head_dim = model->n_embd / model->n_head;
  }
  SL_TRY(sl_model_get_size(in, "head_dim", NULL, SL_MAX_WIDTH / model->n_head, &model->head_dim));
  if (model->head_dim % 2 != 0)
    return sl_json_fail(in->doc, sl_json_get(in, "head_dim") != NULL ? "head_dim" : "num_attention_heads",
                        "the head dimension is %lld; expected an even one, rotary positions turn pairs",
                        (long long)model->head_dim);
  SL_TRY(sl_json_get_real(in, "attention_dropout", 0, SL_MODEL_MAX_PDROP, &model->attn_pdrop));
  SL_TRY(sl_json_get_real(in, "rms_norm_eps", 0, 1, &model->norm_epsilon));
  SL_TRY(sl_json_get_real(in, "initializer_range", 0, 1000, &model->initializer_range));
  SL_TRY(sl_json_get_bool(in, "tie_word_embeddings", &model->tied_head));
  SL_TRY(sl_model_want_activation(in, "hidden_act", "silu", "swish"));
  SL_TRY(sl_model_want_bool(in, "attention_bias", false));
  SL_TRY(sl_model_want_bool(in, "mlp_bias", false));
  return read_rope(model, in);
}

/* Llama as nn.Linear keeps it: weights are (out, in). */
static const struct sl_model_entry head[] = {{"embed_tokens.weight", {SL_SIZE_V, SL_SIZE_C}, SL_START_NORMAL, 0, 1}};
static const struct sl_model_entry block[] = {
    {"input_layernorm.weight", {SL_SIZE_C}, SL_START_ONES, -1, 1},
    {"self_attn.q_proj.weight", {SL_SIZE_Q, SL_SIZE_C}, SL_START_NORMAL, 0, 1},
    {"self_attn.k_proj.weight", {SL_SIZE_K, SL_SIZE_C}, SL_START_NORMAL, 0, 1},
    {"self_attn.v_proj.weight", {SL_SIZE_K, SL_SIZE_C}, SL_START_NORMAL, 0, 1},
    {"self_attn.o_proj.weight", {SL_SIZE_C, SL_SIZE_Q}, SL_START_NORMAL, 1, 1},
    {"post_attention_layernorm.weight", {SL_SIZE_C}, SL_START_ONES, -1, 1},
    {"mlp.gate_proj.weight", {SL_SIZE_I, SL_SIZE_C}, SL_START_NORMAL, 0, 1},
    {"mlp.up_proj.weight", {SL_SIZE_I, SL_SIZE_C}, SL_START_NORMAL, 0, 1},
    {"mlp.down_proj.weight", {SL_SIZE_C, SL_SIZE_I}, SL_START_NORMAL, 1, 1},
};
static const struct sl_model_entry tail[] = {{"norm.weight", {SL_SIZE_C}, SL_START_ONES, -1, 1}};

static enum sl_status make_tensors(struct sl_model *model) {
  static const struct sl_model_tables tables = {
      "layers", head, block, tail, SL_MODEL_COUNT(head), SL_MODEL_COUNT(block), SL_MODEL_COUNT(tail)};
  return sl_model_make_tensors(model, &tables);
}

static json_t *to_json(const struct sl_model *model) {
  return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:b, s:s}", "model_type",
                   "llama", "_name_or_path", model->name, "vocab_size", (json_int_t)model->vocab_size,
                   "max_position_embeddings", (json_int_t)model->n_positions, "hidden_size", (json_int_t)model->n_embd,
                   "num_hidden_layers", (json_int_t)model->n_layer, "num_attention_heads", (json_int_t)model->n_head,
                   "num_key_value_heads", (json_int_t)model->n_kv_head, "head_dim", (json_int_t)model->head_dim,
                   "intermediate_size", (json_int_t)model->n_inner, "attention_dropout", model->attn_pdrop,
                   "rms_norm_eps", model->norm_epsilon, "rope_theta", model->rope_theta, "initializer_range",
                   model->initializer_range, "tie_word_embeddings", model->tied_head, "hidden_act", "silu");
}

const struct sl_family sl_model_llama = {
    .name = "llama", .tokens = true, .read = read_config, .make_tensors = make_tensors, .to_json = to_json};
