/* See shell_conditions.h. */
#include "core/interop/shell_conditions.h"

#include <string.h>

static bool is_one_of(const char *word, const char *words) {
  const char *at = strstr(words, word);
  const unsigned long length = strlen(word);
  return length > 0 && at != NULL && (at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0');
}

void sl_shell_conditions_word(struct sl_shell_conditions *c, const char *word) {
  if (!c->begins) return;
  if (is_one_of(word, "if case")) c->open++;
  if (is_one_of(word, "fi esac") && c->open > 0) c->open--;
  if (strcmp(word, "{") == 0) c->group = c->group << 1 | c->behind, c->behind = false;
  if (strcmp(word, "}") == 0) c->behind = c->group & 1, c->group >>= 1;
  c->begins = is_one_of(word, "if then elif else while until do { !");
}

int sl_shell_conditions_pass(struct sl_shell_conditions *c, const char *at) {
  const bool twice = (*at == '&' || *at == '|') && at[1] == *at, ends = *at == ';' || *at == '\n';
  if (twice) c->behind = true;
  if (ends && !(*at == '\n' && c->begins)) c->behind = false; /* a command may stand below its && */
  if (twice || ends || strchr("()|", *at) != NULL) c->begins = true;
  return 1 + twice;
}

bool sl_shell_conditions_hold(const struct sl_shell_conditions *c) {
  return c->behind || c->open > 0 || c->group != 0;
}
