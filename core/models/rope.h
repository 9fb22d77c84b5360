/* Rotary positions. */
#pragma once

#include "core/models/attention.h"

/* q and k with the heads of every token turned by its position, in place; v as it is. The rule of the form: sl_model_rotary. */
struct sl_qkv sl_rope(struct sl_tape *tape, struct sl_qkv qkv);
