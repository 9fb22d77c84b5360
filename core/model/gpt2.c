/* GPT-2: its config.json and its logical tensors. */
#include "core/model/families.h"
#include "core/model/read.h"
#include "core/model/tensors.h"

#include "core/base/limits.h"

/* transformers, GPT2Config: names and defaults. */
static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  model->vocab_size = 50257, model->n_positions = 1024;
  model->n_embd = 768, model->n_layer = 12, model->n_head = 12;
  model->embd_pdrop = model->attn_pdrop = model->resid_pdrop = 0.1;
  model->norm_epsilon = 1e-5, model->initializer_range = 0.02, model->tied_head = true;
  SL_TRY(sl_model_get_size(in, "vocab_size", NULL, SL_MAX_ROWS, &model->vocab_size));
  SL_TRY(sl_model_get_size(in, "n_positions", "max_position_embeddings", SL_MAX_ROWS, &model->n_positions));
  SL_TRY(sl_model_get_size(in, "n_embd", "hidden_size", SL_MAX_WIDTH, &model->n_embd));
  SL_TRY(sl_model_get_size(in, "n_layer", "num_hidden_layers", SL_MAX_LAYERS, &model->n_layer));
  SL_TRY(sl_model_get_size(in, "n_head", "num_attention_heads", SL_MAX_WIDTH, &model->n_head));
  model->n_inner = 4 * model->n_embd;
  SL_TRY(sl_model_get_size(in, "n_inner", NULL, SL_MAX_INNER, &model->n_inner));
  SL_TRY(sl_json_get_real(in, "embd_pdrop", 0, SL_MODEL_MAX_PDROP, &model->embd_pdrop));
  SL_TRY(sl_json_get_real(in, "attn_pdrop", 0, SL_MODEL_MAX_PDROP, &model->attn_pdrop));
  SL_TRY(sl_json_get_real(in, "resid_pdrop", 0, SL_MODEL_MAX_PDROP, &model->resid_pdrop));
  SL_TRY(sl_json_get_real(in, "layer_norm_epsilon", 0, 1, &model->norm_epsilon));
  SL_TRY(sl_json_get_real(in, "initializer_range", 0, 1000, &model->initializer_range));
  SL_TRY(sl_json_get_bool(in, "tie_word_embeddings", &model->tied_head));
  SL_TRY(sl_model_want_activation(in, "activation_function", "gelu_new", "gelu_pytorch_tanh"));
  SL_TRY(sl_model_want_bool(in, "scale_attn_weights", true));
  SL_TRY(sl_model_want_bool(in, "scale_attn_by_inverse_layer_idx", false));
  SL_TRY(sl_model_want_bool(in, "reorder_and_upcast_attn", false));
  SL_TRY(sl_model_want_bool(in, "add_cross_attention", false));
  const bool aliased = sl_json_get(in, "n_head") == NULL && sl_json_get(in, "num_attention_heads") != NULL;
  SL_TRY(sl_model_want_divisor(in, aliased ? "num_attention_heads" : "n_head", model->n_embd, model->n_head, "n_embd"));
  model->n_kv_head = model->n_head;
  model->head_dim = model->n_embd / model->n_head;
  return SL_OK;
}

/* GPT-2 as transformers' Conv1D keeps it: weights are (in, out). */
static const struct sl_model_entry head[] = {
    {"wte.weight", {SL_SIZE_V, SL_SIZE_C}, SL_START_NORMAL, 0, 1},
    {"wpe.weight", {SL_SIZE_P, SL_SIZE_C}, SL_START_NORMAL, -1, 1},
};
static const struct sl_model_entry block[] = {
    {"ln_1.weight", {SL_SIZE_C}, SL_START_ONES, -1, 1},
    {"ln_1.bias", {SL_SIZE_C}, SL_START_ZEROS, -1, 1},
    {"attn.c_attn.weight", {SL_SIZE_C, SL_SIZE_C3}, SL_START_NORMAL, 1, 3},
    {"attn.c_attn.bias", {SL_SIZE_C3}, SL_START_ZEROS, 0, 3},
    {"attn.c_proj.weight", {SL_SIZE_C, SL_SIZE_C}, SL_START_RESIDUAL, 0, 1},
    {"attn.c_proj.bias", {SL_SIZE_C}, SL_START_ZEROS, -1, 1},
    {"ln_2.weight", {SL_SIZE_C}, SL_START_ONES, -1, 1},
    {"ln_2.bias", {SL_SIZE_C}, SL_START_ZEROS, -1, 1},
    {"mlp.c_fc.weight", {SL_SIZE_C, SL_SIZE_I}, SL_START_NORMAL, 1, 1},
    {"mlp.c_fc.bias", {SL_SIZE_I}, SL_START_ZEROS, 0, 1},
    {"mlp.c_proj.weight", {SL_SIZE_I, SL_SIZE_C}, SL_START_RESIDUAL, 0, 1},
    {"mlp.c_proj.bias", {SL_SIZE_C}, SL_START_ZEROS, -1, 1},
};
static const struct sl_model_entry tail[] = {
    {"ln_f.weight", {SL_SIZE_C}, SL_START_ONES, -1, 1},
    {"ln_f.bias", {SL_SIZE_C}, SL_START_ZEROS, -1, 1},
};

static enum sl_status make_tensors(struct sl_model *model) {
  static const struct sl_model_tables tables = {
      "h", head, block, tail, SL_MODEL_COUNT(head), SL_MODEL_COUNT(block), SL_MODEL_COUNT(tail)};
  return sl_model_make_tensors(model, &tables);
}

static json_t *to_json(const struct sl_model *model) {
  return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:b, s:s}", "model_type", "gpt2",
                   "_name_or_path", model->name, "vocab_size", (json_int_t)model->vocab_size, "n_positions",
                   (json_int_t)model->n_positions, "n_embd", (json_int_t)model->n_embd, "n_layer",
                   (json_int_t)model->n_layer, "n_head", (json_int_t)model->n_head, "n_inner",
                   (json_int_t)model->n_inner, "embd_pdrop", model->embd_pdrop, "attn_pdrop", model->attn_pdrop,
                   "resid_pdrop", model->resid_pdrop, "layer_norm_epsilon", model->norm_epsilon, "initializer_range",
                   model->initializer_range, "tie_word_embeddings", model->tied_head, "activation_function",
                   "gelu_new");
}

const struct sl_family sl_model_gpt2 = {
    .name = "gpt2", .tokens = true, .read = read_config, .make_tensors = make_tensors, .to_json = to_json};
