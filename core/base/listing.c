/* See listing.h. */
#include "core/base/listing.h"

#include <stdio.h>
#include <string.h>

enum { ENDING = 40 }; /* room for ", and N more" */

void sl_listing_add(struct sl_listing *listing, const char *entry) {
  const char *before = listing->used > 0 ? listing->separator : "";
  const size_t length = strlen(before) + strlen(entry);
  if (listing->left > 0 || listing->used + length >= sizeof listing->text - ENDING) {
    listing->left++;
    return;
  }
  snprintf(listing->text + listing->used, sizeof listing->text - listing->used, "%s%s", before, entry);
  listing->used += length;
}

const char *sl_listing_end(struct sl_listing *listing) {
  if (listing->used == 0 && listing->left == 0) return NULL;
  if (listing->left > 0)
    snprintf(listing->text + listing->used, sizeof listing->text - listing->used, "%s%zu more",
             listing->used > 0 ? ", and " : "", listing->left);
  return listing->text;
}
