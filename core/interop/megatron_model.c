/* See megatron_model.h. Sources: Megatron-LM core_r0.12, megatron/training/arguments.py
 * (core_transformer_config_from_args, defaults), pretrain_gpt.py (args_defaults); Megatron-DeepSpeed's and BigScience's
 * megatron/arguments.py for --embed-layernorm and alibi. */
#include "core/interop/megatron_model.h"

#include "core/interop/megatron_keys.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
  ROPE = 1,
  RMS = 2,
  SWIGLU = 4,
  NO_BIAS = 8,
  QKV_BIAS = 16,
  QK_NORM = 32,
  ALIBI = 64,
  EMBED_NORM = 128,
  LLAMA = ROPE | RMS | SWIGLU
};

/* The keys of a model family's config.json that hold its sizes. */
struct form {
  int features;
  const char *family, *layers, *width, *heads, *positions, *inner; /* inner NULL: always four times the width */
};

#define LATER "num_hidden_layers", "hidden_size", "num_attention_heads", "max_position_embeddings", "intermediate_size"
static const struct form forms[] = {
    {0, "gpt2", "n_layer", "n_embd", "n_head", "n_positions", "n_inner"},
    {LLAMA | NO_BIAS, "llama", LATER},
    {LLAMA, "llama", LATER},
    {LLAMA | NO_BIAS | QKV_BIAS, "qwen2", LATER},
    {LLAMA | NO_BIAS | QK_NORM, "qwen3", LATER},
    {ROPE, "starcoder2", LATER},
    {ROPE | NO_BIAS, "starcoder2", LATER},
    {ALIBI | EMBED_NORM, "bloom", "n_layer", "hidden_size", "n_head", "seq_length", NULL},
};
static const struct {
  int feature;
  const char *name;
} features[] = {{ROPE, "rope"},           {RMS, "RMSNorm"},
                {SWIGLU, "swiglu"},       {NO_BIAS, "no biases"},
                {QKV_BIAS, "qkv biases"}, {QK_NORM, "norms of q and k"},
                {ALIBI, "alibi"},         {EMBED_NORM, "a norm behind the embedding"}};
enum { FORMS = sizeof forms / sizeof *forms, FEATURES = sizeof features / sizeof *features };

/* ---- the model family ---- */

static enum sl_status read_positions(const struct sl_arguments *a, int *found) {
  const char *text = "learned_absolute";
  const bool none = sl_arguments_has(a, "no-position-embedding");
  if (sl_arguments_has(a, "use-rotary-position-embeddings")) *found |= ROPE;
  if (sl_arguments_has(a, "position-embedding-type")) SL_TRY(sl_arguments_text(a, "position-embedding-type", &text));
  if (strcasecmp(text, "rope") == 0 || strcasecmp(text, "rotary") == 0) *found |= ROPE;
  if (strcasecmp(text, "alibi") == 0 || strcmp(text, "PositionEmbeddingType.alibi") == 0) return *found |= ALIBI, SL_OK;
  if (!(*found & ROPE) && (none || strcmp(text, "none") == 0))
    return sl_arguments_fail(a, none ? "no-position-embedding" : "position-embedding-type",
                             "--position-embedding-type rope beside it: a model without positions is not modelled");
  if ((*found & ROPE) || strcmp(text, "learned_absolute") == 0 || strcmp(text, "absolute") == 0) return SL_OK;
  return sl_arguments_fail(a, "position-embedding-type", "rope, alibi or learned_absolute");
}

static enum sl_status read_features(const struct sl_arguments *a, int *found) {
  static const struct {
    const char *argument;
    int feature;
  } flags[] = {{"swiglu", SWIGLU},
               {"disable-bias-linear", NO_BIAS},
               {"add-qkv-bias", QKV_BIAS},
               {"qk-layernorm", QK_NORM},
               {"embed-layernorm", EMBED_NORM}};
  const char *norm = "LayerNorm";
  *found = 0;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (sl_arguments_has(a, flags[i].argument)) *found |= flags[i].feature;
  if (sl_arguments_has(a, "normalization")) SL_TRY(sl_arguments_text(a, "normalization", &norm));
  if (strcasecmp(norm, "RMSNorm") == 0)
    *found |= RMS;
  else if (strcasecmp(norm, "LayerNorm") != 0)
    return sl_arguments_fail(a, "normalization", "LayerNorm or RMSNorm");
  return read_positions(a, found);
}

