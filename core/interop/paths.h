/* Access to the keys of a document by their path. */
#pragma once

#include <jansson.h>

/* Sets the key at `path` ("zero_optimization.stage"), creating missing sections. Takes ownership of `value`. */
void sl_interop_put(json_t *root, const char *path, json_t *value);
/* The value at `path`, borrowed; NULL if there is none. */
const json_t *sl_interop_get(const json_t *root, const char *path);
