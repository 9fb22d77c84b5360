/* What a configuration has and another framework cannot express. Internal to core/interop. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Whether what is written says the value at `path`. `context` is the caller's. */
typedef bool (*sl_interop_said)(const void *context, const char *path, const json_t *value);

/* Appends to `unsaid` the path of every value in `given`, the original file, for which `is_said` is false. */
void sl_interop_unsaid(const json_t *given, sl_interop_said is_said, const void *context, json_t *unsaid);
/* Is `path` in a NULL-terminated list? */
bool sl_interop_among(const char *const *list, const char *path);
