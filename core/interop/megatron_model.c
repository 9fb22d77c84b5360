/* See megatron_model.h. Sources: Megatron-LM core_r0.12, megatron/training/arguments.py
 * (core_transformer_config_from_args, defaults), pretrain_gpt.py (args_defaults); Megatron-DeepSpeed's and BigScience's
 * megatron/arguments.py for --embed-layernorm and alibi. */
#include "core/interop/megatron_model.h"

#include "core/interop/megatron_families.h"
#include "core/interop/megatron_keys.h"
#include "core/interop/megatron_vocabulary.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- sizes ---- */

/* The sizes, and what they say of the family. */
struct shape {
  int64_t layers, width, heads, positions, inner, groups, head, vocabulary;
  double hidden, attention; /* dropouts */
  int traits;
};

/* One group is Megatron-LM's default. DeepSpeed's fork has one argument for all, and BigCode's one for the two ends. */
static enum sl_status read_groups(const struct sl_arguments *a, struct shape *s) {
  static const char fork[] = "num-key-value-heads", bigcode[] = "attention-head-type";
  const bool grouped = sl_arguments_has(a, "group-query-attention");
  const char *type = "multihead";
  if (sl_arguments_has(a, bigcode)) SL_TRY(sl_arguments_text(a, bigcode, &type));
  const bool one = strcmp(type, "multiquery") == 0;
  if (!one && strcmp(type, "multihead") != 0) return sl_arguments_fail(a, bigcode, "multihead or multiquery");
  s->groups = grouped || one ? 1 : s->heads;
  if (grouped && sl_arguments_has(a, "num-query-groups")) SL_TRY(sl_arguments_int(a, "num-query-groups", &s->groups));
  return sl_arguments_has(a, fork) ? sl_arguments_int(a, fork, &s->groups) : SL_OK;
}

/* The feed-forward width: 4 h, or with swiglu 2/3 of that, rounded down to a multiple of 64. */
static enum sl_status read_sizes(const struct sl_arguments *a, struct shape *s) {
  SL_TRY(sl_arguments_int(a, "num-layers", &s->layers));
  SL_TRY(sl_arguments_int(a, "hidden-size", &s->width));
  SL_TRY(sl_arguments_int(a, "num-attention-heads", &s->heads));
  SL_TRY(sl_arguments_int(a, "max-position-embeddings", &s->positions));
  s->inner = sl_arguments_has(a, "swiglu") ? s->width * 4 * 2 / 3 / 64 * 64 : 4 * s->width;
  s->head = s->heads > 0 ? s->width / s->heads : 0;
  s->hidden = s->attention = 0.1;
  const int64_t inner = 4 * s->width, head = s->head;
  if (sl_arguments_has(a, "ffn-hidden-size")) SL_TRY(sl_arguments_int(a, "ffn-hidden-size", &s->inner));
  if (sl_arguments_has(a, "kv-channels")) SL_TRY(sl_arguments_int(a, "kv-channels", &s->head));
  if (sl_arguments_has(a, "hidden-dropout")) SL_TRY(sl_arguments_real(a, "hidden-dropout", &s->hidden));
  if (sl_arguments_has(a, "attention-dropout")) SL_TRY(sl_arguments_real(a, "attention-dropout", &s->attention));
  SL_TRY(read_groups(a, s));
  s->traits = (s->inner != inner ? SL_MEGATRON_INNER : 0) | (s->head != head ? SL_MEGATRON_HEADS : 0) |
              (s->groups != s->heads ? SL_MEGATRON_GROUPS : 0) |
              (s->groups == 1 && s->heads > 1 ? SL_MEGATRON_ONE_GROUP : 0) | (s->hidden > 0 ? SL_MEGATRON_DROPOUT : 0) |
              (sl_arguments_has(a, "untie-embeddings-and-output-weights") ? SL_MEGATRON_UNTIED : 0);
  return SL_OK;
}

/* ---- the model family ---- */

