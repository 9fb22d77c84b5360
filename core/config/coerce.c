/* pydantic's conversions in lax mode, for the types in DeepSpeed's models; see coerce.h. */
#include "core/config/coerce.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_NUMBER = 64 }; /* bytes of a number as text; longer text is not a number */

static json_t *bool_of_text(const char *text) {
  static const char *const yes[] = {"1", "on", "t", "true", "y", "yes"};
  static const char *const no[] = {"0", "off", "f", "false", "n", "no"};
  for (size_t i = 0; i < 6; i++) {
    if (strcasecmp(text, yes[i]) == 0) return json_true();
    if (strcasecmp(text, no[i]) == 0) return json_false();
  }
  return NULL;
}

/* Copies `text` to `out` (MAX_NUMBER bytes) without surrounding blanks and without single underscores between digits;
 * false if it is too long or has underscores elsewhere. */
static bool tidy_number(const char *text, char *out) {
  size_t n = 0, length;
  while (isspace((unsigned char)*text)) text++;
  for (length = strlen(text); length > 0 && isspace((unsigned char)text[length - 1]);) length--;
  if (length == 0 || length >= MAX_NUMBER) return false;
  for (size_t i = 0; i < length; i++) {
    if (text[i] != '_') {
      out[n++] = text[i];
    } else if (i == 0 || i + 1 == length || !isdigit((unsigned char)text[i - 1]) ||
               !isdigit((unsigned char)text[i + 1])) {
      return false;
    }
  }
  out[n] = '\0';
  return true;
}

/* Decimal digits after a sign, and, unless `plain`, a decimal point and zeros. */
static json_t *integer_of_text(const char *text, bool plain) {
  char number[MAX_NUMBER], *end;
  if (!tidy_number(text, number)) return NULL;
  const char *digits = number + (number[0] == '+' || number[0] == '-');
  const size_t whole = strspn(digits, "0123456789");
  const char *rest = digits + whole;
  if (rest[0] == '.' && !plain) rest += 1 + strspn(rest + 1, "0");
  if (whole == 0 || *rest != '\0') return NULL;
  errno = 0;
  const long long value = strtoll(number, &end, 10);
  return errno == 0 ? json_integer(value) : NULL;
}

/* Whatever strtod reads, except hexadecimal digits and numbers that are not finite. */
static json_t *real_of_text(const char *text) {
  char number[MAX_NUMBER], *end;
  if (!tidy_number(text, number) || strpbrk(number, "xX(") != NULL) return NULL;
  const double value = strtod(number, &end);
  return *end == '\0' && isfinite(value) ? json_real(value) : NULL;
}

static json_t *coerce_number(const struct sl_field *field, const json_t *value) {
  const bool whole = field->type != SL_FIELD_REAL;
  if (json_is_boolean(value) && !field->plain) return json_integer(json_is_true(value));
  if (!json_is_string(value)) return NULL;
  return whole ? integer_of_text(json_string_value(value), field->plain) : real_of_text(json_string_value(value));
}

json_t *sl_config_coerce(const struct sl_field *field, const json_t *value) {
  switch (field->type) {
  case SL_FIELD_BOOL:
    return json_is_string(value) ? bool_of_text(json_string_value(value)) : NULL;
  case SL_FIELD_INT:
  case SL_FIELD_WHOLE:
  case SL_FIELD_REAL:
    return coerce_number(field, value);
  case SL_FIELD_NAMES:
    return json_is_string(value) && field->words == NULL ? json_pack("[O]", value) : NULL;
  default:
    return NULL;
  }
}
