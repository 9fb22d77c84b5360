/* See yaml_scalar.h. Source: PyYAML's resolver.py (implicit resolvers) and constructor.py (SafeConstructor). */
#include "core/interop/yaml_scalar.h"

#include "core/interop/unsaid.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 64 };

/* Skips digits of `set` and underscores. */
static const char *over(const char *at, const char *set) {
  while (*at != '\0' && (*at == '_' || strchr(set, *at) != NULL)) at++;
  return at;
}

static json_t *integer(const char *text, const char *plain) {
  static const struct {
    const char *prefix, *digits;
    int base, skip;
  } forms[] = {
      {"0x", "0123456789abcdefABCDEF", 16, 2}, {"0b", "01", 2, 2}, {"0", "01234567", 8, 1}, {"", "0123456789", 10, 0}};
  for (int i = 0; i < 4; i++) {
    const char *digits = text + (*text == '+' || *text == '-') + forms[i].skip;
    if (strncmp(text + (*text == '+' || *text == '-'), forms[i].prefix, (size_t)forms[i].skip) != 0) continue;
    const bool decimal = forms[i].skip == 0, single = digits[0] == '0' && digits[1] == '\0';
    if (*digits == '\0' || (decimal && !single && (*digits < '1' || *digits > '9')) ||
        *over(digits, forms[i].digits) != '\0')
      continue;
    errno = 0;
    const char *from = plain + (*plain == '+' || *plain == '-') + forms[i].skip;
    const long long n = strtoll(from, NULL, forms[i].base);
    return errno == 0 ? json_integer(*text == '-' ? -n : n) : NULL;
  }
  return NULL;
}

/* PyYAML's float has a point, and a sign after its e. */
static json_t *real(const char *text, const char *plain) {
  const char *at = text + (*text == '+' || *text == '-'), *whole = at;
  if (*at == '_') return NULL;
  at = over(at, "0123456789");
  const bool has_whole = at > whole;
  if (*at != '.' || (!has_whole && (whole > text || !isdigit((unsigned char)at[1])))) return NULL; /* -.5 is a string */
  at = over(at + 1, "0123456789");
  if (*at == 'e' || *at == 'E') {
    if ((at[1] != '+' && at[1] != '-') || !isdigit((unsigned char)at[2])) return NULL;
    for (at += 2; isdigit((unsigned char)*at);) at++;
  }
  return *at == '\0' ? json_real(strtod(plain, NULL)) : NULL;
}

json_t *sl_yaml_plain(const char *text) {
  static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
  static const char *const yes[] = {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", NULL};
  static const char *const no[] = {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", NULL};
  char plain[NUMBER_BYTES];
  size_t n = 0;
  if (sl_interop_among(nulls, text)) return json_null();
  if (sl_interop_among(yes, text)) return json_true();
  if (sl_interop_among(no, text)) return json_false();
  for (const char *at = text; *at != '\0' && n + 1 < sizeof plain; at++)
    if (*at != '_') plain[n++] = *at;
  plain[n] = '\0';
  json_t *number = strlen(text) < sizeof plain ? integer(text, plain) : NULL;
  if (number == NULL && strlen(text) < sizeof plain) number = real(text, plain);
  return number != NULL ? number : json_string(text);
}
