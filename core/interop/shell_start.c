/* See shell_start.h. The arguments are variables, of names that no assignment can have. */
#include "core/interop/shell_start.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum sl_status set_one(struct sl_shell_reader *r, const char *name, const struct sl_shell_word *words,
                              size_t from, size_t to) {
  struct sl_shell_value value = {.file = r->file, .line = 1};
  for (size_t i = from; i < to; i++) SL_TRY(sl_shell_list_add(&value.list, &words[i]));
  return sl_shell_assign(&r->variables, name, &value);
}

/* The words of the first `arguments` arguments. */
static size_t words_of(const struct sl_shell_reader *r, size_t arguments) {
  return arguments > 0 ? r->ends.at[arguments - 1] : 0;
}

/* All of them from the one on that is the first now; those that have been moved away are empty. */
static enum sl_status set_all(struct sl_shell_reader *r) {
  const size_t all = r->ends.count, left = all - r->shifted, gone = words_of(r, r->shifted);
  char text[24];
  for (size_t i = 0; i < all; i++) {
    const size_t from = i < left ? words_of(r, r->shifted + i) : 0, to = i < left ? words_of(r, r->shifted + i + 1) : 0;
    snprintf(text, sizeof text, "%zu", i + 1);
    SL_TRY(set_one(r, text, r->given.words, from, to));
  }
  SL_TRY(set_one(r, "@", r->given.words, gone, r->given.count));
  SL_TRY(set_one(r, "*", r->given.words, gone, r->given.count));
  snprintf(text, sizeof text, "%zu", left);
  sl_words_add(&r->texts, text);
  SL_TRY(sl_words_check(&r->texts));
  const struct sl_shell_word count = {.text = r->texts.list[r->texts.count - 1], .file = r->file, .line = 1};
  return set_one(r, "#", &count, 0, 1);
}

static enum sl_status add_end(struct sl_shell_ends *ends, size_t at) {
  SL_TRY(sl_grow(&ends->at, &ends->capacity, ends->count + 1, sizeof *ends->at));
  ends->at[ends->count++] = at;
  return SL_OK;
}

enum sl_status sl_shell_end_argument(struct sl_shell_reader *r) {
  return add_end(&r->ends, r->command.count);
}

/* Where the arguments end whose words begin at `from`, of the ends of all words of the shell. What stands in one of them
 * with the script's name are arguments, too: bash -c 'run.sh 7B'. */
static enum sl_status move_ends(struct sl_shell_ends *out, const struct sl_shell_ends *all, size_t from) {
  bool behind = false;
  for (size_t i = 0; i < all->count; i++) {
    const size_t end = all->at[i];
    if (behind) SL_TRY(add_end(out, end - from));
    for (size_t word = from + 1; !behind && word <= end; word++) SL_TRY(add_end(out, word - from));
    behind |= end >= from;
  }
  return SL_OK;
}

enum sl_status sl_shell_take_arguments(struct sl_shell_reader *r) {
  struct sl_shell_ends all = r->ends;
  size_t at = 0;
  r->ends = (struct sl_shell_ends){0};
  while (at < r->command.count && strcmp(r->command.words[at].text, r->script) != 0) at++;
  enum sl_status status = move_ends(&r->ends, &all, at + 1);
  free(all.at);
  for (at++; at < r->command.count && status == SL_OK; at++)
    status = sl_shell_list_add(&r->given, &r->command.words[at]);
  r->command.count = 0;
  r->out->has_arguments = r->program.has_arguments = r->ends.count > 0;
  return status == SL_OK && r->ends.count > 0 ? set_all(r) : status;
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

static enum sl_status refuse(const struct sl_shell_reader *r, const struct sl_shell_word *word, const char *what) {
  return sl_fail(SL_ERR_INPUT,
                 "%s:%d: %s: it cannot be told which of the script's own words is which; expected NAME=VALUE in front "
                 "of the script instead",
                 r->name, word->line, what);
}

enum sl_status sl_shell_shift(struct sl_shell_reader *r) {
  const struct sl_shell_list *c = &r->command;
  size_t at = 0;
  while (at < c->count && sl_shell_leads(c->words[at].text)) at++;
  if (r->ends.count == 0 || at == c->count) return SL_OK;
  const struct sl_shell_word *word = &c->words[at];
  const char *next = at + 1 < c->count ? c->words[at + 1].text : "";
  if (strcmp(word->text, "set") == 0 && strcmp(next, "--") == 0 && !sl_shell_conditions_in_group(&r->conditions))
    return refuse(r, word, "set -- gives the script other words");
  if (strcmp(word->text, "shift") != 0) return SL_OK;
  if (!is_certain(r) || sl_shell_conditions_run(&r->conditions) != SL_YES)
    return refuse(r, word, "shift in a loop, in a function or under a condition");
  if (next[strspn(next, "0123456789")] != '\0') return refuse(r, word, "shift by what only a shell can tell");
  const long by = next[0] != '\0' ? strtol(next, NULL, 10) : 1;
  if ((size_t)by > r->ends.count - r->shifted) return SL_OK; /* as a shell, which moves nothing then */
  r->shifted += (size_t)by;
  return set_all(r);
}
