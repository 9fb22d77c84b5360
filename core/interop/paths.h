/* Keys of a document by their path. */
#pragma once

#include <jansson.h>

/* Set the key at `path` ("zero_optimization.stage"); sections that are absent become objects. Takes `value` over. */
void sl_interop_put(json_t *root, const char *path, json_t *value);
/* The value at `path`, borrowed; NULL where there is none. */
const json_t *sl_interop_get(const json_t *root, const char *path);
