/* Accelerate's deepspeed_config, and the DeepSpeed file that it may name. Internal to core/interop. */
#pragma once

#include "core/interop/settings.h"

/* Adds its settings to `config`, which already has what is left to the script. `precision`: no, fp16 or bf16. Errors:
 * SL_ERR_INPUT, as in settings.h, and those of the file. */
enum sl_status sl_accelerate_deepspeed(const struct sl_settings *s, const char *precision, json_t *config);
