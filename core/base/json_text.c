/* The scalars of hjson's text: jansson decodes JSON, everything else is converted to JSON or to a string here; see
 * json_text.h. */
#include "core/base/json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A byte as a message can show it. */
static const char *found(const struct sl_json_cursor *c, char *out, size_t size) {
  if (c->at == c->end) return "the end of the file";
  const unsigned char byte = (unsigned char)*c->at;
  if (byte == '\n') return "the end of the line";
  snprintf(out, size, byte > 0x20 && byte < 0x7f ? "'%c'" : "byte 0x%02x", byte);
  return out;
}

enum sl_status sl_json_expected(const struct sl_json_cursor *c, const char *what) {
  char byte[16];
  return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: expected %s, found %s", c->name, (long long)c->line, (long long)c->column,
                 what, found(c, byte, sizeof byte));
}

/* Continuation bytes of UTF-8 (10xxxxxx) do not start a new column. */
void sl_json_next(struct sl_json_cursor *c) {
  const char byte = *c->at++;
  if (byte == '\n') {
    c->line++;
    c->column = 1;
  } else if (c->at == c->end || ((unsigned char)*c->at & 0xc0) != 0x80) {
    c->column++;
  }
}

bool sl_json_looking_at(const struct sl_json_cursor *c, const char *word) {
  const size_t n = strlen(word);
  return (size_t)(c->end - c->at) >= n && memcmp(c->at, word, n) == 0;
}

static bool one_of(char byte, const char *bytes) {
  return byte != '\0' && strchr(bytes, byte) != NULL;
}

static bool line_ends(const struct sl_json_cursor *c) {
  return c->at == c->end || *c->at == '\n' || *c->at == '\r';
}

static bool comment_starts(const struct sl_json_cursor *c) {
  return sl_json_looking_at(c, "#") || sl_json_looking_at(c, "//") || sl_json_looking_at(c, "/*");
}

static enum sl_status skip_block_comment(struct sl_json_cursor *c) {
  const int64_t line = c->line, column = c->column;
  sl_json_next(c);
  sl_json_next(c);
  while (c->at < c->end && !sl_json_looking_at(c, "*/")) sl_json_next(c);
  if (c->at == c->end)
    return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: comment is not closed; expected */ before the end of the file", c->name,
                   (long long)line, (long long)column);
  sl_json_next(c);
  sl_json_next(c);
  return SL_OK;
}

enum sl_status sl_json_skip_space(struct sl_json_cursor *c) {
  while (c->at < c->end) {
    if (one_of(*c->at, " \t\r\n")) {
      sl_json_next(c);
    } else if (sl_json_looking_at(c, "/*")) {
      SL_TRY(skip_block_comment(c));
    } else if (comment_starts(c)) {
      while (!line_ends(c)) sl_json_next(c);
    } else {
      break;
    }
  }
  return SL_OK;
}

/* Writes "FILE:LINE:COLUMN: KEY: TOKEN SAID" to `out`; a long token is truncated. */
static const char *complain(const struct sl_json_cursor *open, const char *path, size_t length, const char *said,
                            char *out, size_t size) {
  snprintf(out, size, "%s:%lld:%lld: %s%s%.*s %s", open->name, (long long)open->line, (long long)open->column, path,
           path[0] != '\0' ? ": " : "", (int)(length > 40 ? 40 : length), open->at, said);
  return out;
}

static enum sl_status refuse(const struct sl_json_cursor *open, const char *path, size_t length, const char *said) {
  char text[1024];
  return sl_fail(SL_ERR_INPUT, "%s", complain(open, path, length, said, text, sizeof text));
}

static enum sl_status no_memory(const struct sl_json_cursor *c) {
  return sl_fail(SL_ERR_MEMORY, "out of memory in %s", c->name);
}

/* Makes a string of [text, text + length), which starts at `open`; messages may quote `shown` bytes of it. */
static enum sl_status make_string(const struct sl_json_cursor *open, const char *path, const char *text, size_t length,
                                  size_t shown, json_t **out) {
  for (size_t i = 0; i < length; i++) {
    if ((unsigned char)text[i] < 0x20 && !one_of(text[i], "\t\n"))
      return refuse(open, path, shown, "is malformed; expected text without control bytes");
  }
  *out = json_stringn(text, length);
  return *out != NULL ? SL_OK : refuse(open, path, shown, "is malformed; expected text in UTF-8");
}

/* The quoted token [open->at, c->at) as JSON: in double quotes, and ' without a backslash. Owned, or NULL. */
static char *as_json(const struct sl_json_cursor *open, const struct sl_json_cursor *c, size_t *length) {
  char *text = malloc(2 * (size_t)(c->at - open->at));
  if (text == NULL) return NULL;
  size_t n = 0;
  text[n++] = '"';
  for (const char *at = open->at + 1; at + 1 < c->at; at++) {
    if (*at == '"') text[n++] = '\\';
    if (*at != '\\') {
      text[n++] = *at;
      continue;
    }
    if (at[1] != '\'') text[n++] = '\\';
    text[n++] = *++at;
  }
  text[n++] = '"';
  *length = n;
  return text;
}

