/* Reading, naming and printing a model. model/tensors.c derives the logical tensors; model/presets.c holds the presets.
 */
#include "core/model/model.h"

#include "core/base/json_get.h"
#include "core/base/nearest.h"
#include "core/model/presets.h"
#include "core/model/tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limits that no product of sizes can overflow under: 2^12 layers x (4 x 2^40 + 3 x 2^42) weights < 2^57. */
enum { MAX_LAYERS = 1 << 12, MAX_WIDTH = 1 << 20, MAX_INNER = 1 << 22, MAX_ROWS = 1 << 26 };

static const double max_pdrop = 0.999; /* 1 would keep nothing */

/* A size under its own name or the one that Hugging Face's attribute_map gives it in every family. */
static enum sl_status get_size(const struct sl_json_object *in, const char *key, const char *alias, int64_t max,
                               int64_t *out) {
  if (alias != NULL && sl_json_get(in, key) == NULL) key = alias;
  return sl_json_get_int(in, key, 1, max, out);
}

/* A switch that changes the computation in a way we do not model: only `honoured` is accepted. */
static enum sl_status want_bool(const struct sl_json_object *in, const char *key, bool honoured) {
  bool value = honoured;
  SL_TRY(sl_json_get_bool(in, key, &value));
  if (value == honoured) return SL_OK;
  return sl_json_get_fail(in, key, "%s; the other is not modelled", honoured ? "true" : "false");
}

/* The activation must be one of two spellings of the one we compute. */
static enum sl_status want_activation(const struct sl_json_object *in, const char *key, const char *name,
                                      const char *alias) {
  char text[64];
  snprintf(text, sizeof text, "%s", name);
  SL_TRY(sl_json_get_text(in, key, text, sizeof text));
  if (strcmp(text, name) == 0 || strcmp(text, alias) == 0) return SL_OK;
  return sl_json_get_fail(in, key, strcmp(name, alias) != 0 ? "\"%s\" or \"%s\"" : "\"%s\"", name, alias);
}

static enum sl_status divide(const struct sl_json_object *in, const char *key, int64_t whole, int64_t part,
                             const char *what) {
  if (whole % part == 0) return SL_OK;
  char path[64];
  sl_json_get_path(in, key, path, sizeof path);
  return sl_json_fail(in->doc, path, "is %lld; expected a divisor of %s, which is %lld", (long long)part, what,
                      (long long)whole);
}

