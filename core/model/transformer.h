/* What readers and writers of transformers share. */
#pragma once

#include "core/base/json_get.h"
#include "core/model/model.h"

/* The family's keys. */
enum sl_status sl_transformer_keys(struct sl_model *model, const struct sl_json_object *in);
/* Heads that divide the width (of key `width_key`), unless head_dim says how wide they are: head_dim, where it is 0 so far; and
 * key/value heads, where they are 0, as many as heads. All keys as the family calls them; kv_key NULL: the family has none. */
enum sl_status sl_transformer_heads(struct sl_model *model, const struct sl_json_object *in, const char *heads_key,
                                    const char *kv_key, const char *width_key);
/* The model as the family's config.json; new reference. */
json_t *sl_transformer_to_json(const struct sl_model *model);
