/* Splits a launch script into words; see shell.h. */
#include "core/interop/shell.h"

#include "core/interop/arithmetic.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 4096, MOST_BYTES = 4096, MOST_VARIABLES = 256, NAME_BYTES = 64, VALUE_BYTES = 1024 };

struct variable {
  char name[NAME_BYTES], value[VALUE_BYTES];
};

struct reader {
  const char *text, *at, *name; /* name: of the text, for messages */
  const char *opened;           /* the quotation mark that is not closed yet, or NULL */
  struct sl_words *words;
  struct variable *variables;
  int variable_count;
  char word[MOST_BYTES];
  size_t length;
};

static enum sl_status push(struct reader *r, const char *bytes, size_t n) {
  if (r->length + n >= MOST_BYTES)
    return sl_fail(SL_ERR_INPUT, "%s: a word has more than %d bytes", r->name, MOST_BYTES - 1);
  memcpy(r->word + r->length, bytes, n);
  r->length += n;
  return SL_OK;
}

/* The last value that the script assigned to a variable; NULL if it assigned none that is plain text. */
static const char *value_of(const struct reader *r, const char *name, size_t length) {
  for (int i = r->variable_count - 1; i >= 0; i--)
    if (strlen(r->variables[i].name) == length && strncmp(r->variables[i].name, name, length) == 0)
      return r->variables[i].value;
  return NULL;
}

static size_t name_length(const char *text) {
  size_t n = 0;
  if (!isalpha((unsigned char)text[0]) && text[0] != '_') return 0;
  while (isalnum((unsigned char)text[n]) || text[n] == '_') n++;
  return n;
}

static const char *variable_of(const void *context, const char *name, size_t length) {
  return value_of(context, name, length);
}

static enum sl_status not_closed(const struct reader *r, const char *what, const char *at) {
  int line = 1;
  for (const char *c = r->text; c < at; c++) line += *c == '\n';
  return sl_fail(SL_ERR_INPUT, "%s:%d: %s is not closed", r->name, line, what);
}

/* The end of a text in quotation marks that begins at `at`; of its last byte if it has none. */
static const char *end_of_quoted(const char *at) {
  const char mark = *at++;
  for (; *at != '\0' && *at != mark; at++)
    if (mark == '"' && *at == '\\' && at[1] != '\0') at++;
  return at;
}

/* $((...)) is computed if all its numbers are known. Otherwise it stays as written, blanks included, and so does
 * $(...): no command is ever run. */
static enum sl_status keep_command(struct reader *r) {
  const char *end = r->at + 1;
  for (int depth = 0; *end != '\0'; end++) {
    if (*end == '"' || *end == '\'') end = end_of_quoted(end);
    depth += *end == '(' ? 1 : *end == ')' ? -1 : 0;
    if (depth == 0 || *end == '\0') break;
  }
  if (*end == '\0') return not_closed(r, "$(", r->at);
  const size_t length = (size_t)(end - r->at) + 1;
  int64_t number;
  if (length > 5 && r->at[2] == '(' && r->at[length - 2] == ')' &&
      sl_arithmetic(r->at + 3, length - 5, variable_of, r, &number)) {
    char text[24];
    const int n = snprintf(text, sizeof text, "%lld", (long long)number);
    r->at += length;
    return push(r, text, (size_t)n);
  }
  const enum sl_status status = push(r, r->at, length);
  r->at += length;
  return status;
}

/* Expands $NAME or ${NAME...} at r->at; a dollar that begins neither stands for itself. */
static enum sl_status expand(struct reader *r) {
  if (r->at[1] == '(') return keep_command(r);
  const bool braced = r->at[1] == '{';
  const char *name = r->at + (braced ? 2 : 1);
  const size_t length = isdigit((unsigned char)name[0]) ? 1 : name_length(name); /* $1 is never known */
  const char *end = name + length;
  const size_t to_brace = braced ? strcspn(end, "} \n") : 0;
  if (length == 0 || (braced && end[to_brace] != '}')) return push(r, r->at++, 1);
  const char *after = braced ? end + to_brace + 1 : end, *value = value_of(r, name, length), *from = r->at;
  r->at = after;
  if (value != NULL) return push(r, value, strlen(value));
  if (braced && to_brace > 2 && strncmp(end, ":-", 2) == 0) return push(r, end + 2, to_brace - 2);
  return push(r, from, (size_t)(after - from)); /* positional and unknown ones stay, so that messages show them */
}

