/* Rotary position embeddings. */
#pragma once

#include "core/models/attention.h"

/* Rotates the heads of q and k of every token by its position, in place; v is unchanged. sl_model_rotary has the form's
 * parameters. */
struct sl_qkv sl_rope(struct sl_tape *tape, struct sl_qkv qkv);
