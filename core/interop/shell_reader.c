/* See shell_reader.h. */
#include "core/interop/shell_reader.h"

#include <ctype.h>
#include <string.h>

enum { MOST_READ = 1 << 18 };

/* ---- texts ---- */

int sl_shell_line(struct sl_shell_reader *r) {
  for (; r->counted < r->at; r->counted++) r->line += *r->counted == '\n';
  return r->line;
}

enum sl_status sl_shell_push(struct sl_shell_reader *r, const char *bytes, size_t n) {
  if (r->length + n >= SL_SHELL_WORD_BYTES)
    return sl_fail(SL_ERR_INPUT, "%s:%d: a word has more than %d bytes", r->name, sl_shell_line(r),
                   SL_SHELL_WORD_BYTES - 1);
  if (r->length == 0) {
    r->began = sl_shell_line(r);
    r->began_file = r->file;
    r->quoted = r->opened != NULL;
    r->plain = !r->quoted;
  }
  r->begun = true;
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

/* ---- words ---- */

/* Where the next word goes: into the value that is being assigned, or into the command. */
static struct sl_shell_list *target(struct sl_shell_reader *r) {
  return r->assigns ? &r->value.list : &r->command;
}

enum sl_status sl_shell_end_word(struct sl_shell_reader *r) {
  if (r->length == 0) return SL_OK;
  const bool drops = r->redirects && !r->assigns;
  struct sl_shell_list *list = target(r);
  r->word[r->length] = '\0';
  r->length = 0;
  if (list->count == SL_SHELL_WORDS)
    return sl_fail(SL_ERR_INPUT, "%s:%d: a command or a variable has more than %d words", r->name, r->began,
                   SL_SHELL_WORDS);
  if (++r->read > MOST_READ)
    return sl_fail(SL_ERR_INPUT, "%s:%d: more than %d words, those of values that are used again included", r->name,
                   r->began, MOST_READ);
  if (!drops) {
    sl_words_add(&r->texts, r->word);
    SL_TRY(sl_words_check(&r->texts));
    const struct sl_shell_word word = {.text = r->texts.list[r->texts.count - 1],
                                       .file = r->began_file,
                                       .line = r->began,
                                       .doubt = r->doubt,
                                       .conditional =
                                           r->conditional || sl_shell_conditions_run(&r->conditions) == SL_MAYBE};
    SL_TRY(sl_shell_list_add(list, &word));
    if (!r->assigns && !r->quoted) sl_shell_conditions_word(&r->conditions, word.text);
  }
  r->doubt = NULL;
  r->conditional = false;
  return SL_OK;
}

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
    if (begins && (value.list.count > 1 || word->text[0] == '-')) { /* of a list of arguments */
      r->began = word->line;
      r->began_file = word->file;
    }
    if (r->doubt == NULL) r->doubt = doubt != NULL ? doubt : word->doubt;
    r->conditional |= word->conditional;
  }
  return value.blank_after ? sl_shell_end_word(r) : SL_OK;
}

/* ---- assignments ---- */

void sl_shell_begin_assignment(struct sl_shell_reader *r, const char *name, size_t length, int line) {
  memcpy(r->assigned, name, length);
  r->assigned[length] = '\0';
  r->assigned_line = line;
  r->assigns = true;
  r->value = (struct sl_shell_value){0};
}

/* Of a value that only a condition gives to a variable that has one: the old one stays if the new one is not known, or
 * is that of an option of the script's own command line, which is taken as not given. */
static bool keeps_value(const struct sl_shell_reader *r) {
  bool known = !sl_shell_conditions_ask_options(&r->conditions);
  for (size_t i = 0; i < r->value.list.count; i++) known &= strpbrk(r->value.list.words[i].text, "$`") == NULL;
  return !known && sl_shell_find(&r->variables, r->assigned, strlen(r->assigned)) != NULL;
}

enum sl_status sl_shell_end_assignment(struct sl_shell_reader *r) {
  const enum sl_truth runs = sl_shell_conditions_run(&r->conditions);
  r->assigns = r->in_array = false;
  r->conditions.begins = false;
  if (runs == SL_NO || (runs == SL_MAYBE && keeps_value(r))) return sl_shell_list_free(&r->value.list), SL_OK;
  r->value.line = r->assigned_line;
  r->value.file = r->file;
  r->value.conditional = runs == SL_MAYBE;
  SL_TRY(sl_shell_program_variable(&r->program, &r->value.list));
  return sl_shell_assign(&r->variables, r->assigned, &r->value);
}
