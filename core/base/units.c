/* Three to four significant digits and a unit; see base/units.h. */
#include "core/base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* `value` with enough decimals for `digits` significant digits. */
static void significant(char *out, size_t size, double value, const char *unit) {
  const double magnitude = fabs(value);
  const int decimals = magnitude >= 1000 ? 0 : magnitude >= 100 ? 1 : magnitude >= 10 ? 2 : 3;
  snprintf(out, size, "%.*f%s", decimals, value, unit);
}

void sl_format_bytes(char *out, size_t size, double bytes) {
  static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  int i = 0;
  while (fabs(bytes) >= 1024 && i < 6) bytes /= 1024, i++;
  if (i == 0)
    snprintf(out, size, "%.0f B", bytes);
  else
    significant(out, size, bytes, units[i]);
}

void sl_format_seconds(char *out, size_t size, double seconds) {
  enum { HOUR = 3600, DAY = 24 * HOUR };
  const double magnitude = fabs(seconds);
  if (seconds == 0)
    snprintf(out, size, "0 s");
  else if (magnitude < 1e-3)
    significant(out, size, seconds * 1e6, " us");
  else if (magnitude < 1)
    significant(out, size, seconds * 1e3, " ms");
  else if (magnitude < 2 * HOUR)
    significant(out, size, seconds, " s");
  else if (magnitude < 2 * DAY)
    significant(out, size, seconds / HOUR, " h");
  else
    significant(out, size, seconds / DAY, " days");
}

void sl_format_count(char *out, size_t size, double count) {
  static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
  if (fabs(count) < 1e4 && count == floor(count)) {
    snprintf(out, size, "%.0f", count);
    return;
  }
  int i = 0;
  while (fabs(count) >= 1000 && i < 6) count /= 1000, i++;
  significant(out, size, count, units[i]);
}

bool sl_parse_bytes(const char *text, double *bytes) {
  static const char letters[] = "kmgtp";
  char *end;
  const double number = strtod(text, &end);
  double unit = 1;
  if (end == text || !(number >= 0) || !isfinite(number) || strpbrk(text, "xX") != NULL) return false;
  while (*end == ' ') end++;
  const char *at = *end != '\0' ? strchr(letters, tolower((unsigned char)*end)) : NULL;
  if (at != NULL) {
    const bool binary = tolower((unsigned char)end[1]) == 'i';
    for (const char *letter = letters; letter <= at; letter++) unit *= binary ? 1024 : 1000;
    end += binary ? 2 : 1;
    if (strcasecmp(end, "B") != 0) return false;
  }
  if (*end != '\0' && strcasecmp(end, "B") != 0) return false;
  *bytes = floor(number * unit);
  return true;
}