static enum sl_status find_form(const struct sl_arguments *a, const struct form **out) {
  char has[160] = "";
  int found;
  SL_TRY(read_features(a, &found));
  for (int i = 0; i < FORMS; i++)
    if (forms[i].features == found) return *out = &forms[i], SL_OK;
  for (int i = 0; i < FEATURES; i++) {
    const size_t used = strlen(has);
    if (found & features[i].feature)
      snprintf(has + used, sizeof has - used, "%s%s", used > 0 ? ", " : "", features[i].name);
  }
  return sl_fail(SL_ERR_INPUT,
                 "%s: the model has %s, which no family has together; expected llama's rope, RMSNorm and swiglu, "
                 "starcoder2's rope, gpt2's none, bloom's alibi and norm behind the embedding, or --model",
                 a->name, has);
}

/* ---- sizes ---- */

/* The vocabulary's size; 0 without --num-layers, as there is no model then. */
static enum sl_status read_vocabulary(const struct sl_arguments *a, int64_t *out) {
  static const struct {
    const char *tokenizer;
    int64_t size;
  } known[] = {{"GPT2BPETokenizer", 50257}, {"Llama2Tokenizer", 32000}, {"Llama3Tokenizer", 128256}};
  static const char *const padded[] = {"padded-vocab-size", "pad-vocab-size-to"};
  const char *tokenizer = "GPT2BPETokenizer";
  int64_t given = 0;
  *out = 0;
  if (sl_arguments_has(a, "vocab-size")) SL_TRY(sl_arguments_int(a, "vocab-size", &given));
  for (int i = 0; i < 2; i++) {
    if (!sl_arguments_has(a, padded[i])) continue;
    SL_TRY(sl_arguments_int(a, padded[i], out));
    return *out >= given ? SL_OK : sl_arguments_fail(a, padded[i], "at least --vocab-size, which is padded to it");
  }
  if (given > 0) return *out = given, SL_OK;
  if (!sl_arguments_has(a, "num-layers")) return SL_OK;
  if (sl_arguments_has(a, "tokenizer-type")) SL_TRY(sl_arguments_text(a, "tokenizer-type", &tokenizer));
  for (int i = 0; i < 3; i++)
    if (strcmp(known[i].tokenizer, tokenizer) == 0) *out = known[i].size;
  if (*out == 0)
    return sl_arguments_fail(a, "tokenizer-type",
                             "--vocab-size beside it, or --model: only its file says how large its vocabulary is");
  sl_warn("%s: without --vocab-size the vocabulary is that of %s, %lld", a->name, tokenizer, (long long)*out);
  return SL_OK;
}

static void set_int(json_t *model, const char *key, int64_t value) {
  json_object_set_new(model, key, json_integer(value));
}

/* The feed-forward width: 4 h, or with swiglu 2/3 of that, rounded down to a multiple of 64. */
static enum sl_status put_inner(json_t *model, const struct sl_arguments *a, const struct form *f, int64_t width) {
  int64_t inner = f->features & SWIGLU ? width * 4 * 2 / 3 / 64 * 64 : 4 * width;
  if (sl_arguments_has(a, "ffn-hidden-size")) SL_TRY(sl_arguments_int(a, "ffn-hidden-size", &inner));
  if (f->inner != NULL) return set_int(model, f->inner, inner), SL_OK;
  return inner == 4 * width ? SL_OK : sl_arguments_fail(a, "ffn-hidden-size", "four times --hidden-size, as bloom's");
}

/* One group is Megatron-LM's default. DeepSpeed's fork has one argument for all. */
static enum sl_status put_query_groups(json_t *model, const struct sl_arguments *a, int64_t heads) {
  static const char fork[] = "num-key-value-heads";
  const bool grouped = sl_arguments_has(a, "group-query-attention");
  int64_t groups = grouped ? 1 : heads;
  if (grouped && sl_arguments_has(a, "num-query-groups")) SL_TRY(sl_arguments_int(a, "num-query-groups", &groups));
  if (sl_arguments_has(a, fork)) SL_TRY(sl_arguments_int(a, fork, &groups));
  if (json_object_get(model, "num_attention_heads") != NULL)
    return set_int(model, "num_key_value_heads", groups), SL_OK;
  return groups == heads ? SL_OK : sl_arguments_fail(a, fork, "--num-attention-heads: gpt2 and bloom have no groups");
}

