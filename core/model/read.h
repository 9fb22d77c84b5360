/* What the families' readers of config.json share. */
#pragma once

#include "core/base/json_get.h"

#define SL_MODEL_MAX_PDROP 0.999 /* 1 would keep nothing */

/* A size under its own name or the one that Hugging Face's attribute_map gives it in every family. */
enum sl_status sl_model_get_size(const struct sl_json_object *in, const char *key, const char *alias, int64_t max,
                                 int64_t *out);
/* A switch that changes the computation in a way we do not model: only `honoured` is accepted. */
enum sl_status sl_model_want_bool(const struct sl_json_object *in, const char *key, bool honoured);
/* The activation must be one of two spellings of the one we compute. */
enum sl_status sl_model_want_activation(const struct sl_json_object *in, const char *key, const char *name,
                                        const char *alias);
/* `part`, given as `key`, must divide `whole`. */
enum sl_status sl_model_want_divisor(const struct sl_json_object *in, const char *key, int64_t whole, int64_t part,
                                     const char *what);
