/* Words of a shell script and the variables that hold them. Internal to core/interop. */
#pragma once

#include "core/launch/words.h"

#include <stdbool.h>
#include <stddef.h>

/* A word, after expansion. */
struct sl_shell_word {
  const char *text;
  const char *file;  /* that the script sources, NULL: the script itself */
  int line;          /* of its first character, from 1 */
  const char *doubt; /* what a condition decides of it; NULL: nothing */
  bool conditional;  /* it was written under a condition */
};

/* Words in order; their texts are owned elsewhere. */
struct sl_shell_list {
  struct sl_shell_word *words;
  size_t count, capacity;
};

/* What is assigned to a variable: a text, split into words, or an array. */
struct sl_shell_value {
  struct sl_shell_list list;
  bool blank_before, blank_after; /* the text begins, or ends, with a blank */
  const char *file;
  int line;
  bool conditional;
};

/* All assignments of a script, the last of a name being its value. */
struct sl_shell_variable {
  char *name;
  struct sl_shell_value value;
};
struct sl_shell_variables {
  struct sl_shell_variable *all;
  size_t count, capacity;
};

/* "line 3", or "line 3 of conf.sh". */
struct sl_shell_spot {
  char text[128];
};
struct sl_shell_spot sl_shell_spot(const char *file, int line);

/* Appends a word. Errors: SL_ERR_MEMORY. */
enum sl_status sl_shell_list_add(struct sl_shell_list *list, const struct sl_shell_word *word);
/* Appends the words of `more`. */
enum sl_status sl_shell_list_join(struct sl_shell_list *list, const struct sl_shell_list *more);
bool sl_shell_list_equal(const struct sl_shell_list *a, const struct sl_shell_list *b);
void sl_shell_list_free(struct sl_shell_list *list);

/* Adds an assignment and takes over the value's list, also on failure. */
enum sl_status sl_shell_assign(struct sl_shell_variables *variables, const char *name, struct sl_shell_value *value);
/* The last assignment of a name; NULL: there is none. */
const struct sl_shell_variable *sl_shell_find(const struct sl_shell_variables *variables, const char *name,
                                              size_t length);
/* What a condition of the script decides about the variable's value, as a text that `doubts` owns: "TP is 4 as in line
 * 3, not 2 as in line 1". NULL: nothing, or no more than whether words are added to an earlier value. */
const char *sl_shell_doubt(const struct sl_shell_variables *variables, const struct sl_shell_variable *v,
                           struct sl_words *doubts);
void sl_shell_variables_free(struct sl_shell_variables *variables);
