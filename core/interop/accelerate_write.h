/* A configuration in Accelerate's YAML; the other way is accelerate.h. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Write the settings of a configuration, as sl_config_to_json gives it with its batch sizes filled in, for `world` ranks on `machines` machines. Keys of `given`
 * (the file as it stood) that Accelerate leaves to the script or has none for are put into `unsaid`, an array of paths. Errors: SL_ERR_INPUT where what a
 * configuration is made of cannot be said at all: a preset, a number type or a shard group that Accelerate has not. */
enum sl_status sl_accelerate_write(const json_t *config, const json_t *given, int64_t world, int64_t machines,
                                   FILE *out, json_t *unsaid);
