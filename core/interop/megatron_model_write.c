/* See megatron_model_write.h. The inverse of megatron_model.c. */
#include "core/interop/megatron_model_write.h"

#include "core/base/json_get.h"
#include "core/interop/megatron_families.h"
#include "core/interop/writing.h"

#include <stdbool.h>
#include <string.h>

static enum sl_status refuse(const char *key, const char *is, const char *expected) {
  return sl_interop_refuse("megatron", key, is, expected);
}

static void put_size(const json_t *model, const char *argument, const char *key, FILE *out) {
  const json_t *value = key != NULL ? json_object_get(model, key) : NULL;
  if (json_is_integer(value)) fprintf(out, "--%s %lld\n", argument, (long long)json_integer_value(value));
}

static void put_real(FILE *out, const char *argument, const json_t *value) {
  char text[SL_INTEROP_REAL_BYTES];
  fprintf(out, "--%s %s\n", argument, sl_interop_real(json_number_value(value), text));
}

static bool is_true(const json_t *model, const char *key) {
  return json_is_true(json_object_get(model, key));
}

/* ---- traits ---- */

/* Those of Megatron-LM's own family. */
static int own_traits(const json_t *model) {
  const char *activation = sl_interop_text(model, "activation_func"),
             *positions = sl_interop_text(model, "position_embedding_type");
  int found = is_true(model, "add_bias_linear") ? 0 : SL_MEGATRON_NO_BIAS;
  for (const struct sl_megatron_flag *f = sl_megatron_flags; f->argument != NULL; f++)
    if (f->key != NULL && is_true(model, f->key)) found |= f->trait;
  if (strcmp(activation, "relu2") == 0) found |= SL_MEGATRON_SQUARED_RELU;
  if (strcmp(sl_interop_text(model, "normalization"), "RMSNorm") == 0) found |= SL_MEGATRON_RMS;
  if (strcmp(positions, "rope") == 0) found |= SL_MEGATRON_ROPE;
  if (strcmp(positions, "alibi") == 0) found |= SL_MEGATRON_ALIBI;
  if (strcmp(positions, "none") == 0) found |= SL_MEGATRON_NO_POSITIONS;
  return found;
}

/* Which linear layers have biases, where the family leaves that open: all or none. */
static enum sl_status read_biases(const json_t *model, const struct sl_megatron_form *form, int *found) {
  const bool attention = is_true(model, "attention_bias"), mlp = is_true(model, "mlp_bias");
  if (strcmp(form->family, "starcoder2") == 0) {
    *found = (*found & ~SL_MEGATRON_NO_BIAS) | (is_true(model, "use_bias") ? 0 : SL_MEGATRON_NO_BIAS);
    return SL_OK;
  }
  if (form->keys->head == NULL) return SL_OK;
  const bool fixed = *found & (SL_MEGATRON_QKV_BIAS | SL_MEGATRON_QK_NORM);
  if (fixed && (attention || mlp)) return refuse(attention ? "attention_bias" : "mlp_bias", "true", "false");
  if (attention != mlp)
    return refuse(attention ? "attention_bias" : "mlp_bias", "true", "attention_bias and mlp_bias, or neither");
  *found = (*found & ~SL_MEGATRON_NO_BIAS) | (attention ? 0 : SL_MEGATRON_NO_BIAS);
  return SL_OK;
}

static enum sl_status find_traits(const json_t *model, const struct sl_megatron_form **out, int *found) {
  const char *type = sl_interop_text(model, "model_type");
  const struct sl_megatron_form *f = sl_megatron_forms;
  while (f->family != NULL && strcmp(f->family, type) != 0) f++;
  if (f->family == NULL)
    return refuse("model_type", type,
                  "gpt2, gpt_bigcode, llama, qwen2, qwen3, starcoder2, bloom, nemotron, arcee or megatron");
  *out = f;
  if (f->keys == &sl_megatron_own) return *found = own_traits(model), SL_OK;
  *found =
      json_is_false(json_object_get(model, "multi_query")) ? 0 : f->has; /* GPTBigCode's heads need not be grouped */
  if (json_is_false(json_object_get(model, "tie_word_embeddings"))) *found |= SL_MEGATRON_UNTIED;
  return read_biases(model, f, found);
}

