/* Writes a configuration as Accelerate's YAML; accelerate.h is the other direction. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes the settings of a configuration, in the form of sl_config_to_json with its batch sizes filled in, for `world`
 * ranks on `machines` machines. `usual`: the same form of a file that says nothing but the stage and the number type,
 * with the attention and the make_vocab_size_divisible_by that are read of what is written. Paths of keys in
 * `given` (the original file) that Accelerate leaves to the script or does not have are added to the array `unsaid`.
 * Errors: SL_ERR_INPUT if what is written would be read as another plan: a preset, a number type, a degree or a bucket
 * that Accelerate, or the distributed_type that is written, cannot express. */
/* Is a plan of this preset written as distributed_type MEGATRON_LM? */
bool sl_accelerate_writes_megatron(const char *preset);
enum sl_status sl_accelerate_write(const json_t *config, const json_t *given, const json_t *usual, int64_t world,
                                   int64_t machines, FILE *out, json_t *unsaid);
