/* Splits a launch script into words; see shell.h. */
#include "core/interop/shell.h"

#include "core/interop/arithmetic.h"
#include "core/interop/shell_conditions.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 4096, MOST_BYTES = 4096, MOST_VARIABLES = 256, NAME_BYTES = 64, VALUE_BYTES = 1024 };

/* One assignment; the last one of a name holds. */
struct variable {
  char name[NAME_BYTES], value[VALUE_BYTES];
  int line;
  bool conditional;
  const char *doubt; /* of what its value was made of */
};

struct reader {
  const char *text, *at, *name; /* name: of the text, for messages */
  const char *opened;           /* the quotation mark that is not closed yet, or NULL */
  const char *counted;          /* up to where lines are counted */
  int line;
  struct sl_shell_conditions conditions;
  struct sl_shell *out;
  struct variable *variables;
  int variable_count;
  char word[MOST_BYTES];
  size_t length;
  int began;         /* the word's line */
  bool quoted;       /* it began inside quotation marks */
  const char *doubt; /* of the word's variables, the first */
};

/* The line of r->at, which never goes back. */
static int line_at(struct reader *r) {
  for (; r->counted < r->at; r->counted++) r->line += *r->counted == '\n';
  return r->line;
}

static enum sl_status push(struct reader *r, const char *bytes, size_t n) {
  if (r->length + n >= MOST_BYTES)
    return sl_fail(SL_ERR_INPUT, "%s:%d: a word has more than %d bytes", r->name, line_at(r), MOST_BYTES - 1);
  if (r->length == 0) r->began = line_at(r), r->quoted = r->opened != NULL;
  memcpy(r->word + r->length, bytes, n);
  r->length += n;
  return SL_OK;
}

/* The last assignment of a variable before the i-th; NULL if the script has none of plain text. */
static const struct variable *find(const struct reader *r, int i, const char *name, size_t length) {
  while (--i >= 0)
    if (strlen(r->variables[i].name) == length && strncmp(r->variables[i].name, name, length) == 0)
      return &r->variables[i];
  return NULL;
}

/* What a condition decides about the value of an assignment: an earlier one that holds if this one is not reached. */
static const char *doubt_of(struct reader *r, const struct variable *v) {
  const struct variable *other = v;
  struct sl_words *doubts = &r->out->doubts;
  while (other != NULL && other->conditional && strcmp(other->value, v->value) == 0)
    other = find(r, (int)(other - r->variables), v->name, strlen(v->name));
  if (!v->conditional || other == NULL || strcmp(other->value, v->value) == 0) return v->doubt;
  char text[2 * VALUE_BYTES + NAME_BYTES + 64];
  snprintf(text, sizeof text, "%s is %s as in line %d, not %s as in line %d", v->name, v->value, v->line, other->value,
           other->line);
  for (size_t i = 0; i < doubts->count; i++)
    if (strcmp(doubts->list[i], text) == 0) return doubts->list[i];
  sl_words_add(doubts, text);
  return doubts->count > 0 ? doubts->list[doubts->count - 1] : NULL;
}

/* The last value that the script assigned to a variable; NULL if there is none. Its doubt becomes the word's. */
static const char *value_of(struct reader *r, const char *name, size_t length) {
  const struct variable *v = find(r, r->variable_count, name, length);
  if (v != NULL && r->doubt == NULL) r->doubt = doubt_of(r, v);
  return v != NULL ? v->value : NULL;
}

static size_t name_length(const char *text) {
  size_t n = 0;
  if (!isalpha((unsigned char)text[0]) && text[0] != '_') return 0;
  while (isalnum((unsigned char)text[n]) || text[n] == '_') n++;
  return n;
}

static const char *variable_of(void *context, const char *name, size_t length) {
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

static enum sl_status set_variable(struct reader *r, size_t name) {
  const char *value = r->word + name + 1;
  const size_t length = strlen(value);
  if (length >= VALUE_BYTES || r->variable_count == MOST_VARIABLES)
    return sl_fail(SL_ERR_INPUT, "%s:%d: %.*s: is of more than %d bytes, or variable %d", r->name, r->began, (int)name,
                   r->word, VALUE_BYTES - 1, MOST_VARIABLES);
  struct variable *v = &r->variables[r->variable_count++];
  v->line = r->began;
  v->conditional = sl_shell_conditions_hold(&r->conditions);
  v->doubt = r->doubt;
  memcpy(v->name, r->word, name);
  v->name[name] = '\0';
  memcpy(v->value, value, length + 1);
  return SL_OK;
}

static enum sl_status add_word(struct reader *r, const char *word) {
  struct sl_shell *out = r->out;
  SL_TRY(sl_grow(&out->places, &out->capacity, out->words.count + 1, sizeof *out->places));
  out->places[out->words.count] = (struct sl_shell_place){.line = r->began, .doubt = r->doubt};
  sl_words_add(&out->words, word);
  if (out->words.count <= MOST_WORDS) return sl_words_check(&out->words);
  return sl_fail(SL_ERR_INPUT, "%s: has more than %d words", r->name, MOST_WORDS);
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
    SL_TRY(set_variable(r, name));
  } else {
    if (!sets && !r->quoted) sl_shell_conditions_word(&r->conditions, value);
    SL_TRY(add_word(r, value));
  }
  r->length = 0;
  r->doubt = NULL;
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
  SL_TRY(finish(r));
  r->at += r->opened == NULL ? sl_shell_conditions_pass(&r->conditions, r->at) : 1;
  return SL_OK;
}

void sl_shell_free(struct sl_shell *shell) {
  sl_words_free(&shell->words);
  sl_words_free(&shell->doubts);
  free(shell->places);
  *shell = (struct sl_shell){0};
}

enum sl_status sl_shell_read(struct sl_shell *out, const char *name, const char *text) {
  struct reader r = {.text = text, .at = text, .counted = text, .line = 1, .name = name, .out = out};
  *out = (struct sl_shell){0};
  r.conditions.begins = true;
  SL_TRY(sl_calloc(&r.variables, MOST_VARIABLES, sizeof *r.variables));
  enum sl_status status = SL_OK;
  while (status == SL_OK && *r.at != '\0') status = step(&r);
  if (status == SL_OK && r.opened != NULL) status = not_closed(&r, "a quotation mark", r.opened);
  if (status == SL_OK) status = finish(&r);
  if (status == SL_OK) status = sl_words_check(&out->doubts);
  free(r.variables);
  if (status != SL_OK) sl_shell_free(out);
  return status;
}