/* What the family's config.json may say that Megatron-LM's arguments cannot. */
static enum sl_status check_rest(const json_t *model, int found) {
  static const char *const keys[] = {"hidden_act", "activation_function", "activation_func"};
  const char *expected = found & SL_MEGATRON_SWIGLU ? "silu" : found & SL_MEGATRON_SQUARED_RELU ? "relu2" : "gelu";
  const json_t *window = json_object_get(model, "sliding_window"), *kinds = json_object_get(model, "layer_types"),
               *kind;
  bool windowed = json_is_integer(window) && !json_is_array(kinds);
  size_t i;
  for (int k = 0; k < 3; k++) {
    const char *is = sl_interop_text(model, keys[k]);
    if (is[0] != '\0' && strncmp(is, expected, strlen(expected)) != 0) return refuse(keys[k], is, expected);
  }
  json_array_foreach(kinds, i, kind) {
    const char *word = json_string_value(kind);
    windowed |= word != NULL && strcmp(word, "sliding_attention") == 0;
  }
  return windowed ? refuse("sliding_window", "a window", "none, or one that no layer has") : SL_OK;
}

/* ---- arguments ---- */

static enum sl_status put_dropouts(const json_t *model, const struct sl_megatron_keys *k, FILE *out) {
  const json_t *first = k->hidden[0] != NULL ? json_object_get(model, k->hidden[0]) : NULL,
               *second = k->hidden[1] != NULL ? json_object_get(model, k->hidden[1]) : first;
  if (first != NULL && json_number_value(first) != json_number_value(second))
    return sl_fail(SL_ERR_INPUT, "--to megatron: %s: is %g, and %s is %g; expected one dropout, as --hidden-dropout is",
                   k->hidden[0], json_number_value(first), k->hidden[1], json_number_value(second));
  put_real(out, "hidden-dropout", second);
  put_real(out, "attention-dropout", json_object_get(model, k->attention));
  return SL_OK;
}

/* The only scaling that Megatron-LM knows is Llama 3.1's, given by its factor. */
static enum sl_status put_rope_scaling(const json_t *scaling, FILE *out) {
  const double low = json_number_value(json_object_get(scaling, "low_freq_factor")),
               high = json_number_value(json_object_get(scaling, "high_freq_factor"));
  const json_int_t original = json_integer_value(json_object_get(scaling, "original_max_position_embeddings"));
  if (scaling == NULL) return SL_OK;
  if (strcmp(sl_interop_text(scaling, "rope_type"), "llama3") != 0 || low != 1 || high != 4 || original != 8192)
    return refuse("rope_scaling", sl_interop_text(scaling, "rope_type"), "none, or Llama 3.1's");
  fputs("--use-rope-scaling\n", out);
  put_real(out, "rope-scaling-factor", json_object_get(scaling, "factor"));
  return SL_OK;
}

static enum sl_status put_positions(const json_t *model, const struct sl_megatron_keys *k, int found, FILE *out) {
  if (found & SL_MEGATRON_ALIBI) fputs("--position-embedding-type alibi\n", out);
  if (found & SL_MEGATRON_NO_POSITIONS) fputs("--position-embedding-type none\n", out);
  if (!(found & SL_MEGATRON_ROPE)) return SL_OK;
  const json_t *share = json_object_get(model, k->share);
  fputs("--position-embedding-type rope\n", out);
  put_real(out, "rotary-base", json_object_get(model, k->base));
  if (share != NULL) put_real(out, "rotary-percent", share);
  return put_rope_scaling(json_object_get(model, "rope_scaling"), out);
}

static enum sl_status put_numbers(const json_t *model, const struct sl_megatron_keys *k, int found, FILE *out) {
  const json_t *epsilon = json_object_get(model, k->epsilon), *deviation = json_object_get(model, k->deviation);
  put_size(model, "num-layers", k->layers, out);
  put_size(model, "hidden-size", k->width, out);
  put_size(model, "ffn-hidden-size", k->inner, out);
  put_size(model, "num-attention-heads", k->heads, out);
  put_size(model, "max-position-embeddings", k->positions, out);
  put_size(model, "vocab-size", "vocab_size", out);
  put_size(model, "kv-channels", k->head, out);
  if (k->groups != NULL || (found & SL_MEGATRON_ONE_GROUP)) fputs("--group-query-attention\n", out);
  put_size(model, "num-query-groups", k->groups, out);
  if (epsilon != NULL) put_real(out, "norm-epsilon", epsilon);
  if (deviation != NULL) put_real(out, "init-method-std", deviation);
  return put_dropouts(model, k, out);
}

enum sl_status sl_megatron_write_model(const json_t *model, FILE *out) {
  const struct sl_megatron_form *form = NULL;
  int found = 0;
  SL_TRY(find_traits(model, &form, &found));
  SL_TRY(check_rest(model, found));
  SL_TRY(put_numbers(model, form->keys, found, out));
  SL_TRY(put_positions(model, form->keys, found, out));
  if (found & SL_MEGATRON_RMS) fputs("--normalization RMSNorm\n", out);
  for (const struct sl_megatron_flag *f = sl_megatron_flags; f->argument != NULL; f++)
    if (found & f->trait) fprintf(out, "--%s\n", f->argument);
  return SL_OK;
}
