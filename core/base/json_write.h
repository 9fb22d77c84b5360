/* JSON as text in which reals have the fewest digits that read back as the same double: 0.9, where jansson writes
 * 0.90000000000000002. */
#pragma once

#include <jansson.h>

/* `value` as text, by jansson's flags (JSON_INDENT, JSON_COMPACT, JSON_ENCODE_ANY); to be freed by the caller. NULL: out of memory, or
 * no value that JSON has. */
char *sl_json_text(const json_t *value, size_t flags);