/* "NAME=VALUE" sets a variable, unless VALUE begins with an argument, as in ARGS="--name value ...": that argument is
 * added to the list, like any other word. */
static enum sl_status finish(struct reader *r) {
  if (r->length == 0) return SL_OK;
  r->word[r->length] = '\0';
  const size_t name = name_length(r->word);
  const bool sets = name > 0 && name < NAME_BYTES && r->word[name] == '=';
  const char *value = sets ? r->word + name + 1 : r->word;
  if (sets && strncmp(value, "--", 2) != 0) {
    const size_t length = strlen(value);
    if (length >= VALUE_BYTES || r->variable_count == MOST_VARIABLES)
      return sl_fail(SL_ERR_INPUT, "%s: %.*s: is of more than %d bytes, or variable %d", r->name, (int)name, r->word,
                     VALUE_BYTES - 1, MOST_VARIABLES);
    struct variable *v = &r->variables[r->variable_count++];
    memcpy(v->name, r->word, name);
    v->name[name] = '\0';
    memcpy(v->value, value, length + 1);
  } else {
    sl_words_add(r->words, value);
  }
  r->length = 0;
  if (r->words->count > MOST_WORDS) return sl_fail(SL_ERR_INPUT, "%s: has more than %d words", r->name, MOST_WORDS);
  return SL_OK;
}

/* Passes over "<<END", "<<-END" or "<<'END'" and the lines up to END: no words of a command. Whether there is one. */
static bool pass_heredoc(struct reader *r) {
  if (strncmp(r->at, "<<", 2) != 0) return false;
  const char *at = r->at + 2;
  const bool indented = *at == '-';
  at += indented + strspn(at + indented, " ");
  at += *at == '\'' || *at == '"' || *at == '\\';
  const size_t length = name_length(at);
  if (length == 0) return false;
  for (const char *line = strchr(at, '\n'); line != NULL; line = strchr(line, '\n')) {
    line++;
    line += indented ? strspn(line, "\t") : 0;
    if (strncmp(line, at, length) != 0 || (line[length] != '\0' && strchr("\r\n", line[length]) == NULL)) continue;
    r->at = line + length;
    return true;
  }
  return false;
}

/* A mark inside text of the other kind of marks stands for itself, but is left out all the same. */
static enum sl_status quote(struct reader *r) {
  if (r->opened == NULL)
    r->opened = r->at;
  else if (*r->opened == *r->at)
    r->opened = NULL;
  r->at++;
  return SL_OK;
}

/* Reads the next character or expansion, inside or outside a word. */
static enum sl_status step(struct reader *r) {
  static const char splits[] = " \t\r\n()[];|&";
  const char c = *r->at;
  if (r->opened == NULL && pass_heredoc(r)) return finish(r);
  const bool plain = r->opened != NULL && *r->opened == '\''; /* between ' and ' a backslash is a character */
  if (c == '\\' && r->at[1] != '\0' && !plain) {
    r->at += 2;
    if (r->at[-1] == '\n') return finish(r);
    return push(r, r->at - 1, 1);
  }
  if (c == '#' && r->length == 0 && r->opened == NULL) {
    r->at += strcspn(r->at, "\n");
    return SL_OK;
  }
  if (c == '$') return expand(r);
  if (c == '"' || c == '\'') return quote(r);
  if (strchr(splits, c) == NULL) return push(r, r->at++, 1);
  r->at++;
  return finish(r);
}

enum sl_status sl_shell_words(struct sl_words *words, const char *name, const char *text) {
  struct reader r = {.text = text, .at = text, .name = name, .words = words};
  SL_TRY(sl_calloc(&r.variables, MOST_VARIABLES, sizeof *r.variables));
  enum sl_status status = SL_OK;
  while (status == SL_OK && *r.at != '\0') status = step(&r);
  if (status == SL_OK && r.opened != NULL) status = not_closed(&r, "a quotation mark", r.opened);
  if (status == SL_OK) status = finish(&r);
  if (status == SL_OK) status = sl_words_check(words);
  free(r.variables);
  return status;
}
