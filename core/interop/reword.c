/* See reword.h. */
#include "core/interop/reword.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 2048 };

static bool is_of_key(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* The bytes of the key at `at`, without the full stop of a sentence; a word that is no path may be plain English. */
static size_t key_length(const char *at) {
  size_t n = 0;
  while (is_of_key(at[n])) n++;
  while (n > 0 && at[n - 1] == '.') n--;
  return n;
}

static const json_t *find(const json_t *names, const char *at, size_t length) {
  const bool path = memchr(at, '_', length) != NULL || memchr(at, '.', length) != NULL;
  return path ? json_object_getn(names, at, length) : NULL;
}

static const char *word_of(const json_t *name, const char *key) {
  return json_string_value(json_object_get(name, key));
}

/* The key of a message "FILE: KEY: ..."; its length is 0 if there is none. */
static const char *subject(const char *message, const char *file, size_t *length) {
  const char *at = message + strlen(file) + 2;
  *length = strcspn(at, ": ");
  return at;
}

bool sl_interop_reword_text(const char *was, const char *file, const json_t *names, char *out, size_t size) {
  size_t length, used;
  if (names == NULL || file == NULL || strncmp(was, file, strlen(file)) != 0 ||
      strncmp(was + strlen(file), ": ", 2) != 0)
    return false;
  const char *at = subject(was, file, &length);
  const json_t *name = json_object_getn(names, at, length);
  const char *where = name != NULL ? word_of(name, "where") : file;
  used = (size_t)snprintf(out, size, "%.1024s: ", where);
  if (name != NULL) used += (size_t)snprintf(out + used, size - used, "%s", word_of(name, "word"));
  if (name != NULL) at += length;
  while (*at != '\0' && used + 1 < size) {
    const bool begins = is_of_key(*at) && !is_of_key(at[-1]) && at[-1] != '-';
    length = begins ? key_length(at) : 0;
    name = length > 0 ? find(names, at, length) : NULL;
    const size_t n = length > 0 ? length : 1, room = size - used;
    const int written = name != NULL ? snprintf(out + used, room, "%s", word_of(name, "word"))
                                     : snprintf(out + used, room, "%.*s", (int)n, at);
    used += (size_t)written < room ? (size_t)written : room - 1;
    at += n;
  }
  out[used] = '\0';
  return true;
}

enum sl_status sl_interop_reword(enum sl_status status, const char *file, const json_t *names) {
  char text[MESSAGE_BYTES], was[MESSAGE_BYTES];
  snprintf(was, sizeof was, "%s", sl_error_message());
  if (status == SL_OK || !sl_interop_reword_text(was, file, names, text, sizeof text)) return status;
  sl_error_clear();
  return sl_error_relay(status, text);
}
