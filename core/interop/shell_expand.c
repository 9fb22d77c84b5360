/* See shell_expand.h. */
#include "core/interop/shell_expand.h"

#include "core/interop/arithmetic.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 16 };

/* The line of r->at, which never goes back but for defaults, whose line is that of their end. */
static int line_at(struct sl_shell_reader *r) {
  for (; r->counted < r->at; r->counted++) r->line += *r->counted == '\n';
  return r->line;
}

enum sl_status sl_shell_push(struct sl_shell_reader *r, const char *bytes, size_t n) {
  if (r->length + n >= SL_SHELL_WORD_BYTES)
    return sl_fail(SL_ERR_INPUT, "%s:%d: a word has more than %d bytes", r->name, line_at(r), SL_SHELL_WORD_BYTES - 1);
  if (r->length == 0) {
    r->began = line_at(r);
    r->quoted = r->opened != NULL;
    r->plain = !r->quoted;
  }
  memcpy(r->word + r->length, bytes, n);
  r->length += n;
  return SL_OK;
}

size_t sl_shell_name_length(const char *text) {
  size_t n = 0;
  if (!isalpha((unsigned char)text[0]) && text[0] != '_') return 0;
  while (isalnum((unsigned char)text[n]) || text[n] == '_') n++;
  return n;
}

enum sl_status sl_shell_not_closed(const struct sl_shell_reader *r, const char *what, const char *at) {
  int line = 1;
  for (const char *c = r->text; c < at; c++) line += *c == '\n';
  return sl_fail(SL_ERR_INPUT, "%s:%d: %s is not closed", r->name, line, what);
}

/* ---- variables ---- */

enum sl_status sl_shell_splice(struct sl_shell_reader *r, const struct sl_shell_variable *v) {
  /* a copy: the variables' list may move, and the value's words do not */
  const struct sl_shell_value value = v->value;
  const char *doubt = sl_shell_doubt(&r->variables, v, &r->out->doubts);
  if (value.blank_before) SL_TRY(sl_shell_end_word(r));
  for (size_t i = 0; i < value.list.count; i++) {
    const struct sl_shell_word *word = &value.list.words[i];
    const bool begins = i > 0 || r->length == 0;
    if (i > 0) SL_TRY(sl_shell_end_word(r));
    SL_TRY(sl_shell_push(r, word->text, strlen(word->text)));
    r->plain = false;
    if (begins && (value.list.count > 1 || word->text[0] == '-')) r->began = word->line; /* of a list of arguments */
    if (r->doubt == NULL) r->doubt = doubt != NULL ? doubt : word->doubt;
    r->conditional |= word->conditional;
  }
  return value.blank_after ? sl_shell_end_word(r) : SL_OK;
}

/* For arithmetic: a variable's value if it is one word. */
static const char *number_of(void *context, const char *name, size_t length) {
  struct sl_shell_reader *r = context;
  const struct sl_shell_variable *v = sl_shell_find(&r->variables, name, length);
  if (v == NULL || v->value.list.count != 1) return NULL;
  if (r->doubt == NULL) r->doubt = sl_shell_doubt(&r->variables, v, &r->out->doubts);
  if (r->doubt == NULL) r->doubt = v->value.list.words[0].doubt;
  return v->value.list.words[0].text;
}

/* ---- $(...) and `...` ---- */

/* The end of a text in quotation marks that begins at `at`; of its last byte if it has none. */
static const char *end_of_quoted(const char *at) {
  const char mark = *at++;
  for (; *at != '\0' && *at != mark; at++)
    if (mark != '\'' && *at == '\\' && at[1] != '\0') at++;
  return at;
}

enum sl_status sl_shell_keep_quoted(struct sl_shell_reader *r) {
  const char *from = r->at, *end = end_of_quoted(from);
  if (*end == '\0') return sl_shell_not_closed(r, "`", from);
  r->at = end + 1;
  SL_TRY(sl_shell_push(r, from, (size_t)(end - from) + 1));
  r->plain = false;
  return SL_OK;
}

/* The mark that closes what `open` opened at `at`; where the text ends if there is none. */
static const char *end_of_group(const char *at, char open, char close) {
  for (int depth = 0; *at != '\0'; at++) {
    if (*at == '\\' && at[1] != '\0') {
      at++;
      continue;
    }
    if (*at == '"' || *at == '\'') at = end_of_quoted(at);
    depth += *at == open ? 1 : *at == close ? -1 : 0;
    if (depth == 0 || *at == '\0') break;
  }
  return at;
}

/* $((...)) is computed if all its numbers are known. Otherwise it stays as written, blanks included, and so does
 * $(...): no command is ever run. */
