/* Writes a configuration as torchtitan's TOML; torchtitan.h is the other direction. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdio.h>

/* Writes the settings of a configuration, in the form of sl_config_to_json with its batch sizes, number types and
 * layers of each stage ("shardlab.stages", a list) filled in, and of a model's config.json. Paths of keys in `given`
 * (the original file) that have no counterpart are added to the array `unsaid`, as are "the model" if no flavor has its
 * shape, and a kernel set that is not torchtitan's. Errors: SL_ERR_INPUT if an essential part of the configuration
 * cannot be expressed: a preset, a number type, an optimizer of another framework. */
enum sl_status sl_torchtitan_write(const json_t *config, const json_t *given, const json_t *model, FILE *out,
                                   json_t *unsaid);
