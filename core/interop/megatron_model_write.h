/* A model as Megatron-LM's arguments. Internal to core/interop. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdio.h>

/* Writes the arguments of a model, a config.json, one a line. Errors: SL_ERR_INPUT with the key and its value: a family
 * that Megatron-LM has not, and what it has no argument for: windows, another activation, biases of some linear layers
 * alone, scalings of rotary positions other than Llama 3.1's, two dropouts of the residual stream. */
enum sl_status sl_megatron_write_model(const json_t *model, FILE *out);
