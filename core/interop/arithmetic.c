/* See arithmetic.h: a recursive descent through sums, products and factors. */
#include "core/interop/arithmetic.h"

#include "core/base/checked.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32, NUMBER_BYTES = 24 };

struct reader {
  const char *at, *end;
  sl_arithmetic_variable variable;
  void *context;
  int depth;
};

static bool read_sum(struct reader *r, int64_t *out);

/* Skips blanks and returns the next byte, '\0' at the end. */
static char peek(struct reader *r) {
  while (r->at < r->end && isspace((unsigned char)*r->at)) r->at++;
  return r->at < r->end ? *r->at : '\0';
}

/* Has nothing overflowed? */
static bool is_whole(int64_t value) {
  return value != SL_HUGE && value != INT64_MIN;
}

static bool read_number(const char *text, size_t length, int64_t *out) {
  char copy[NUMBER_BYTES], *end;
  if (length == 0 || length >= sizeof copy) return false;
  memcpy(copy, text, length);
  copy[length] = '\0';
  errno = 0;
  *out = strtoll(copy, &end, 10);
  return *end == '\0' && errno == 0 && is_whole(*out) && (copy[0] != '0' || length == 1); /* to a shell, 010 is 8 */
}

static size_t word_length(const struct reader *r) {
  size_t n = 0;
  while (r->at + n < r->end && (isalnum((unsigned char)r->at[n]) || r->at[n] == '_')) n++;
  return n;
}

/* Reads NAME, $NAME, ${NAME} or a number. */
static bool read_word(struct reader *r, int64_t *out) {
  const bool dollar = peek(r) == '$';
  if (dollar) r->at++;
  const bool braced = dollar && r->at < r->end && *r->at == '{';
  if (braced) r->at++;
  const size_t length = word_length(r);
  const char *word = r->at;
  r->at += length;
  if (braced && (r->at == r->end || *r->at++ != '}')) return false;
  if (length > 0 && !dollar && isdigit((unsigned char)*word)) return read_number(word, length, out);
  const char *text = length > 0 ? r->variable(r->context, word, length) : NULL;
  return text != NULL && read_number(text, strlen(text), out);
}

static bool read_factor(struct reader *r, int64_t *out) {
  const char c = peek(r);
  if (c != '(' && c != '-') return read_word(r, out);
  if (r->depth == MAX_DEPTH) return false;
  r->depth++;
  r->at++;
  const bool good = c == '-' ? read_factor(r, out) : read_sum(r, out) && peek(r) == ')' && r->at++ != NULL;
  if (good && c == '-') *out = -*out;
  r->depth--;
  return good;
}

static bool read_product(struct reader *r, int64_t *out) {
  if (!read_factor(r, out)) return false;
  for (char c = peek(r); c == '*' || c == '/' || c == '%'; c = peek(r)) {
    int64_t right;
    r->at++;
    if (!read_factor(r, &right)) return false;
    if (c != '*' && right == 0) return false;
    *out = c == '*' ? sl_product(*out, right) : c == '/' ? *out / right : *out % right;
    if (!is_whole(*out)) return false;
  }
  return true;
}

static bool read_sum(struct reader *r, int64_t *out) {
  if (!read_product(r, out)) return false;
  for (char c = peek(r); c == '+' || c == '-'; c = peek(r)) {
    int64_t right;
    r->at++;
    if (!read_product(r, &right)) return false;
    *out = sl_sum(*out, c == '+' ? right : -right);
    if (!is_whole(*out)) return false;
  }
  return true;
}

bool sl_arithmetic(const char *text, size_t length, sl_arithmetic_variable variable, void *context, int64_t *out) {
  struct reader r = {.at = text, .end = text + length, .variable = variable, .context = context};
  return read_sum(&r, out) && peek(&r) == '\0' && r.at == r.end;
}
