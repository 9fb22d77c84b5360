/* What the models of DeepSpeed's configuration make of a value of another type; internal to core/config. */
#pragma once

#include "core/config/fields.h"

/* The value that DeepSpeed reads for `value` in a section that is one of its pydantic models, where that is another one: "1" or
 * "true" for a bool; true, "2" or "2.0" for an integer; true or "0.5" for a real; "A" for a list of strings. A new
 * reference; NULL where the value stays as it is, for good or ill. Rows of INT and REAL with `plain` take neither a bool nor
 * "2.0". Source: pydantic's conversion table (lax mode, Python input), and precision_config.py for `plain`. */
json_t *sl_config_coerce(const struct sl_field *field, const json_t *value);
