/* A family's config.json as a table: a row a key, with its place in struct sl_model and its default, read and written by the
 * same rows. A key that the table lacks has no meaning for the family, as for transformers. */
#pragma once

#include "core/base/json_get.h"
#include "core/model/model.h"

#include <stddef.h>

enum sl_key_kind {
  SL_KEY_SIZE, /* a whole number of 1 to `most`; `value` 0: no default, what the family derives stands if it is absent */
  SL_KEY_REAL,    /* a number of 0 to `most` */
  SL_KEY_DROPOUT, /* a probability */
  SL_KEY_BOOL,
  SL_KEY_TRAIT,        /* the same, but written only where it is not the default */
  SL_KEY_SIZE_OR_NONE, /* a size or null, which is 0 */
  SL_KEY_REAL_OR_NONE,
  SL_KEY_ACTIVATION, /* one of those whose bits `value` has; no default */
  SL_KEY_ONLY,       /* a switch of which only `value` is modelled */
  SL_KEY_NONE,       /* what must be null, 0 or absent */
  /* what the family's reader reads by itself, written here: */
  SL_KEY_ROTARY,      /* rope_theta and what goes with it */
  SL_KEY_USES_WINDOW, /* a switch: is there a window */
  SL_KEY_LAYER_TYPES  /* of layers with and without a window */
};

struct sl_model_key {
  const char *key, *alias; /* alias: transformers' attribute_map, or NULL */
  enum sl_key_kind kind;
  size_t at; /* offsetof(struct sl_model, ...) */
  double value, most;
};

#define SL_MODEL_MAX_PDROP 0.999 /* 1 would keep nothing */

/* Rows. */
#define SL_SIZE_KEY(key, alias, field, value, most)                                                                    \
  { key, alias, SL_KEY_SIZE, offsetof(struct sl_model, field), value, (double)(most) }
/* The eight sizes by Llama's names, which most families since have taken over, with their defaults. */
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

/* The activations that a block computes by itself, and those that gate; bits of SL_KEY_ACTIVATION. */
#define SL_ACTIVATIONS_PLAIN (1 << SL_ACTIVATION_GELU_TANH | 1 << SL_ACTIVATION_GELU | 1 << SL_ACTIVATION_RELU)
#define SL_ACTIVATIONS_GATING (1 << SL_ACTIVATION_GELU_TANH | 1 << SL_ACTIVATION_GELU | 1 << SL_ACTIVATION_SILU)

/* Set the defaults of all rows, then read what `in` has of them. An activation's default is set beforehand. */
enum sl_status sl_model_read_keys(struct sl_model *model, const struct sl_json_object *in,
                                  const struct sl_model_key *keys, size_t count);
/* Add every row's value to `out`; those of kinds ONLY and NONE are not written. */
void sl_model_write_keys(const struct sl_model *model, json_t *out, const struct sl_model_key *keys, size_t count);

/* A switch that changes the computation in a way we do not model: only `honoured` is accepted. */
enum sl_status sl_model_want_bool(const struct sl_json_object *in, const char *key, bool honoured);
/* The activation must be one of two spellings of the one we compute. */
enum sl_status sl_model_want_activation(const struct sl_json_object *in, const char *key, const char *name,
                                        const char *alias);
/* `part`, given as `key`, must divide `whole`. */
enum sl_status sl_model_want_divisor(const struct sl_json_object *in, const char *key, int64_t whole, int64_t part,
                                     const char *what);
