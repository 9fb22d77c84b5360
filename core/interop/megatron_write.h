/* A configuration in Megatron-LM's arguments; the other way is megatron.h. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdio.h>

/* Write the arguments of a configuration, as sl_config_to_json gives it, and of a model's config.json, a line each. Keys of `given` (the file
 * as it stood) that have no counterpart and are not their default in Megatron-LM are put into `unsaid`, an array of paths. Errors: SL_ERR_INPUT where
 * what a configuration is made of cannot be said at all: a preset or a model of another framework. */
enum sl_status sl_megatron_write(const json_t *config, const json_t *given, const json_t *model, FILE *out,
                                 json_t *unsaid);
