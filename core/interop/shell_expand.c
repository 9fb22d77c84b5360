/* See shell_expand.h. */
#include "core/interop/shell_expand.h"

#include "core/interop/arithmetic.h"
#include "core/interop/shell_start.h"

#include <stdlib.h>
#include <string.h>

/* ---- variables ---- */

/* For arithmetic: a variable's value if it is one word. */
static const char *number_of(void *context, const char *name, size_t length) {
  struct sl_shell_reader *r = context;
  const struct sl_shell_variable *v = sl_shell_known(r, name, length);
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

/* The text from `from` up to `end`, inside of ${...}, is read as if it stood in its place. */
static enum sl_status enter(struct sl_shell_reader *r, const char *from, const char *end, bool assigns) {
  if (r->depth == SL_SHELL_DEPTH) return sl_shell_not_closed(r, "${, among many,", from);
  r->inputs[r->depth++] = (struct sl_shell_input){r->at, r->end, r->opened, assigns};
  r->at = from;
  r->end = end;
  return SL_OK;
}

enum sl_status sl_shell_leave(struct sl_shell_reader *r) {
  const struct sl_shell_input around = r->inputs[--r->depth];
  r->at = around.at;
  r->end = around.end;
  r->opened = around.opened;
  r->plain = false;
  if (!around.assigns) return SL_OK;
  SL_TRY(sl_shell_end_word(r));
  SL_TRY(sl_shell_end_assignment(r));
  const struct sl_shell_variable *v = sl_shell_find(&r->variables, r->assigned, strlen(r->assigned));
  return v != NULL ? sl_shell_splice(r, v) : SL_OK; /* NULL: it stands where nothing runs */
}

/* ":-", "-", ":=", "=", ":+", "+", ":?" and "?" behind a name: which of - = + ? it is, else 0. */
static char operator_of(const char *at, size_t *length) {
  *length = 1 + (*at == ':');
  const char c = at[*length - 1];
  return c == '-' || c == '=' || c == '+' || c == '?' ? c : '\0';
}

/* ${NAME:=DEFAULT}: the default becomes the variable's value, where no other one is read. */
static enum sl_status assign_default(struct sl_shell_reader *r, const char *name, size_t length, const char *from,
                                     const char *end) {
  const bool assigns = !r->assigns && r->length == 0 && length < sizeof r->assigned;
  if (assigns) sl_shell_begin_assignment(r, name, length, sl_shell_line(r));
  return enter(r, from, end, assigns);
}

/* Expands "${NAME...}", which ends at `end`; false: it is kept as it is written. */
static enum sl_status expand_braced(struct sl_shell_reader *r, const char *name, size_t length, const char *end,
                                    bool *done) {
  const char *rest = name + length;
  const struct sl_shell_variable *v = sl_shell_known(r, name, length);
  size_t skips;
  const char does = operator_of(rest, &skips);
  const bool has = v != NULL && (v->value.list.count > 0 || *rest != ':');
  const bool whole = rest == end || strncmp(rest, "[@]}", 4) == 0 || strncmp(rest, "[*]}", 4) == 0;
  *done = true;
  if (v != NULL && whole) return sl_shell_splice(r, v);
  if (does == '+') return has ? enter(r, rest + skips, end, false) : SL_OK;
  if (does != '\0' && has) return sl_shell_splice(r, v);
  if (does == '=') return assign_default(r, name, length, rest + skips, end);
  if (does != '\0' && does != '?') return enter(r, rest + skips, end, false);
  *done = false;
  return SL_OK;
}

enum sl_status sl_shell_expand(struct sl_shell_reader *r) {
  if (r->at[1] == '(') return keep_command(r);
  const bool braced = r->at[1] == '{';
  const char *from = r->at, *name = from + (braced ? 2 : 1);
  const size_t length = sl_shell_dollar_length(name, braced);
  const char *end = braced ? end_of_group(from + 1, '{', '}') : name + length;
  if (length == 0 || (braced && *end != '}')) return sl_shell_push(r, r->at++, 1);
  const struct sl_shell_variable *v = sl_shell_known(r, name, length);
  bool done = !braced && v != NULL;
  r->at = end + braced;
  if (done) SL_TRY(sl_shell_splice(r, v));
  if (braced) SL_TRY(expand_braced(r, name, length, end, &done));
  if (!done) SL_TRY(sl_shell_push(r, from, (size_t)(r->at - from))); /* messages show it */
  r->plain = false;
  return SL_OK;
}
