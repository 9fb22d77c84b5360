/* The known name that is nearest to a word, for "did you mean" in messages. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>

/* The shortest of `words[0..n)` that begin with `word`, where that has three characters or more; else the nearest by edit
 * distance (insertion, deletion, substitution and exchange of two neighbours cost 1 each), the earliest at a tie. Case does
 * not count. NULL when none is near: the distance may be at most a third of the longer length, and at least 1 is allowed.
 * Only the first 127 bytes of a word count in a distance. */
const char *sl_nearest(const char *word, const char *const *words, size_t n);

/* Fail with SL_ERR_INPUT: `spec`, a "model" or "cluster", is neither a file nor a preset; `name(i)` is the i-th preset's name,
 * NULL behind the last of them. */
enum sl_status sl_nearest_preset(const char *what, const char *spec, const char *(*name)(int i));
