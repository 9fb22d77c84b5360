/* The lists of the "shardlab" section: how layers are divided among stages, what each stage recomputes, and which
 * modules are recomputed. Each is an array, or text with commas, as flags give it; see config/fields.h. */
#include "core/config/lists.h"
#include "core/base/limits.h"
#include "core/config/convert.h"
#include "core/config/words.h"

#include <stdlib.h>
#include <string.h>

static const char stages_words[] = "uniform|parameters|flops|cost";
static const char recompute_words[] = "none|selective|full|selective_op";
static const char module_words[] = "core_attn|layernorm";

/* Splits `text` at its commas and strips blanks; an array of strings, a new reference. */
static json_t *split(const char *text) {
  json_t *parts = json_array();
  for (const char *at = text; parts != NULL;) {
    const size_t n = strcspn(at, ",");
    const size_t blanks = strspn(at, " ");
    const char *first = at + (blanks < n ? blanks : n);
    size_t length = (size_t)(at + n - first);
    while (length > 0 && first[length - 1] == ' ') length--;
    json_array_append_new(parts, json_stringn(first, length));
    if (at[n] == '\0') break;
    at += n + 1;
  }
  return parts;
}

/* The layers of a stage: an integer from 0 to the most that a model can have, as a number or in decimal digits. */
static enum sl_converted convert_layers(const json_t *item, bool from_text, int64_t *out) {
  if (!from_text) {
    if (!json_is_integer(item)) return SL_WRONG_TYPE;
    *out = json_integer_value(item);
  } else {
    const char *text = json_string_value(item);
    const size_t length = strlen(text);
    if (length == 0 || length > 18 || strspn(text, "0123456789") != length) return SL_WRONG_VALUE;
    *out = strtoll(text, NULL, 10);
  }
  return *out >= 0 && *out <= SL_MAX_LAYERS ? SL_CONVERTED : SL_WRONG_VALUE;
}

static enum sl_converted convert_word(const json_t *item, const char *words, int *out) {
  if (!json_is_string(item)) return SL_WRONG_TYPE;
  *out = sl_config_word_index(words, json_string_value(item), false);
  return *out >= 0 ? SL_CONVERTED : SL_WRONG_VALUE;
}

static enum sl_converted store_stages(const json_t *list, bool from_text, struct sl_config *config) {
  int64_t layers[SL_MAX_STAGES];
  int word;
  const size_t n = json_array_size(list);
  if (from_text && n == 1 && convert_word(json_array_get(list, 0), stages_words, &word) == SL_CONVERTED) {
    config->sl.stages_by = (enum sl_stages_by)word;
    config->sl.stage_count = 0;
    return SL_CONVERTED;
  }
  for (size_t i = 0; i < n; i++) {
    const enum sl_converted done = convert_layers(json_array_get(list, i), from_text, &layers[i]);
    if (done != SL_CONVERTED) return done;
  }
  config->sl.stages_by = SL_STAGES_LIST;
  config->sl.stage_count = (int)n;
  memcpy(config->sl.stage_layers, layers, n * sizeof *layers);
  return SL_CONVERTED;
}

static enum sl_converted store_recompute(const json_t *list, struct sl_config *config) {
  const size_t n = json_array_size(list);
  for (size_t i = 0; i < n; i++) {
    int word;
    const enum sl_converted done = convert_word(json_array_get(list, i), recompute_words, &word);
    if (done != SL_CONVERTED) return done;
    config->sl.recompute[i] = (enum sl_recompute)word;
  }
  config->sl.recompute_count = (int)n;
  return SL_CONVERTED;
}

static enum sl_converted store_modules(const json_t *list, struct sl_config *config) {
  bool chosen[2] = {false, false};
  for (size_t i = 0; i < json_array_size(list); i++) {
    int word;
    const enum sl_converted done = convert_word(json_array_get(list, i), module_words, &word);
    if (done != SL_CONVERTED) return done;
    chosen[word] = true;
  }
  config->sl.recompute_attention = chosen[0];
  config->sl.recompute_norms = chosen[1];
  return SL_CONVERTED;
}

enum sl_converted sl_config_convert_list(const struct sl_field *field, const json_t *value, struct sl_config *config) {
  const bool from_text = json_is_string(value);
  if (!from_text && !json_is_array(value)) return SL_WRONG_TYPE;
  json_t *list = from_text ? split(json_string_value(value)) : json_incref((json_t *)value);
  enum sl_converted done = SL_WRONG_VALUE;
  const size_t n = json_array_size(list);
  if (n >= 1 && n <= SL_MAX_STAGES) {
    done = field->type == SL_FIELD_STAGES      ? store_stages(list, from_text, config)
           : field->type == SL_FIELD_RECOMPUTE ? store_recompute(list, config)
                                               : store_modules(list, config);
  }
  json_decref(list);
  return done;
}

_Static_assert(SL_MAX_LAYERS == 4096 && SL_MAX_STAGES == 256, "as the words below say");

const char *sl_config_list_expectation(const struct sl_field *field) {
  if (field->type == SL_FIELD_STAGES)
    return "uniform, parameters, flops, cost, or the layers (0 to 4096) of each of at most 256 stages, like [13, 13, "
           "13, 9]";
  if (field->type == SL_FIELD_RECOMPUTE)
    return "none, selective, selective_op or full, or one of these for each of at most 256 stages, like [\"full\", "
           "\"none\"]";
  return "one or more of core_attn, layernorm, like [\"core_attn\"]";
}

static json_t *recompute_value(enum sl_recompute recompute) {
  switch (recompute) {
  case SL_RECOMPUTE_NONE:
    break;
  case SL_RECOMPUTE_SELECTIVE:
    return json_string("selective");
  case SL_RECOMPUTE_FULL:
    return json_string("full");
  case SL_RECOMPUTE_SELECTIVE_OP:
    return json_string("selective_op");
  }
  return json_string("none");
}

static json_t *stages_value(const struct sl_config *config) {
  switch (config->sl.stages_by) {
  case SL_STAGES_UNIFORM:
    return json_string("uniform");
  case SL_STAGES_PARAMETERS:
    return json_string("parameters");
  case SL_STAGES_FLOPS:
    return json_string("flops");
  case SL_STAGES_COST:
    return json_string("cost");
  case SL_STAGES_LIST:
    break;
  }
  json_t *list = json_array();
  for (int i = 0; i < config->sl.stage_count; i++)
    json_array_append_new(list, json_integer(config->sl.stage_layers[i]));
  return list;
}

json_t *sl_config_list_value(const struct sl_field *field, const struct sl_config *config) {
  if (field->type == SL_FIELD_STAGES) return stages_value(config);
  if (field->type == SL_FIELD_RECOMPUTE && config->sl.recompute_count == 1)
    return recompute_value(config->sl.recompute[0]);
  json_t *list = json_array();
  if (field->type == SL_FIELD_RECOMPUTE) {
    for (int i = 0; i < config->sl.recompute_count; i++)
      json_array_append_new(list, recompute_value(config->sl.recompute[i]));
    return list;
  }
  if (config->sl.recompute_attention) json_array_append_new(list, json_string("core_attn"));
  if (config->sl.recompute_norms) json_array_append_new(list, json_string("layernorm"));
  return list;
}
