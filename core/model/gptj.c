/* GPT-J (Wang and Komatsuzaki 2021): both branches read one norm, adjacent elements of part of each head are rotated,
 * and the LM head has a bias. */
#include "core/model/families.h"

/* transformers, GPTJConfig: names and defaults. */
static const struct sl_model_key keys[] = {
    SL_SIZE_KEY("vocab_size", NULL, vocab_size, 50400, SL_MAX_ROWS),
    SL_SIZE_KEY("n_positions", "max_position_embeddings", n_positions, 2048, SL_MAX_ROWS),
    SL_SIZE_KEY("n_embd", "hidden_size", n_embd, 4096, SL_MAX_WIDTH),
    SL_SIZE_KEY("n_layer", "num_hidden_layers", n_layer, 28, SL_MAX_LAYERS),
    SL_SIZE_KEY("n_head", "num_attention_heads", n_head, 16, SL_MAX_WIDTH),
    SL_SIZE_KEY("n_inner", NULL, n_inner, 0, SL_MAX_INNER),
    SL_SIZE_KEY("rotary_dim", NULL, form.rotary.dim, 64, SL_MAX_WIDTH),
    SL_DROPOUT_KEY("embd_pdrop", embd_pdrop, 0),
    SL_DROPOUT_KEY("attn_pdrop", attn_pdrop, 0),
    SL_DROPOUT_KEY("resid_pdrop", resid_pdrop, 0),
    SL_REAL_KEY("layer_norm_epsilon", norm_epsilon, 1e-5, 1),
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_ONLY_KEY("tie_word_embeddings", false),
    SL_ACTIVATION_KEY("activation_function", SL_ACTIVATIONS_PLAIN),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  f->out_in = f->mlp_bias = f->head_bias = true;
  f->qkv = SL_QKV_APART, f->residual = SL_RESIDUAL_PARALLEL_ONE_NORM, f->positions = SL_POSITIONS_ROTARY;
  SL_TRY(sl_transformer_keys(model, in));
  if (model->n_inner == 0) model->n_inner = 4 * model->n_embd;
  SL_TRY(sl_transformer_heads(model, in, "n_head", NULL, "n_embd"));
  f->rotary.base = 10000, f->rotary.interleaved = true, f->rotary.attention = 1;
  f->rotary_windowed = f->rotary;
  if (f->rotary.dim % 2 == 0 && f->rotary.dim <= model->head_dim) return SL_OK;
  return sl_json_fail(in->doc, "rotary_dim", "is %lld; expected an even number up to the head dimension, which is %lld",
                      (long long)f->rotary.dim, (long long)model->head_dim);
}

const struct sl_family sl_model_gptj = {
    .name = "gptj",
    SL_TRANSFORMER,
    .read = read_config,
    SL_FAMILY_KEYS(keys),
    .base = "transformer.",
    .prefix = "h",
    .parts = {[SL_PART_EMBEDDING] = "wte",
              [SL_PART_NORM_1] = "ln_1",
              [SL_PART_Q] = "attn.q_proj",
              [SL_PART_K] = "attn.k_proj",
              [SL_PART_V] = "attn.v_proj",
              [SL_PART_ATTENTION_OUT] = "attn.out_proj",
              [SL_PART_UP] = "mlp.fc_in",
              [SL_PART_DOWN] = "mlp.fc_out",
              [SL_PART_FINAL_NORM] = "ln_f",
              [SL_PART_HEAD] = "lm_head"},
};
