/* The model shapes of torchtitan's flavors. Internal to core/interop. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The config.json of flavor `flavor` of model `name`, for sequences of `positions`: a new reference; NULL if there is
 * none, or no memory. */
json_t *sl_torchtitan_model(const char *name, const char *flavor, int64_t positions);
/* The i-th flavor; false after the last. */
bool sl_torchtitan_flavor(int i, const char **name, const char **flavor);
/* The flavor with the shape of `model`, a config.json in the form of sl_model_to_json; false: there is none. */
bool sl_torchtitan_find(const json_t *model, const char **name, const char **flavor);
