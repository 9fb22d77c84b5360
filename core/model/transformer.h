/* What readers and writers of transformer families share. */
#pragma once

#include "core/base/json_get.h"
#include "core/model/model.h"

/* Reads the keys of the model's family. */
enum sl_status sl_transformer_keys(struct sl_model *model, const struct sl_json_object *in);
/* Reads the head count of `heads_key` and the key/value head count of `kv_key`, and derives what is still 0: head_dim,
 * for which the heads must divide the width (of key `width_key`), and key/value heads, as many as heads. All keys are
 * spelt as in the family; kv_key NULL: the family has none. */
enum sl_status sl_transformer_heads(struct sl_model *model, const struct sl_json_object *in, const char *heads_key,
                                    const char *kv_key, const char *width_key);
/* The same by Llama's keys, which most later families have, and then the rotary embedding (rotary.h). */
enum sl_status sl_transformer_llama_heads(struct sl_model *model, const struct sl_json_object *in);
/* The model as its family's config.json; a new reference. */
json_t *sl_transformer_to_json(const struct sl_model *model);
