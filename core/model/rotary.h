/* Rotary embeddings in config.json: the base, the share of a head that is rotated, and rope_scaling, called
 * rope_parameters in newer files. */
#pragma once

#include "core/base/json_get.h"
#include "core/model/model.h"

/* A family's names for these keys, part of its row. */
struct sl_rotary_keys {
  const char *base;         /* NULL: "rope_theta" */
  const char *share;        /* the share of a head that is rotated; NULL: "partial_rotary_factor" */
  double default_share;     /* 0: 1 */
  double default_base;      /* 0: 10000 */
  bool interleaved, joined; /* as in struct sl_rotary */
};

/* Reads both rotaries of the form, identically, by the keys of the model's family. head_dim and n_positions must be
 * set. Errors: SL_ERR_INPUT for scalings that are not modelled, by name, and for an odd number of rotated elements. */
enum sl_status sl_rotary_read(struct sl_model *model, const struct sl_json_object *in);
/* Reads the parameters of one rotary from an object: rope_theta, rope_type and so on. Absent keys leave the values
 * unchanged. */
enum sl_status sl_rotary_read_object(struct sl_rotary *rotary, const struct sl_json_object *in, int64_t positions);
/* Writes the keys that sl_rotary_read reads, from the rotary of the layers without a window. */
void sl_rotary_write(const struct sl_model *model, json_t *out);
