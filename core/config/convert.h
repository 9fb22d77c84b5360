/* Converts one JSON value to one field of struct sl_config, and back. Internal to core/config. */
#pragma once

#include "core/config/fields.h"

enum sl_converted { SL_CONVERTED, SL_WRONG_TYPE, SL_WRONG_VALUE };

/* Checks `value` against the row and stores it at `target` (NULL: only checks). The caller has refused null for rows
 * that are not nullable. */
enum sl_converted sl_config_convert(const struct sl_field *field, const json_t *value, void *target);
/* What the row accepts, in words: "an integer >= 1", "one of none, cpu, nvme". */
const char *sl_config_expectation(const struct sl_field *field, char *out, size_t size);
/* The stored value as JSON; a new reference. */
json_t *sl_config_value(const struct sl_field *field, const struct sl_config *config);
