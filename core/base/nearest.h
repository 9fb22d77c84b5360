/* Finds the known name nearest to a word, for "did you mean" in messages. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>

/* The shortest of words[0..n) that begins with `word`, if that has at least three characters; otherwise the nearest by
 * edit distance (insertion, deletion, substitution and transposition of neighbours cost 1 each), the first in a tie.
 * Case is ignored. NULL if none is near: the distance may be at most a third of the longer length, but 1 is always
 * allowed. Only the first 127 bytes of a word count. */
const char *sl_nearest(const char *word, const char *const *words, size_t n);

/* The word that `word` misspells for certain: the nearest by at most two edits, or one if it has fewer than six
 * characters. NULL: there is none, as for a word that is just another. */
const char *sl_misspelt(const char *word, const char *const *words, size_t n);

/* Fails with SL_ERR_INPUT: `spec`, a "model" or "cluster", is neither a file nor a preset. `name(i)` is the name of the
 * i-th preset, NULL after the last; the nearest is that of what follows the last slash of `spec`. */
enum sl_status sl_nearest_preset(const char *what, const char *spec, const char *(*name)(int i));
