/* Words gathered for one warning, of which none is dropped without a word. Internal to core/interop. */
#pragma once

#include <stddef.h>

struct sl_interop_rest {
  const char *separator;
  char text[1600]; /* a warning has 2047 bytes */
  size_t used, left;
};

/* Adds a word, or counts it where there is no room for it. */
void sl_interop_rest_add(struct sl_interop_rest *rest, const char *word);
/* "FILE: WHAT: word word, and 3 more", if there is a word. */
void sl_interop_rest_warn(const struct sl_interop_rest *rest, const char *file, const char *what);
