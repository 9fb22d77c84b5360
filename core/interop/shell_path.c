/* See shell_path.h. */
#include "core/interop/shell_path.h"

#include <string.h>

enum { MOST_DEEP = 8, MOST_TEXTS = 256 };

/* Values within values, which may grow with each: how deep, and how many so far. */
struct telling {
  const struct sl_shell_reader *reader;
  int depth, texts;
};

static bool tell(struct telling *t, const char *text, size_t length, struct sl_shell_path *out);

static bool add(struct sl_shell_path *out, const char *text, size_t length) {
  if (out->length + length >= sizeof out->text) return false;
  memcpy(out->text + out->length, text, length);
  out->length += length;
  out->text[out->length] = '\0';
  return true;
}

void sl_shell_folder(struct sl_shell_path *path) {
  const char *slash = strrchr(path->text, '/');
  path->length = slash != NULL ? (size_t)(slash - path->text) : 0;
  if (slash == path->text) path->length = 1;
  path->text[path->length] = '\0';
  if (path->length == 0) add(path, ".", 1);
}

/* ---- commands that tell a path ---- */

/* Passes over blanks and, with `options`, over words that begin with a dash. */
static const char *skip(const char *at, bool options) {
  at += strspn(at, " \t\n");
  while (options && *at == '-') {
    at += strcspn(at, " \t\n");
    at += strspn(at, " \t\n");
  }
  return at;
}

/* The bytes of a word, of which quoted texts and groups are parts. */
static size_t word_length(const char *at) {
  size_t n = 0;
  int groups = 0;
  for (char mark = '\0'; at[n] != '\0'; n++) {
    if (mark == '\0' && groups == 0 && strchr(" \t\n;&|<>", at[n]) != NULL) break;
    if (at[n] == '"' || at[n] == '\'') mark = mark == '\0' ? at[n] : mark == at[n] ? '\0' : mark;
    groups += at[n] == '(' ? 1 : at[n] == ')' ? -1 : 0;
  }
  return n;
}

/* Is it "&& pwd", after redirections? */
static bool ends_in_pwd(const char *at) {
  at = strstr(at, "&&");
  if (at == NULL || strncmp(at = skip(at + 2, false), "pwd", 3) != 0) return false;
  return *skip(at + 3, true) == '\0';
}

static bool tell_command(struct telling *t, const char *command, struct sl_shell_path *out) {
  static const char *const names[] = {"dirname", "cd", "realpath", "readlink", "pwd"};
  struct sl_shell_path path = {.length = 0};
  size_t i = 0, length;
  command = skip(command, false);
  while (i < sizeof names / sizeof *names &&
         (strncmp(command, names[i], strlen(names[i])) != 0 || strchr(" \t\n", command[strlen(names[i])]) == NULL))
    i++;
  if (i == sizeof names / sizeof *names) return false;
  const char *at = skip(command + strlen(names[i]), true);
  if (i == 4) return *at == '\0' && add(out, ".", 1);
  length = word_length(at);
  if (length == 0 || !tell(t, at, length, &path)) return false;
  if (i == 1 ? !ends_in_pwd(at + length) : *skip(at + length, false) != '\0') return false;
  if (i == 0) sl_shell_folder(&path);
  out->is_scripts |= path.is_scripts;
  return add(out, path.text, path.length);
}

/* ---- what begins with $ ---- */

/* The end of the group that begins at `at`; NULL: there is none. */
static const char *end_of(const char *at, const char *end, char open, char close) {
  for (int depth = 0; at < end; at++) {
    depth += *at == open ? 1 : *at == close ? -1 : 0;
    if (depth == 0) return at;
  }
  return NULL;
}

/* $NAME, or what stands between { and }. */
static bool tell_variable(struct telling *t, const char *name, size_t length, struct sl_shell_path *out) {
  static const char source[] = "BASH_SOURCE", first[] = "[0]", folder[] = "%/*";
  size_t used = name[0] == '0' ? 1 : sl_shell_name_length(name);
  if (used > length) used = length;
  const bool is_source = used == strlen(source) && strncmp(name, source, used) == 0, is_script = name[0] == '0';
  const struct sl_shell_variable *v = sl_shell_find(&t->reader->variables, name, used);
  struct sl_shell_path path = {.length = 0};
  if (used == 0) return false;
  if (is_source && length - used >= 3 && strncmp(name + used, first, 3) == 0) used += 3;
  const bool cuts = length - used == 3 && strncmp(name + used, folder, 3) == 0;
  if (!cuts && used != length) return false;
  if (is_source || is_script) {
    const char *told = is_source ? t->reader->name : t->reader->script;
    if (!add(&path, told, strlen(told))) return false;
    path.is_scripts = true;
  } else if (v != NULL && v->value.list.count == 1) {
    const char *value = v->value.list.words[0].text;
    if (!tell(t, value, strlen(value), &path)) return false;
  } else if (v != NULL || used != 3 || strncmp(name, "PWD", 3) != 0 || !add(&path, ".", 1)) {
    return false;
  }
  if (cuts) sl_shell_folder(&path);
  out->is_scripts |= path.is_scripts;
  return add(out, path.text, path.length);
}

/* Tells what begins with $ or ` at *at, and goes behind it. */
static bool expand(struct telling *t, const char **at, const char *end, struct sl_shell_path *out) {
  const char *from = *at + 1, *close;
  char command[1024];
  if (**at == '`' || *from == '(') {
    const char *begin = from + (**at == '$');
    close = **at == '`' ? memchr(from, '`', (size_t)(end - from)) : end_of(from, end, '(', ')');
    if (close == NULL || (size_t)(close - begin) >= sizeof command) return false;
    snprintf(command, sizeof command, "%.*s", (int)(close - begin), begin);
    *at = close + 1;
    return tell_command(t, command, out);
  }
  if (from < end && *from == '{') {
    close = end_of(from, end, '{', '}');
    if (close == NULL) return false;
    *at = close + 1;
    return tell_variable(t, from + 1, (size_t)(close - from) - 1, out);
  }
  const size_t length = from < end && *from == '0' ? 1 : sl_shell_name_length(from);
  *at = from + length;
  return *at <= end && tell_variable(t, from, length, out);
}

static bool tell(struct telling *t, const char *text, size_t length, struct sl_shell_path *out) {
  const char *at = text, *end = text + length;
  bool told = t->depth++ < MOST_DEEP && t->texts++ < MOST_TEXTS && (length == 0 || text[0] != '~');
  while (told && at < end) {
    if (*at == '$' || *at == '`')
      told = expand(t, &at, end, out);
    else if (*at == '"' || *at == '\'')
      at++; /* inside of $(...) they are kept */
    else
      told = add(out, at++, 1);
  }
  t->depth--;
  return told;
}

bool sl_shell_path(const struct sl_shell_reader *r, const char *word, struct sl_shell_path *out) {
  struct telling t = {.reader = r};
  out->length = 0;
  out->text[0] = '\0';
  out->is_scripts = false;
  return tell(&t, word, strlen(word), out) && out->length > 0;
}
