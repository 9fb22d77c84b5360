/* See toml_scalar.h. */
#include "core/interop/toml_scalar.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sl_toml_next(struct sl_toml_cursor *c) {
  const unsigned char byte = (unsigned char)*c->at++;
  if (byte == '\n')
    c->line++, c->column = 1;
  else if ((byte & 0xC0) != 0x80)
    c->column++;
}

bool sl_toml_at(const struct sl_toml_cursor *c, const char *word) {
  const size_t length = strlen(word);
  return (size_t)(c->end - c->at) >= length && memcmp(c->at, word, length) == 0;
}

enum sl_status sl_toml_expected(const struct sl_toml_cursor *c, const char *what) {
  char found[32] = "the end of the file";
  if (c->at < c->end && isprint((unsigned char)*c->at))
    snprintf(found, sizeof found, "'%c'", *c->at);
  else if (c->at < c->end)
    snprintf(found, sizeof found, *c->at == '\n' || *c->at == '\r' ? "the line's end" : "byte 0x%02x",
             (unsigned char)*c->at);
  return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: expected %s, found %s", c->name, (long long)c->line, (long long)c->column,
                 what, found);
}

/* Is this byte allowed in comments and strings? */
static bool is_text(char byte) {
  return byte == '\t' || ((unsigned char)byte >= 0x20 && byte != 0x7F);
}

enum sl_status sl_toml_skip(struct sl_toml_cursor *c, bool lines) {
  while (c->at < c->end) {
    if (*c->at == ' ' || *c->at == '\t' || (lines && (*c->at == '\n' || sl_toml_at(c, "\r\n")))) {
      sl_toml_next(c);
    } else if (lines && *c->at == '#') {
      while (c->at < c->end && is_text(*c->at)) sl_toml_next(c);
      if (c->at < c->end && *c->at != '\n' && !sl_toml_at(c, "\r\n"))
        return sl_toml_expected(c, "text, a tab or the line's end in a comment");
    } else {
      break;
    }
  }
  return SL_OK;
}

/* ---- strings ---- */

struct text {
  char *bytes;
  size_t length, capacity;
};

static enum sl_status push(struct text *t, const char *bytes, size_t n) {
  SL_TRY(sl_grow(&t->bytes, &t->capacity, t->length + n + 1, 1));
  memcpy(t->bytes + t->length, bytes, n);
  t->length += n;
  return SL_OK;
}

static enum sl_status push_character(struct text *t, unsigned long u) {
  char out[4];
  if (u < 0x80) return out[0] = (char)u, push(t, out, 1);
  const int more = u < 0x800 ? 1 : u < 0x10000 ? 2 : 3;
  static const unsigned char heads[] = {0, 0xC0, 0xE0, 0xF0};
  out[0] = (char)(heads[more] | (u >> (6 * more)));
  for (int i = 1; i <= more; i++) out[i] = (char)(0x80 | ((u >> (6 * (more - i))) & 0x3F));
  return push(t, out, (size_t)more + 1);
}

/* Reads \uXXXX or \UXXXXXXXX, from the u on. */
static enum sl_status push_code(struct sl_toml_cursor *c, struct text *t) {
  const int digits = *c->at == 'u' ? 4 : 8;
  unsigned long u = 0;
  sl_toml_next(c);
  for (int i = 0; i < digits; i++) {
    if (c->at == c->end || !isxdigit((unsigned char)*c->at)) return sl_toml_expected(c, "a hexadecimal digit");
    const char digit = (char)tolower((unsigned char)*c->at);
    u = u << 4 | (unsigned long)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    sl_toml_next(c);
  }
  if (u > 0x10FFFF || (u >= 0xD800 && u < 0xE000)) return sl_toml_expected(c, "the code of a character before this");
  return push_character(t, u);
}

/* Reads an escape after its backslash. In a multi-line string, a backslash at the end of a line removes all white space
 * after it. */
static enum sl_status push_escape(struct sl_toml_cursor *c, struct text *t, bool lines) {
  static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
  if (c->at < c->end && *c->at != '\0' && strchr(names, *c->at) != NULL) {
    const char value = values[strchr(names, *c->at) - names];
    sl_toml_next(c);
    return push(t, &value, 1);
  }
  if (c->at < c->end && (*c->at == 'u' || *c->at == 'U')) return push_code(c, t);
  struct sl_toml_cursor behind = *c;
  while (behind.at < behind.end && (*behind.at == ' ' || *behind.at == '\t')) sl_toml_next(&behind);
  if (!lines || !(sl_toml_at(&behind, "\n") || sl_toml_at(&behind, "\r\n")))
    return sl_toml_expected(c, "b, t, n, f, r, u, U, a quote or a backslash behind a backslash");
  while (behind.at < behind.end && (strchr(" \t\n", *behind.at) != NULL || sl_toml_at(&behind, "\r\n")) &&
         *behind.at != '\0')
    sl_toml_next(&behind);
  *c = behind;
  return SL_OK;
}

