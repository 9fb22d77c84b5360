/* Writes JSON with reals in the fewest digits that read back as the same double: 0.9, where jansson writes
 * 0.90000000000000002. */
#pragma once

#include <jansson.h>

/* `value` as text, with jansson's flags (JSON_INDENT, JSON_COMPACT, JSON_ENCODE_ANY); the caller frees it. NULL: out of
 * memory, or not a JSON value. */
char *sl_json_text(const json_t *value, size_t flags);