static enum sl_status put_sizes(json_t *model, const struct sl_arguments *a, const struct form *f, int64_t vocabulary) {
  int64_t n, width, heads;
  SL_TRY(sl_arguments_int(a, "num-layers", &n));
  set_int(model, f->layers, n);
  SL_TRY(sl_arguments_int(a, "hidden-size", &width));
  set_int(model, f->width, width);
  SL_TRY(sl_arguments_int(a, "num-attention-heads", &heads));
  set_int(model, f->heads, heads);
  SL_TRY(sl_arguments_int(a, "max-position-embeddings", &n));
  set_int(model, f->positions, n);
  set_int(model, "vocab_size", vocabulary);
  SL_TRY(put_inner(model, a, f, width));
  if ((f->features & ROPE) || sl_arguments_has(a, "num-key-value-heads")) SL_TRY(put_query_groups(model, a, heads));
  const int64_t part = heads > 0 ? width / heads : 0;
  n = part;
  if (sl_arguments_has(a, "kv-channels")) SL_TRY(sl_arguments_int(a, "kv-channels", &n));
  if ((f->features & LLAMA) == LLAMA) return set_int(model, "head_dim", n), SL_OK;
  return n == part ? SL_OK : sl_arguments_fail(a, "kv-channels", "hidden-size / num-attention-heads, as this family's");
}

/* ---- other keys ---- */

/* --use-rope-scaling is the scaling of Llama 3.1. */
static enum sl_status put_rotary(json_t *model, const struct sl_arguments *a) {
  double theta = 10000, share = 1, factor = 8;
  if (sl_arguments_has(a, "rotary-base")) SL_TRY(sl_arguments_real(a, "rotary-base", &theta));
  if (sl_arguments_has(a, "rotary-percent")) SL_TRY(sl_arguments_real(a, "rotary-percent", &share));
  if (sl_arguments_has(a, "rope-scaling-factor")) SL_TRY(sl_arguments_real(a, "rope-scaling-factor", &factor));
  json_object_set_new(model, "rope_theta", sl_arguments_number(a, "rotary-base", theta));
  if (share != 1) json_object_set_new(model, "partial_rotary_factor", sl_arguments_number(a, "rotary-percent", share));
  if (!sl_arguments_has(a, "use-rope-scaling")) return SL_OK;
  json_object_set_new(model, "rope_scaling",
                      json_pack("{s:s, s:f, s:f, s:f, s:i}", "rope_type", "llama3", "factor", factor, "low_freq_factor",
                                1.0, "high_freq_factor", 4.0, "original_max_position_embeddings", 8192));
  return SL_OK;
}

static enum sl_status put_dropouts(json_t *model, const struct sl_arguments *a, const struct form *f) {
  static const struct {
    const char *family, *hidden[2], *attention;
  } names[] = {{"gpt2", {"embd_pdrop", "resid_pdrop"}, "attn_pdrop"},
               {"bloom", {"hidden_dropout", NULL}, "attention_dropout"},
               {"starcoder2", {"embedding_dropout", "residual_dropout"}, "attention_dropout"},
               {NULL, {NULL, NULL}, "attention_dropout"}};
  double hidden = 0.1, attention = 0.1;
  int i = 0;
  while (names[i].family != NULL && strcmp(names[i].family, f->family) != 0) i++;
  if (sl_arguments_has(a, "hidden-dropout")) SL_TRY(sl_arguments_real(a, "hidden-dropout", &hidden));
  if (sl_arguments_has(a, "attention-dropout")) SL_TRY(sl_arguments_real(a, "attention-dropout", &attention));
  json_object_set_new(model, names[i].attention, sl_arguments_number(a, "attention-dropout", attention));
  for (int k = 0; k < 2; k++)
    if (names[i].hidden[k] != NULL)
      json_object_set_new(model, names[i].hidden[k], sl_arguments_number(a, "hidden-dropout", hidden));
  if (names[i].family != NULL || hidden == 0) return SL_OK;
  return sl_arguments_fail(a, "hidden-dropout", "0 for a model with RMSNorm and swiglu (Megatron-LM's default is 0.1)");
}

