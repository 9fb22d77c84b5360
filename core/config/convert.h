/* One JSON value into one field of struct sl_config; internal to core/config. */
#pragma once

#include "core/config/fields.h"

enum sl_converted { SL_CONVERTED, SL_WRONG_TYPE, SL_WRONG_VALUE };

/* Check `value` against the row and store it at `target` (NULL: check only). null must have been refused before for
 * rows that are not nullable. */
enum sl_converted sl_config_convert(const struct sl_field *field, const json_t *value, void *target);
/* What the row takes, in words: "an integer >= 1", "one of none, cpu, nvme". */
const char *sl_config_expectation(const struct sl_field *field, char *out, size_t size);
/* The stored value as JSON; new reference. */
json_t *sl_config_value(const struct sl_field *field, const struct sl_config *config);