static enum sl_status read_positions(const struct sl_arguments *a, int *found) {
  const char *text = "learned_absolute";
  const bool none = sl_arguments_has(a, "no-position-embedding");
  if (sl_arguments_has(a, "use-rotary-position-embeddings")) *found |= SL_MEGATRON_ROPE;
  if (sl_arguments_has(a, "position-embedding-type")) SL_TRY(sl_arguments_text(a, "position-embedding-type", &text));
  if (strcasecmp(text, "rope") == 0 || strcasecmp(text, "rotary") == 0) *found |= SL_MEGATRON_ROPE;
  if (strcasecmp(text, "alibi") == 0 || strcmp(text, "PositionEmbeddingType.alibi") == 0)
    return *found |= SL_MEGATRON_ALIBI, SL_OK;
  if (*found & SL_MEGATRON_ROPE) return SL_OK;
  if (none || strcmp(text, "none") == 0) return *found |= SL_MEGATRON_NO_POSITIONS, SL_OK;
  if (strcmp(text, "learned_absolute") == 0 || strcmp(text, "absolute") == 0) return SL_OK;
  return sl_arguments_fail(a, "position-embedding-type", "rope, alibi, learned_absolute or none");
}

/* BigScience's --glu-activation swiglu is Megatron-LM's --swiglu, with an MLP as wide as without it. */
static enum sl_status read_traits(const struct sl_arguments *a, int *found) {
  const char *norm = "LayerNorm", *glu = "swiglu";
  *found = sl_arguments_has(a, "glu-activation") ? SL_MEGATRON_SWIGLU : 0;
  if (*found) SL_TRY(sl_arguments_text(a, "glu-activation", &glu));
  if (strcmp(glu, "swiglu") != 0) return sl_arguments_fail(a, "glu-activation", "swiglu: no other one is modelled");
  for (const struct sl_megatron_flag *f = sl_megatron_flags; f->argument != NULL; f++)
    if (sl_arguments_has(a, f->argument)) *found |= f->trait;
  if (!(*found & SL_MEGATRON_NO_BIAS)) *found &= ~SL_MEGATRON_QKV_BIAS; /* which all linear layers have then */
  if ((*found & SL_MEGATRON_SWIGLU) && (*found & SL_MEGATRON_SQUARED_RELU))
    return sl_arguments_fail(a, "squared-relu", "none beside --swiglu, as in Megatron-LM");
  if (sl_arguments_has(a, "normalization")) SL_TRY(sl_arguments_text(a, "normalization", &norm));
  if (strcasecmp(norm, "RMSNorm") == 0)
    *found |= SL_MEGATRON_RMS;
  else if (strcasecmp(norm, "LayerNorm") != 0)
    return sl_arguments_fail(a, "normalization", "LayerNorm or RMSNorm");
  return read_positions(a, found);
}

/* The first family that has all that is found, and may have the rest. */
static enum sl_status find_form(const struct sl_arguments *a, const struct shape *shape,
                                const struct sl_megatron_form **out, int *found) {
  const struct sl_megatron_form *f = sl_megatron_forms;
  SL_TRY(read_traits(a, found));
  *found |= shape->traits;
  while (((f->has | f->may) & *found) != *found || (f->has & *found) != f->has) f++;
  if ((*found & SL_MEGATRON_ONE_P) && !(f->has & SL_MEGATRON_ONE_P) && f->keys != &sl_megatron_own)
    sl_warn("%s: --apply-layernorm-1p: norms multiply by weights that start at 1, instead of by 1 + weight", a->name);
  *out = f;
  return SL_OK;
}

/* ---- other keys ---- */

static void set_int(json_t *model, const char *key, int64_t value) {
  if (key != NULL) json_object_set_new(model, key, json_integer(value));
}

static void put_sizes(json_t *model, const struct sl_arguments *a, const struct sl_megatron_keys *k,
                      const struct shape *s) {
  set_int(model, k->layers, s->layers);
  set_int(model, k->width, s->width);
  set_int(model, k->heads, s->heads);
  set_int(model, k->positions, s->positions);
  set_int(model, "vocab_size", s->vocabulary);
  set_int(model, k->inner, s->inner);
  set_int(model, k->groups, s->groups);
  set_int(model, k->head, s->head);
  json_object_set_new(model, k->attention, sl_arguments_number(a, "attention-dropout", s->attention));
  for (int i = 0; i < 2; i++)
    if (k->hidden[i] != NULL)
      json_object_set_new(model, k->hidden[i], sl_arguments_number(a, "hidden-dropout", s->hidden));
}

