/* Type conversions that DeepSpeed's pydantic models apply to values. Internal to core/config. */
#pragma once

#include "core/config/fields.h"

/* Converts `value` as a section that is a pydantic model in DeepSpeed would: "1" or "true" to a bool; true, "2" or
 * "2.0" to an integer; true or "0.5" to a real; "A" to a list of strings. Rows of INT and REAL with `plain` accept
 * neither a bool nor "2.0". Returns a new reference, or NULL if the value is not converted, valid or not. Source:
 * pydantic's conversion table (lax mode, Python input), and precision_config.py for `plain`. */
json_t *sl_config_coerce(const struct sl_field *field, const json_t *value);
