/* See words.h. */
#include "core/config/words.h"

#include <string.h>
#include <strings.h>

int sl_config_word_index(const char *words, const char *word, bool exact) {
  const size_t length = strlen(word);
  int index = 0;
  for (const char *at = words; at != NULL; index++) {
    const size_t n = strcspn(at, "|");
    if (n == length && (exact ? strncmp(at, word, n) : strncasecmp(at, word, n)) == 0) return index;
    at = at[n] == '|' ? at + n + 1 : NULL;
  }
  return -1;
}
