/* Reads and writes config.json by rows of keys; see keys.h. */
#include "core/model/keys.h"

#include "core/base/nearest.h"
#include "core/model/rotary.h"
#include "core/model/windows.h"

#include <stdio.h>
#include <string.h>

/* The first spelling of each is the one written. */
static const struct {
  const char *name;
  enum sl_activation activation;
  bool of_torch; /* form.gelu_of_torch */
} activations[] = {
    {"gelu_new", SL_ACTIVATION_GELU_TANH, false},  {"gelu_pytorch_tanh", SL_ACTIVATION_GELU_TANH, true},
    {"gelu_fast", SL_ACTIVATION_GELU_TANH, false}, {"gelu", SL_ACTIVATION_GELU, false},
    {"silu", SL_ACTIVATION_SILU, false},           {"swish", SL_ACTIVATION_SILU, false},
    {"relu", SL_ACTIVATION_RELU, false},           {"relu2", SL_ACTIVATION_RELU2, false},
};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

/* A switch that changes the computation in a way that is not modelled: only `honoured` is accepted. */
static enum sl_status want_bool(const struct sl_json_object *in, const char *key, bool honoured) {
  bool value = honoured;
  SL_TRY(sl_json_get_bool(in, key, &value));
  if (value == honoured) return SL_OK;
  return sl_json_get_fail(in, key, "%s; the other is not modelled", honoured ? "true" : "false");
}

enum sl_status sl_model_want_activation(const struct sl_json_object *in, const char *key, const char *name,
                                        const char *alias) {
  char text[64];
  snprintf(text, sizeof text, "%s", name);
  SL_TRY(sl_json_get_text(in, key, text, sizeof text));
  if (strcmp(text, name) == 0 || strcmp(text, alias) == 0) return SL_OK;
  return sl_json_get_fail(in, key, strcmp(name, alias) != 0 ? "\"%s\" or \"%s\"" : "\"%s\"", name, alias);
}

enum sl_status sl_model_want_divisor(const struct sl_json_object *in, const char *key, int64_t whole, int64_t part,
                                     const char *what) {
  if (whole % part == 0) return SL_OK;
  char path[64];
  sl_json_get_path(in, key, path, sizeof path);
  return sl_json_fail(in->doc, path, "is %lld; expected a divisor of %s, which is %lld", (long long)part, what,
                      (long long)whole);
}

static bool takes(const struct sl_model_key *key, int i) {
  return (int)key->value >> activations[i].activation & 1;
}

static enum sl_status refuse_activation(const struct sl_json_object *in, const struct sl_model_key *key) {
  char names[128] = "";
  int left = 0;
  for (int i = 0; i < ACTIVATIONS; i++) left += takes(key, i);
  for (int i = 0; i < ACTIVATIONS; i++) {
    const size_t used = strlen(names);
    if (!takes(key, i)) continue;
    left--;
    snprintf(names + used, sizeof names - used, "\"%s\"%s", activations[i].name,
             left > 1    ? ", "
             : left == 1 ? " or "
                         : "");
  }
  return sl_json_get_fail(in, key->key, "%s", names);
}

static enum sl_status read_activation(struct sl_form *form, const struct sl_json_object *in,
                                      const struct sl_model_key *key) {
  const json_t *value = sl_json_get(in, key->key);
  if (value == NULL) return SL_OK;
  for (int i = 0; json_is_string(value) && i < ACTIVATIONS; i++) {
    if (!takes(key, i) || strcmp(json_string_value(value), activations[i].name) != 0) continue;
    form->activation = activations[i].activation;
    form->gelu_of_torch = activations[i].of_torch;
    return SL_OK;
  }
  return refuse_activation(in, key);
}

/* null, false and 0 all mean that the feature of the key is off. */
static enum sl_status want_none(const struct sl_json_object *in, const char *key) {
  const json_t *value = sl_json_get(in, key);
  if (value == NULL || json_is_false(value) || (json_is_number(value) && json_number_value(value) == 0)) return SL_OK;
  return sl_json_get_fail(in, key, "null; what it asks for is not modelled");
}

static enum sl_status read_key(struct sl_model *model, const struct sl_json_object *in,
                               const struct sl_model_key *key) {
  void *const at = (char *)model + key->at;
  const bool aliased = key->alias != NULL && sl_json_get(in, key->key) == NULL;
  const bool null = json_is_null(json_object_get(in->object, key->key));
  switch (key->kind) {
  case SL_KEY_SIZE:
    if (key->value > 0) *(int64_t *)at = (int64_t)key->value;
    return sl_json_get_int(in, aliased ? key->alias : key->key, 1, (int64_t)key->most, at);
  case SL_KEY_SIZE_OR_NONE:
    *(int64_t *)at = null ? 0 : (int64_t)key->value;
    return sl_json_get_int(in, key->key, 1, (int64_t)key->most, at);
  case SL_KEY_REAL:
  case SL_KEY_DROPOUT:
    *(double *)at = key->value;
    return sl_json_get_real(in, key->key, 0, key->most, at);
  case SL_KEY_REAL_OR_NONE:
    *(double *)at = null ? 0 : key->value;
    return sl_json_get_real(in, key->key, 0, key->most, at);
  case SL_KEY_BOOL:
  case SL_KEY_TRAIT:
    *(bool *)at = key->value != 0;
    return sl_json_get_bool(in, key->key, at);
  case SL_KEY_ACTIVATION:
    return read_activation(&model->form, in, key);
  case SL_KEY_ONLY:
    return want_bool(in, key->key, key->value != 0);
  case SL_KEY_NONE:
    return want_none(in, key->key);
  default:
    return SL_OK;
  }
}

