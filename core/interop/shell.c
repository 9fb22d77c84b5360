/* Splits a launch script into commands and their words; see shell.h. */
#include "core/interop/shell.h"

#include "core/interop/shell_conditions.h"
#include "core/interop/shell_expand.h"
#include "core/interop/shell_program.h"
#include "core/interop/shell_source.h"
#include "core/interop/shell_start.h"

#include <stdlib.h>
#include <string.h>

/* ---- words and commands ---- */

/* Ends a word of the shell, and with it an assignment. */
static enum sl_status end_shell_word(struct sl_shell_reader *r) {
  const bool ends = r->length > 0, is_argument = r->starts && r->begun && !r->assigns && !r->redirects;
  r->value.blank_after = r->assigns && !ends && r->value.list.count > 0;
  SL_TRY(sl_shell_end_word(r));
  if (is_argument) SL_TRY(sl_shell_end_argument(r));
  r->begun = false;
  if (ends && !r->assigns) r->redirects = false;
  return r->assigns && !r->in_array ? sl_shell_end_assignment(r) : SL_OK;
}

static enum sl_status read_text(struct sl_shell_reader *r);

/* The file that the command sources, if it does and the file can be read. */
static enum sl_status read_sourced(struct sl_shell_reader *r) {
  struct sl_shell_source source;
  SL_TRY(sl_shell_source_open(r, &source));
  if (source.text == NULL) return SL_OK;
  const enum sl_status status = read_text(r);
  sl_shell_source_close(r, &source);
  return status;
}

static enum sl_status end_command(struct sl_shell_reader *r) {
  SL_TRY(end_shell_word(r));
  if (!r->is_script) return SL_OK;
  r->over = r->program.rank > 0 && sl_shell_conditions_exit(&r->conditions, &r->command);
  if (r->command.count > 0 && sl_shell_conditions_command(&r->conditions, &r->command)) {
    SL_TRY(sl_shell_shift(r));
    SL_TRY(sl_shell_program_command(&r->program, &r->command));
    SL_TRY(read_sourced(r));
  }
  r->command.count = 0;
  return SL_OK;
}

/* "NAME=" and "NAME+=" begin an assignment, if they are written so; *began says whether they do. What is appended goes on
 * where the old value ends. */
static enum sl_status begin_assignment(struct sl_shell_reader *r, bool *began) {
  const bool appends = r->length > 1 && r->word[r->length - 1] == '+';
  const size_t length = r->length - appends;
  *began = false;
  r->word[r->length] = '\0';
  if (r->assigns || r->opened != NULL || r->depth > 0 || !r->plain || length == 0 || length >= sizeof r->assigned ||
      sl_shell_name_length(r->word) != length)
    return SL_OK;
  sl_shell_begin_assignment(r, r->word, length, r->began);
  r->length = 0;
  r->at++;
  *began = true;
  const struct sl_shell_variable *old = appends ? sl_shell_find(&r->variables, r->assigned, length) : NULL;
  if (old != NULL) {
    r->value.blank_before = old->value.blank_before;
    SL_TRY(sl_shell_splice(r, old));
  }
  if (*r->at != '(') return SL_OK;
  r->in_array = true;
  r->at++;
  return sl_shell_end_word(r);
}

/* ---- characters ---- */

