/* See shell_conditions.h. */
#include "core/interop/shell_conditions.h"

#include <ctype.h>
#include <string.h>

/* The words after which another command begins. */
static const char *const leading[] = {"if", "then", "elif", "else", "while", "until", "do", "{", "!", "time"};

bool sl_shell_leads(const char *word) {
  size_t i = 0;
  while (i < sizeof leading / sizeof *leading && strcmp(word, leading[i]) != 0) i++;
  return i < sizeof leading / sizeof *leading;
}

/* Does it begin a list of commands of its own? */
static bool opens_list(const char *word) {
  return sl_shell_leads(word) && strcmp(word, "!") != 0 && strcmp(word, "time") != 0;
}

static struct sl_shell_frame *top(struct sl_shell_conditions *c, char kind) {
  const bool kept = c->depth > 0 && c->depth <= SL_SHELL_FRAMES;
  return kept && c->frames[c->depth - 1].kind == kind ? &c->frames[c->depth - 1] : NULL;
}

/* A new list of commands begins. */
static void begin_list(struct sl_shell_conditions *c) {
  c->runs = SL_YES;
  c->value = SL_MAYBE;
}

void sl_shell_conditions_open(struct sl_shell_conditions *c) {
  *c = (struct sl_shell_conditions){.begins = true};
  begin_list(c);
}

/* ---- frames ---- */

static void push(struct sl_shell_conditions *c, char kind) {
  if (c->depth < SL_SHELL_FRAMES)
    c->frames[c->depth] = (struct sl_shell_frame){.kind = kind, .outer = c->runs, .branch = SL_YES, .taken = SL_NO};
  c->depth++;
  begin_list(c);
}

void sl_shell_conditions_enter(struct sl_shell_conditions *c) {
  push(c, '.');
  c->begins = true;
}

static void pop(struct sl_shell_conditions *c, char kind) {
  if (c->depth > SL_SHELL_FRAMES || top(c, kind) != NULL) c->depth--;
  begin_list(c);
}

/* A branch begins whose condition is `value`. */
static void choose(struct sl_shell_frame *f, enum sl_truth value) {
  f->branch = sl_truth_and(value, sl_truth_not(f->taken));
  f->taken = sl_truth_or(f->taken, value);
}

void sl_shell_conditions_word(struct sl_shell_conditions *c, const char *word) {
  struct sl_shell_frame *branches = top(c, 'i'), *cases = top(c, 'c');
  if (c->begins && strcmp(word, "function") == 0) c->function = true;
  if (c->function && strcmp(word, "{") == 0) c->begins = true;
  if (!c->begins || (cases != NULL && (cases->patterns || cases->subject.text == NULL) && strcmp(word, "esac") != 0))
    return;
  if (strcmp(word, "if") == 0) push(c, 'i');
  if (strcmp(word, "case") == 0) push(c, 'c');
  if (strcmp(word, "{") == 0) push(c, '{'), c->function = false;
  if (strcmp(word, "do") == 0) c->loops++;
  if (strcmp(word, "done") == 0 && c->loops > 0) c->loops--;
  if (strcmp(word, "fi") == 0) pop(c, 'i');
  if (strcmp(word, "esac") == 0) pop(c, 'c');
  if (strcmp(word, "}") == 0) pop(c, '{');
  if (branches != NULL && strcmp(word, "elif") == 0) branches->branch = sl_truth_not(branches->taken);
  if (branches != NULL && strcmp(word, "else") == 0) choose(branches, SL_YES);
  if (branches != NULL && strcmp(word, "then") == 0) choose(branches, c->value);
  c->begins = sl_shell_leads(word);
  if (opens_list(word)) begin_list(c);
}

/* ---- commands ---- */

/* "case SUBJECT in", and patterns behind it. The count of words that are read by it. */
static size_t read_subject(struct sl_shell_frame *f, const struct sl_shell_list *command) {
  static const struct sl_shell_word empty = {.text = ""};
  size_t at = 0;
  while (at < command->count && strcmp(command->words[at].text, "case") != 0) at++;
  size_t in = at;
  while (in < command->count && strcmp(command->words[in].text, "in") != 0) in++;
  if (in == command->count) return command->count;
  f->subject = in > at + 1 ? command->words[at + 1] : empty;
  f->patterns = true;
  f->matched = SL_NO;
  return in + 1;
}

