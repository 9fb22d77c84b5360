#include "core/base/json_write.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
  CERTAIN_DIGITS = 15,
  ALL_DIGITS = 17
}; /* any decimal number of this many digits survives; this many distinguish all doubles */

/* Shortens the text of a real, of `size` bytes, in place, if fewer digits read back the same. Returns the new
 * length. */
static size_t shorten(char *real, size_t size) {
  char whole[64] = ""; /* behind the number stands what was moved from there */
  if (size >= sizeof whole) return size;
  memcpy(whole, real, size);
  const double value = strtod(whole, NULL);
  json_t *number = json_real(value);
  for (int digits = CERTAIN_DIGITS; digits < ALL_DIGITS; digits++) {
    char *text = json_dumps(number, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
    const size_t length = text != NULL ? strlen(text) : size;
    const bool same = length < size && strtod(text, NULL) == value;
    if (same) memcpy(real, text, size = length);
    free(text);
    if (same) break;
  }
  json_decref(number);
  return size;
}

/* The end of a string whose opening quote is at `from`: the byte after its closing quote. */
static const char *string_end(const char *from) {
  const char *at = from + 1;
  while (*at != '"' && *at != '\0') at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
  return at + (*at == '"');
}

char *sl_json_text(const json_t *value, size_t flags) {
  char *text = json_dumps(value, flags), *to = text;
  if (text == NULL) return NULL;
  for (const char *at = text; *at != '\0';) {
    const size_t number = strspn(at, "+-.0123456789eE");
    const size_t size = *at == '"' ? (size_t)(string_end(at) - at) : number > 0 ? number : 1;
    memmove(to, at, size);
    at += size;
    to += *to != '"' && number > CERTAIN_DIGITS && memchr(to, '.', size) != NULL ? shorten(to, size) : size;
  }
  *to = '\0';
  return text;
}