/* transformers, GPT2Config: names and defaults. */
static enum sl_status read_gpt2(struct sl_model *model, const struct sl_json_object *in) {
  model->vocab_size = 50257, model->n_positions = 1024;
  model->n_embd = 768, model->n_layer = 12, model->n_head = 12;
  model->embd_pdrop = model->attn_pdrop = model->resid_pdrop = 0.1;
  model->norm_epsilon = 1e-5, model->initializer_range = 0.02, model->tied_head = true;
  SL_TRY(get_size(in, "vocab_size", NULL, MAX_ROWS, &model->vocab_size));
  SL_TRY(get_size(in, "n_positions", "max_position_embeddings", MAX_ROWS, &model->n_positions));
  SL_TRY(get_size(in, "n_embd", "hidden_size", MAX_WIDTH, &model->n_embd));
  SL_TRY(get_size(in, "n_layer", "num_hidden_layers", MAX_LAYERS, &model->n_layer));
  SL_TRY(get_size(in, "n_head", "num_attention_heads", MAX_WIDTH, &model->n_head));
  model->n_inner = 4 * model->n_embd;
  SL_TRY(get_size(in, "n_inner", NULL, MAX_INNER, &model->n_inner));
  SL_TRY(sl_json_get_real(in, "embd_pdrop", 0, max_pdrop, &model->embd_pdrop));
  SL_TRY(sl_json_get_real(in, "attn_pdrop", 0, max_pdrop, &model->attn_pdrop));
  SL_TRY(sl_json_get_real(in, "resid_pdrop", 0, max_pdrop, &model->resid_pdrop));
  SL_TRY(sl_json_get_real(in, "layer_norm_epsilon", 0, 1, &model->norm_epsilon));
  SL_TRY(sl_json_get_real(in, "initializer_range", 0, 1000, &model->initializer_range));
  SL_TRY(sl_json_get_bool(in, "tie_word_embeddings", &model->tied_head));
  SL_TRY(want_activation(in, "activation_function", "gelu_new", "gelu_pytorch_tanh"));
  SL_TRY(want_bool(in, "scale_attn_weights", true));
  SL_TRY(want_bool(in, "scale_attn_by_inverse_layer_idx", false));
  SL_TRY(want_bool(in, "reorder_and_upcast_attn", false));
  SL_TRY(want_bool(in, "add_cross_attention", false));
  const bool aliased = sl_json_get(in, "n_head") == NULL && sl_json_get(in, "num_attention_heads") != NULL;
  SL_TRY(divide(in, aliased ? "num_attention_heads" : "n_head", model->n_embd, model->n_head, "n_embd"));
  model->n_kv_head = model->n_head;
  model->head_dim = model->n_embd / model->n_head;
  return SL_OK;
}

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
static enum sl_status read_llama(struct sl_model *model, const struct sl_json_object *in) {
  model->vocab_size = 32000, model->n_positions = 2048;
  model->n_embd = 4096, model->n_layer = 32, model->n_head = 32, model->n_inner = 11008;
  model->norm_epsilon = 1e-6, model->initializer_range = 0.02, model->rope_theta = 10000;
  SL_TRY(get_size(in, "vocab_size", NULL, MAX_ROWS, &model->vocab_size));
  SL_TRY(get_size(in, "max_position_embeddings", NULL, MAX_ROWS, &model->n_positions));
  SL_TRY(get_size(in, "hidden_size", NULL, MAX_WIDTH, &model->n_embd));
  SL_TRY(get_size(in, "num_hidden_layers", NULL, MAX_LAYERS, &model->n_layer));
  SL_TRY(get_size(in, "num_attention_heads", NULL, MAX_WIDTH, &model->n_head));
  SL_TRY(get_size(in, "intermediate_size", NULL, MAX_INNER, &model->n_inner));
  model->n_kv_head = model->n_head;
  SL_TRY(get_size(in, "num_key_value_heads", NULL, MAX_WIDTH, &model->n_kv_head));
  SL_TRY(divide(in, "num_key_value_heads", model->n_head, model->n_kv_head, "num_attention_heads"));
  if (sl_json_get(in, "head_dim") == NULL) {
    SL_TRY(divide(in, "num_attention_heads", model->n_embd, model->n_head, "hidden_size"));
    model->head_dim = model->n_embd / model->n_head;
  }
  SL_TRY(get_size(in, "head_dim", NULL, MAX_WIDTH / model->n_head, &model->head_dim));
  if (model->head_dim % 2 != 0)
    return sl_json_fail(in->doc, sl_json_get(in, "head_dim") != NULL ? "head_dim" : "num_attention_heads",
                        "the head dimension is %lld; expected an even one, rotary positions turn pairs",
                        (long long)model->head_dim);
  SL_TRY(sl_json_get_real(in, "attention_dropout", 0, max_pdrop, &model->attn_pdrop));
  SL_TRY(sl_json_get_real(in, "rms_norm_eps", 0, 1, &model->norm_epsilon));
  SL_TRY(sl_json_get_real(in, "initializer_range", 0, 1000, &model->initializer_range));
  SL_TRY(sl_json_get_bool(in, "tie_word_embeddings", &model->tied_head));
  SL_TRY(want_activation(in, "hidden_act", "silu", "swish"));
  SL_TRY(want_bool(in, "attention_bias", false));
  SL_TRY(want_bool(in, "mlp_bias", false));
  return read_rope(model, in);
}