static enum sl_status put_traits(json_t *model, const struct sl_arguments *a, const struct form *f) {
  const bool untied = sl_arguments_has(a, "untie-embeddings-and-output-weights");
  const bool biases = !(f->features & NO_BIAS);
  if (strcmp(f->family, "gpt2") == 0 || strcmp(f->family, "bloom") == 0) {
    if (sl_arguments_has(a, "group-query-attention"))
      return sl_arguments_fail(a, "group-query-attention", "a model with rope: gpt2 and bloom have none");
    if (untied && strcmp(f->family, "gpt2") == 0)
      return sl_arguments_fail(a, "untie-embeddings-and-output-weights", "tied ones, as gpt2's are");
  }
  if (strcmp(f->family, "gpt2") != 0) json_object_set_new(model, "tie_word_embeddings", json_boolean(!untied));
  if (strcmp(f->family, "starcoder2") == 0) {
    json_object_set_new(model, "use_bias", json_boolean(biases));
    json_object_set_new(model, "hidden_act", json_string("gelu_pytorch_tanh"));
  } else if (strcmp(f->family, "llama") == 0 && biases) {
    json_object_set_new(model, "attention_bias", json_true());
    json_object_set_new(model, "mlp_bias", json_true());
  }
  return f->features & ROPE ? put_rotary(model, a) : SL_OK;
}

/* What norms add to a variance, and the deviation of initial weights. */
static enum sl_status put_numbers(json_t *model, const struct sl_arguments *a, const struct form *f) {
  static const char *const epsilons[] = {"layernorm-epsilon", "norm-epsilon"}; /* of 2021 and later */
  const char *key = f->features & RMS                      ? "rms_norm_eps"
                    : strcmp(f->family, "starcoder2") == 0 ? "norm_epsilon"
                                                           : "layer_norm_epsilon";
  const char *given = epsilons[1];
  double epsilon = 1e-5, deviation = 0.02;
  for (int i = 0; i < 2; i++) {
    if (!sl_arguments_has(a, epsilons[i])) continue;
    SL_TRY(sl_arguments_real(a, epsilons[i], &epsilon));
    given = epsilons[i];
  }
  if (sl_arguments_has(a, "init-method-std")) SL_TRY(sl_arguments_real(a, "init-method-std", &deviation));
  json_object_set_new(model, key, sl_arguments_number(a, given, epsilon));
  json_object_set_new(model, "initializer_range", sl_arguments_number(a, "init-method-std", deviation));
  return SL_OK;
}

/* Of which arguments the keys are made. Those of sizes have a name in each family. */
static void name_keys(const struct sl_arguments *a, const struct form *f, json_t *names) {
  const struct sl_megatron_tie sizes[] = {{f->layers, "num-layers"},
                                          {f->width, "hidden-size"},
                                          {f->heads, "num-attention-heads"},
                                          {f->positions, "max-position-embeddings"},
                                          {f->inner != NULL ? f->inner : "n_inner", "ffn-hidden-size"},
                                          {"num_key_value_heads", "num-query-groups"},
                                          {"num_key_value_heads", "num-key-value-heads"},
                                          {"head_dim", "kv-channels"},
                                          {"vocab_size", "padded-vocab-size"},
                                          {"vocab_size", "pad-vocab-size-to"},
                                          {"vocab_size", "vocab-size"}};
  static const struct sl_megatron_tie numbers[] = {{"rope_theta", "rotary-base"},
                                                   {"partial_rotary_factor", "rotary-percent"},
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
                                                   {"initializer_range", "init-method-std"},
                                                   {"tie_word_embeddings", "untie-embeddings-and-output-weights"}};
  sl_megatron_name(a, sizes, sizeof sizes / sizeof *sizes, true, names);
  sl_megatron_name(a, numbers, sizeof numbers / sizeof *numbers, false, names);
}

enum sl_status sl_megatron_model(const struct sl_arguments *a, json_t **model, json_t *names) {
  const struct form *form = NULL;
  int64_t vocabulary;
  *model = NULL;
  SL_TRY(read_vocabulary(a, &vocabulary));
  if (vocabulary == 0) return SL_OK;
  SL_TRY(find_form(a, &form));
  *model = json_pack("{s:s}", "model_type", form->family);
  name_keys(a, form, names);
  SL_TRY(put_sizes(*model, a, form, vocabulary));
  SL_TRY(put_dropouts(*model, a, form));
  SL_TRY(put_numbers(*model, a, form));
  return put_traits(*model, a, form);
}
