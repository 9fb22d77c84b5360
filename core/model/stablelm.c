/* StableLM (arXiv:2402.17834): a Llama with LayerNorms, rotary positions of a quarter of each head and, in some
 * versions, branches that read one norm. */
#include "core/model/families.h"

/* transformers, StableLmConfig: names and defaults. Its hidden_dropout drops the MLP's output alone. */
static const struct sl_model_key keys[] = {
    SL_LLAMA_SIZE_KEYS(50304, 4096, 2560, 32, 32, 32, 0, 6912),
    SL_DROPOUT_KEY("attention_dropout", attn_pdrop, 0),
    SL_NONE_KEY("hidden_dropout"),
    SL_REAL_KEY("layer_norm_eps", norm_epsilon, 1e-5, 1),
    SL_ROTARY_KEYS,
    SL_REAL_KEY("initializer_range", initializer_range, 0.02, 1000),
    SL_BOOL_KEY("tie_word_embeddings", tied_head, false),
    SL_ACTIVATION_KEY("hidden_act", SL_ACTIVATIONS_GATING),
    SL_TRAIT_KEY("use_qkv_bias", form.qkv_bias, false),
    SL_ONLY_KEY("qk_layernorm", false),
};

static enum sl_status read_config(struct sl_model *model, const struct sl_json_object *in) {
  struct sl_form *f = &model->form;
  bool parallel = false;
  f->out_in = f->gated = true;
  f->qkv = SL_QKV_APART, f->activation = SL_ACTIVATION_SILU;
  SL_TRY(sl_transformer_keys(model, in));
  SL_TRY(sl_json_get_bool(in, "use_parallel_residual", &parallel));
  f->residual = parallel ? SL_RESIDUAL_PARALLEL_ONE_NORM : SL_RESIDUAL_SEQUENTIAL;
  return sl_transformer_llama_heads(model, in);
}

static void write_config(const struct sl_model *model, json_t *out) {
  json_object_set_new(out, "use_parallel_residual", json_boolean(model->form.residual != SL_RESIDUAL_SEQUENTIAL));
}

const struct sl_family sl_model_stablelm = {
    .name = "stablelm",
    SL_TRANSFORMER,
    .read = read_config,
    .write = write_config,
    SL_FAMILY_KEYS(keys),
    SL_LLAMA_ENDS,
    .parts = {SL_LLAMA_ENDS_PARTS, SL_LLAMA_ATTENTION, SL_LLAMA_MLP, [SL_PART_NORM_2] = "post_attention_layernorm"},
    .rotary = {.default_share = 0.25, .joined = true},
};
