/* See shell_program.h. */
#include "core/interop/shell_program.h"

#include "core/interop/shell_conditions.h"

#include <string.h>

enum { ENOUGH = 4096 };
enum rank { NONE, SAID, ANY_PYTHON, PRETRAIN }; /* what a command is: the higher, the surer it is the training */

static bool is_argument(const char *word) {
  return strncmp(word, "--", 2) == 0 && word[2] != '\0';
}

static bool has_argument(const struct sl_shell_list *list, size_t from) {
  for (size_t i = from; i < list->count; i++)
    if (is_argument(list->words[i].text)) return true;
  return false;
}

static bool is_python(const char *word) {
  const size_t length = strlen(word);
  return length > 3 && strcmp(word + length - 3, ".py") == 0;
}

static bool is_pretrain(const char *word) {
  const char *slash = strrchr(word, '/');
  return is_python(word) && strncmp(slash != NULL ? slash + 1 : word, "pretrain_", 9) == 0;
}

/* The last word that `is_program` and that arguments follow; the count of words if there is none. */
static size_t find_program(const struct sl_shell_list *command, bool (*is_program)(const char *word)) {
  for (size_t i = command->count; i-- > 0;)
    if (is_program(command->words[i].text) && has_argument(command, i + 1)) return i;
  return command->count;
}

/* Does the command show words instead of running them? */
static bool only_says(const struct sl_shell_list *command) {
  size_t i = 0;
  while (i < command->count && sl_shell_leads(command->words[i].text)) i++;
  const char *name = i < command->count ? command->words[i].text : "";
  return strcmp(name, "echo") == 0 || strcmp(name, "printf") == 0;
}

static bool trains(const struct sl_shell_list *command, size_t from) {
  for (size_t i = from; i < command->count; i++) {
    const char *word = command->words[i].text;
    if (strncmp(word, "--num-layers", 12) == 0 || strncmp(word, "--micro-batch-size", 18) == 0) return true;
  }
  return false;
}

static enum rank rank_of(const struct sl_shell_list *command, size_t *program) {
  const bool says = only_says(command);
  *program = find_program(command, is_pretrain);
  if (*program < command->count) return says ? SAID : PRETRAIN;
  *program = find_program(command, is_python);
  return !says && trains(command, *program) ? ANY_PYTHON : NONE;
}

/* More words than any command may have are an error, if they are needed. */
static enum sl_status add_to_all(struct sl_shell_program *p, const struct sl_shell_list *list) {
  return p->all.count <= ENOUGH ? sl_shell_list_join(&p->all, list) : SL_OK;
}

/* Is it what ends a command, or begins a redirection, in a text that is run by `eval` or `bash -c`? */
static bool ends_command(const char *word) {
  return word[0] != '\0' && strspn(word, ";|&") == strlen(word);
}

/* The bytes of a word's redirection, as in "2>" and ">log"; 0: it has none. */
static size_t redirection(const char *word) {
  const size_t descriptor = strspn(word, "0123456789&"), marks = strspn(word + descriptor, "<>");
  return marks > 0 ? descriptor + marks : 0;
}

/* "$@" and "$*": the arguments of the script, where it is not known which these are. */
static bool is_of_script(const char *word) {
  return strcmp(word, "$@") == 0 || strcmp(word, "$*") == 0 || strcmp(word, "${@}") == 0 || strcmp(word, "${*}") == 0;
}

/* The program and its arguments, without what stands behind them in a text. */
static enum sl_status take(struct sl_shell_list *out, const struct sl_shell_list *command, size_t program,
                           bool has_arguments) {
  out->count = 0;
  for (size_t i = program; i < command->count && !ends_command(command->words[i].text); i++) {
    const char *word = command->words[i].text;
    const size_t redirected = redirection(word);
    if (is_of_script(word) && !has_arguments) continue;
    if (redirected == 0)
      SL_TRY(sl_shell_list_add(out, &command->words[i]));
    else if (word[redirected] == '\0')
      i++; /* the file's name is the next word */
  }
  return SL_OK;
}

enum sl_status sl_shell_program_command(struct sl_shell_program *p, const struct sl_shell_list *command) {
  size_t program;
  const enum rank rank = rank_of(command, &program);
  if (has_argument(command, 0) && !only_says(command)) SL_TRY(add_to_all(p, command));
  if (rank == NONE || (int)rank < p->rank) return SL_OK;
  struct sl_shell_list own = {0};
  enum sl_status status = take(&own, command, program, p->has_arguments);
  const bool differs = (int)rank == p->rank && !sl_shell_list_equal(&p->best, &own);
  p->other = differs ? p->best.words[0] : (struct sl_shell_word){0};
  p->rank = (int)rank;
  sl_shell_list_free(&p->best);
  p->best = own;
  return status;
}

enum sl_status sl_shell_program_variable(struct sl_shell_program *p, const struct sl_shell_list *value) {
  return has_argument(value, 0) ? add_to_all(p, value) : SL_OK;
}

void sl_shell_program_free(struct sl_shell_program *p) {
  sl_shell_list_free(&p->best);
  sl_shell_list_free(&p->all);
}
