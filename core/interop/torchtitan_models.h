/* The shapes that torchtitan's flavors stand for. Internal to core/interop. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The config.json of flavor `flavor` of model `name`, for sequences of `positions`: a new reference, NULL: there is none, or no memory. */
json_t *sl_torchtitan_model(const char *name, const char *flavor, int64_t positions);
/* The i-th flavor; false past the end. */
bool sl_torchtitan_flavor(int i, const char **name, const char **flavor);
/* The flavor whose shape `model`, a config.json as sl_model_to_json writes it, has; false: none has it. */
bool sl_torchtitan_find(const json_t *model, const char **name, const char **flavor);