/* Our own family, so an unknown key is an error. */
static enum sl_status read_mlp(struct sl_model *model, const struct sl_json_object *in) {
  static const char *const known[] = {"model_type", "_name_or_path", "dims", "activation", "loss"};
  const size_t n_known = sizeof known / sizeof *known;
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)in->object, key, value) {
    size_t i = 0;
    while (i < n_known && strcmp(key, known[i]) != 0) i++;
    if (i < n_known) continue;
    const char *near = sl_nearest(key, known, n_known);
    return sl_json_fail(in->doc, key, "unknown key; expected \"dims\", \"activation\" or \"loss\"%s%s%s",
                        near != NULL ? "; nearest is \"" : "", near != NULL ? near : "", near != NULL ? "\"" : "");
  }
  const json_t *dims = sl_json_get(in, "dims");
  const size_t count = json_array_size(dims);
  if (count < 2 || count > SL_MLP_MAX_DIMS)
    return sl_json_get_fail(in, "dims", "a list of 2 to %d widths: input, hidden ..., output", SL_MLP_MAX_DIMS);
  for (size_t i = 0; i < count; i++) {
    const json_t *width = json_array_get(dims, i);
    char path[32];
    snprintf(path, sizeof path, "dims[%zu]", i);
    if (!json_is_integer(width) || json_integer_value(width) < 1 || json_integer_value(width) > MAX_INNER)
      return sl_json_fail(in->doc, path, "expected a whole number from 1 to %d", (int)MAX_INNER);
    model->dims[i] = json_integer_value(width);
  }
  model->n_dims = (int)count;
  model->n_layer = model->n_dims - 1;
  SL_TRY(want_activation(in, "activation", "relu", "relu"));
  return want_activation(in, "loss", "mse", "mse");
}

/* Names are labels: whatever is not printable ASCII becomes '_', so that a cut name is still valid text. */
static void set_name(struct sl_model *model, const char *name, size_t length) {
  size_t n = 0;
  for (; n < length && n + 1 < sizeof model->name; n++)
    model->name[n] = name[n] >= ' ' && name[n] <= '~' ? name[n] : '_';
  model->name[n] = '\0';
}

static const struct family {
  const char *name;
  enum sl_model_type type;
  enum sl_status (*read)(struct sl_model *model, const struct sl_json_object *in);
} families[] = {
    {"gpt2", SL_MODEL_GPT2, read_gpt2}, {"llama", SL_MODEL_LLAMA, read_llama}, {"mlp", SL_MODEL_MLP, read_mlp}};

enum sl_status sl_model_from_json(struct sl_model *model, const struct sl_json *doc) {
  enum sl_status status = SL_OK;
  memset(model, 0, sizeof *model);
  if (!json_is_object(doc->root)) return sl_json_fail(doc, "", "expected a JSON object");
  const struct sl_json_object in = {doc, doc->root, ""};
  const char *type = json_string_value(sl_json_get(&in, "model_type"));
  const struct family *family = NULL;
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (type != NULL && strcmp(type, families[i].name) == 0) family = &families[i];
  if (family == NULL) return sl_json_get_fail(&in, "model_type", "\"gpt2\", \"llama\" or \"mlp\"");
  model->type = family->type;
  const char *name = json_string_value(sl_json_get(&in, "_name_or_path"));
  if (name == NULL || name[0] == '\0') name = type;
  set_name(model, name, strlen(name));
  SL_GO(family->read(model, &in));
  SL_GO(sl_model_make_tensors(model));
  return SL_OK;
fail:
  sl_model_free(model);
  return status;
}

/* "runs/small/config.json" -> "small", "runs/small.json" -> "small". */
static void name_after(struct sl_model *model, const char *path) {
  size_t end = strlen(path);
  if (end >= 5 && strcmp(path + end - 5, ".json") == 0) end -= 5;
  if (end > 7 && strncmp(path + end - 7, "/config", 7) == 0) end -= 7;
  size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/') begin--;
  if (end > begin) set_name(model, path + begin, end - begin);
}

static enum sl_status load_text(struct sl_model *model, const struct sl_model_preset *preset) {
  struct sl_json doc;
  SL_TRY(sl_json_parse(&doc, preset->name, preset->text, strlen(preset->text)));
  const enum sl_status status = sl_model_from_json(model, &doc);
  set_name(model, preset->name, strlen(preset->name));
  sl_json_free(&doc);
  return status;
}