/* Reads one character of a string, or one escape. */
static enum sl_status push_next(struct sl_toml_cursor *c, struct text *t, bool basic, bool lines) {
  if (basic && *c->at == '\\') return sl_toml_next(c), push_escape(c, t, lines);
  if (lines && sl_toml_at(c, "\r\n")) return sl_toml_next(c), sl_toml_next(c), push(t, "\n", 1);
  if (!is_text(*c->at) && !(lines && *c->at == '\n'))
    return sl_toml_expected(c, lines ? "text or the closing quotes" : "text or the closing quote, on this line");
  SL_TRY(push(t, c->at, 1));
  sl_toml_next(c);
  return SL_OK;
}

/* Is this the string's end? In a multi-line string, up to two quotes may precede the three that close it. */
static bool closes(const struct sl_toml_cursor *c, char quote, bool lines) {
  if (!lines) return *c->at == quote;
  const char three[] = {quote, quote, quote, '\0'}, four[] = {quote, quote, quote, quote, '\0'};
  return sl_toml_at(c, three) && !sl_toml_at(c, four);
}

static enum sl_status scan_text(struct sl_toml_cursor *c, struct text *t, char quote, bool lines) {
  const struct sl_toml_cursor start = *c;
  for (int i = lines ? 3 : 1; i > 0; i--) sl_toml_next(c);
  if (lines && sl_toml_at(c, "\r\n")) sl_toml_next(c);
  if (lines && sl_toml_at(c, "\n")) sl_toml_next(c);
  int quotes = 0; /* consecutive: a quote followed by three others belongs to the text */
  while (c->at < c->end && !closes(c, quote, lines)) {
    quotes = *c->at == quote ? quotes + 1 : 0;
    if (quotes > 2) return sl_toml_expected(c, "at most two quotes in a row");
    SL_TRY(push_next(c, t, quote == '"', lines));
  }
  if (c->at == c->end) return sl_toml_expected(&start, "a string that is closed");
  for (int i = lines ? 3 : 1; i > 0; i--) sl_toml_next(c);
  return SL_OK;
}

static enum sl_status scan_string(struct sl_toml_cursor *c, bool one_line, json_t **out) {
  const struct sl_toml_cursor start = *c;
  const char quote = *c->at, three[] = {quote, quote, quote, '\0'};
  const bool lines = sl_toml_at(c, three);
  struct text t = {0};
  if (lines && one_line) return sl_toml_expected(c, "a key on one line");
  enum sl_status status = scan_text(c, &t, quote, lines);
  if (status == SL_OK) *out = json_stringn(t.bytes != NULL ? t.bytes : "", t.length);
  free(t.bytes);
  return status == SL_OK && *out == NULL ? sl_toml_expected(&start, "UTF-8") : status;
}

enum sl_status sl_toml_key(struct sl_toml_cursor *c, json_t **out) {
  if (c->at < c->end && (*c->at == '"' || *c->at == '\'')) {
    const struct sl_toml_cursor start = *c;
    SL_TRY(scan_string(c, true, out));
    if (strlen(json_string_value(*out)) == json_string_length(*out)) return SL_OK;
    json_decref(*out);
    *out = NULL;
    return sl_toml_expected(&start, "a key without zero bytes");
  }
  const char *from = c->at;
  while (c->at < c->end && (isalnum((unsigned char)*c->at) || *c->at == '_' || *c->at == '-')) sl_toml_next(c);
  if (c->at == from) return sl_toml_expected(c, "a key");
  *out = json_stringn(from, (size_t)(c->at - from));
  return *out != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory in %s", c->name);
}

/* ---- numbers, dates ---- */

/* Returns how many bytes `form` has if `text` begins with it, else 0. In `form`, d is any digit; other bytes must be
 * equal, though the text's letters may be lower-case. */
static size_t matches(const char *text, const char *form) {
  size_t i = 0;
  for (; form[i] != '\0'; i++)
    if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : toupper((unsigned char)text[i]) != form[i]) return 0;
  return i;
}

static bool in_range(const char *text, int most) {
  return (text[0] - '0') * 10 + text[1] - '0' <= most;
}

/* The length of hh:mm:ss[.d+] at the start of `text`; 0 if there is none. */
static size_t time_length(const char *text) {
  size_t n = matches(text, "dd:dd:dd");
  if (n == 0 || !in_range(text, 23) || !in_range(text + 3, 59) || !in_range(text + 6, 60)) return 0;
  if (matches(text + n, ".d") == 0) return n;
  for (n++; isdigit((unsigned char)text[n]);) n++;
  return n;
}

