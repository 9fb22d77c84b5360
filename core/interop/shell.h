/* Splits the text of a shell script, or of one argument, into words: enough of a shell to read the settings in a
 * launch script. */
#pragma once

#include "core/launch/words.h"

/* Where a word comes from. */
struct sl_shell_place {
  int line;          /* of its first character, from 1 */
  const char *doubt; /* what a condition decides of it: "TP is 4 as in line 3, not 2 as in line 1"; NULL: nothing */
};

struct sl_shell {
  struct sl_words words;
  struct sl_shell_place *places; /* one a word */
  size_t capacity;
  struct sl_words doubts; /* the texts of them, each once */
};

/* Reads the words of `text`. They are separated by white space, by ( ) ; | & and by = after a name. Quotes are
 * removed and their contents are split too, since scripts keep lists of arguments in strings. A backslash keeps the
 * next character, or joins two lines; # starts a comment where a word may start. NAME=VALUE sets a variable; $NAME,
 * ${NAME} and ${NAME:-DEFAULT} are replaced if it is known, otherwise kept. $((...)) of known numbers is evaluated
 * (arithmetic.h); nothing is executed. All branches of conditions are read (shell_conditions.h), and the last value
 * of a variable holds; a word that has another value if the condition fails is in doubt. More than 4096 words, or one
 * of more than 4095 bytes, is an error, SL_ERR_INPUT with `name`. On failure nothing is allocated. */
enum sl_status sl_shell_read(struct sl_shell *out, const char *name, const char *text);
void sl_shell_free(struct sl_shell *shell);