/* A string in double or single quotes, on one line. */
static enum sl_status scan_quoted(struct sl_json_cursor *c, const char *path, json_t **out) {
  const struct sl_json_cursor open = *c;
  const char quote = *c->at;
  bool plain = true; /* ASCII without escapes needs no decoding */
  sl_json_next(c);
  while (c->at < c->end && *c->at != quote && *c->at != '\n') {
    const unsigned char byte = (unsigned char)*c->at;
    plain = plain && byte >= 0x20 && byte < 0x7f && byte != '\\';
    if (byte == '\\' && c->at + 1 < c->end && c->at[1] != '\n') sl_json_next(c);
    sl_json_next(c);
  }
  if (c->at == c->end || *c->at != quote)
    return sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: string is not closed; expected '%c' before the end of the line",
                   c->name, (long long)open.line, (long long)open.column, quote);
  sl_json_next(c);
  const size_t token = (size_t)(c->at - open.at);
  if (plain) {
    *out = json_stringn_nocheck(open.at + 1, token - 2);
    return *out != NULL ? SL_OK : no_memory(c);
  }
  size_t length = 0;
  json_error_t error;
  char *text = as_json(&open, c, &length);
  if (text == NULL) return no_memory(c);
  *out = json_loadb(text, length, JSON_DECODE_ANY, &error);
  free(text);
  return *out != NULL ? SL_OK
                      : refuse(&open, path, token, "is malformed; expected a string with JSON's escapes in UTF-8");
}

/* Skips the indentation of a line in a ''' string, at most that of the opening quotes. */
static void skip_indent(struct sl_json_cursor *c, int64_t most) {
  for (; most > 0 && c->at < c->end && one_of(*c->at, " \t\r"); most--) sl_json_next(c);
}

/* Text between ''' and ''', over any number of lines. The newline after the opening quotes and the one before the
 * closing quotes are dropped, as are carriage returns. */
static enum sl_status scan_block(struct sl_json_cursor *c, const char *path, json_t **out) {
  const struct sl_json_cursor open = *c;
  const int64_t indent = open.column - 1;
  enum sl_status status = SL_OK;
  size_t capacity = 0, n = 0;
  char *text = NULL;
  for (int i = 0; i < 3; i++) sl_json_next(c);
  skip_indent(c, INT64_MAX);
  if (c->at < c->end && *c->at == '\n') {
    sl_json_next(c);
    skip_indent(c, indent);
  }
  while (c->at < c->end && !sl_json_looking_at(c, "'''")) {
    const char byte = *c->at;
    SL_GO(sl_grow(&text, &capacity, n + 1, 1));
    if (byte != '\r') text[n++] = byte;
    sl_json_next(c);
    if (byte == '\n') skip_indent(c, indent);
  }
  if (c->at == c->end)
    SL_GO(sl_fail(SL_ERR_INPUT, "%s:%lld:%lld: string is not closed; expected ''' before the end of the file", c->name,
                  (long long)open.line, (long long)open.column));
  for (int i = 0; i < 3; i++) sl_json_next(c);
  if (n > 0 && text[n - 1] == '\n') n--;
  SL_GO(make_string(&open, path, text != NULL ? text : "", n, 3, out));
done:
  free(text);
  return status;
}

static size_t digits(const char *at, const char *end) {
  const char *start = at;
  while (at < end && *at >= '0' && *at <= '9') at++;
  return (size_t)(at - start);
}

/* Length of the JSON number at the start of [at, end), 0 if there is none. */
static size_t number_length(const char *at, const char *end) {
  const char *start = at;
  if (at < end && *at == '-') at++;
  const size_t whole = at < end && *at == '0' ? 1 : digits(at, end);
  if (whole == 0) return 0;
  at += whole;
  if (at < end && *at == '.' && digits(at + 1, end) > 0) at += 1 + digits(at + 1, end);
  if (at < end && (*at == 'e' || *at == 'E')) {
    const char *power = at + 1;
    if (power < end && one_of(*power, "+-")) power++;
    if (digits(power, end) > 0) at = power + digits(power, end);
  }
  return (size_t)(at - start);
}

static bool word_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
         one_of(byte, "_-+.");
}

static enum sl_status decode_number(const struct sl_json_cursor *open, const char *path, size_t length, json_t **out) {
  json_error_t error;
  *out = json_loadb(open->at, length, JSON_DECODE_ANY, &error);
  return *out != NULL ? SL_OK : refuse(open, path, length, "is too large; expected a finite number");
}

