/* The known name that is nearest to a word, for "did you mean" in messages. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>

/* The one of `words[0..n)` nearest to `word` by edit distance (insertion, deletion, substitution and exchange of two
 * neighbours cost 1 each; case does not count), the earliest at a tie. NULL when none is near: the distance may be at
 * most a third of the longer length, and at least 1 is allowed. Only the first 127 bytes of a word are compared. */
const char *sl_nearest(const char *word, const char *const *words, size_t n);

/* Fail with SL_ERR_INPUT: `spec`, a "model" or "cluster", is neither a file nor a preset; `name(i)` is the i-th preset's name,
 * NULL behind the last of them. */
enum sl_status sl_nearest_preset(const char *what, const char *spec, const char *(*name)(int i));