static enum sl_status keep_command(struct sl_shell_reader *r) {
  const char *from = r->at, *end = end_of_group(from + 1, '(', ')');
  int64_t number;
  if (*end == '\0') return sl_shell_not_closed(r, "$(", from);
  const size_t length = (size_t)(end - from) + 1;
  const bool computes = length > 5 && from[2] == '(' && from[length - 2] == ')' &&
                        sl_arithmetic(from + 3, length - 5, number_of, r, &number);
  r->at += length;
  if (!computes) {
    SL_TRY(sl_shell_push(r, from, length));
  } else {
    char text[24];
    const int n = snprintf(text, sizeof text, "%lld", (long long)number);
    SL_TRY(sl_shell_push(r, text, (size_t)n));
  }
  r->plain = false;
  return SL_OK;
}

/* ---- ${...} ---- */

/* Reads the text from `from` up to `end`, inside of ${...}, as if it stood in its place. */
static enum sl_status read_inside(struct sl_shell_reader *r, const char *from, const char *end) {
  const char *after = r->at, *opened = r->opened;
  if (++r->depth > MOST_DEPTH) return sl_shell_not_closed(r, "${", from);
  r->at = from;
  enum sl_status status = SL_OK;
  while (status == SL_OK && r->at < end) status = sl_shell_step(r);
  r->depth--;
  r->opened = opened;
  r->at = after;
  return status;
}

/* ":-", "-", ":=", "=", ":+" and "+" behind a name: which of - = + it is, else 0. */
static char operator_of(const char *at, size_t *length) {
  *length = 1 + (*at == ':');
  const char c = at[*length - 1];
  return c == '-' || c == '=' || c == '+' ? c : '\0';
}

/* ${NAME:=DEFAULT}: the default becomes the variable's value. */
static enum sl_status assign_default(struct sl_shell_reader *r, const char *name, size_t length, const char *from,
                                     const char *end) {
  if (r->assigns || r->length > 0 || length >= sizeof r->assigned) return read_inside(r, from, end);
  memcpy(r->assigned, name, length);
  r->assigned[length] = '\0';
  r->assigned_line = line_at(r);
  r->assigns = true;
  r->value = (struct sl_shell_value){0};
  SL_TRY(read_inside(r, from, end));
  SL_TRY(sl_shell_end_word(r));
  SL_TRY(sl_shell_end_assignment(r));
  return sl_shell_splice(r, sl_shell_find(&r->variables, name, length));
}

/* Expands "${NAME...}", which ends at `end`; false: it is kept as it is written. */
static enum sl_status expand_braced(struct sl_shell_reader *r, const char *name, size_t length, const char *end,
                                    bool *done) {
  const char *rest = name + length;
  const struct sl_shell_variable *v = sl_shell_find(&r->variables, name, length);
  size_t skips;
  const char does = operator_of(rest, &skips);
  const bool has = v != NULL && (v->value.list.count > 0 || *rest != ':');
  const bool whole = rest == end || strncmp(rest, "[@]}", 4) == 0 || strncmp(rest, "[*]}", 4) == 0;
  *done = true;
  if (v != NULL && whole) return sl_shell_splice(r, v);
  if (does == '+') return has ? read_inside(r, rest + skips, end) : SL_OK;
  if (does != '\0' && has) return sl_shell_splice(r, v);
  if (does == '=') return assign_default(r, name, length, rest + skips, end);
  if (does != '\0') return read_inside(r, rest + skips, end);
  *done = false;
  return SL_OK;
}

enum sl_status sl_shell_expand(struct sl_shell_reader *r) {
  if (r->at[1] == '(') return keep_command(r);
  const bool braced = r->at[1] == '{';
  const char *from = r->at, *name = from + (braced ? 2 : 1);
  const size_t length = isdigit((unsigned char)name[0]) ? 1 : sl_shell_name_length(name); /* $1 is never known */
  const char *end = braced ? end_of_group(from + 1, '{', '}') : name + length;
  if (length == 0 || (braced && *end != '}')) return sl_shell_push(r, r->at++, 1);
  const struct sl_shell_variable *v = sl_shell_find(&r->variables, name, length);
  bool done = !braced && v != NULL;
  r->at = end + braced;
  if (done) SL_TRY(sl_shell_splice(r, v));
  if (braced) SL_TRY(expand_braced(r, name, length, end, &done));
  if (!done) SL_TRY(sl_shell_push(r, from, (size_t)(r->at - from))); /* messages show it */
  r->plain = false;
  return SL_OK;
}