/* The share is written where it is not 1, and where a family's default is another. --use-rope-scaling is the scaling
 * of Llama 3.1. */
static enum sl_status put_rotary(json_t *model, const struct sl_arguments *a, const struct sl_megatron_keys *k) {
  double theta = 10000, share = 1, factor = 8;
  if (sl_arguments_has(a, "rotary-base")) SL_TRY(sl_arguments_real(a, "rotary-base", &theta));
  if (sl_arguments_has(a, "rotary-percent")) SL_TRY(sl_arguments_real(a, "rotary-percent", &share));
  if (sl_arguments_has(a, "rope-scaling-factor")) SL_TRY(sl_arguments_real(a, "rope-scaling-factor", &factor));
  json_object_set_new(model, k->base, sl_arguments_number(a, "rotary-base", theta));
  if (share != 1 || k->default_share > 0)
    json_object_set_new(model, k->share, sl_arguments_number(a, "rotary-percent", share));
  if (!sl_arguments_has(a, "use-rope-scaling")) return SL_OK;
  json_object_set_new(model, "rope_scaling",
                      json_pack("{s:s, s:f, s:f, s:f, s:i}", "rope_type", "llama3", "factor", factor, "low_freq_factor",
                                1.0, "high_freq_factor", 4.0, "original_max_position_embeddings", 8192));
  return SL_OK;
}

/* What norms add to a variance, and the deviation of initial weights. */
static enum sl_status put_numbers(json_t *model, const struct sl_arguments *a, const struct sl_megatron_keys *k) {
  static const char *const epsilons[] = {"layernorm-epsilon", "norm-epsilon"}; /* of 2021 and later */
  const char *given = epsilons[1];
  double epsilon = 1e-5, deviation = 0.02;
  for (int i = 0; i < 2; i++) {
    if (!sl_arguments_has(a, epsilons[i])) continue;
    SL_TRY(sl_arguments_real(a, epsilons[i], &epsilon));
    given = epsilons[i];
  }
  if (sl_arguments_has(a, "init-method-std")) SL_TRY(sl_arguments_real(a, "init-method-std", &deviation));
  json_object_set_new(model, k->epsilon, sl_arguments_number(a, given, epsilon));
  json_object_set_new(model, k->deviation, sl_arguments_number(a, "init-method-std", deviation));
  return SL_OK;
}

/* The traits of a Hugging Face family that its name leaves open. */
static void put_open_traits(json_t *model, const struct sl_megatron_form *f, int found) {
  const bool biases = !(found & SL_MEGATRON_NO_BIAS);
  json_object_set_new(model, "tie_word_embeddings", json_boolean(!(found & SL_MEGATRON_UNTIED)));
  if (strcmp(f->family, "starcoder2") == 0) {
    json_object_set_new(model, "use_bias", json_boolean(biases));
    json_object_set_new(model, "hidden_act", json_string("gelu_pytorch_tanh"));
  } else if (f->keys->head != NULL && biases) {
    json_object_set_new(model, "attention_bias", json_true());
    json_object_set_new(model, "mlp_bias", json_true());
  }
}

/* All traits, for the family that has any. */
static void put_all_traits(json_t *model, int found) {
  for (const struct sl_megatron_flag *f = sl_megatron_flags; f->argument != NULL; f++)
    if (f->key != NULL) json_object_set_new(model, f->key, json_boolean(found & f->trait));
  json_object_set_new(model, "add_bias_linear", json_boolean(!(found & SL_MEGATRON_NO_BIAS)));
  json_object_set_new(model, "normalization", json_string(found & SL_MEGATRON_RMS ? "RMSNorm" : "LayerNorm"));
  json_object_set_new(model, "activation_func",
                      json_string(found & SL_MEGATRON_SWIGLU         ? "silu"
                                  : found & SL_MEGATRON_SQUARED_RELU ? "relu2"
                                                                     : "gelu_pytorch_tanh"));
  json_object_set_new(model, "position_embedding_type",
                      json_string(found & SL_MEGATRON_ROPE           ? "rope"
                                  : found & SL_MEGATRON_ALIBI        ? "alibi"
                                  : found & SL_MEGATRON_NO_POSITIONS ? "none"
                                                                     : "learned_absolute"));
}