static bool is_date(const char *text) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (matches(text, "dddd-dd-dd") == 0) return false;
  const int year = atoi(text), month = atoi(text + 5), day = atoi(text + 8);
  const bool leap = month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + leap;
}

/* Is this a local date, a local time, both, or both with Z or an offset? */
static bool is_moment(const char *text) {
  if (!is_date(text)) return time_length(text) > 0 && text[time_length(text)] == '\0';
  const char *at = text + 10;
  if (*at == '\0') return true;
  if (strchr("Tt ", *at) == NULL || time_length(at + 1) == 0) return false;
  at += 1 + time_length(at + 1);
  if (*at == '\0' || strcmp(at, "Z") == 0 || strcmp(at, "z") == 0) return true;
  return (matches(at, "+dd:dd") == 6 || matches(at, "-dd:dd") == 6) && at[6] == '\0' && in_range(at + 1, 23) &&
         in_range(at + 4, 59);
}

/* Removes underscores, each of which must be between two digits. */
static bool join_digits(char *text, bool hexadecimal) {
  char *to = text;
  for (const char *from = text; *from != '\0'; from++) {
    if (*from != '_') {
      *to++ = *from;
      continue;
    }
    const unsigned char before = from > text ? (unsigned char)from[-1] : 0, after = (unsigned char)from[1];
    if (hexadecimal ? !isxdigit(before) || !isxdigit(after) : !isdigit(before) || !isdigit(after)) return false;
  }
  *to = '\0';
  return true;
}

static json_t *based_integer(const char *text, int base) {
  char *end;
  if (!isxdigit((unsigned char)text[0])) return NULL;
  errno = 0;
  const long long n = strtoll(text, &end, base);
  return *end == '\0' && errno == 0 ? json_integer(n) : NULL;
}

/* A float: digits, then optionally a fraction and an exponent; no leading zero. Returns NULL if it is none. */
static json_t *decimal(const char *text) {
  const char *digits = text + (*text == '+' || *text == '-'), *at = digits;
  while (isdigit((unsigned char)*at)) at++;
  if (at == digits || (*digits == '0' && at > digits + 1)) return NULL;
  errno = 0;
  if (*at == '\0') {
    const long long n = strtoll(text, NULL, 10);
    return errno == 0 ? json_integer(n) : NULL;
  }
  if (*at == '.') {
    if (!isdigit((unsigned char)at[1])) return NULL;
    for (at++; isdigit((unsigned char)*at);) at++;
  }
  if (*at == 'e' || *at == 'E') {
    at += 1 + (at[1] == '+' || at[1] == '-');
    if (!isdigit((unsigned char)*at)) return NULL;
    while (isdigit((unsigned char)*at)) at++;
  }
  return *at == '\0' ? json_real(strtod(text, NULL)) : NULL; /* also NULL if out of a double's range */
}

static json_t *word_value(char *text) {
  static const struct {
    const char *prefix;
    int base;
  } bases[] = {{"0x", 16}, {"0o", 8}, {"0b", 2}};
  const char *plain = text + (*text == '+' || *text == '-');
  if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) return json_boolean(*text == 't');
  if (strcmp(plain, "inf") == 0 || strcmp(plain, "nan") == 0 || is_moment(text)) return json_string(text);
  for (int i = 0; i < 3; i++)
    if (strncmp(text, bases[i].prefix, 2) == 0)
      return join_digits(text + 2, bases[i].base == 16) ? based_integer(text + 2, bases[i].base) : NULL;
  return join_digits(text, false) ? decimal(text) : NULL;
}

enum sl_status sl_toml_scalar(struct sl_toml_cursor *c, json_t **out) {
  if (c->at < c->end && (*c->at == '"' || *c->at == '\'')) return scan_string(c, false, out);
  const struct sl_toml_cursor start = *c;
  char text[256];
  size_t n = 0;
  while (c->at < c->end && n + 1 < sizeof text) {
    /* one blank may separate a date from a time */
    const bool parts = *c->at == ' ' && n == 10 && c->end - c->at > 1 && isdigit((unsigned char)c->at[1]);
    if (!isalnum((unsigned char)*c->at) && strchr("_+-.:", *c->at) == NULL && !parts) break;
    text[n++] = *c->at;
    text[n] = '\0';
    if (parts && !is_date(text)) return sl_toml_expected(c, "the line's end");
    sl_toml_next(c);
  }
  text[n] = '\0';
  *out = n > 0 ? word_value(text) : NULL;
  if (*out != NULL) return SL_OK;
  if (n == 0) return sl_toml_expected(c, "a value");
  return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: is %.40s; expected a text in quotes, a number, a date, true or false",
                 start.name, (long long)start.line, (long long)start.column, text);
}
