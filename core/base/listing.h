/* What one message lists, of which nothing is dropped without a word. */
#pragma once

#include <stddef.h>

struct sl_listing {
  const char *separator; /* between two entries */
  char text[1640];       /* a warning has 2047 bytes */
  size_t used, left;     /* bytes of the text; entries without room in it */
};

/* Adds an entry, or counts it where there is no room for it. */
void sl_listing_add(struct sl_listing *listing, const char *entry);
/* "one, other, and 3 more" once all are added; NULL if there was none. The text belongs to `listing`. */
const char *sl_listing_end(struct sl_listing *listing);