/* Passes over "<<END", "<<-END" or "<<'END'" and the lines up to END: no words of a command. Whether there is one. */
static bool pass_heredoc(struct sl_shell_reader *r) {
  if (strncmp(r->at, "<<", 2) != 0) return false;
  const char *at = r->at + 2;
  const bool indented = *at == '-';
  at += indented + strspn(at + indented, " ");
  at += *at == '\'' || *at == '"' || *at == '\\';
  const size_t length = sl_shell_name_length(at);
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

/* ">", "2>&1", "&>>" and the like: the word behind is a file's name. */
static enum sl_status redirect(struct sl_shell_reader *r) {
  r->word[r->length] = '\0';
  if (strspn(r->word, "0123456789") == r->length) r->length = 0, r->begun = false;
  SL_TRY(end_shell_word(r));
  r->at += *r->at == '&';
  r->at += strspn(r->at, "<>");
  r->at += *r->at == '&' || *r->at == '|';
  r->redirects = *r->at != '('; /* what <( and >( begin are commands */
  return SL_OK;
}

/* A mark inside text of the other kind of marks stands for itself, but is left out all the same. */
static void quote(struct sl_shell_reader *r) {
  if (r->opened == NULL)
    r->opened = r->at;
  else if (*r->opened == *r->at)
    r->opened = NULL;
  r->begun = true;
  r->at++;
}

/* A blank, a line's end, or what ends a command. Inside quotation marks and defaults blanks and lines separate words. */
static enum sl_status separate(struct sl_shell_reader *r) {
  const char c = *r->at;
  if (r->opened != NULL || r->depth > 0) {
    if (r->assigns && r->length == 0 && r->value.list.count == 0) r->value.blank_before = true;
    r->at++;
    return sl_shell_end_word(r);
  }
  if (c == ' ' || c == '\t' || c == '\r' || (r->in_array && c != ')')) return r->at++, end_shell_word(r);
  if (r->in_array) {
    r->at++;
    SL_TRY(sl_shell_end_word(r));
    r->value.blank_after = false;
    return sl_shell_end_assignment(r);
  }
  SL_TRY(end_command(r));
  if (r->over)
    r->at = r->end;
  else
    r->at += sl_shell_conditions_pass(&r->conditions, r->at);
  return SL_OK;
}

/* A backslash keeps the next character; before the end of a line it joins this line and the next. */
static enum sl_status escape(struct sl_shell_reader *r) {
  const size_t joins = r->at[1] == '\n' ? 2 : r->at[1] == '\r' && r->at[2] == '\n' ? 3 : 0;
  r->at += joins > 0 ? joins : 2;
  return joins > 0 ? SL_OK : sl_shell_push(r, r->at - 1, 1);
}

/* Is this between [[ and ]]? */
static bool in_test(const struct sl_shell_reader *r) {
  for (size_t i = r->command.count; i-- > 0;) {
    if (strcmp(r->command.words[i].text, "]]") == 0) return false;
    if (strcmp(r->command.words[i].text, "[[") == 0) return true;
  }
  return false;
}

/* && and || of a test are words of it. */
static enum sl_status connective(struct sl_shell_reader *r) {
  SL_TRY(end_shell_word(r));
  SL_TRY(sl_shell_push(r, r->at, 2));
  r->at += 2;
  return end_shell_word(r);
}

static enum sl_status step(struct sl_shell_reader *r) {
  const char c = *r->at;
  const bool open = r->opened != NULL || r->depth > 0;
  bool began = false;
  if (!open && pass_heredoc(r)) return end_shell_word(r);
  /* between ' and ' a backslash is a character */
  if (c == '\\' && r->at[1] != '\0' && !(r->opened != NULL && *r->opened == '\'')) return escape(r);
  if (c == '#' && r->length == 0 && !open && !(r->assigns && !r->in_array)) {
    r->at += strcspn(r->at, "\n");
    return SL_OK;
  }
  if (c == '$') return sl_shell_expand(r);
  if (c == '`') return sl_shell_keep_quoted(r);
  if (c == '"' || c == '\'') return quote(r), SL_OK;
  if (!open && (c == '<' || c == '>' || (c == '&' && r->at[1] == '>'))) return redirect(r);
  if (!open && in_test(r) && (c == '&' || c == '|') && r->at[1] == c) return connective(r);
  if (c == '=') SL_TRY(begin_assignment(r, &began));
  if (began) return SL_OK;
  if (strchr(open ? " \t\r\n" : " \t\r\n;|&()", c) != NULL) return separate(r);
  return sl_shell_push(r, r->at++, 1);
}

/* ---- the result ---- */

static const char command_line[] = "the command line";

static enum sl_status give(struct sl_shell *out, const struct sl_shell_list *list, const char *name) {
  if (list->count > SL_SHELL_WORDS) return sl_fail(SL_ERR_INPUT, "%s: has more than %d words", name, SL_SHELL_WORDS);
  SL_TRY(sl_grow(&out->places, &out->capacity, list->count, sizeof *out->places));
  for (size_t i = 0; i < list->count; i++) {
    const struct sl_shell_word *word = &list->words[i];
    out->places[i] = (struct sl_shell_place){word->file, word->line, word->doubt, word->conditional};
    sl_words_add(&out->words, word->text);
  }
  return sl_words_check(&out->words);
}

static enum sl_status choose(struct sl_shell_reader *r) {
  const struct sl_shell_program *p = &r->program;
  const bool one = r->is_script && p->rank > 0;
  if (one && p->other.text != NULL)
    sl_warn("%.256s: %s runs in %s and %s with other arguments; those of the last are taken", r->name,
            p->best.words[0].text, sl_shell_spot(p->other.file, p->other.line).text,
            sl_shell_spot(p->best.words[0].file, p->best.words[0].line).text);
  SL_TRY(give(r->out, one ? &p->best : r->is_script ? &p->all : &r->command, r->name));
  SL_TRY(sl_words_check(&r->out->unread));
  return sl_words_check(&r->out->doubts);
}

static enum sl_status read_text(struct sl_shell_reader *r) {
  while (r->at < r->end || r->depth > 0) SL_TRY(r->at < r->end ? step(r) : sl_shell_leave(r));
  if (r->opened != NULL) return sl_shell_not_closed(r, "a quotation mark", r->opened);
  if (r->in_array) return sl_fail(SL_ERR_INPUT, "%s:%d: %s=( is not closed", r->name, r->assigned_line, r->assigned);
  return r->over ? SL_OK : end_command(r);
}

static void begin_text(struct sl_shell_reader *r, const char *text, const char *name) {
  r->text = r->at = r->counted = text;
  r->end = text + strlen(text);
  r->line = 1;
  r->name = name;
  sl_shell_conditions_open(&r->conditions);
}

/* The command that starts the script: its assignments are the environment, the words behind the script's name its
 * arguments. */
static enum sl_status read_start(struct sl_shell_reader *r, const char *start) {
  if (start == NULL) return SL_OK;
  r->file = command_line;
  begin_text(r, start, r->file);
  r->starts = true;
  SL_TRY(read_text(r));
  SL_TRY(sl_shell_take_arguments(r));
  r->starts = false;
  r->file = NULL;
  return SL_OK;
}

enum sl_status sl_shell_read(struct sl_shell *out, const char *name, const char *text, bool is_script) {
  return sl_shell_read_started(out, name, text, is_script, NULL);
}

enum sl_status sl_shell_read_started(struct sl_shell *out, const char *name, const char *text, bool is_script,
                                     const char *start) {
  struct sl_shell_reader r = {.script = name, .out = out};
  *out = (struct sl_shell){0};
  enum sl_status status = read_start(&r, start);
  begin_text(&r, text, name);
  r.is_script = is_script;
  if (status == SL_OK) status = read_text(&r);
  if (status == SL_OK) status = choose(&r);
  sl_shell_variables_free(&r.variables);
  sl_shell_list_free(&r.value.list);
  sl_shell_list_free(&r.command);
  sl_shell_list_free(&r.given);
  free(r.ends.at);
  sl_shell_program_free(&r.program);
  sl_words_free(&r.texts);
  if (status != SL_OK) sl_shell_free(out);
  return status;
}

void sl_shell_free(struct sl_shell *shell) {
  sl_words_free(&shell->words);
  sl_words_free(&shell->doubts);
  sl_words_free(&shell->files);
  sl_words_free(&shell->unread);
  free(shell->places);
  *shell = (struct sl_shell){0};
}