static enum sl_status unknown_model(const char *spec) {
  const char *names[64];
  size_t n = 0;
  char list[1024] = "";
  for (; sl_model_presets[n].name != NULL; n++) {
    names[n] = sl_model_presets[n].name;
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", n > 0 ? ", " : "", names[n]);
  }
  const char *near = sl_nearest(spec, names, n);
  return sl_fail(SL_ERR_INPUT, "model \"%s\": is neither a file nor a preset%s%s%s; presets: %s", spec,
                 near != NULL ? "; nearest preset is \"" : "", near != NULL ? near : "", near != NULL ? "\"" : "",
                 list);
}

enum sl_status sl_model_load(struct sl_model *model, const char *spec) {
  memset(model, 0, sizeof *model);
  for (int i = 0; sl_model_presets[i].name != NULL; i++)
    if (strcmp(spec, sl_model_presets[i].name) == 0) return load_text(model, &sl_model_presets[i]);
  if (access(spec, F_OK) != 0) return unknown_model(spec);
  struct sl_json doc;
  SL_TRY(sl_json_load(&doc, spec));
  const enum sl_status status = sl_model_from_json(model, &doc);
  if (status == SL_OK && json_object_get(doc.root, "_name_or_path") == NULL) name_after(model, spec);
  sl_json_free(&doc);
  return status;
}

void sl_model_free(struct sl_model *model) {
  free(model->tensors);
  memset(model, 0, sizeof *model);
}

const char *sl_model_preset_name(int i) {
  int count = 0;
  while (sl_model_presets[count].name != NULL) count++;
  return i >= 0 && i < count ? sl_model_presets[i].name : NULL;
}

static json_t *mlp_to_json(const struct sl_model *model) {
  json_t *dims = json_array();
  for (int i = 0; i < model->n_dims; i++) json_array_append_new(dims, json_integer(model->dims[i]));
  return json_pack("{s:s, s:s, s:o, s:s, s:s}", "model_type", "mlp", "_name_or_path", model->name, "dims", dims,
                   "activation", "relu", "loss", "mse");
}

static json_t *gpt2_to_json(const struct sl_model *model) {
  return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:b, s:s}", "model_type", "gpt2",
                   "_name_or_path", model->name, "vocab_size", (json_int_t)model->vocab_size, "n_positions",
                   (json_int_t)model->n_positions, "n_embd", (json_int_t)model->n_embd, "n_layer",
                   (json_int_t)model->n_layer, "n_head", (json_int_t)model->n_head, "n_inner",
                   (json_int_t)model->n_inner, "embd_pdrop", model->embd_pdrop, "attn_pdrop", model->attn_pdrop,
                   "resid_pdrop", model->resid_pdrop, "layer_norm_epsilon", model->norm_epsilon, "initializer_range",
                   model->initializer_range, "tie_word_embeddings", model->tied_head, "activation_function",
                   "gelu_new");
}

static json_t *llama_to_json(const struct sl_model *model) {
  return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:b, s:s}", "model_type",
                   "llama", "_name_or_path", model->name, "vocab_size", (json_int_t)model->vocab_size,
                   "max_position_embeddings", (json_int_t)model->n_positions, "hidden_size", (json_int_t)model->n_embd,
                   "num_hidden_layers", (json_int_t)model->n_layer, "num_attention_heads", (json_int_t)model->n_head,
                   "num_key_value_heads", (json_int_t)model->n_kv_head, "head_dim", (json_int_t)model->head_dim,
                   "intermediate_size", (json_int_t)model->n_inner, "attention_dropout", model->attn_pdrop,
                   "rms_norm_eps", model->norm_epsilon, "rope_theta", model->rope_theta, "initializer_range",
                   model->initializer_range, "tie_word_embeddings", model->tied_head, "hidden_act", "silu");
}

json_t *sl_model_to_json(const struct sl_model *model) {
  switch (model->type) {
  case SL_MODEL_GPT2:
    return gpt2_to_json(model);
  case SL_MODEL_LLAMA:
    return llama_to_json(model);
  default:
    return mlp_to_json(model);
  }
}