/* ---- what is not in the table ---- */

/* How many experts a layer has, by the names of Mixtral, Qwen, DeepSeek and Ernie. 1 is a usual MLP. */
static enum sl_status refuse_experts(const struct sl_json_object *in) {
  static const char *const counts[] = {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    const json_t *value = sl_json_get(in, counts[i]);
    if (value == NULL || json_is_false(value) || (json_is_number(value) && json_number_value(value) <= 1)) continue;
    return sl_json_get_fail(in, counts[i], "null; experts are not modelled");
  }
  return SL_OK;
}

static bool is_key(const struct sl_model_key *key, const char *name) {
  return (key->key != NULL && strcmp(key->key, name) == 0) || (key->alias != NULL && strcmp(key->alias, name) == 0);
}

static enum sl_status refuse_misspelt(const struct sl_json_object *in, const char *name,
                                      const struct sl_model_key *keys, size_t count) {
  const char *absent[64];
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    if (is_key(&keys[i], name)) return SL_OK;
    const bool given = keys[i].key == NULL || json_object_get(in->object, keys[i].key) != NULL ||
                       (keys[i].alias != NULL && json_object_get(in->object, keys[i].alias) != NULL);
    if (!given && n < sizeof absent / sizeof *absent) absent[n++] = keys[i].key;
  }
  const char *meant = sl_misspelt(name, absent, n);
  if (meant == NULL) return SL_OK;
  char path[256];
  sl_json_get_path(in, name, path, sizeof path);
  return sl_json_fail(in->doc, path, "unknown key; did you mean \"%s\"?", meant);
}

enum sl_status sl_model_check_keys(const struct sl_json_object *in, const struct sl_model_key *keys, size_t count) {
  const char *name;
  json_t *value;
  SL_TRY(refuse_experts(in));
  json_object_foreach((json_t *)(uintptr_t)in->object, name, value) SL_TRY(refuse_misspelt(in, name, keys, count));
  return SL_OK;
}

enum sl_status sl_model_read_keys(struct sl_model *model, const struct sl_json_object *in,
                                  const struct sl_model_key *keys, size_t count) {
  for (size_t i = 0; i < count; i++) SL_TRY(read_key(model, in, &keys[i]));
  return SL_OK;
}

static json_t *name_of(const struct sl_form *form) {
  const bool of_torch = form->activation == SL_ACTIVATION_GELU_TANH && form->gelu_of_torch;
  int i = 0;
  while (activations[i].activation != form->activation || activations[i].of_torch != of_torch) i++;
  return json_string(activations[i].name);
}

/* NULL: the key is not written. */
static json_t *value_of(const struct sl_model *model, const struct sl_model_key *key) {
  const void *const at = (const char *)model + key->at;
  switch (key->kind) {
  case SL_KEY_SIZE:
    return json_integer(*(const int64_t *)at);
  case SL_KEY_SIZE_OR_NONE:
    return *(const int64_t *)at == 0 ? json_null() : json_integer(*(const int64_t *)at);
  case SL_KEY_REAL:
  case SL_KEY_DROPOUT:
    return json_real(*(const double *)at);
  case SL_KEY_REAL_OR_NONE:
    return *(const double *)at == 0 ? json_null() : json_real(*(const double *)at);
  case SL_KEY_BOOL:
    return json_boolean(*(const bool *)at);
  case SL_KEY_TRAIT:
    return *(const bool *)at == (key->value != 0) ? NULL : json_boolean(*(const bool *)at);
  case SL_KEY_ACTIVATION:
    return name_of(&model->form);
  case SL_KEY_USES_WINDOW:
    return model->form.window > 0 ? json_true() : NULL;
  case SL_KEY_LAYER_TYPES:
    return sl_windows_types(model);
  default:
    return NULL;
  }
}

void sl_model_write_keys(const struct sl_model *model, json_t *out, const struct sl_model_key *keys, size_t count) {
  for (size_t i = 0; i < count; i++) {
    json_t *value = value_of(model, &keys[i]);
    if (keys[i].kind == SL_KEY_ROTARY) sl_rotary_write(model, out);
    if (value != NULL) json_object_set_new(out, keys[i].key, value);
  }
}
