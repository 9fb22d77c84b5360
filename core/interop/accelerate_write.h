/* Writes a configuration as Accelerate's YAML; accelerate.h is the other direction. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Writes the settings of a configuration, in the form of sl_config_to_json with its batch sizes filled in, for `world`
 * ranks on `machines` machines. Paths of keys in `given` (the original file) that Accelerate leaves to the script or
 * does not have are added to the array `unsaid`. Errors: SL_ERR_INPUT if an essential part of the configuration cannot
 * be expressed: a preset, a number type or a shard group that Accelerate does not have. */
enum sl_status sl_accelerate_write(const json_t *config, const json_t *given, int64_t world, int64_t machines,
                                   FILE *out, json_t *unsaid);
