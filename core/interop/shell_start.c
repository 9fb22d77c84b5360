/* See shell_start.h. The arguments are variables, of names that no assignment can have. */
#include "core/interop/shell_start.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum sl_status set_one(struct sl_shell_reader *r, const char *name, const struct sl_shell_word *words,
                              size_t count) {
  struct sl_shell_value value = {.file = r->file, .line = 1};
  for (size_t i = 0; i < count; i++) SL_TRY(sl_shell_list_add(&value.list, &words[i]));
  return sl_shell_assign(&r->variables, name, &value);
}

/* All of them from the one on that is the first now; those that have been moved away are empty. */
static enum sl_status set_all(struct sl_shell_reader *r) {
  const size_t all = r->given.count, left = all - r->shifted;
  const struct sl_shell_word *first = r->given.words + r->shifted;
  char text[24];
  for (size_t i = 0; i < all; i++) {
    snprintf(text, sizeof text, "%zu", i + 1);
    SL_TRY(set_one(r, text, first + (i < left ? i : 0), i < left ? 1 : 0));
  }
  SL_TRY(set_one(r, "@", first, left));
  SL_TRY(set_one(r, "*", first, left));
  snprintf(text, sizeof text, "%zu", left);
  sl_words_add(&r->texts, text);
  SL_TRY(sl_words_check(&r->texts));
  const struct sl_shell_word count = {.text = r->texts.list[r->texts.count - 1], .file = r->file, .line = 1};
  return set_one(r, "#", &count, 1);
}

enum sl_status sl_shell_take_arguments(struct sl_shell_reader *r) {
  size_t at = 0;
  while (at < r->command.count && strcmp(r->command.words[at].text, r->script) != 0) at++;
  for (at++; at < r->command.count; at++) SL_TRY(sl_shell_list_add(&r->given, &r->command.words[at]));
  r->command.count = 0;
  return r->given.count > 0 ? set_all(r) : SL_OK;
}

size_t sl_shell_dollar_length(const char *name, bool braced) {
  if (isdigit((unsigned char)name[0])) return braced ? strspn(name, "0123456789") : 1;
  if (name[0] == '@' || name[0] == '*') return 1;
  if (name[0] == '#') return !braced || name[1] == '}'; /* ${#NAME} is a length */
  return sl_shell_name_length(name);
}

static bool is_certain(const struct sl_shell_reader *r) {
  return r->conditions.loops == 0 && !sl_shell_conditions_in_group(&r->conditions);
}

const struct sl_shell_variable *sl_shell_known(const struct sl_shell_reader *r, const char *name, size_t length) {
  const bool is_name = isalpha((unsigned char)name[0]) || name[0] == '_';
  return is_name || is_certain(r) ? sl_shell_find(&r->variables, name, length) : NULL;
}

enum sl_status sl_shell_shift(struct sl_shell_reader *r) {
  const struct sl_shell_list *c = &r->command;
  size_t at = 0;
  while (at < c->count && sl_shell_leads(c->words[at].text)) at++;
  if (r->given.count == 0 || at == c->count || strcmp(c->words[at].text, "shift") != 0) return SL_OK;
  if (!is_certain(r) || sl_shell_conditions_run(&r->conditions) != SL_YES)
    return sl_fail(SL_ERR_INPUT,
                   "%s:%d: shift in a loop, in a function or under a condition: it cannot be told which of the "
                   "script's own words is which; expected NAME=VALUE in front of the script instead",
                   r->name, c->words[at].line);
  const long by = at + 1 < c->count ? strtol(c->words[at + 1].text, NULL, 10) : 1;
  if (by < 0 || (size_t)by > r->given.count - r->shifted) return SL_OK; /* as a shell, which moves nothing then */
  r->shifted += (size_t)by;
  return set_all(r);
}
