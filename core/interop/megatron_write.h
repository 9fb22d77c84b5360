/* Writes a configuration as Megatron-LM's arguments; megatron.h is the other direction. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdio.h>

/* Writes the arguments of a configuration, in the form of sl_config_to_json, and of a model's config.json, one per
 * line. Paths of keys in `given` (the original file) that have no counterpart and are not at Megatron-LM's default are
 * added to the array `unsaid`. Errors: SL_ERR_INPUT if an essential part of the configuration cannot be expressed: a
 * preset or a model of another framework. */
enum sl_status sl_megatron_write(const json_t *config, const json_t *given, const json_t *model, FILE *out,
                                 json_t *unsaid);