static void read_patterns(struct sl_shell_frame *f, const struct sl_shell_list *command, size_t from) {
  for (size_t i = from; i < command->count; i++)
    f->matched = sl_truth_or(f->matched, sl_shell_matches(&f->subject, &command->words[i]));
}

bool sl_shell_conditions_command(struct sl_shell_conditions *c, const struct sl_shell_list *command) {
  struct sl_shell_frame *cases = top(c, 'c');
  const enum sl_truth runs = sl_shell_conditions_run(c);
  size_t from = 0;
  if (cases != NULL && (cases->patterns || cases->subject.text == NULL)) {
    read_patterns(cases, command, cases->subject.text == NULL ? read_subject(cases, command) : 0);
    return false;
  }
  while (from < command->count && sl_shell_leads(command->words[from].text)) from++;
  if (from > 0 && strcmp(command->words[from - 1].text, "!") == 0) from--;
  if (from == command->count) return runs != SL_NO;
  const enum sl_truth value = sl_shell_test(command, from);
  if (c->runs == SL_YES)
    c->value = value;
  else if (c->runs == SL_MAYBE)
    c->value = c->either ? sl_truth_or(SL_MAYBE, value) : sl_truth_and(SL_MAYBE, value);
  return runs != SL_NO;
}

bool sl_shell_conditions_in_group(const struct sl_shell_conditions *c) {
  for (int i = 0; i < c->depth && i < SL_SHELL_FRAMES; i++)
    if (c->frames[i].kind == '{') return true;
  return false;
}

bool sl_shell_conditions_exit(struct sl_shell_conditions *c, const struct sl_shell_list *command) {
  size_t from = 0;
  while (from < command->count && sl_shell_leads(command->words[from].text)) from++;
  if (from == command->count || strcmp(command->words[from].text, "exit") != 0) return false;
  return !sl_shell_conditions_in_group(c) && c->loops == 0 && c->subshells == 0 && sl_shell_conditions_run(c) == SL_YES;
}

int sl_shell_conditions_pass(struct sl_shell_conditions *c, const char *at) {
  const bool twice = strchr("&|;", *at) != NULL && at[1] == *at, ends = *at == ';' || *at == '\n';
  struct sl_shell_frame *cases = top(c, 'c');
  if (twice && !ends) {
    c->either = *at == '|';
    c->runs = c->either ? sl_truth_not(c->value) : c->value;
  } else if (ends && !(*at == '\n' && c->begins)) { /* a command may stand below its && */
    c->runs = SL_YES;
  }
  if (cases != NULL && *at == ')' && cases->patterns) {
    choose(cases, cases->matched);
    cases->patterns = false;
    begin_list(c);
  } else if (*at == '(' && !(cases != NULL && cases->patterns)) {
    c->subshells++;
  } else if (*at == ')' && c->subshells > 0) {
    c->subshells--;
  }
  if (cases != NULL && *at == ';' && twice) cases->patterns = true, cases->matched = SL_NO, cases->branch = SL_YES;
  if (twice || ends || strchr("()|", *at) != NULL) c->begins = true;
  return 1 + twice;
}

enum sl_truth sl_shell_conditions_run(const struct sl_shell_conditions *c) {
  enum sl_truth all = c->runs;
  for (int i = 0; i < c->depth && i < SL_SHELL_FRAMES; i++)
    all = sl_truth_and(all, sl_truth_and(c->frames[i].outer, c->frames[i].branch));
  return c->depth > SL_SHELL_FRAMES ? sl_truth_and(all, SL_MAYBE) : all;
}

bool sl_shell_conditions_ask_options(const struct sl_shell_conditions *c) {
  for (int i = 0; i < c->depth && i < SL_SHELL_FRAMES; i++) {
    const struct sl_shell_frame *f = &c->frames[i];
    const char *dollar = f->kind == 'c' && f->subject.text != NULL ? strchr(f->subject.text, '$') : NULL;
    if (dollar != NULL && isdigit((unsigned char)dollar[1 + (dollar[1] == '{')]) && f->branch == SL_MAYBE) return true;
  }
  return false;
}
