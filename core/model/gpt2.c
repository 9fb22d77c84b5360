/* GPT-2 (Radford et al. 2019): its config.json and the names of its parts. */
#include "core/model/families.h"

/* transformers, GPT2Config: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_SIZE_KEY("vocab_size", NULL, vocab_size, 50257, SL_MAX_ROWS),
    SL_SIZE_KEY("n_positions", "max_position_embeddings", n_positions, 1024, SL_MAX_ROWS),
    SL_SIZE_KEY("n_embd", "hidden_size", n_embd, 768, SL_MAX_WIDTH),
    SL_SIZE_KEY("n_layer", "num_hidden_layers", n_layer, 12, SL_MAX_LAYERS),
    SL_SIZE_KEY("n_head", "num_attention_heads", n_head, 12, SL_MAX_WIDTH),
    SL_SIZE_KEY("n_inner", NULL, n_inner, 0, SL_MAX_INNER),
    SL_DROPOUT_KEY("embd_pdrop", embd_pdrop, 0.1),
    SL_DROPOUT_KEY("attn_pdrop", attn_pdrop, 0.1),
    SL_DROPOUT_KEY("resid_pdrop", resid_pdrop, 0.1),
    SL_REAL_KEY("layer_norm_epsilon", norm_epsilon, 1e-5, 1),
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, true),
    SL_ACTIVATION_KEY("activation_function", SL_ACTIVATIONS_PLAIN),
    SL_ONLY_KEY("scale_attn_weights", true),
    SL_ONLY_KEY("scale_attn_by_inverse_layer_idx", false),
    SL_ONLY_KEY("reorder_and_upcast_attn", false),
    SL_ONLY_KEY("add_cross_attention", false),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->qkv_bias = f->out_bias = f->mlp_bias = f->small_residual_init = true;
  SL_TRY(sl_transformer_keys(model, in));
  if (model->n_inner == 0) model->n_inner = 4 * model->n_embd;
  const bool aliased = sl_json_get(in, "n_head") == NULL && sl_json_get(in, "num_attention_heads") != NULL;
  return sl_transformer_heads(model, in, aliased ? "num_attention_heads" : "n_head", NULL, "n_embd");
}

/* Weights are (in, out), as in transformers' Conv1D. */
const struct sl_family sl_model_gpt2 = {
    .name = "gpt2",
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    .base = "transformer.",
    .prefix = "h",
    .parts = {[SL_PART_EMBEDDING] = "wte",
              [SL_PART_POSITIONS] = "wpe",
              [SL_PART_NORM_1] = "ln_1",
              [SL_PART_QKV] = "attn.c_attn",
              [SL_PART_ATTENTION_OUT] = "attn.c_proj",
              [SL_PART_NORM_2] = "ln_2",
              [SL_PART_UP] = "mlp.c_fc",
              [SL_PART_DOWN] = "mlp.c_proj",
              [SL_PART_FINAL_NORM] = "ln_f",
              [SL_PART_HEAD] = "lm_head"},
};