/* A JSON word that starts at the cursor. */
struct word {
  const char *text;
  json_t *(*make)(void);
};

static const struct word *literal_word(const struct sl_json_cursor *c) {
  static const struct word words[] = {{"true", json_true}, {"false", json_false}, {"null", json_null}};
  for (size_t i = 0; i < 3; i++) {
    const size_t n = strlen(words[i].text);
    if (sl_json_looking_at(c, words[i].text) && (c->at + n == c->end || !word_byte(c->at[n]))) return &words[i];
  }
  return NULL;
}

/* true, false, null or a number that starts at `open` and is followed by blanks and then a comma, a bracket, a comment
 * or the end of the line; c is moved behind it. *out stays NULL if the text is none of these. */
static enum sl_status scan_literal(struct sl_json_cursor *c, const char *path, json_t **out) {
  const struct sl_json_cursor open = *c;
  const struct word *word = literal_word(c);
  const size_t length = word != NULL ? strlen(word->text) : number_length(c->at, c->end);
  struct sl_json_cursor after = *c;
  for (size_t i = 0; i < length; i++) sl_json_next(&after);
  *c = after;
  while (after.at < after.end && one_of(*after.at, " \t")) sl_json_next(&after);
  const bool ends = line_ends(&after) || one_of(*after.at, ",}]") || comment_starts(&after);
  if (length > 0 && ends) {
    if (word == NULL) return decode_number(&open, path, length, out);
    *out = word->make();
    return SL_OK;
  }
  *c = open;
  return SL_OK;
}

/* Records the error that plain JSON would give for the unquoted text at `open`; see the header. */
static void keep_doubt(struct sl_json_cursor *c, const struct sl_json_cursor *open, const char *path) {
  size_t length = 0;
  struct sl_json_cursor after = *open;
  while (open->at + length < c->at && word_byte(open->at[length])) length++;
  for (size_t i = 0; i < length; i++) sl_json_next(&after);
  while (after.at < c->at && one_of(*after.at, " \t")) sl_json_next(&after);
  char byte[16];
  const bool number = one_of(*open->at, "-+.0123456789");
  if ((number && number_length(open->at, open->at + length) == length) || literal_word(open) != NULL) {
    snprintf(c->doubt, sizeof c->doubt, "%s:%lld:%lld: expected ',' or a closing bracket after a value, found %s",
             c->name, (long long)after.line, (long long)after.column, found(&after, byte, sizeof byte));
    return;
  }
  complain(open, path, length,
           number ? "is malformed; expected a finite number"
                  : "is no value; expected a finite number, true, false, null or a \"string\"",
           c->doubt, sizeof c->doubt);
}

/* A literal, or otherwise text without quotes, which extends to the end of its line. */
static enum sl_status scan_bare(struct sl_json_cursor *c, const char *path, json_t **out) {
  const struct sl_json_cursor open = *c;
  bool swallows = false;
  if (c->at == c->end || one_of(*c->at, "{}[],:") || (unsigned char)*c->at < 0x20)
    return sl_json_expected(c, "a value");
  SL_TRY(scan_literal(c, path, out));
  if (*out != NULL) return SL_OK;
  while (!line_ends(c)) {
    swallows = swallows || c->plain || one_of(*c->at, "]}\":");
    sl_json_next(c);
  }
  if (swallows && c->doubt[0] == '\0') keep_doubt(c, &open, path);
  if (c->plain) return sl_fail(SL_ERR_INPUT, "%s", c->doubt);
  size_t length = (size_t)(c->at - open.at);
  while (length > 0 && one_of(open.at[length - 1], " \t")) length--;
  return make_string(&open, path, open.at, length, length, out);
}

enum sl_status sl_json_scalar(struct sl_json_cursor *c, const char *path, json_t **out) {
  if (!c->plain && sl_json_looking_at(c, "'''")) return scan_block(c, path, out);
  if (sl_json_looking_at(c, "\"") || (!c->plain && sl_json_looking_at(c, "'"))) return scan_quoted(c, path, out);
  return scan_bare(c, path, out);
}

enum sl_status sl_json_key(struct sl_json_cursor *c, const char *path, json_t **out) {
  if (sl_json_looking_at(c, "\"") || (!c->plain && sl_json_looking_at(c, "'"))) return scan_quoted(c, path, out);
  if (c->plain) return sl_json_expected(c, "a key in double quotes or '}'");
  const struct sl_json_cursor open = *c;
  while (c->at < c->end && (unsigned char)*c->at > 0x20 && !one_of(*c->at, "{}[],:")) sl_json_next(c);
  const size_t length = (size_t)(c->at - open.at);
  if (length == 0) return sl_json_expected(c, "a key or '}'");
  return make_string(&open, path, open.at, length, length, out);
}
