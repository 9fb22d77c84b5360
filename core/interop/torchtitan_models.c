/* See torchtitan_models.h. Sources: torchtitan at 238fa99 (February 2026), torchtitan/models/llama3/__init__.py and
 * models/qwen3/__init__.py; for llama2, torchtitan/models/llama/__init__.py at the end of 2024. Feed-forward widths are
 * those that FeedForward computes from ffn_dim_multiplier and multiple_of. The attention that a name ends with (flex,
 * varlen) only adds a mask of documents, which changes no shape. */
#include "core/interop/torchtitan_models.h"

#include <string.h>

static const struct {
  const char *name, *flavor;
  int layers, width, heads, kv_heads, head, inner, vocabulary;
  double theta;
  bool tied;
} flavors[] = {
    {"llama3", "debugmodel", 6, 256, 16, 16, 16, 768, 2048, 500000, false},
    {"llama3", "8B", 32, 4096, 32, 8, 128, 14336, 128256, 500000, false},
    {"llama3", "70B", 80, 8192, 64, 8, 128, 28672, 128256, 500000, false},
    {"llama3", "405B", 126, 16384, 128, 8, 128, 53248, 128256, 500000, false},
    {"llama2", "7B", 32, 4096, 32, 32, 128, 11008, 32000, 10000, false},
    {"llama2", "13B", 40, 5120, 40, 40, 128, 13824, 32000, 10000, false},
    {"llama2", "70B", 80, 8192, 64, 8, 128, 28672, 32000, 10000, false},
    {"qwen3", "debugmodel", 8, 256, 16, 8, 128, 3072, 2048, 1000000, true},
    {"qwen3", "0.6B", 28, 1024, 16, 8, 128, 3072, 151936, 1000000, true},
    {"qwen3", "1.7B", 28, 2048, 16, 8, 128, 6144, 151936, 1000000, true},
    {"qwen3", "4B", 36, 2560, 32, 8, 128, 9728, 151936, 1000000, true},
    {"qwen3", "8B", 36, 4096, 32, 8, 128, 12288, 151936, 1000000, false},
    {"qwen3", "14B", 40, 5120, 40, 8, 128, 17408, 151936, 1000000, false},
    {"qwen3", "32B", 64, 5120, 64, 8, 128, 25600, 151936, 1000000, false},
};
enum { FLAVORS = sizeof flavors / sizeof *flavors };

static json_t *make(int i, int64_t positions) {
  const bool qwen = strcmp(flavors[i].name, "qwen3") == 0;
  json_t *model =
      json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:I}", "model_type", qwen ? "qwen3" : "llama", "num_hidden_layers",
                flavors[i].layers, "hidden_size", flavors[i].width, "num_attention_heads", flavors[i].heads,
                "num_key_value_heads", flavors[i].kv_heads, "intermediate_size", flavors[i].inner, "vocab_size",
                flavors[i].vocabulary, "max_position_embeddings", (json_int_t)positions);
  json_object_set_new(model, "head_dim", json_integer(flavors[i].head));
  json_object_set_new(model, "rms_norm_eps", json_real(qwen ? 1e-6 : 1e-5));
  json_object_set_new(model, "rope_theta", json_real(flavors[i].theta));
  json_object_set_new(model, "tie_word_embeddings", json_boolean(flavors[i].tied));
  return model;
}

json_t *sl_torchtitan_model(const char *name, const char *flavor, int64_t positions) {
  const size_t length = strcspn(flavor, "_");
  const bool same_shape = strcmp(flavor + length, "_flex") == 0 || strcmp(flavor + length, "_varlen") == 0 ||
                          strcmp(flavor + length, "_flex_attn") == 0 || strcmp(flavor + length, "_varlen_attn") == 0;
  for (int i = 0; i < FLAVORS && (flavor[length] == '\0' || same_shape); i++)
    if (strcmp(flavors[i].name, name) == 0 && strlen(flavors[i].flavor) == length &&
        strncmp(flavors[i].flavor, flavor, length) == 0)
      return make(i, positions);
  return NULL;
}

bool sl_torchtitan_flavor(int i, const char **name, const char **flavor) {
  if (i < 0 || i >= FLAVORS) return false;
  *name = flavors[i].name;
  *flavor = flavors[i].flavor;
  return true;
}

/* Compares all keys of a flavor's config.json but the number of positions, which is the sequence length. */
static bool has_shape(const json_t *model, const json_t *shape) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)shape, key, value) {
    const json_t *has = json_object_get(model, key);
    if (strcmp(key, "max_position_embeddings") == 0) continue;
    if (json_is_number(value) ? json_number_value(has) != json_number_value(value) : !json_equal(has, value))
      return false;
  }
  return true;
}

bool sl_torchtitan_find(const json_t *model, const char **name, const char **flavor) {
  for (int i = 0; sl_torchtitan_flavor(i, name, flavor); i++) {
    json_t *shape = make(i, 1);
    const bool found = shape != NULL && has_shape(model, shape);
    json_decref(shape);
    if (found) return true;
  }
  return false;
}
