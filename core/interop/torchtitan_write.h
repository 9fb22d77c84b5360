/* A configuration in torchtitan's TOML; the other way is torchtitan.h. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdio.h>

/* Write the settings of a configuration, as sl_config_to_json gives it with its batch sizes, number types and layers of each stage ("shardlab.stages", a
 * list) filled in, and of a model's config.json. Keys of `given` (the file as it stood) that have no counterpart are put into `unsaid`, an array of paths, and so is
 * "the model" where no flavor has its shape, and a kernel set that is none of torchtitan's. Errors: SL_ERR_INPUT where what a configuration is made of cannot
 * be said at all: a preset, a number type, an optimizer of another framework. */
enum sl_status sl_torchtitan_write(const json_t *config, const json_t *given, const json_t *model, FILE *out,
                                   json_t *unsaid);
