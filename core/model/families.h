/* The families: a row each. A new one has a file of its own here, with its row, one in core/models, with its builder, which
 * models.h declares, and a line in SL_FAMILY_MAP. */
#pragma once

#include "core/base/json_get.h"
#include "core/model/model.h"

struct sl_family {
  const char *name; /* config.json's model_type */
  bool tokens;      /* see sl_model_reads_tokens */
  /* Sizes, with the family's names and defaults, n_layer among them. */
  enum sl_status (*read)(struct sl_model *model, const struct sl_json_object *in);
  /* model->tensors from the sizes. */
  enum sl_status (*make_tensors)(struct sl_model *model);
  json_t *(*to_json)(const struct sl_model *model);
};

#define X(type, name) extern const struct sl_family sl_model_##name;
SL_FAMILY_MAP(X)
#undef X

const struct sl_family *sl_family_of(const struct sl_model *model);
bool sl_family_find(const char *name, enum sl_model_type *type);
/* All names, quoted, as one expects one of them. Returns `text`. */
const char *sl_family_names(char *text, size_t size);