/* Of which arguments the keys are made. Those of sizes have a name in each family. */
static void name_keys(const struct sl_arguments *a, const struct sl_megatron_keys *k, json_t *names) {
  const struct sl_megatron_tie sizes[] = {{k->layers, "num-layers"},
                                          {k->width, "hidden-size"},
                                          {k->heads, "num-attention-heads"},
                                          {k->positions, "max-position-embeddings"},
                                          {k->inner != NULL ? k->inner : "n_inner", "ffn-hidden-size"},
                                          {k->groups != NULL ? k->groups : "n_groups", "num-query-groups"},
                                          {k->groups != NULL ? k->groups : "n_groups", "num-key-value-heads"},
                                          {k->head != NULL ? k->head : "head_dim", "kv-channels"},
                                          {"vocab_size", "padded-vocab-size"},
                                          {"vocab_size", "pad-vocab-size-to"},
                                          {"vocab_size", "vocab-size"}};
  static const struct sl_megatron_tie numbers[] = {{"rope_theta", "rotary-base"},
                                                   {"partial_rotary_factor", "rotary-percent"},
                                                   {"rotary_base", "rotary-base"},
                                                   {"rotary_percent", "rotary-percent"},
                                                   {"qk_layernorm", "qk-layernorm"},
                                                   {"rope_scaling", "use-rope-scaling"},
                                                   {"rope_scaling.factor", "rope-scaling-factor"},
                                                   {"attn_pdrop", "attention-dropout"},
                                                   {"attention_dropout", "attention-dropout"},
                                                   {"embd_pdrop", "hidden-dropout"},
                                                   {"resid_pdrop", "hidden-dropout"},
                                                   {"hidden_dropout", "hidden-dropout"},
                                                   {"embedding_dropout", "hidden-dropout"},
                                                   {"residual_dropout", "hidden-dropout"},
                                                   {"layer_norm_epsilon", "norm-epsilon"},
                                                   {"layer_norm_epsilon", "layernorm-epsilon"},
                                                   {"rms_norm_eps", "norm-epsilon"},
                                                   {"rms_norm_eps", "layernorm-epsilon"},
                                                   {"norm_epsilon", "norm-epsilon"},
                                                   {"norm_epsilon", "layernorm-epsilon"},
                                                   {"layernorm_epsilon", "norm-epsilon"},
                                                   {"layernorm_epsilon", "layernorm-epsilon"},
                                                   {"init_method_std", "init-method-std"},
                                                   {"initializer_range", "init-method-std"},
                                                   {"tie_word_embeddings", "untie-embeddings-and-output-weights"}};
  sl_megatron_name(a, sizes, sizeof sizes / sizeof *sizes, true, names);
  sl_megatron_name(a, numbers, sizeof numbers / sizeof *numbers, false, names);
}

enum sl_status sl_megatron_model(const struct sl_arguments *a, json_t **model, json_t *names) {
  const struct sl_megatron_form *form = NULL;
  struct shape shape = {0};
  int found;
  *model = NULL;
  SL_TRY(sl_megatron_vocabulary(a, &shape.vocabulary));
  if (shape.vocabulary == 0) return SL_OK;
  SL_TRY(read_sizes(a, &shape));
  SL_TRY(find_form(a, &shape, &form, &found));
  *model = json_pack("{s:s}", "model_type", form->family);
  name_keys(a, form->keys, names);
  put_sizes(*model, a, form->keys, &shape);
  SL_TRY(put_numbers(*model, a, form->keys));
  if (form->keys == &sl_megatron_own)
    put_all_traits(*model, found);
  else
    put_open_traits(*model, form, found);
  return found & SL_MEGATRON_ROPE ? put_rotary(*model, a, form->keys) : SL_OK;
}
