/* Rotary positions in config.json: the base, the share of a head that is turned, and rope_scaling, which newer files call
 * rope_parameters. */
#pragma once

#include "core/base/json_get.h"
#include "core/model/model.h"

/* How a family calls them, in its row. */
struct sl_rotary_keys {
  const char *base;     /* NULL: "rope_theta" */
  const char *share;    /* of a head that is turned; NULL: "partial_rotary_factor" */
  double default_share; /* 0: 1 */
  double default_base;  /* 0: 10000 */
  bool interleaved;
};

/* Both rotaries of the form, alike, by the keys of the model's family. The model's head_dim and n_positions are set. Errors:
 * scalings that are not modelled, by name; an odd number of elements to turn. */
enum sl_status sl_rotary_read(struct sl_model *model, const struct sl_json_object *in);
/* What an object says of one rotary: rope_theta, rope_type and the rest. What it lacks stays. */
enum sl_status sl_rotary_read_object(struct sl_rotary *rotary, const struct sl_json_object *in, int64_t positions);
/* The keys that sl_rotary_read reads, of the form's rotary of layers without a window. */
void sl_rotary_write(const struct sl_model *model, json_t *out);
