/* A family's config.json as a table: one row per key, with its place in struct sl_model and its default, used for
 * reading and writing. A key that is not in the table is ignored for the family, as by transformers,
 * unless sl_model_check_keys refuses it. */
#pragma once

#include "core/base/json_get.h"
#include "core/model/model.h"

#include <stddef.h>

enum sl_key_kind {
  SL_KEY_SIZE,    /* a whole number from 1 to `most`; `value` 0: no default, and if absent the family derives it */
  SL_KEY_REAL,    /* a number from 0 to `most` */
  SL_KEY_DROPOUT, /* a probability */
  SL_KEY_BOOL,
  SL_KEY_TRAIT,        /* the same, but written only where it is not the default */
  SL_KEY_SIZE_OR_NONE, /* a size or null, which is 0 */
  SL_KEY_REAL_OR_NONE,
  SL_KEY_ACTIVATION, /* one of those whose bits are set in `value`; no default */
  SL_KEY_ONLY,       /* a switch, modelled only for `value` */
  SL_KEY_NONE,       /* must be null, 0 or absent */
  /* read by the family's own code, written here: */
  SL_KEY_ROTARY,      /* rope_theta and related keys */
  SL_KEY_USES_WINDOW, /* a switch: is there a window? */
  SL_KEY_LAYER_TYPES  /* which layers have a window */
};

struct sl_model_key {
  const char *key, *alias; /* alias: transformers' attribute_map, or NULL */
  enum sl_key_kind kind;
  size_t at; /* offsetof(struct sl_model, ...) */
  double value, most;
};

#define SL_MODEL_MAX_PDROP 0.999 /* 1 would drop everything */

/* Rows. */
#define SL_SIZE_KEY(key, alias, field, value, most)                                                                    \
  { key, alias, SL_KEY_SIZE, offsetof(struct sl_model, field), value, (double)(most) }
/* The eight sizes by Llama's names, which most later families use, with their defaults. */
#define SL_LLAMA_SIZE_KEYS(vocab, positions, hidden, layers, heads, key_value_heads, head, intermediate)               \
  SL_SIZE_KEY("vocab_size", NULL, vocab_size, vocab, SL_MAX_ROWS),                                                     \
      SL_SIZE_KEY("max_position_embeddings", NULL, n_positions, positions, SL_MAX_ROWS),                               \
      SL_SIZE_KEY("hidden_size", NULL, n_embd, hidden, SL_MAX_WIDTH),                                                  \
      SL_SIZE_KEY("num_hidden_layers", NULL, n_layer, layers, SL_MAX_LAYERS),                                          \
      SL_SIZE_KEY("num_attention_heads", NULL, n_head, heads, SL_MAX_WIDTH),                                           \
      SL_SIZE_KEY("num_key_value_heads", NULL, n_kv_head, key_value_heads, SL_MAX_WIDTH),                              \
      SL_SIZE_KEY("head_dim", NULL, head_dim, head, SL_MAX_WIDTH),                                                     \
      SL_SIZE_KEY("intermediate_size", NULL, n_inner, intermediate, SL_MAX_INNER)
#define SL_SIZE_OR_NONE_KEY(key, field, value, most)                                                                   \
  { key, NULL, SL_KEY_SIZE_OR_NONE, offsetof(struct sl_model, field), value, (double)(most) }
#define SL_REAL_KEY(key, field, value, most)                                                                           \
  { key, NULL, SL_KEY_REAL, offsetof(struct sl_model, field), value, most }
#define SL_REAL_OR_NONE_KEY(key, field, value, most)                                                                   \
  { key, NULL, SL_KEY_REAL_OR_NONE, offsetof(struct sl_model, field), value, most }
#define SL_DROPOUT_KEY(key, field, value)                                                                              \
  { key, NULL, SL_KEY_DROPOUT, offsetof(struct sl_model, field), value, SL_MODEL_MAX_PDROP }
#define SL_BOOL_KEY(key, field, value)                                                                                 \
  { key, NULL, SL_KEY_BOOL, offsetof(struct sl_model, field), value, 0 }
#define SL_TRAIT_KEY(key, field, value)                                                                                \
  { key, NULL, SL_KEY_TRAIT, offsetof(struct sl_model, field), value, 0 }
#define SL_ACTIVATION_KEY(key, bits)                                                                                   \
  { key, NULL, SL_KEY_ACTIVATION, offsetof(struct sl_model, form.activation), bits, 0 }
#define SL_ONLY_KEY(key, value)                                                                                        \
  { key, NULL, SL_KEY_ONLY, 0, value, 0 }
#define SL_NONE_KEY(key)                                                                                               \
  { key, NULL, SL_KEY_NONE, 0, 0, 0 }
#define SL_ROTARY_KEYS                                                                                                 \
  { NULL, NULL, SL_KEY_ROTARY, 0, 0, 0 }
#define SL_USES_WINDOW_KEY(key)                                                                                        \
  { key, NULL, SL_KEY_USES_WINDOW, 0, 0, 0 }
#define SL_LAYER_TYPES_KEY                                                                                             \
  { "layer_types", NULL, SL_KEY_LAYER_TYPES, 0, 0, 0 }

/* The activations of plain MLPs, and of gated ones, as bits for SL_KEY_ACTIVATION. */
#define SL_ACTIVATIONS_PLAIN                                                                                           \
  (1 << SL_ACTIVATION_GELU_TANH | 1 << SL_ACTIVATION_GELU | 1 << SL_ACTIVATION_RELU | 1 << SL_ACTIVATION_RELU2)
#define SL_ACTIVATIONS_GATING (1 << SL_ACTIVATION_GELU_TANH | 1 << SL_ACTIVATION_GELU | 1 << SL_ACTIVATION_SILU)

/* Sets the defaults of all rows, then reads the keys that `in` has. The caller has set the activation's default. */
enum sl_status sl_model_read_keys(struct sl_model *model, const struct sl_json_object *in,
                                  const struct sl_model_key *keys, size_t count);
/* Fails where a config.json of the family asks for experts, which no family has, or has a key that is a misspelling of
 * one that is absent, whose default would be taken without a word. */
enum sl_status sl_model_check_keys(const struct sl_json_object *in, const struct sl_model_key *keys, size_t count);
/* Adds the value of every row to `out`, except those of kinds ONLY and NONE. */
void sl_model_write_keys(const struct sl_model *model, json_t *out, const struct sl_model_key *keys, size_t count);
/* The activation must be one of two spellings of the one that is modelled. */
enum sl_status sl_model_want_activation(const struct sl_json_object *in, const char *key, const char *name,
                                        const char *alias);
/* `part`, the value of `key`, must divide `whole`. */
enum sl_status sl_model_want_divisor(const struct sl_json_object *in, const char *key, int64_t whole, int64_t part,
                                     const char *what);
